// Transposed convolutions: the map that is a convolution's gradient for its input, and the convolution its
// gradient.

#include "halftone/engine/nn_functions.h"
#include "halftone/kernels/conv.h"
#include "halftone/kernels/kernels.h"
#include "halftone/ops/check_defined.h"
#include "halftone/ops/pointwise.h"

namespace halftone {
namespace ops {
namespace {

/// Larger strides, paddings and dilations are refused: sizes stay far from overflow.
constexpr std::int64_t kLargestStep = std::int64_t{1} << 30;

struct Pair {
  std::int64_t h, w;
};

/// One number for all dimensions, or one each; `height` is for one-dimensional calls.
Pair pair_of(const char* op, const char* name, IntArrayRef values, int spatial, std::int64_t least,
             std::int64_t height) {
  if (values.size() != 1 && values.size() != static_cast<std::size_t>(spatial)) {
    fail(op, "expected ", name, " of ", spatial == 1 ? "one number" : "one or two numbers", ", got ", values);
  }
  for (const std::int64_t value : values) {
    if (value < least || value > kLargestStep)
      fail(op, "expected ", name, " of ", least, " or more, got ", values);
  }
  return spatial == 1 ? Pair{height, values[0]} : Pair{values[0], values.back()};
}

struct Geometry {
  Pair stride, padding, output_padding, dilation;
  std::int64_t groups;

  Dims strides() const { return {stride.h, stride.w}; }
  Dims paddings() const { return {padding.h, padding.w}; }
  Dims dilations() const { return {dilation.h, dilation.w}; }
};

Geometry geometry_of(const char* op, int spatial, IntArrayRef stride, IntArrayRef padding,
                     IntArrayRef output_padding, std::int64_t groups, IntArrayRef dilation) {
  Geometry g{pair_of(op, "a stride", stride, spatial, 1, 1), pair_of(op, "a padding", padding, spatial, 0, 0),
             pair_of(op, "an output_padding", output_padding, spatial, 0, 0),
             pair_of(op, "a dilation", dilation, spatial, 1, 1), groups};
  const auto fits = [](std::int64_t extra, std::int64_t s, std::int64_t d) { return extra < s || extra < d; };
  if (!fits(g.output_padding.h, g.stride.h, g.dilation.h) ||
      !fits(g.output_padding.w, g.stride.w, g.dilation.w)) {
    fail(op, "output_padding ", output_padding, " must be smaller than the stride ", stride,
         " or the dilation ", dilation);
  }
  return g;
}

std::int64_t extent(std::int64_t size, std::int64_t k, std::int64_t stride, std::int64_t padding,
                    std::int64_t extra, std::int64_t dilation) {
  return (size - 1) * stride - 2 * padding + dilation * (k - 1) + extra + 1;
}

/// (N, C, H, W) of the result, from the sizes of an input (N, C, H, W) and a weight (C, O / groups, kh, kw).
Dims result_sizes(IntArrayRef x, IntArrayRef w, const Geometry& g) {
  return {x[0], w[1] * g.groups,
          extent(x[2], w[2], g.stride.h, g.padding.h, g.output_padding.h, g.dilation.h),
          extent(x[3], w[3], g.stride.w, g.padding.w, g.output_padding.w, g.dilation.w)};
}

/// The same sizes as (N, C, H, W).
Dims planar(IntArrayRef sizes, int spatial, bool batched) {
  Dims all = sizes.dims();
  if (!batched) all.insert(0, 1);
  if (spatial == 1) all.insert(2, 1);
  return all;
}

void check_operands(const char* op, int spatial, const Tensor& x, const Tensor& w, const Tensor& bias,
                    std::int64_t groups) {
  check_defined(op, "input", x);
  check_defined(op, "weight", w);
  const char* const layout = spatial == 1 ? "L" : "H, W";
  if (x.dim() != spatial + 2 && x.dim() != spatial + 1) {
    fail(op, "expected an input (N, C, ", layout, ") or (C, ", layout, "), got ", x);
  }
  if (w.dim() != spatial + 2) {
    fail(op, "expected a weight (C, out channels / groups, ", spatial == 1 ? "k" : "kh, kw", "), got ", w);
  }
  const std::int64_t channels = x.size(x.dim() - spatial - 1);
  if (groups < 1 || w.size(0) % groups != 0) {
    fail(op, "groups must divide the channels in (", w.size(0), "), got ", groups);
  }
  if (w.size(0) != channels) {
    fail(op, "the input ", x, " has ", channels, " channels, the weight ", w, " takes ", w.size(0));
  }
  if (bias.defined() && !(bias.sizes() == IntArrayRef({w.size(1) * groups}))) {
    fail(op, "expected a bias (", w.size(1) * groups, "), got ", bias);
  }
  for (const Tensor* t : {&x, &w, &bias}) {
    if (!t->defined()) continue;
    if (!t->is_floating_point()) fail(op, "expected floating tensors, got ", *t);
    if (t->scalar_type() != x.scalar_type()) {
      fail(op, "expected one dtype, got ", x, " and ", *t,
           "; convert one of them, or use an autocast region");
    }
    if (t->device() != x.device()) fail(op, "expected one device, got ", x.device(), " and ", t->device());
  }
}

/// The convolution whose gradient this is: from the result to the input.
ConvShape shape_of(IntArrayRef result, IntArrayRef x, IntArrayRef w, const Geometry& g) {
  ConvShape s;
  s.n = result[0], s.c = result[1], s.h = result[2], s.w = result[3];
  s.oc = x[1], s.kh = w[2], s.kw = w[3];
  s.stride_h = g.stride.h, s.stride_w = g.stride.w;
  s.pad_h = g.padding.h, s.pad_w = g.padding.w;
  s.dil_h = g.dilation.h, s.dil_w = g.dilation.w;
  s.groups = g.groups;
  return s;
}

/// What conv_transpose1d and conv_transpose2d share; `Op` declares the schema.
template <class Op, int kSpatial>
struct TransposedConvolution : Operator {
  static constexpr auto precision = amp::Precision::kLow;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {0});

