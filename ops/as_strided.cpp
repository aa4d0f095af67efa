// as_strided, its gradient, and as_strided_scatter: reading and writing any window on a tensor's memory. The
// gradient of writes through views is made of these.

#include "halftone/kernels/copy.h"
#include "halftone/kernels/index.h"
#include "halftone/ops/alias.h"
#include "halftone/ops/operator.h"

namespace halftone {
namespace ops {
namespace {

void check_window(const char* op, const Tensor& self, IntArrayRef size, IntArrayRef stride,
                  std::int64_t offset) {
  if (size.size() != stride.size()) {
    fail(op, "size ", size, " and stride ", stride, " must have the same length");
  }
  std::int64_t last = offset;
  for (std::size_t d = 0; d < size.size(); ++d) {
    if (size[d] < 0 || stride[d] < 0)
      fail(op, "size ", size, " and stride ", stride, " must not be negative");
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(std::max<std::int64_t>(size[d] - 1, 0), stride[d], &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      fail(op, "size ", size, " with stride ", stride, " reaches beyond 64 bits");
    }
  }
  const auto held = static_cast<std::int64_t>(self.storage().bytes() / self.element_size());
  if (offset < 0 || (count_elements(size) > 0 && last >= held)) {
    fail(op, "size ", size, " with stride ", stride, " and storage offset ", offset, " reaches element ",
         last, " of a storage of ", held);
  }
}

bool repeats_elements(const Tensor& self) {
  for (std::size_t d = 0; d < self.sizes().size(); ++d) {
    if (self.sizes()[d] > 1 && self.strides()[d] == 0) return true;
  }
  return false;
}

/// Elements that (size, stride) from `offset` on reaches: one more than the last. 0 for an empty window.
std::int64_t window_end(IntArrayRef size, IntArrayRef stride, std::int64_t offset) {
  if (count_elements(size) == 0) return 0;
  std::int64_t last = offset;
  for (std::size_t d = 0; d < size.size(); ++d) last += (size[d] - 1) * stride[d];
  return last + 1;
}

/// Throws Error unless every element of the window is certainly its own in memory: ordered by stride, each
/// dimension steps over all that the smaller ones reach.
void check_no_overlap(const char* op, IntArrayRef size, IntArrayRef stride) {
  Dims order;
  for (std::size_t d = 0; d < size.size(); ++d) {
    if (size[d] > 1) order.push_back(static_cast<std::int64_t>(d));
  }
  const auto index = [](std::int64_t d) { return static_cast<std::size_t>(d); };
  std::sort(order.begin(), order.end(),
            [&](std::int64_t a, std::int64_t b) { return stride[index(a)] < stride[index(b)]; });
  std::int64_t reached = 0;
  for (std::int64_t d : order) {
    if (stride[index(d)] <= reached) {
      fail(op, "the window of size ", size, " with stride ", stride,
           " overlaps itself; it cannot be written");
    }
    reached += (size[index(d)] - 1) * stride[index(d)];
  }
}

/// A region that holds two windows, one of them at 0, the other at `offset` (which may be negative).
struct Region {
  std::int64_t elements, first, second;

  Region(IntArrayRef size, IntArrayRef stride, IntArrayRef other_size, IntArrayRef other_stride,
         std::int64_t offset)
      : first(std::max<std::int64_t>(-offset, 0)), second(std::max<std::int64_t>(offset, 0)) {
    elements = std::max(window_end(size, stride, first), window_end(other_size, other_stride, second));
  }
};
}  // namespace

struct AsStrided : Operator {
  static constexpr Schema schema{"as_strided",
                                 {"self", "size", "stride", "storage_offset"},
                                 "the storage of self read with these sizes, strides and offset"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, IntArrayRef,
                                 std::optional<std::int64_t>) = &halftone::as_strided;
  static constexpr auto precision = amp::Precision::kAny;

  // The last two say where self itself lies in its storage: its gradient is read from there.
  static Tensor view(const Tensor& self, IntArrayRef size, IntArrayRef stride, std::int64_t offset,
                     IntArrayRef, std::int64_t) {
    check_window("as_strided", self, size, stride, offset);
    return alias(self, size, stride, offset);
  }
  static Tensor backward(const Saved& s, const Tensor& grad, IntArrayRef size, IntArrayRef stride,
                         std::int64_t offset, IntArrayRef self_stride, std::int64_t self_offset) {
    return as_strided_backward(grad, s.sizes(0), self_stride, size, stride, offset - self_offset);
  }
  static void samples(Samples& s) {
    s(s.rand({3, 4}), Dims{2, 3}, Dims{4, 1}, 1);
    s(s.rand({3, 4}), Dims{4, 3}, Dims{1, 4}, std::nullopt);
    s(s.rand({6}), Dims{4, 3}, Dims{1, 1}, 0);  // overlapping windows
    s(s.rand({2, 0}), Dims{0, 2}, Dims{2, 1}, 0);
  }
};
HALFTONE_REGISTER_OPERATOR(AsStrided)

struct AsStridedBackward : Operator {
  static constexpr Schema schema{"as_strided_backward",
                                 {"grad", "input_sizes", "input_strides", "size", "stride", "offset"},
                                 "grad of a window added up where its elements lie, read as the input"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef,
                                 std::int64_t) = &halftone::as_strided_backward;
  static constexpr auto precision = amp::Precision::kAny;

