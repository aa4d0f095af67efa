// Means of sliding windows, and of a fixed number of windows that cover the input. Linear: each gradient's
// own gradient is the pooling itself.

#include "halftone/ops/pool_shape.h"

namespace halftone {
namespace ops {
namespace {

const PoolKernels& kernels(const Tensor& x) { return kernels_for<PoolKernels>(x.device()); }

using Sizes = std::vector<std::int64_t>;

PoolShape mean_shape(const char* op, int spatial, IntArrayRef input, IntArrayRef kernel_size,
                     IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                     std::optional<std::int64_t> divisor_override) {
  PoolShape s = pool_shape(op, spatial, input, kernel_size, stride, padding, 1, ceil_mode);
  s.count_include_pad = count_include_pad;
  if (divisor_override == 0) fail(op, "the divisor_override must not be 0");
  s.divisor = divisor_override.value_or(0);
  return s;
}

}  // namespace

struct AvgPool2dBackward : Operator {
  static constexpr Schema schema{"avg_pool2d_backward",
                                 {"grad", "input_size", "kernel_size", "stride", "padding", "ceil_mode",
                                  "count_include_pad", "divisor_override", "dtype"},
                                 "gradient of avg_pool2d, in dtype: every grad shared out over its window"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef, bool,
                                 bool, std::optional<std::int64_t>,
                                 ScalarType) = &halftone::avg_pool2d_backward;
  static constexpr auto precision = amp::Precision::kAny;

  static Meta infer(const Tensor& grad, IntArrayRef input_size, IntArrayRef kernel_size, IntArrayRef stride,
                    IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                    std::optional<std::int64_t> divisor_override, ScalarType dtype) {
    const PoolShape s = mean_shape(schema.name, 2, input_size, kernel_size, stride, padding, ceil_mode,
                                   count_include_pad, divisor_override);
    return pool_gradient_meta(schema.name, grad, pooled_sizes(input_size, 2, s.oh(), s.ow()), input_size,
                              dtype);
  }
  static void run(const Tensor& out, const Tensor& grad, IntArrayRef input_size, IntArrayRef kernel_size,
                  IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                  std::optional<std::int64_t> divisor_override, ScalarType) {
    const NoGradGuard no_grad;
    kernels(out).avg_backward(out, grad.contiguous(),
                              mean_shape(schema.name, 2, input_size, kernel_size, stride, padding, ceil_mode,
                                         count_include_pad, divisor_override));
  }
  static Tensor backward(const Saved&, const Tensor& v, IntArrayRef, IntArrayRef kernel_size,
                         IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                         std::optional<std::int64_t> divisor_override, ScalarType) {
    return avg_pool2d(v, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 1, 2, 2}), Sizes{2, 1, 4, 4}, Sizes{2}, Sizes{}, Sizes{0}, false, true, std::nullopt,
      kDouble);
    s(s.rand({2, 3, 3}), Sizes{2, 5, 4}, Sizes{3, 2}, Sizes{2, 2}, Sizes{1, 1}, true, false, std::nullopt,
      kDouble);
    s(s.rand({1, 2, 2}), Sizes{1, 4, 4}, Sizes{3}, Sizes{1}, Sizes{0}, false, true, 5, kDouble);
    s(s.rand({0, 1, 2, 2}), Sizes{0, 1, 4, 4}, Sizes{2}, Sizes{}, Sizes{0}, false, true, std::nullopt,
      kDouble);
    s(s.rand({1, 1, 1}), Sizes{1, 2, 2}, Sizes{2}, Sizes{}, Sizes{0}, false, true, std::nullopt, kFloat)
        .smooth = false;  // rounds to float32
  }
};
HALFTONE_REGISTER_OPERATOR(AvgPool2dBackward)

