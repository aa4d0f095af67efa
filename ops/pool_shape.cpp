#include "halftone/ops/pool_shape.h"

namespace halftone::ops {
namespace {

/// Larger windows, strides and paddings are refused: sizes stay far from overflow.
constexpr std::int64_t kLargestStep = std::int64_t{1} << 30;

struct Pair {
  std::int64_t h, w;
};

/// One number for all dimensions, or one each; `flat` stands for the missing height.
Pair pair(const char* op, const char* name, IntArrayRef values, int spatial, std::int64_t least,
          std::int64_t flat) {
  if (values.size() != 1 && values.size() != static_cast<std::size_t>(spatial)) {
    fail(op, "expected ", name, " of ", spatial == 1 ? "one number" : "one or two numbers", ", got ", values);
  }
  for (const std::int64_t value : values) {
    if (value < least || value > kLargestStep)
      fail(op, "expected ", name, " of ", least, " or more, got ", values);
  }
  return {spatial == 1 ? flat : values[0], values.back()};
}

struct Planes {
  std::int64_t count, h, w;
};

Planes planes_of(const char* op, int spatial, IntArrayRef input) {
  const auto dims = static_cast<std::size_t>(spatial);
  if (input.size() != dims + 1 && input.size() != dims + 2) {
    const char* const layout = spatial == 1 ? "L" : "H, W";
    fail(op, "expected an input (N, C, ", layout, ") or (C, ", layout, "), got ", input);
  }
  Planes planes{1, spatial == 2 ? input[input.size() - 2] : 1, input.back()};
  for (std::size_t d = 0; d + dims < input.size(); ++d) planes.count *= input[d];
  if (planes.h == 0 || planes.w == 0) fail(op, "the planes of the input ", input, " are empty");
  return planes;
}

}  // namespace

PoolShape pool_shape(const char* op, int spatial, IntArrayRef input, IntArrayRef kernel_size,
                     IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  const Planes planes = planes_of(op, spatial, input);
  const Pair kernel = pair(op, "a kernel_size", kernel_size, spatial, 1, 1);
  const Pair step = stride.empty() ? kernel : pair(op, "a stride", stride, spatial, 1, 1);
  const Pair pad = pair(op, "a padding", padding, spatial, 0, 0);
  const Pair dil = pair(op, "a dilation", dilation, spatial, 1, 1);
  if (pad.h > kernel.h / 2 || pad.w > kernel.w / 2) {
    fail(op, "expected a padding of at most half the kernel_size ", kernel_size, ", got ", padding);
  }
  if (kernel.h > kLargestStep / dil.h || kernel.w > kLargestStep / dil.w) {
    fail(op, "a kernel_size ", kernel_size, " with dilation ", dilation, " is too large");
  }
  PoolShape s;
  s.planes = planes.count;
  s.h = planes.h, s.w = planes.w;
  s.kh = kernel.h, s.kw = kernel.w;
  s.stride_h = step.h, s.stride_w = step.w;
  s.pad_h = pad.h, s.pad_w = pad.w;
  s.dil_h = dil.h, s.dil_w = dil.w;
  s.ceil_mode = ceil_mode;
  if (s.oh() < 1 || s.ow() < 1) {
    fail(op, "a kernel_size ", kernel_size, " with dilation ", dilation, " is larger than the input ", input,
         " padded by ", padding);
  }
  return s;
}

AdaptivePoolShape adaptive_pool_shape(const char* op, int spatial, IntArrayRef input,
                                      IntArrayRef output_size) {
  const Planes planes = planes_of(op, spatial, input);
  const Pair out = pair(op, "an output_size", output_size, spatial, 0, 1);
  return {planes.count, planes.h, planes.w, out.h, out.w};
}

Dims pooled_sizes(IntArrayRef input, int spatial, std::int64_t oh, std::int64_t ow) {
  Dims sizes = input.dims();
  sizes.back() = ow;
  if (spatial == 2) sizes[sizes.size() - 2] = oh;
  return sizes;
}

void check_pool_input(const char* op, const Tensor& x) {
  if (!x.is_floating_point()) fail(op, "expected a floating input, got ", x);
}

Meta pool_gradient_meta(const char* op, const Tensor& grad, IntArrayRef sizes, IntArrayRef input_size,
                        ScalarType dtype) {
  if (!(grad.sizes() == sizes)) fail(op, "expected a gradient ", sizes, ", got ", grad);
  if (!grad.is_floating_point() || !is_floating_point(dtype)) {
    fail(op, "expected a floating gradient and dtype, got ", grad, " and ", dtype);
  }
  Meta meta = like(grad, input_size, dtype);
  meta.explicit_dtype = true;
  return meta;
}

Tensor with_height(const Tensor& x, int spatial) { return spatial == 1 ? unsqueeze(x, -2) : x; }

Dims sizes_with_height(Dims sizes, int spatial) {
  if (spatial == 1) sizes.insert(sizes.size() - 1, 1);
  return sizes;
}

Dims window_with_height(IntArrayRef values, int spatial, std::int64_t height) {
  Dims all = values.dims();
  if (spatial == 1 && !all.empty()) all.insert(0, height);
  return all;
}

}  // namespace halftone::ops
