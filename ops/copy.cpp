// Copies and conversions: to_dtype, clone, copy_, fill_.

#include "halftone/kernels/copy.h"

#include "halftone/engine/cuda_backend.h"
#include "halftone/ops/operator.h"
#include "halftone/ops/to_dtype.h"
#include "halftone/ops/wide.h"

namespace halftone {
namespace ops {
namespace {

/// Within a device or between two: a CUDA device's kernels know both sides.
void copy_into(const Tensor& out, const Tensor& src) {
  kernels_for<CopyKernels>(out.is_cuda() ? out.device() : src.device()).copy(out, src);
}

}  // namespace

/// A tensor moved to another device; its gradient moves back.
class MovedToDevice final : public autograd::Node {
 public:
  explicit MovedToDevice(const Tensor& source) : Node("to_device"), home_(source.device()) {
    add_input(source);
  }

  Gradients apply(Gradients output_gradients) override { return {to_device(output_gradients[0], home_)}; }

 private:
  Device home_;
};

struct ToDtype : Operator {
  static constexpr Schema schema{"to_dtype", {"self", "dtype"}, "self converted to another dtype"};
  static constexpr Tensor (*api)(const Tensor&, ScalarType) = &halftone::to_dtype;
  static constexpr auto precision = amp::Precision::kAny;

  static Meta infer(const Tensor& self, ScalarType dtype) {
    Meta meta = like(self, self.sizes(), dtype);
    meta.explicit_dtype = true;
    return meta;
  }
  static void run(const Tensor& out, const Tensor& self, ScalarType) { copy_into(out, self); }
  // The engine casts a gradient to its input's dtype.
  static Tensor backward(const Saved&, const Tensor& grad, ScalarType) { return grad; }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), kDouble);
    s(s.rand({4}), kFloat).smooth = false;  // rounds: no finite differences
    s(s.rand({0, 2}), kDouble);
  }
};
HALFTONE_REGISTER_OPERATOR(ToDtype)

Tensor record_cast(const Tensor& source, const Tensor& value) {
  Tensor out = value.detach();
  if (GradMode::is_enabled() && autograd::wants_grad(source)) {
    attach(out, make_node<ToDtype>(source, value.scalar_type()), ToDtype::saves);
  }
  return out;
}

Tensor as_wide(const Tensor& x) {
  if (!x.defined() || !is_low_precision(x.scalar_type())) return x;
  if (!GradMode::is_enabled() || !autograd::wants_grad(x)) return x;
  const auto node = make_node<ToDtype>(x, kFloat);
  node->set_stands_for_fp32();
  Tensor out = x.detach();
  attach(out, node, ToDtype::saves);
  return out;
}

struct Clone : Operator {
  static constexpr Schema schema{"clone", {"self"}, "a contiguous copy"};
  static constexpr Tensor (*api)(const Tensor&) = &halftone::clone;
  static constexpr auto precision = amp::Precision::kAny;

  static Meta infer(const Tensor& self) { return like(self); }
  static void run(const Tensor& out, const Tensor& self) { copy_into(out, self); }
  static Tensor backward(const Saved&, const Tensor& grad) { return grad; }
  static void samples(Samples& s) {
    s(s.rand({2, 3, 4}));
    s(s.rand({0}));
  }
};
HALFTONE_REGISTER_OPERATOR(Clone)

struct Copy : Operator {
  static constexpr Schema schema{
      "copy", {"self", "src"}, "src broadcast to self's shape and converted to its dtype"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::copy;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;

  static Meta infer(const Tensor& self, const Tensor& src) {
    if (!(broadcast_shapes("copy_", self.sizes(), src.sizes()) == self.sizes().dims())) {
      fail("copy_", "src ", src, " does not broadcast to self ", self);
    }
    return like(self);
  }
  static void run(const Tensor& out, const Tensor&, const Tensor& src) { copy_into(out, src); }
  static Gradients backward(const Saved&, const Tensor& grad) { return {zeros_like(grad), grad}; }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}));
    s(s.rand({2, 3}), s.rand({3}));
    s(s.rand({2, 0}), s.rand({2, 0}));
  }
};
HALFTONE_REGISTER_OPERATOR(Copy)

struct Fill : Operator {
  static constexpr Schema schema{"fill", {"self", "value"}, "every element set to value"};
  static constexpr Tensor (*api)(const Tensor&, const Scalar&) = &halftone::fill;
  static constexpr auto precision = amp::Precision::kAny;