struct AvgPool1d : Operator {
  static constexpr Schema schema{
      "avg_pool1d",
      {"self", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"},
      "means of sliding windows over (N, C, L)"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, bool,
                                 bool) = &halftone::avg_pool1d;
  static constexpr auto precision = amp::Precision::kFp32Inside;

  static Meta infer(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                    bool ceil_mode, bool count_include_pad) {
    const PoolShape s = mean_shape(schema.name, 1, x.sizes(), kernel_size, stride, padding, ceil_mode,
                                   count_include_pad, std::nullopt);
    check_pool_input(schema.name, x);
    return like(x, pooled_sizes(x.sizes(), 1, 1, s.ow()));
  }
  static void run(const Tensor& out, const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride,
                  IntArrayRef padding, bool ceil_mode, bool count_include_pad) {
    const NoGradGuard no_grad;
    kernels(out).avg_forward(out, x.contiguous(),
                             mean_shape(schema.name, 1, x.sizes(), kernel_size, stride, padding, ceil_mode,
                                        count_include_pad, std::nullopt));
  }
  static Tensor backward(const Saved& s, const Tensor& g, IntArrayRef kernel_size, IntArrayRef stride,
                         IntArrayRef padding, bool ceil_mode, bool count_include_pad) {
    return squeeze(avg_pool2d_backward(unsqueeze(g, -2), sizes_with_height(s.sizes(0), 1),
                                       window_with_height(kernel_size, 1, 1),
                                       window_with_height(stride, 1, 1), window_with_height(padding, 1, 0),
                                       ceil_mode, count_include_pad, std::nullopt, s.dtype(0)),
                   -2);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 2, 5}), Sizes{2}, Sizes{}, Sizes{0}, false, true);
    s(s.rand({2, 6}), Sizes{3}, Sizes{2}, Sizes{1}, true, false);
    s(s.rand({2, 6}), Sizes{3}, Sizes{2}, Sizes{1}, true, true);
    s(s.rand({0, 2, 5}), Sizes{2}, Sizes{}, Sizes{0}, false, true);
  }
};
HALFTONE_REGISTER_OPERATOR(AvgPool1d)

struct AvgPool2d : Operator {
  static constexpr Schema schema{
      "avg_pool2d",
      {"self", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"},
      "means of sliding windows over (N, C, H, W)"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, bool, bool,
                                 std::optional<std::int64_t>) = &halftone::avg_pool2d;
  static constexpr auto precision = amp::Precision::kFp32Inside;

  static Meta infer(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                    bool ceil_mode, bool count_include_pad, std::optional<std::int64_t> divisor_override) {
    const PoolShape s = mean_shape(schema.name, 2, x.sizes(), kernel_size, stride, padding, ceil_mode,
                                   count_include_pad, divisor_override);
    check_pool_input(schema.name, x);
    return like(x, pooled_sizes(x.sizes(), 2, s.oh(), s.ow()));
  }
  static void run(const Tensor& out, const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride,
                  IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                  std::optional<std::int64_t> divisor_override) {
    const NoGradGuard no_grad;
    kernels(out).avg_forward(out, x.contiguous(),
                             mean_shape(schema.name, 2, x.sizes(), kernel_size, stride, padding, ceil_mode,
                                        count_include_pad, divisor_override));
  }
  static Tensor backward(const Saved& s, const Tensor& g, IntArrayRef kernel_size, IntArrayRef stride,
                         IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                         std::optional<std::int64_t> divisor_override) {
    return avg_pool2d_backward(g, s.sizes(0), kernel_size, stride, padding, ceil_mode, count_include_pad,
                               divisor_override, s.dtype(0));
  }
  static void samples(Samples& s) {
    s(s.rand({2, 1, 4, 5}), Sizes{2}, Sizes{}, Sizes{0}, false, true, std::nullopt);
    s(s.rand({2, 5, 4}), Sizes{3, 2}, Sizes{2, 2}, Sizes{1, 1}, true, false, std::nullopt);
    s(s.rand({1, 1, 4, 4}), Sizes{3}, Sizes{1}, Sizes{1}, false, true, 5);
    s(s.rand({0, 1, 4, 4}), Sizes{2}, Sizes{}, Sizes{0}, false, true, std::nullopt);
  }
};
HALFTONE_REGISTER_OPERATOR(AvgPool2d)

struct AdaptiveAvgPool2dBackward : Operator {
  static constexpr Schema schema{
      "adaptive_avg_pool2d_backward",
      {"grad", "input_size", "dtype"},
      "gradient of adaptive_avg_pool2d, in dtype: every grad shared out over its window"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef,
                                 ScalarType) = &halftone::adaptive_avg_pool2d_backward;
  static constexpr auto precision = amp::Precision::kAny;

  static AdaptivePoolShape shape(const Tensor& grad, IntArrayRef input_size) {
    if (grad.dim() < 2) fail(schema.name, "expected a gradient (N, C, H, W) or (C, H, W), got ", grad);
    return adaptive_pool_shape(schema.name, 2, input_size, {grad.size(-2), grad.size(-1)});
  }
  static Meta infer(const Tensor& grad, IntArrayRef input_size, ScalarType dtype) {
    const AdaptivePoolShape s = shape(grad, input_size);
    return pool_gradient_meta(schema.name, grad, pooled_sizes(input_size, 2, s.oh, s.ow), input_size, dtype);
  }
  static void run(const Tensor& out, const Tensor& grad, IntArrayRef input_size, ScalarType) {
    const NoGradGuard no_grad;
    kernels(out).adaptive_avg_backward(out, grad.contiguous(), shape(grad, input_size));
  }
  static Tensor backward(const Saved& s, const Tensor& v, IntArrayRef, ScalarType) {
    const Dims& sizes = s.sizes(0);
    return adaptive_avg_pool2d(v, {sizes[sizes.size() - 2], sizes.back()});
  }
  static void samples(Samples& s) {
    s(s.rand({2, 1, 2, 3}), Sizes{2, 1, 3, 5}, kDouble);
    s(s.rand({2, 3, 1}), Sizes{2, 2, 2}, kDouble);
    s(s.rand({0, 1, 2, 2}), Sizes{0, 1, 3, 4}, kDouble);
    s(s.rand({1, 1, 1}), Sizes{1, 2, 2}, kFloat).smooth = false;  // rounds to float32
  }
};
HALFTONE_REGISTER_OPERATOR(AdaptiveAvgPool2dBackward)

namespace {

/// What adaptive_avg_pool1d and adaptive_avg_pool2d share; `Op` declares the schema.
template <class Op, int kSpatial>
struct AdaptiveAvgPool : Operator {
  static constexpr auto precision = amp::Precision::kFp32Inside;