  static bool is_batched(const Tensor& x) { return x.dim() == kSpatial + 2; }
  static Geometry geometry(IntArrayRef stride, IntArrayRef padding, IntArrayRef output_padding,
                           std::int64_t groups, IntArrayRef dilation) {
    return geometry_of(Op::schema.name, kSpatial, stride, padding, output_padding, groups, dilation);
  }
  static Meta infer(const Tensor& x, const Tensor& w, const Tensor& bias, IntArrayRef stride,
                    IntArrayRef padding, IntArrayRef output_padding, std::int64_t groups,
                    IntArrayRef dilation) {
    const char* const op = Op::schema.name;
    check_operands(op, kSpatial, x, w, bias, groups);
    const Geometry g = geometry(stride, padding, output_padding, groups, dilation);
    const Dims result =
        result_sizes(planar(x.sizes(), kSpatial, is_batched(x)), planar(w.sizes(), kSpatial, true), g);
    if (result[2] < 1 || result[3] < 1 || w.numel() == 0 || x.size(-1) == 0 || x.size(1) == 0) {
      fail(op, "an input ", x, " with a weight ", w, ", stride ", stride, " and padding ", padding,
           " gives no output");
    }
    Dims sizes;
    if (is_batched(x)) sizes.push_back(result[0]);
    sizes.push_back(result[1]);
    if (kSpatial == 2) sizes.push_back(result[2]);
    sizes.push_back(result[3]);
    return like(x, sizes);
  }
  static void run(const Tensor& out, const Tensor& x, const Tensor& w, const Tensor& bias, IntArrayRef stride,
                  IntArrayRef padding, IntArrayRef output_padding, std::int64_t groups,
                  IntArrayRef dilation) {
    const NoGradGuard no_grad;
    const Geometry g = geometry(stride, padding, output_padding, groups, dilation);
    const Dims xs = planar(x.sizes(), kSpatial, is_batched(x)), ws = planar(w.sizes(), kSpatial, true);
    const Dims result = result_sizes(xs, ws, g);
    // With a bias the sums stay wide until it is added.
    const Tensor sums =
        bias.defined() ? allocate(like(out, result, accumulate_type(out.scalar_type()))) : view(out, result);
    const ConvShape shape = shape_of(result, xs, ws, g);
    kernels_for<ConvKernels>(out.device())
        .grad_input(sums, zero_extended(reshape(x, xs), shape.oh(), shape.ow()).contiguous(),
                    reshape(w, ws).contiguous(), shape);
    if (!bias.defined()) return;
    const Tensor per_channel = reshape(bias, {1, result[1], 1, 1});
    pointwise(Fn::kAdd, view(out, result), {&sums, &per_channel}, {{1}});
  }
  static Gradients backward(const Saved& s, const Tensor& grad, IntArrayRef stride, IntArrayRef padding,
                            IntArrayRef output_padding, std::int64_t groups, IntArrayRef dilation) {
    const Geometry g = geometry(stride, padding, output_padding, groups, dilation);
    const bool batched = s.sizes(0).size() == kSpatial + 2;
    const Tensor images = reshape(grad, planar(grad.sizes(), kSpatial, batched));
    const Dims xs = planar(s.sizes(0), kSpatial, batched), ws = planar(s.sizes(1), kSpatial, true);
    Gradients grads(3, Tensor());
    if (s.needs(0)) {
      const Tensor filters = reshape(s.input(1), ws);
      const ScalarType dtype = promote_types(images.scalar_type(), filters.scalar_type());
      const Tensor all = conv2d(to_dtype(images, dtype), to_dtype(filters, dtype), {}, g.strides(),
                                g.paddings(), g.dilations(), groups);
      // An output_padding of a whole stride makes the convolution reach further.
      grads[0] = reshape(narrow(narrow(all, 2, 0, xs[2]), 3, 0, xs[3]), s.sizes(0));
    }
    if (s.needs(1)) {
      const ConvShape shape = shape_of(images.sizes(), xs, ws, g);
      const Tensor x = zero_extended(reshape(s.input(0), xs), shape.oh(), shape.ow());
      grads[1] = reshape(
          conv2d_backward_weight(x, images, ws, g.strides(), g.paddings(), g.dilations(), groups, s.dtype(1)),
          s.sizes(1));
    }
    if (s.needs(2)) grads[2] = sum(images, {0, 2, 3}, false, s.dtype(2));
    return grads;
  }

