#include "halftone/ops/pointwise.h"

#include <span>

namespace halftone::ops {

void pointwise(Fn fn, const Tensor& out, std::initializer_list<const Tensor*> in, const Params& params) {
  kernels_for<PointwiseKernels>(out.device()).run(fn, out, std::span(in.begin(), in.size()), params);
}

Meta broadcast_meta(const char* op, std::initializer_list<const Tensor*> tensors, ScalarType dtype) {
  Meta meta;
  meta.dtype = dtype;
  bool first = true;
  const Tensor* placed = nullptr;  // the first that is bound to its device
  for (const Tensor* tensor : tensors) {
    if (!tensor->defined()) fail(op, "expected ", tensors.size(), " defined tensors, one is undefined");
    if (!(tensor->is_cpu() && tensor->dim() == 0)) {  // a number on the host goes anywhere
      if (placed && placed->device() != tensor->device()) {
        fail(op, "tensors are on different devices: ", placed->device(), " and ", tensor->device());
      }
      placed = tensor;
      meta.device = tensor->device();
    }
    if (first) {
      meta.sizes = tensor->unsafe_impl()->sizes;
      first = false;
      continue;
    }
    if (tensor->unsafe_impl()->sizes != meta.sizes)
      meta.sizes = broadcast_shapes(op, meta.sizes, tensor->sizes());
  }
  return meta;
}

Meta unary_meta(const char* op, const Tensor& self, bool keeps_integers) {
  if (!self.defined()) fail(op, "expected a tensor, got an undefined one");
  return like(self, self.sizes(),
              keeps_integers ? self.scalar_type() : floating_or_default(self.scalar_type()));
}

void check_factor(const char* op, const char* name, ScalarType dtype, const Scalar& factor) {
  if (!is_floating_point(dtype) && factor.is_floating_point()) {
    fail(op, name, " must be an integer for a result of ", dtype, ", got ", factor.to_double());
  }
}

Tensor scaled_product(const Scalar& value, const Tensor& a, const Tensor& b) {
  return addcmul(wrapped_number(0), a, b, value);
}

Tensor scaled_quotient(const Scalar& value, const Tensor& a, const Tensor& b) {
  return addcdiv(wrapped_number(0), a, b, value);
}

}  // namespace halftone::ops
