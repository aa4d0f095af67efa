// Maxima of sliding windows. Where each maximum stands is found on the way and is all that backward keeps: a
// byte, the element's number in its window, where windows are small enough.

#include "halftone/ops/pool_shape.h"

namespace halftone {
namespace ops {
namespace {

const PoolKernels& kernels(const Tensor& x) { return kernels_for<PoolKernels>(x.device()); }

using Sizes = std::vector<std::int64_t>;

}  // namespace

/// Throws Error unless every index lies in its plane, or is -1. (The numbers of elements in windows are
/// checked by the kernels as they read them.)
void check_places(const Tensor& places, const PoolShape& s) {
  if (places.scalar_type() == kByte) return;
  const std::int64_t* place = places.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < places.numel(); ++i) {
    if (place[i] < -1 || place[i] >= s.h * s.w) {
      fail("max_pool2d_backward", "index ", place[i], " is not in a plane of ", s.h, " x ", s.w);
    }
  }
}

/// Places in their planes (int64, -1: none) from numbers in their windows.
Tensor unpack_places(const Tensor& numbers, const PoolShape& s) {
  if (numbers.scalar_type() != kByte) return numbers;
  const TensorOptions options = TensorOptions(kLong).device(numbers.device());
  Tensor n = numbers.to(kLong);
  if (number_bits(s) == 4) {
    n = flatten(stack({remainder(n, 16), floor_divide(n, 16)}, -1), -2).narrow(-1, 0, s.ow());
  }
  const Tensor row = floor_divide(n, s.kw), column = remainder(n, s.kw);
  const Tensor tops = (arange(s.oh(), options) * s.stride_h - s.pad_h).unsqueeze(-1);
  const Tensor lefts = arange(s.ow(), options) * s.stride_w - s.pad_w;
  const Tensor places = (tops + row * s.dil_h) * s.w + lefts + column * s.dil_w;
  return masked_fill(places, eq(n, (1 << number_bits(s)) - 1), -1);
}

struct MaxPool2dBackward : Operator {
  static constexpr Schema schema{
      "max_pool2d_backward",
      {"grad", "indices", "input_size", "kernel_size", "stride", "padding", "dilation", "ceil_mode", "dtype"},
      "gradient of max_pool2d, in dtype: every grad added where indices say the maximum stood (int64: in its "
      "plane; "
      "uint8: in its window)"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef,
                                 IntArrayRef, IntArrayRef, bool, ScalarType) = &halftone::max_pool2d_backward;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr Keep saves = keep_input(1);

