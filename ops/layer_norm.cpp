// Normalisation over the last dimensions: layer_norm and rms_norm. Rows are read in their own dtype; what is
// kept for backward is the input itself and one or two numbers per row.

#include "halftone/ops/norm_rule.h"

namespace halftone {
namespace ops {
namespace {

const NormKernels& kernels(const Tensor& x) { return kernels_for<NormKernels>(x.device()); }

using Sizes = std::vector<std::int64_t>;

void check_normalized_shape(const char* op, const Tensor& input, IntArrayRef normalized_shape) {
  const std::size_t rank = input.sizes().size(), n = normalized_shape.size();
  const bool fits =
      n > 0 && n <= rank && IntArrayRef(input.sizes().data() + (rank - n), n) == normalized_shape;
  if (!fits) fail(op, "expected an input (..., *", normalized_shape, "), got ", input);
}

NormShape row_shape(const Tensor& input, IntArrayRef normalized_shape, double eps, bool centered) {
  NormShape s;
  s.length = count_elements(normalized_shape);
  s.rows = 1;
  for (std::size_t d = 0; d + normalized_shape.size() < input.sizes().size(); ++d) s.rows *= input.sizes()[d];
  s.row_step = s.length;
  s.eps = eps;
  s.centered = centered;
  return s;
}

/// The input's sizes with 1 where it is normalised.
Dims statistic_sizes(const Tensor& input, IntArrayRef normalized_shape) {
  Dims sizes = input.sizes().dims();
  std::fill(sizes.end() - normalized_shape.size(), sizes.end(), 1);
  return sizes;
}

Dims last_dims(std::size_t rank, std::size_t count) {
  Dims dims;
  for (std::size_t d = rank - count; d < rank; ++d) dims.push_back(static_cast<std::int64_t>(d));
  return dims;
}

/// Gradients of a backward operator's grad, input and weight.
NormDerivative second_order(const Saved& s, const Tensor& v, const Tensor& p, const Tensor& q,
                            std::size_t dims, double eps, bool centered) {
  const NormOperands operands{wide(s.input(0)),
                              wide(s.input(1)),
                              wide(s.input(2)),
                              wide(v),
                              wide(p),
                              wide(q),
                              last_dims(s.sizes(1).size(), dims)};
  return differentiate_norm_backward(operands, eps, centered);
}

double rms_eps(const Tensor& input, std::optional<double> eps) {
  return eps.value_or(2 * unit_roundoff(accumulate_type(input.scalar_type())));
}

}  // namespace

struct LayerNormBackward : Operator {
  static constexpr Schema schema{"layer_norm_backward",
                                 {"grad", "input", "normalized_shape", "weight", "mean", "rstd", "eps"},
                                 "gradients of layer_norm with respect to input, weight and bias"};
  static constexpr std::tuple<Tensor, Tensor, Tensor> (*api)(const Tensor&, const Tensor&, IntArrayRef,
                                                             const Tensor&, const Tensor&, const Tensor&,
                                                             double) = &halftone::layer_norm_backward;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | keep_input(2);

  static std::array<Meta, 3> infer(const Tensor& grad, const Tensor& input, IntArrayRef normalized_shape,
                                   const Tensor& weight, const Tensor& mean, const Tensor& rstd, double eps) {
    check_normalized_shape(schema.name, input, normalized_shape);
    check_norm_operands(schema.name, input, weight, {}, normalized_shape);
    check_norm_eps(schema.name, eps);
    const std::int64_t rows = row_shape(input, normalized_shape, eps, true).rows;
    if (mean.defined() != rstd.defined() ||
        (mean.defined() && (mean.numel() != rows || rstd.numel() != rows))) {
      fail(schema.name, "expected mean and rstd of ", rows, " rows each, or neither");
    }
    return norm_gradient_metas(schema.name, grad, input, weight);
  }
  static void run(const std::array<Tensor, 3>& out, const Tensor& grad, const Tensor& input,
                  IntArrayRef normalized_shape, const Tensor& weight, const Tensor& mean, const Tensor& rstd,
                  double eps) {
    const NoGradGuard no_grad;
    kernels(input).backward(
        out[0], wanted_gradient(out[1], weight), wanted_gradient(out[2], weight), grad.contiguous(),
        input.contiguous(), weight, mean.defined() ? mean.contiguous() : mean,
        rstd.defined() ? rstd.contiguous() : rstd, row_shape(input, normalized_shape, eps, true));
  }
  static Gradients backward(const Saved& s, const Gradients& g, IntArrayRef normalized_shape, double eps) {
    const bool affine = s.input(2).defined();
    const NormDerivative d = second_order(s, g[0], affine ? g[1] : Tensor(), affine ? g[2] : Tensor(),
                                          normalized_shape.size(), eps, true);
    return {d.g, d.x, d.w, Tensor(), Tensor()};
  }
  static void samples(Samples& s) {
    s(s.rand({3, 4}), s.rand({3, 4}), Sizes{4}, s.rand({4}), std::nullopt, std::nullopt, 1e-5);
    s(s.rand({2, 2, 3}), s.rand({2, 2, 3}), Sizes{2, 3}, std::nullopt, std::nullopt, std::nullopt, 0.1);
    s(s.rand({3, 4}), s.rand({3, 4}), Sizes{4}, s.rand({4}), s.rand({3, 1}), s.rand({3, 1}, 0.5, 2), 0.1)
        .smooth = false;  // statistics that are not the input's
    s(s.rand({0, 4}), s.rand({0, 4}), Sizes{4}, s.rand({4}), std::nullopt, std::nullopt, 1e-5);
  }
};
HALFTONE_REGISTER_OPERATOR(LayerNormBackward)

struct LayerNorm : Operator {
  static constexpr Schema schema{"layer_norm",
                                 {"input", "normalized_shape", "weight", "bias", "eps", "cudnn_enable"},
                                 "(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, const Tensor&, const Tensor&, double,
                                 bool) = &halftone::layer_norm;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves =
      keep_input(0, {0, 1}) | keep_input(1, {0, 1}) | keep_result(1) | keep_result(2);