  static Meta infer(const Tensor& x, IntArrayRef output_size) {
    const AdaptivePoolShape s = adaptive_pool_shape(Op::schema.name, kSpatial, x.sizes(), output_size);
    check_pool_input(Op::schema.name, x);
    return like(x, pooled_sizes(x.sizes(), kSpatial, s.oh, s.ow));
  }
  static void run(const Tensor& out, const Tensor& x, IntArrayRef output_size) {
    const NoGradGuard no_grad;
    kernels(out).adaptive_avg_forward(out, x.contiguous(),
                                      adaptive_pool_shape(Op::schema.name, kSpatial, x.sizes(), output_size));
  }
  static Tensor backward(const Saved& s, const Tensor& g, IntArrayRef) {
    const Tensor grad = adaptive_avg_pool2d_backward(with_height(g, kSpatial),
                                                     sizes_with_height(s.sizes(0), kSpatial), s.dtype(0));
    return kSpatial == 1 ? squeeze(grad, -2) : grad;
  }
};

}  // namespace

struct AdaptiveAvgPool1d : AdaptiveAvgPool<AdaptiveAvgPool1d, 1> {
  static constexpr Schema schema{
      "adaptive_avg_pool1d", {"self", "output_size"}, "means of output_size windows that cover (N, C, L)"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef) = &halftone::adaptive_avg_pool1d;
  static void samples(Samples& s) {
    s(s.rand({2, 2, 5}), Sizes{3});
    s(s.rand({2, 3}), Sizes{4});
    s(s.rand({0, 2, 5}), Sizes{2});
  }
};
HALFTONE_REGISTER_OPERATOR(AdaptiveAvgPool1d)

struct AdaptiveAvgPool2d : AdaptiveAvgPool<AdaptiveAvgPool2d, 2> {
  static constexpr Schema schema{
      "adaptive_avg_pool2d", {"self", "output_size"}, "means of output_size windows that cover (N, C, H, W)"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef) = &halftone::adaptive_avg_pool2d;
  static void samples(Samples& s) {
    s(s.rand({2, 1, 3, 5}), Sizes{2, 3});
    s(s.rand({2, 2, 3}), Sizes{1});
    s(s.rand({0, 1, 3, 4}), Sizes{2});
  }
};
HALFTONE_REGISTER_OPERATOR(AdaptiveAvgPool2d)

}  // namespace ops

Tensor avg_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  bool ceil_mode, bool count_include_pad) {
  return ops::dispatch<ops::AvgPool1d>(self, kernel_size, stride, padding, ceil_mode, count_include_pad);
}

Tensor avg_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  bool ceil_mode, bool count_include_pad, std::optional<std::int64_t> divisor_override) {
  return ops::dispatch<ops::AvgPool2d>(self, kernel_size, stride, padding, ceil_mode, count_include_pad,
                                       divisor_override);
}

Tensor avg_pool2d_backward(const Tensor& grad, IntArrayRef input_size, IntArrayRef kernel_size,
                           IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                           std::optional<std::int64_t> divisor_override, ScalarType dtype) {
  return ops::dispatch<ops::AvgPool2dBackward>(grad, input_size, kernel_size, stride, padding, ceil_mode,
                                               count_include_pad, divisor_override, dtype);
}

Tensor adaptive_avg_pool1d(const Tensor& self, IntArrayRef output_size) {
  return ops::dispatch<ops::AdaptiveAvgPool1d>(self, output_size);
}

Tensor adaptive_avg_pool2d(const Tensor& self, IntArrayRef output_size) {
  return ops::dispatch<ops::AdaptiveAvgPool2d>(self, output_size);
}

Tensor adaptive_avg_pool2d_backward(const Tensor& grad, IntArrayRef input_size, ScalarType dtype) {
  return ops::dispatch<ops::AdaptiveAvgPool2dBackward>(grad, input_size, dtype);
}

}  // namespace halftone