 private:
  /// (N, C, H, W) with zeros after it up to the given height and width.
  static Tensor zero_extended(const Tensor& x, std::int64_t h, std::int64_t w) {
    if (x.size(2) == h && x.size(3) == w) return x;
    return slice_backward(slice_backward(x, {x.size(0), x.size(1), x.size(2), w}, 3, 0, x.size(3), 1),
                          {x.size(0), x.size(1), h, w}, 2, 0, x.size(2), 1);
  }
};

using Sizes = std::vector<std::int64_t>;

}  // namespace

struct ConvTranspose1d : TransposedConvolution<ConvTranspose1d, 1> {
  static constexpr Schema schema{
      "conv_transpose1d",
      {"input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation"},
      "transposed convolution of (N, C, L) with (C, O / groups, k), plus bias (O)"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, IntArrayRef, IntArrayRef,
                                 IntArrayRef, std::int64_t, IntArrayRef) = &halftone::conv_transpose1d;

  static void samples(Samples& s) {
    s(s.rand({2, 2, 4}), s.rand({2, 3, 3}), s.rand({3}), Sizes{1}, Sizes{0}, Sizes{0}, 1, Sizes{1});
    s(s.rand({2, 3}), s.rand({2, 1, 2}), std::nullopt, Sizes{2}, Sizes{1}, Sizes{1}, 2, Sizes{2});
    s(s.rand({0, 2, 4}), s.rand({2, 3, 3}), s.rand({3}), Sizes{1}, Sizes{0}, Sizes{0}, 1, Sizes{1});
  }
};
HALFTONE_REGISTER_OPERATOR(ConvTranspose1d)

struct ConvTranspose2d : TransposedConvolution<ConvTranspose2d, 2> {
  static constexpr Schema schema{
      "conv_transpose2d",
      {"input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation"},
      "transposed convolution of (N, C, H, W) with (C, O / groups, kh, kw), plus bias (O)"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, IntArrayRef, IntArrayRef,
                                 IntArrayRef, std::int64_t, IntArrayRef) = &halftone::conv_transpose2d;

  static void samples(Samples& s) {
    s(s.rand({2, 1, 3, 2}), s.rand({1, 2, 2, 2}), s.rand({2}), Sizes{1}, Sizes{0}, Sizes{0}, 1, Sizes{1});
    s(s.rand({1, 2, 2, 3}), s.rand({2, 1, 2, 3}), s.rand({2}), Sizes{2, 1}, Sizes{1, 2}, Sizes{1, 0}, 2,
      Sizes{1, 2});
    s(s.rand({2, 2, 2}), s.rand({2, 1, 3, 1}), std::nullopt, Sizes{3, 2}, Sizes{1, 0}, Sizes{2, 1}, 1,
      Sizes{1});
    s(s.rand({1, 1, 2, 2}), s.rand({1, 1, 2, 2}), std::nullopt, Sizes{1}, Sizes{0}, Sizes{2, 1}, 1, Sizes{3});
    s(s.rand({0, 1, 3, 3}), s.rand({1, 2, 2, 2}), s.rand({2}), Sizes{1}, Sizes{0}, Sizes{0}, 1, Sizes{1});
  }
};
HALFTONE_REGISTER_OPERATOR(ConvTranspose2d)

}  // namespace ops

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                        IntArrayRef padding, IntArrayRef output_padding, std::int64_t groups,
                        IntArrayRef dilation) {
  return ops::dispatch<ops::ConvTranspose1d>(input, weight, bias, stride, padding, output_padding, groups,
                                             dilation);
}

Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                        IntArrayRef padding, IntArrayRef output_padding, std::int64_t groups,
                        IntArrayRef dilation) {
  return ops::dispatch<ops::ConvTranspose2d>(input, weight, bias, stride, padding, output_padding, groups,
                                             dilation);
}

}  // namespace halftone
