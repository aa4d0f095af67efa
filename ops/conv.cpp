// Convolutions over one or two dimensions. The gradients are convolutions too: each of the three operators is
// linear in two tensors, and the rules of every one are the other two.

#include "halftone/kernels/conv.h"

#include "halftone/kernels/kernels.h"
#include "halftone/ops/operator.h"

namespace halftone {
namespace ops {
namespace {

/// Larger strides, paddings and dilations are refused: sizes stay far from overflow.
constexpr std::int64_t kLargestStep = std::int64_t{1} << 30;

/// One number for all dimensions, or one each.
std::array<std::int64_t, 2> steps(const char* op, const char* name, IntArrayRef values, int spatial,
                                  std::int64_t least) {
  if (values.size() != 1 && values.size() != static_cast<std::size_t>(spatial)) {
    fail(op, "expected ", name, " of ", spatial == 1 ? "one number" : "one or two numbers", ", got ", values);
  }
  for (const std::int64_t value : values) {
    if (value < least || value > kLargestStep)
      fail(op, "expected ", name, " of ", least, " or more, got ", values);
  }
  if (spatial == 1) return {least, values[0]};
  return {values[0], values.back()};
}

/// The geometry of a call, from sizes of (N, C, H, W) without N or H where the operator has none.
ConvShape conv_shape(const char* op, int spatial, IntArrayRef input, IntArrayRef weight, IntArrayRef stride,
                     IntArrayRef padding, IntArrayRef dilation, std::int64_t groups) {
  const auto rank = static_cast<std::size_t>(spatial) + 2;
  const char* const layout = spatial == 1 ? "L" : "H, W";
  if (input.size() != rank && input.size() != rank - 1) {
    fail(op, "expected an input (N, C, ", layout, ") or (C, ", layout, "), got ", input);
  }
  if (weight.size() != rank) {
    fail(op, "expected a weight (out channels, C / groups, ", spatial == 1 ? "k" : "kh, kw", "), got ",
         weight);
  }
  const auto strides = steps(op, "a stride", stride, spatial, 1);
  const auto paddings = steps(op, "a padding", padding, spatial, 0);
  const auto dilations = steps(op, "a dilation", dilation, spatial, 1);

  const std::size_t batched = input.size() == rank ? 1 : 0;
  ConvShape s;
  s.n = batched ? input[0] : 1;
  s.c = input[batched];
  s.h = spatial == 2 ? input[batched + 1] : 1;
  s.w = input.back();
  s.oc = weight[0];
  s.kh = spatial == 2 ? weight[2] : 1;
  s.kw = weight.back();
  s.stride_h = strides[0], s.stride_w = strides[1];
  s.pad_h = paddings[0], s.pad_w = paddings[1];
  s.dil_h = dilations[0], s.dil_w = dilations[1];
  s.groups = groups;
  if (groups < 1 || s.c % groups != 0 || s.oc % groups != 0) {
    fail(op, "groups must divide the channels in (", s.c, ") and out (", s.oc, "), got ", groups);
  }
  if (weight[1] != s.c / groups) {
    fail(op, "the input ", input, " has ", s.c, " channels in ", groups, groups == 1 ? " group" : " groups",
         ", the weight ", weight, " takes ", weight[1], " per group");
  }
  if (s.kh < 1 || s.kw < 1 || s.kh > kLargestStep / s.dil_h || s.kw > kLargestStep / s.dil_w) {
    fail(op, "the kernel of the weight ", weight, " is empty or too large");
  }
  if (s.oh() < 1 || s.ow() < 1) {
    fail(op, "the kernel of the weight ", weight, " with dilation ", dilation, " is larger than the input ",
         input, " padded by ", padding);
  }
  return s;
}

void check_same_dtype(const char* op, std::initializer_list<const Tensor*> tensors) {
  const Tensor& first = **tensors.begin();
  for (const Tensor* t : tensors) {
    if (!t->defined()) continue;
    if (!t->is_floating_point()) fail(op, "expected floating tensors, got ", *t);
    if (t->scalar_type() != first.scalar_type()) {
      fail(op, "expected one dtype, got ", first, " and ", *t,
           "; convert one of them, or use an autocast region");
    }
    if (t->device() != first.device())
      fail(op, "expected one device, got ", first.device(), " and ", t->device());
  }
}

Dims output_sizes(const ConvShape& s, int spatial, bool batched) {
  Dims sizes;
  if (batched) sizes.push_back(s.n);
  sizes.push_back(s.oc);
  if (spatial == 2) sizes.push_back(s.oh());
  sizes.push_back(s.ow());
  return sizes;
}

/// The same tensor as (N, C, H, W).
Tensor as_images(const Tensor& x, int spatial) {
  const Tensor planar = spatial == 1 ? unsqueeze(x, -2) : x;
  return planar.dim() == 3 ? unsqueeze(planar, 0) : planar;
}
Tensor as_filters(const Tensor& w, int spatial) { return spatial == 1 ? unsqueeze(w, 2) : w; }

Dims with_height(IntArrayRef values, int spatial, std::int64_t height) {
  Dims all = values.dims();
  if (spatial == 1) all.insert(0, height);
  return all;
}

const ConvKernels& kernels(const Tensor& x) { return kernels_for<ConvKernels>(x.device()); }

/// For rules that meet two dtypes: the convolution in the wider one.
Tensor conv2d_promoted(const Tensor& input, const Tensor& weight, IntArrayRef stride, IntArrayRef padding,
                       IntArrayRef dilation, std::int64_t groups) {
  const ScalarType dtype = promote_types(input.scalar_type(), weight.scalar_type());
  return conv2d(to_dtype(input, dtype), to_dtype(weight, dtype), {}, stride, padding, dilation, groups);
}

Meta gradient_meta(const char* op, const ConvShape& s, const Tensor& grad, const Tensor& other,
                   IntArrayRef sizes, ScalarType dtype) {
  if (!(grad.sizes() == IntArrayRef({s.n, s.oc, s.oh(), s.ow()}))) {
    fail(op, "expected a gradient (", s.n, ", ", s.oc, ", ", s.oh(), ", ", s.ow(), "), got ", grad);
  }
  if (!grad.is_floating_point() || !other.is_floating_point() || !is_floating_point(dtype)) {
    fail(op, "expected floating tensors, got ", grad, " and ", other, " for a gradient in ", dtype);
  }
  Meta meta = like(grad, sizes, dtype);
  meta.explicit_dtype = true;
  return meta;
}

using Sizes = std::vector<std::int64_t>;

}  // namespace

struct Conv2dBackwardInput : Operator {
  static constexpr Schema schema{
      "conv2d_backward_input",
      {"grad", "weight", "input_size", "stride", "padding", "dilation", "groups", "dtype"},
      "gradient of conv2d with respect to its input (N, C, H, W), in dtype: the transposed convolution"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef,
                                 IntArrayRef, std::int64_t, ScalarType) = &halftone::conv2d_backward_input;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {0});