  static Meta infer(const Tensor& grad, IntArrayRef input_sizes, IntArrayRef input_strides, IntArrayRef size,
                    IntArrayRef stride, std::int64_t) {
    if (grad.sizes() != size || size.size() != stride.size() || input_sizes.size() != input_strides.size()) {
      fail("as_strided_backward", "sizes ", size, " with strides ", stride, " do not fit the gradient ",
           grad);
    }
    return like(grad, input_sizes);
  }
  static void run(const Tensor& out, const Tensor& grad, IntArrayRef input_sizes, IntArrayRef input_strides,
                  IntArrayRef size, IntArrayRef stride, std::int64_t offset) {
    const Region region(input_sizes, input_strides, size, stride, offset);
    const CopyKernels& copies = kernels_for<CopyKernels>(out.device());
    const Tensor sums = allocate({{region.elements}, accumulate_type(grad.scalar_type()), grad.device()});
    copies.fill(sums, 0, 0);
    kernels_for<IndexKernels>(out.device()).accumulate(alias(sums, size, stride, region.second), grad);
    copies.copy(out, alias(sums, input_sizes, input_strides, region.first));
  }
  static Tensor backward(const Saved&, const Tensor& grad, IntArrayRef input_sizes, IntArrayRef input_strides,
                         IntArrayRef size, IntArrayRef stride, std::int64_t offset) {
    const Region region(input_sizes, input_strides, size, stride, offset);
    const Tensor laid_out = as_strided_scatter(zeros({region.elements}, grad.options()), grad, input_sizes,
                                               input_strides, region.first);
    return as_strided(laid_out, size, stride, laid_out.storage_offset() + region.second);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), Dims{3, 4}, Dims{4, 1}, Dims{2, 3}, Dims{4, 1}, 1);
    s(s.rand({4, 3}), Dims{3, 2}, Dims{1, 3}, Dims{4, 3}, Dims{1, 1}, 0);
    s(s.rand({3}), Dims{4}, Dims{1}, Dims{3}, Dims{1}, -1);
    s(s.rand({0}), Dims{2}, Dims{1}, Dims{0}, Dims{1}, 0);
  }
};
HALFTONE_REGISTER_OPERATOR(AsStridedBackward)

struct AsStridedScatter : Operator {
  static constexpr Schema schema{"as_strided_scatter",
                                 {"self", "src", "size", "stride", "storage_offset"},
                                 "a contiguous copy of self with the window replaced by src"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, IntArrayRef, IntArrayRef,
                                 std::int64_t) = &halftone::as_strided_scatter;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;

  static Meta infer(const Tensor& self, const Tensor& src, IntArrayRef size, IntArrayRef stride,
                    std::int64_t offset) {
    const Meta meta = like(self);
    if (size.size() != stride.size() || src.sizes() != size) {
      fail("as_strided_scatter", "expected src of shape ", size, " (stride ", stride, "), got ", src);
    }
    check_no_overlap("as_strided_scatter", size, stride);
    if (offset < 0 || window_end(size, stride, offset) > self.numel()) {
      fail("as_strided_scatter", "the window of size ", size, " with stride ", stride, " at ", offset,
           " lies outside self ", self);
    }
    return meta;
  }
  static void run(const Tensor& out, const Tensor& self, const Tensor& src, IntArrayRef size,
                  IntArrayRef stride, std::int64_t offset) {
    const CopyKernels& copies = kernels_for<CopyKernels>(out.device());
    copies.copy(out, self);
    copies.copy(alias(out, size, stride, out.storage_offset() + offset), src);
  }
  static Gradients backward(const Saved& s, const Tensor& grad, IntArrayRef size, IntArrayRef stride,
                            std::int64_t offset) {
    Tensor for_self, for_src;
    const Tensor laid_out = grad.contiguous();
    if (s.needs(0))
      for_self = as_strided_scatter(laid_out, zeros(size, grad.options()), size, stride, offset);
    if (s.needs(1)) for_src = as_strided(laid_out, size, stride, laid_out.storage_offset() + offset);
    return {for_self, for_src};
  }
  static void samples(Samples& s) {
    s(s.rand({3, 4}), s.rand({2, 3}), Dims{2, 3}, Dims{4, 1}, 1);
    s(s.rand({6}), s.rand({2, 2}), Dims{2, 2}, Dims{1, 3}, 0);
    s(s.rand({2, 3}), s.rand({0}), Dims{0}, Dims{1}, 0);
  }
};
HALFTONE_REGISTER_OPERATOR(AsStridedScatter)
}  // namespace ops

Tensor as_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride,
                  std::optional<std::int64_t> storage_offset) {
  if (GradMode::is_enabled() && autograd::wants_grad(self) && ops::repeats_elements(self)) {
    fail("as_strided", self,
         " is expanded, its gradient is not defined by its storage; call contiguous() first");
  }
  return ops::dispatch<ops::AsStrided>(self, size, stride, storage_offset.value_or(self.storage_offset()),
                                       self.strides(), self.storage_offset());
}

Tensor as_strided_backward(const Tensor& grad, IntArrayRef input_sizes, IntArrayRef input_strides,
                           IntArrayRef size, IntArrayRef stride, std::int64_t offset) {
  return ops::dispatch<ops::AsStridedBackward>(grad, input_sizes, input_strides, size, stride, offset);
}

Tensor as_strided_scatter(const Tensor& self, const Tensor& src, IntArrayRef size, IntArrayRef stride,
                          std::int64_t storage_offset) {
  return ops::dispatch<ops::AsStridedScatter>(self, src, size, stride, storage_offset);
}
}  // namespace halftone