  static Meta infer(const Tensor& grad, const Tensor& indices, IntArrayRef input_size,
                    IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                    bool ceil_mode, ScalarType dtype) {
    const PoolShape s =
        pool_shape(schema.name, 2, input_size, kernel_size, stride, padding, dilation, ceil_mode);
    const bool is_place = indices.scalar_type() == kLong && indices.sizes() == grad.sizes();
    const bool is_number = indices.scalar_type() == kByte && number_bits(s) != 0 &&
                           indices.sizes() == pooled_sizes(input_size, 2, s.oh(), number_bytes(s));
    if (!is_place && !is_number) {
      fail(schema.name, "expected int64 indices shaped like the gradient ", grad,
           ", or the packed ones that max_pool2d keeps, got ", indices);
    }
    return pool_gradient_meta(schema.name, grad, pooled_sizes(input_size, 2, s.oh(), s.ow()), input_size,
                              dtype);
  }
  static void run(const Tensor& out, const Tensor& grad, const Tensor& indices, IntArrayRef input_size,
                  IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                  bool ceil_mode, ScalarType) {
    const NoGradGuard no_grad;
    const PoolShape s =
        pool_shape(schema.name, 2, input_size, kernel_size, stride, padding, dilation, ceil_mode);
    const Tensor places = indices.contiguous();
    if (places.is_cpu()) check_places(places, s);  // a device looks up only what lies in the plane
    kernels(out).max_backward(out, grad.contiguous(), places, s);
  }
  static Gradients backward(const Saved& s, const Tensor& v, IntArrayRef input_size, IntArrayRef kernel_size,
                            IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode,
                            ScalarType) {
    Gradients grads(2, Tensor());
    if (!s.needs(0)) return grads;
    const PoolShape shape =
        pool_shape(schema.name, 2, input_size, kernel_size, stride, padding, dilation, ceil_mode);
    const Tensor places = flatten(unpack_places(s.input(1), shape), -2);
    const Tensor read = gather(flatten(v, -2), -1, clamp_min(places, 0));
    grads[0] = reshape(masked_fill(read, lt(places, 0), 0), s.sizes(0));  // -1: the window met no input
    return grads;
  }
  static void samples(Samples& s) {
    const auto places = [&](IntArrayRef sizes, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
                            IntArrayRef dilation, bool ceil_mode) {
      return std::get<1>(
          max_pool2d_with_indices(s.distinct(sizes), kernel, stride, padding, dilation, ceil_mode));
    };
    s(s.rand({2, 1, 2, 2}), places({2, 1, 4, 4}, {2}, {}, {0}, {1}, false), Sizes{2, 1, 4, 4}, Sizes{2},
      Sizes{}, Sizes{0}, Sizes{1}, false, kDouble);
    s(s.rand({2, 3, 2}), places({2, 5, 4}, {3, 2}, {2, 3}, {1, 0}, {1, 2}, true), Sizes{2, 5, 4}, Sizes{3, 2},
      Sizes{2, 3}, Sizes{1, 0}, Sizes{1, 2}, true, kDouble);
    s(s.rand({0, 1, 2, 2}), s.randint({0, 1, 2, 2}, 0, 16), Sizes{0, 1, 4, 4}, Sizes{2}, Sizes{}, Sizes{0},
      Sizes{1}, false, kDouble);
    s(s.rand({2, 1, 2, 3}), s.randint({2, 1, 2, 2}, 0, 4).to(kByte), Sizes{2, 1, 4, 7}, Sizes{2}, Sizes{},
      Sizes{0}, Sizes{1}, false, kDouble);
    s(s.rand({1, 1, 1}), s.randint({1, 1, 1}, 0, 4), Sizes{1, 2, 2}, Sizes{2}, Sizes{}, Sizes{0}, Sizes{1},
      false,
      kFloat)
        .smooth = false;  // rounds to float32
  }
};
HALFTONE_REGISTER_OPERATOR(MaxPool2dBackward)

namespace {

/// What the maxima share; `Op` declares the schema. Results: the maxima and where they stood, which is public
/// where `kPlaces` and else packed for backward.
template <class Op, int kSpatial, bool kPlaces>
struct MaxPool : Operator {
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr Keep saves = keep_result(1);