  static ConvShape shape(const Tensor& weight, IntArrayRef input_size, IntArrayRef stride,
                         IntArrayRef padding, IntArrayRef dilation, std::int64_t groups) {
    if (input_size.size() != 4) fail(schema.name, "expected an input_size (N, C, H, W), got ", input_size);
    return conv_shape(schema.name, 2, input_size, weight.sizes(), stride, padding, dilation, groups);
  }
  static Meta infer(const Tensor& grad, const Tensor& weight, IntArrayRef input_size, IntArrayRef stride,
                    IntArrayRef padding, IntArrayRef dilation, std::int64_t groups, ScalarType dtype) {
    return gradient_meta(schema.name, shape(weight, input_size, stride, padding, dilation, groups), grad,
                         weight, input_size, dtype);
  }
  static void run(const Tensor& out, const Tensor& grad, const Tensor& weight, IntArrayRef input_size,
                  IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, std::int64_t groups,
                  ScalarType) {
    const NoGradGuard no_grad;
    kernels(out).grad_input(out, grad.contiguous(), weight.contiguous(),
                            shape(weight, input_size, stride, padding, dilation, groups));
  }
  static Gradients backward(const Saved& s, const Tensor& v, IntArrayRef, IntArrayRef stride,
                            IntArrayRef padding, IntArrayRef dilation, std::int64_t groups, ScalarType) {
    Gradients grads(2, Tensor());
    if (s.needs(0)) grads[0] = conv2d_promoted(v, s.input(1), stride, padding, dilation, groups);
    if (s.needs(1)) {
      grads[1] =
          conv2d_backward_weight(s.input(0), v, s.sizes(1), stride, padding, dilation, groups, s.dtype(1));
    }
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({2, 2, 2, 2}), s.rand({2, 1, 2, 2}), Sizes{2, 1, 3, 3}, Sizes{1}, Sizes{0}, Sizes{1}, 1,
      kDouble);
    s(s.rand({1, 2, 2, 3}), s.rand({2, 1, 2, 1}), Sizes{1, 2, 3, 3}, Sizes{2, 1}, Sizes{1, 0}, Sizes{2, 1}, 2,
      kDouble);
    s(s.rand({0, 2, 2, 2}), s.rand({2, 1, 2, 2}), Sizes{0, 1, 3, 3}, Sizes{1}, Sizes{0}, Sizes{1}, 1,
      kDouble);
    s(s.rand({1, 1, 2, 2}), s.rand({1, 1, 1, 1}), Sizes{1, 1, 2, 2}, Sizes{1}, Sizes{0}, Sizes{1}, 1, kFloat)
        .smooth = false;  // rounds to float32
  }
};
HALFTONE_REGISTER_OPERATOR(Conv2dBackwardInput)