  static std::array<Meta, 3> infer(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight,
                                   const Tensor& bias, double eps, bool) {
    check_normalized_shape(schema.name, input, normalized_shape);
    check_norm_operands(schema.name, input, weight, bias, normalized_shape);
    check_norm_eps(schema.name, eps);
    const Meta statistic = norm_statistic(input, statistic_sizes(input, normalized_shape));
    return {like(input), statistic, statistic};
  }
  static void run(const std::array<Tensor, 3>& out, const Tensor& input, IntArrayRef normalized_shape,
                  const Tensor& weight, const Tensor& bias, double eps, bool) {
    const NoGradGuard no_grad;
    kernels(input).forward(out[0], out[1], out[2], {}, input.contiguous(), weight, bias,
                           row_shape(input, normalized_shape, eps, true));
  }
  static Gradients backward(const Saved& s, const Gradients& g, IntArrayRef normalized_shape, double eps,
                            bool) {
    Gradients grads{Tensor(), Tensor(), g[0]};  // the engine sums the bias's over the rows, in fp32
    if (!s.needs(0) && !s.needs(1)) return grads;
    const Tensor weight = s.input(1);
    const auto [gx, gw, gb] = layer_norm_backward(g[0], s.input(0), normalized_shape, weight,
                                                  s.result(1).detach(), s.result(2).detach(), eps);
    grads[0] = gx;
    if (weight.defined()) {
      grads[1] = gw;
      grads[2] = gb;
    }
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({3, 4}), Sizes{4}, s.rand({4}), s.rand({4}), 1e-5, true);
    s(s.rand({2, 2, 3}), Sizes{2, 3}, s.rand({2, 3}), std::nullopt, 0.1, false);
    s(s.rand({2, 5}), Sizes{5}, std::nullopt, s.rand({5}), 0.1, true);
    s(s.rand({2, 19}), Sizes{19}, std::nullopt, std::nullopt, 1e-5, true);
    s(s.rand({0, 4}), Sizes{4}, s.rand({4}), s.rand({4}), 1e-5, true);
  }
};
HALFTONE_REGISTER_OPERATOR(LayerNorm)

struct RmsNormBackward : Operator {
  static constexpr Schema schema{"rms_norm_backward",
                                 {"grad", "input", "normalized_shape", "weight", "rstd", "eps"},
                                 "gradients of rms_norm with respect to input and weight"};
  static constexpr std::tuple<Tensor, Tensor> (*api)(const Tensor&, const Tensor&, IntArrayRef, const Tensor&,
                                                     const Tensor&, double) = &halftone::rms_norm_backward;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | keep_input(2);