  static std::array<Meta, 2> infer(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride,
                                   IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
    const char* const op = Op::schema.name;
    const PoolShape s =
        pool_shape(op, kSpatial, x.sizes(), kernel_size, stride, padding, dilation, ceil_mode);
    check_pool_input(op, x);
    const Dims sizes = pooled_sizes(x.sizes(), kSpatial, s.oh(), s.ow());
    if (kPlaces || number_bits(s) == 0) return {like(x, sizes), like(x, sizes, kLong)};
    return {like(x, sizes), like(x, pooled_sizes(x.sizes(), kSpatial, s.oh(), number_bytes(s)), kByte)};
  }
  static void run(const std::array<Tensor, 2>& out, const Tensor& x, IntArrayRef kernel_size,
                  IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
    const NoGradGuard no_grad;
    kernels(x).max_forward(
        out[0], out[1], x.contiguous(),
        pool_shape(Op::schema.name, kSpatial, x.sizes(), kernel_size, stride, padding, dilation, ceil_mode));
  }
  static Gradients backward(const Saved& s, const Gradients& g, IntArrayRef kernel_size, IntArrayRef stride,
                            IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
    const Tensor grad = max_pool2d_backward(
        with_height(g[0], kSpatial), with_height(s.result(1), kSpatial),
        sizes_with_height(s.sizes(0), kSpatial), window_with_height(kernel_size, kSpatial, 1),
        window_with_height(stride, kSpatial, 1), window_with_height(padding, kSpatial, 0),
        window_with_height(dilation, kSpatial, 1), ceil_mode, s.dtype(0));
    return {kSpatial == 1 ? squeeze(grad, -2) : grad};
  }
};

}  // namespace

struct MaxPool1d : MaxPool<MaxPool1d, 1, false> {
  static constexpr Schema schema{"max_pool1d",
                                 {"self", "kernel_size", "stride", "padding", "dilation", "ceil_mode"},
                                 "maxima of sliding windows over (N, C, L)"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef,
                                 bool) = &halftone::max_pool1d;
  static void samples(Samples& s) {
    s(s.distinct({2, 2, 5}), Sizes{2}, Sizes{}, Sizes{0}, Sizes{1}, false);
    s(s.distinct({2, 8}), Sizes{3}, Sizes{2}, Sizes{1}, Sizes{2}, true);
    s(s.rand({0, 2, 5}), Sizes{2}, Sizes{}, Sizes{0}, Sizes{1}, false);
  }
};
HALFTONE_REGISTER_OPERATOR(MaxPool1d)

struct MaxPool1dWithIndices : MaxPool<MaxPool1dWithIndices, 1, true> {
  static constexpr Schema schema{"max_pool1d_with_indices",
                                 {"self", "kernel_size", "stride", "padding", "dilation", "ceil_mode"},
                                 "maxima of sliding windows over (N, C, L), and where each stood"};
  static constexpr std::tuple<Tensor, Tensor> (*api)(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef,
                                                     IntArrayRef, bool) = &halftone::max_pool1d_with_indices;
  static void samples(Samples& s) { MaxPool1d::samples(s); }
};
HALFTONE_REGISTER_OPERATOR(MaxPool1dWithIndices)

struct MaxPool2d : MaxPool<MaxPool2d, 2, false> {
  static constexpr Schema schema{"max_pool2d",
                                 {"self", "kernel_size", "stride", "padding", "dilation", "ceil_mode"},
                                 "maxima of sliding windows over (N, C, H, W)"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef,
                                 bool) = &halftone::max_pool2d;
  static void samples(Samples& s) {
    s(s.distinct({2, 1, 4, 5}), Sizes{2}, Sizes{}, Sizes{0}, Sizes{1}, false);
    s(s.distinct({2, 5, 5}), Sizes{3, 2}, Sizes{1, 2}, Sizes{1, 0}, Sizes{1, 2}, true);
    s(s.distinct({1, 1, 4, 4}), Sizes{3}, Sizes{1}, Sizes{1}, Sizes{1}, false);
    s(s.rand({0, 1, 4, 4}), Sizes{2}, Sizes{}, Sizes{0}, Sizes{1}, false);
  }
};
HALFTONE_REGISTER_OPERATOR(MaxPool2d)

struct MaxPool2dWithIndices : MaxPool<MaxPool2dWithIndices, 2, true> {
  static constexpr Schema schema{
      "max_pool2d_with_indices",
      {"self", "kernel_size", "stride", "padding", "dilation", "ceil_mode"},
      "maxima of sliding windows over (N, C, H, W), and where in its plane each stood"};
  static constexpr std::tuple<Tensor, Tensor> (*api)(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef,
                                                     IntArrayRef, bool) = &halftone::max_pool2d_with_indices;
  static void samples(Samples& s) { MaxPool2d::samples(s); }
};
HALFTONE_REGISTER_OPERATOR(MaxPool2dWithIndices)

}  // namespace ops

std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& self, IntArrayRef kernel_size,
                                                   IntArrayRef stride, IntArrayRef padding,
                                                   IntArrayRef dilation, bool ceil_mode) {
  auto result =
      ops::dispatch<ops::MaxPool1dWithIndices>(self, kernel_size, stride, padding, dilation, ceil_mode);
  return {std::move(result[0]), std::move(result[1])};
}

std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& self, IntArrayRef kernel_size,
                                                   IntArrayRef stride, IntArrayRef padding,
                                                   IntArrayRef dilation, bool ceil_mode) {
  auto result =
      ops::dispatch<ops::MaxPool2dWithIndices>(self, kernel_size, stride, padding, dilation, ceil_mode);
  return {std::move(result[0]), std::move(result[1])};
}

Tensor max_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  return ops::dispatch<ops::MaxPool1d>(self, kernel_size, stride, padding, dilation, ceil_mode)[0];
}

Tensor max_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  return ops::dispatch<ops::MaxPool2d>(self, kernel_size, stride, padding, dilation, ceil_mode)[0];
}

Tensor max_pool2d_backward(const Tensor& grad, const Tensor& indices, IntArrayRef input_size,
                           IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                           IntArrayRef dilation, bool ceil_mode, ScalarType dtype) {
  return ops::dispatch<ops::MaxPool2dBackward>(grad, indices, input_size, kernel_size, stride, padding,
                                               dilation, ceil_mode, dtype);
}

}  // namespace halftone