  static Meta infer(const Tensor& self, const Scalar&) { return like(self); }
  static void run(const Tensor& out, const Tensor&, const Scalar& value) {
    kernels_for<CopyKernels>(out.device()).fill(out, value.to_double(), value.to_long());
  }
  static Tensor backward(const Saved&, const Tensor& grad, const Scalar&) { return zeros_like(grad); }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), 1.5);
    s(s.rand({0}), -2.0);
  }
};
HALFTONE_REGISTER_OPERATOR(Fill)

}  // namespace ops

Tensor to_dtype(const Tensor& self, ScalarType dtype) {
  return self.scalar_type() == dtype ? self : ops::dispatch<ops::ToDtype>(self, dtype);
}

Tensor to_device(const Tensor& self, Device device, bool non_blocking) {
  if (device == self.device()) return self;
  if (device.type() == self.device().type() && !device.has_index()) return self;
  const Tensor out = ops::allocate({self.sizes().dims(), self.scalar_type(), cuda::resolve(device, "to")});
  if (non_blocking && self.is_contiguous() && self.is_pinned()) {
    cuda::backend()->write_later(out.data_ptr(), self.data_ptr(), self.nbytes(), out.device().index());
  } else {
    ops::copy_into(out, self);
  }
  if (GradMode::is_enabled() && autograd::wants_grad(self)) {
    autograd::set_history(out, make_intrusive<ops::MovedToDevice>(self));
  }
  return out;
}

Tensor pin_memory(const Tensor& self) {
  if (!self.is_cpu()) fail("pin_memory", "expected a tensor on the CPU, got ", self, " on ", self.device());
  if (self.is_pinned()) return self;
  cuda::Backend& cuda = cuda::require_backend("pin_memory");
  auto storage =
      make_intrusive<Storage>(cuda.allocate_pinned(std::max<std::size_t>(self.nbytes(), 1)), self.nbytes(),
                              Device(kCPU), [&cuda](void* block) { cuda.free_pinned(block); });
  const Tensor out(make_intrusive<TensorImpl>(std::move(storage), self.scalar_type(), self.sizes(),
                                              contiguous_strides(self.sizes().dims()), 0));
  ops::copy_into(out, self);
  return out;
}

bool Tensor::is_pinned() const {
  cuda::Backend* cuda = cuda::backend();
  return is_cpu() && cuda && cuda->device_count() > 0 && cuda->is_pinned(storage().data());
}

Tensor clone(const Tensor& self) { return ops::dispatch<ops::Clone>(self); }

Tensor contiguous(const Tensor& self) { return self.is_contiguous() ? self : clone(self); }

Tensor copy(const Tensor& self, const Tensor& src) { return ops::dispatch<ops::Copy>(self, src); }

Tensor fill(const Tensor& self, const Scalar& value) { return ops::dispatch<ops::Fill>(self, value); }

Tensor& copy_(Tensor& self, const Tensor& src, bool) { return ops::dispatch_inplace<ops::Copy>(self, src); }

Tensor& fill_(Tensor& self, const Scalar& value) { return ops::dispatch_inplace<ops::Fill>(self, value); }

Tensor& fill_(Tensor& self, const Tensor& value) {
  if (value.dim() != 0) fail("fill_", "expected a 0-d tensor, got ", value);
  return copy_(self, value);
}

Tensor& zero_(Tensor& self) { return fill_(self, 0); }

Tensor Tensor::to(ScalarType dtype, bool, bool copy) const {
  if (copy && scalar_type() == dtype) return clone();
  return to_dtype(*this, dtype);
}

Tensor Tensor::to(Device device, bool non_blocking, bool copy) const {
  Tensor out = to_device(*this, device, non_blocking);
  return copy && out.is_same(*this) ? clone() : out;
}

Tensor Tensor::to(Device device, ScalarType dtype, bool non_blocking, bool copy) const {
  Tensor out = to_dtype(to_device(*this, device, non_blocking), dtype);
  return copy && out.is_same(*this) ? clone() : out;
}

Tensor Tensor::to(const TensorOptions& options, bool non_blocking, bool copy) const {
  return to(options.device_opt().value_or(device()), options.dtype_opt().value_or(scalar_type()),
            non_blocking, copy);
}

}  // namespace halftone