struct Conv2dBackwardWeight : Operator {
  static constexpr Schema schema{
      "conv2d_backward_weight",
      {"grad", "input", "weight_size", "stride", "padding", "dilation", "groups", "dtype"},
      "gradient of conv2d with respect to its weight, in dtype"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef,
                                 IntArrayRef, std::int64_t, ScalarType) = &halftone::conv2d_backward_weight;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {0});

  static ConvShape shape(const Tensor& input, IntArrayRef weight_size, IntArrayRef stride,
                         IntArrayRef padding, IntArrayRef dilation, std::int64_t groups) {
    if (input.dim() != 4) fail(schema.name, "expected an input (N, C, H, W), got ", input);
    return conv_shape(schema.name, 2, input.sizes(), weight_size, stride, padding, dilation, groups);
  }
  static Meta infer(const Tensor& grad, const Tensor& input, IntArrayRef weight_size, IntArrayRef stride,
                    IntArrayRef padding, IntArrayRef dilation, std::int64_t groups, ScalarType dtype) {
    return gradient_meta(schema.name, shape(input, weight_size, stride, padding, dilation, groups), grad,
                         input, weight_size, dtype);
  }
  static void run(const Tensor& out, const Tensor& grad, const Tensor& input, IntArrayRef weight_size,
                  IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, std::int64_t groups,
                  ScalarType) {
    const NoGradGuard no_grad;
    kernels(out).grad_weight(out, grad.contiguous(), input.contiguous(),
                             shape(input, weight_size, stride, padding, dilation, groups));
  }
  static Gradients backward(const Saved& s, const Tensor& v, IntArrayRef, IntArrayRef stride,
                            IntArrayRef padding, IntArrayRef dilation, std::int64_t groups, ScalarType) {
    Gradients grads(2, Tensor());
    if (s.needs(0)) grads[0] = conv2d_promoted(s.input(1), v, stride, padding, dilation, groups);
    if (s.needs(1)) {
      grads[1] =
          conv2d_backward_input(s.input(0), v, s.sizes(1), stride, padding, dilation, groups, s.dtype(1));
    }
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({2, 2, 2, 2}), s.rand({2, 1, 3, 3}), Sizes{2, 1, 2, 2}, Sizes{1}, Sizes{0}, Sizes{1}, 1,
      kDouble);
    s(s.rand({1, 2, 2, 3}), s.rand({1, 2, 3, 3}), Sizes{2, 1, 2, 1}, Sizes{2, 1}, Sizes{1, 0}, Sizes{2, 1}, 2,
      kDouble);
    s(s.rand({0, 2, 2, 2}), s.rand({0, 1, 3, 3}), Sizes{2, 1, 2, 2}, Sizes{1}, Sizes{0}, Sizes{1}, 1,
      kDouble);
    s(s.rand({1, 1, 2, 2}), s.rand({1, 1, 2, 2}), Sizes{1, 1, 1, 1}, Sizes{1}, Sizes{0}, Sizes{1}, 1, kFloat)
        .smooth = false;  // rounds to float32
  }
};
HALFTONE_REGISTER_OPERATOR(Conv2dBackwardWeight)

namespace {

/// What conv1d and conv2d share; `Op` declares the schema and how many dimensions the kernel slides along.
template <class Op, int kSpatial>
struct Convolution : Operator {
  static constexpr auto precision = amp::Precision::kLow;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {0});