  static std::array<Meta, 2> infer(const Tensor& grad, const Tensor& input, IntArrayRef normalized_shape,
                                   const Tensor& weight, const Tensor& rstd, double eps) {
    check_normalized_shape(schema.name, input, normalized_shape);
    check_norm_operands(schema.name, input, weight, {}, normalized_shape);
    check_norm_eps(schema.name, eps);
    const std::int64_t rows = row_shape(input, normalized_shape, eps, false).rows;
    if (rstd.defined() && rstd.numel() != rows)
      fail(schema.name, "expected rstd of ", rows, " rows, got ", rstd);
    const auto metas = norm_gradient_metas(schema.name, grad, input, weight);
    return {metas[0], metas[1]};
  }
  static void run(const std::array<Tensor, 2>& out, const Tensor& grad, const Tensor& input,
                  IntArrayRef normalized_shape, const Tensor& weight, const Tensor& rstd, double eps) {
    const NoGradGuard no_grad;
    kernels(input).backward(out[0], wanted_gradient(out[1], weight), {}, grad.contiguous(),
                            input.contiguous(), weight, {}, rstd.defined() ? rstd.contiguous() : rstd,
                            row_shape(input, normalized_shape, eps, false));
  }
  static Gradients backward(const Saved& s, const Gradients& g, IntArrayRef normalized_shape, double eps) {
    const Tensor p = s.input(2).defined() ? g[1] : Tensor();
    const NormDerivative d = second_order(s, g[0], p, {}, normalized_shape.size(), eps, false);
    return {d.g, d.x, d.w, Tensor()};
  }
  static void samples(Samples& s) {
    s(s.rand({3, 4}), s.rand({3, 4}), Sizes{4}, s.rand({4}), std::nullopt, 1e-5);
    s(s.rand({2, 2, 3}), s.rand({2, 2, 3}), Sizes{2, 3}, std::nullopt, std::nullopt, 0.1);
    s(s.rand({3, 4}), s.rand({3, 4}), Sizes{4}, s.rand({4}), s.rand({3, 1}, 0.5, 2), 0.1).smooth =
        false;  // statistics that are not the input's
    s(s.rand({0, 4}), s.rand({0, 4}), Sizes{4}, s.rand({4}), std::nullopt, 1e-5);
  }
};
HALFTONE_REGISTER_OPERATOR(RmsNormBackward)

struct RmsNorm : Operator {
  static constexpr Schema schema{"rms_norm",
                                 {"input", "normalized_shape", "weight", "eps"},
                                 "x / sqrt(mean(x^2) + eps) * weight over the last dimensions"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, const Tensor&,
                                 std::optional<double>) = &halftone::rms_norm;
  static constexpr auto precision = amp::Precision::kFp32Inside;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | keep_result(1);

  static std::array<Meta, 2> infer(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight,
                                   std::optional<double> eps) {
    check_normalized_shape(schema.name, input, normalized_shape);
    check_norm_operands(schema.name, input, weight, {}, normalized_shape);
    check_norm_eps(schema.name, rms_eps(input, eps));
    return {like(input), norm_statistic(input, statistic_sizes(input, normalized_shape))};
  }
  static void run(const std::array<Tensor, 2>& out, const Tensor& input, IntArrayRef normalized_shape,
                  const Tensor& weight, std::optional<double> eps) {
    const NoGradGuard no_grad;
    kernels(input).forward(out[0], {}, out[1], {}, input.contiguous(), weight, {},
                           row_shape(input, normalized_shape, rms_eps(input, eps), false));
  }
  static Gradients backward(const Saved& s, const Gradients& g, IntArrayRef normalized_shape,
                            std::optional<double> eps) {
    const Tensor input = s.input(0), weight = s.input(1);
    const auto [gx, gw] =
        rms_norm_backward(g[0], input, normalized_shape, weight, s.result(1).detach(), rms_eps(input, eps));
    return {gx, weight.defined() ? gw : Tensor()};
  }
  static void samples(Samples& s) {
    s(s.rand({3, 4}), Sizes{4}, s.rand({4}), std::nullopt);
    s(s.rand({2, 2, 3}), Sizes{2, 3}, s.rand({2, 3}), 0.1);
    s(s.rand({2, 19}), Sizes{19}, std::nullopt, 1e-5);
    s(s.rand({0, 4}), Sizes{4}, s.rand({4}), std::nullopt);
  }
};
HALFTONE_REGISTER_OPERATOR(RmsNorm)

}  // namespace ops

Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight, const Tensor& bias,
                  double eps, bool cudnn_enable) {
  return ops::dispatch<ops::LayerNorm>(input, normalized_shape, weight, bias, eps, cudnn_enable)[0];
}

Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape) {
  return layer_norm(input, normalized_shape, {}, {});
}

std::tuple<Tensor, Tensor, Tensor> layer_norm_backward(const Tensor& grad, const Tensor& input,
                                                       IntArrayRef normalized_shape, const Tensor& weight,
                                                       const Tensor& mean, const Tensor& rstd, double eps) {
  const auto out =
      ops::dispatch<ops::LayerNormBackward>(grad, input, normalized_shape, weight, mean, rstd, eps);
  return {out[0], out[1], out[2]};
}

Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  return ops::dispatch<ops::RmsNorm>(input, normalized_shape, weight, eps)[0];
}

std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& grad, const Tensor& input,
                                             IntArrayRef normalized_shape, const Tensor& weight,
                                             const Tensor& rstd, double eps) {
  const auto out = ops::dispatch<ops::RmsNormBackward>(grad, input, normalized_shape, weight, rstd, eps);
  return {out[0], out[1]};
}

}  // namespace halftone