  static Meta infer(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                    IntArrayRef padding, IntArrayRef dilation, std::int64_t groups) {
    const char* const op = Op::schema.name;
    if (!input.defined() || !weight.defined())
      fail(op, "expected an input and a weight, got an undefined tensor");
    const ConvShape s =
        conv_shape(op, kSpatial, input.sizes(), weight.sizes(), stride, padding, dilation, groups);
    check_same_dtype(op, {&input, &weight, &bias});
    if (bias.defined() && !(bias.sizes() == IntArrayRef({s.oc}))) {
      fail(op, "expected a bias (", s.oc, "), got ", bias);
    }
    return like(input, output_sizes(s, kSpatial, input.dim() == kSpatial + 2));
  }
  static void run(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
                  IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, std::int64_t groups) {
    const NoGradGuard no_grad;
    kernels(out).forward(out, input.contiguous(), weight.contiguous(),
                         bias.defined() ? bias.contiguous() : bias,
                         conv_shape(Op::schema.name, kSpatial, input.sizes(), weight.sizes(), stride, padding,
                                    dilation, groups));
  }
  static Gradients backward(const Saved& s, const Tensor& g, IntArrayRef stride, IntArrayRef padding,
                            IntArrayRef dilation, std::int64_t groups) {
    const Dims strides = with_height(stride, kSpatial, 1), paddings = with_height(padding, kSpatial, 0),
               dilations = with_height(dilation, kSpatial, 1);
    Gradients grads(3, Tensor());
    const Tensor images = as_images(g, kSpatial);
    const auto planar = [](Dims sizes, std::size_t height_at) {
      if (kSpatial == 1) sizes.insert(height_at, 1);
      return sizes;
    };
    if (s.needs(0)) {
      Dims sizes = planar(s.sizes(0), s.sizes(0).size() - 1);
      if (sizes.size() == 3) sizes.insert(0, 1);
      grads[0] = view(conv2d_backward_input(images, as_filters(s.input(1), kSpatial), sizes, strides,
                                            paddings, dilations, groups, s.dtype(0)),
                      s.sizes(0));
    }
    if (s.needs(1)) {
      grads[1] = view(conv2d_backward_weight(images, as_images(s.input(0), kSpatial), planar(s.sizes(1), 2),
                                             strides, paddings, dilations, groups, s.dtype(1)),
                      s.sizes(1));
    }
    if (s.needs(2)) grads[2] = sum(images, {0, 2, 3}, false, s.dtype(2));
    return grads;
  }
};

}  // namespace

struct Conv1d : Convolution<Conv1d, 1> {
  static constexpr Schema schema{"conv1d",
                                 {"input", "weight", "bias", "stride", "padding", "dilation", "groups"},
                                 "cross-correlation of (N, C, L) with (O, C / groups, k), plus bias (O)"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, IntArrayRef, IntArrayRef,
                                 IntArrayRef, std::int64_t) = &halftone::conv1d;

  static void samples(Samples& s) {
    s(s.rand({2, 2, 5}), s.rand({3, 2, 3}), s.rand({3}), Sizes{1}, Sizes{0}, Sizes{1}, 1);
    s(s.rand({2, 6}), s.rand({2, 1, 2}), std::nullopt, Sizes{2}, Sizes{1}, Sizes{2}, 2);
    s(s.rand({0, 2, 5}), s.rand({3, 2, 3}), s.rand({3}), Sizes{1}, Sizes{0}, Sizes{1}, 1);
  }
};
HALFTONE_REGISTER_OPERATOR(Conv1d)

struct Conv2d : Convolution<Conv2d, 2> {
  static constexpr Schema schema{
      "conv2d",
      {"input", "weight", "bias", "stride", "padding", "dilation", "groups"},
      "cross-correlation of (N, C, H, W) with (O, C / groups, kh, kw), plus bias (O)"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, IntArrayRef, IntArrayRef,
                                 IntArrayRef, std::int64_t) = &halftone::conv2d;

  static void samples(Samples& s) {
    s(s.rand({2, 1, 4, 3}), s.rand({2, 1, 2, 2}), s.rand({2}), Sizes{1}, Sizes{0}, Sizes{1}, 1);
    s(s.rand({1, 2, 4, 4}), s.rand({2, 1, 2, 3}), s.rand({2}), Sizes{2, 1}, Sizes{1, 2}, Sizes{2, 1}, 2);
    s(s.rand({2, 3, 3}), s.rand({1, 2, 3, 3}), std::nullopt, Sizes{1}, Sizes{1}, Sizes{1}, 1);
    s(s.rand({0, 1, 3, 3}), s.rand({2, 1, 2, 2}), s.rand({2}), Sizes{1}, Sizes{0}, Sizes{1}, 1);
  }
};
HALFTONE_REGISTER_OPERATOR(Conv2d)

}  // namespace ops

Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
              IntArrayRef padding, IntArrayRef dilation, std::int64_t groups) {
  return ops::dispatch<ops::Conv1d>(input, weight, bias, stride, padding, dilation, groups);
}

Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
              IntArrayRef padding, IntArrayRef dilation, std::int64_t groups) {
  return ops::dispatch<ops::Conv2d>(input, weight, bias, stride, padding, dilation, groups);
}

Tensor conv2d_backward_input(const Tensor& grad, const Tensor& weight, IntArrayRef input_size,
                             IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                             std::int64_t groups, ScalarType dtype) {
  return ops::dispatch<ops::Conv2dBackwardInput>(grad, weight, input_size, stride, padding, dilation, groups,
                                                 dtype);
}

Tensor conv2d_backward_weight(const Tensor& grad, const Tensor& input, IntArrayRef weight_size,
                              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                              std::int64_t groups, ScalarType dtype) {
  return ops::dispatch<ops::Conv2dBackwardWeight>(grad, input, weight_size, stride, padding, dilation, groups,
                                                  dtype);
}

}  // namespace halftone
