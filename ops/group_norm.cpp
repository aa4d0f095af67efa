// Normalisation over groups of channels.

#include "halftone/ops/norm_rule.h"

namespace halftone {
namespace ops {
namespace {

const NormKernels& kernels(const Tensor& x) { return kernels_for<NormKernels>(x.device()); }

void check_group_operands(const char* op, const Tensor& input, std::int64_t num_groups, const Tensor& weight,
                          const Tensor& bias, double eps) {
  if (input.dim() < 2) fail(op, "expected an input (N, C, ...), got ", input);
  if (num_groups < 1 || input.size(1) % num_groups != 0) {
    fail(op, "num_groups must divide the ", input.size(1), " channels of the input ", input, ", got ",
         num_groups);
  }
  check_norm_operands(op, input, weight, bias, {input.size(1)});
  check_norm_eps(op, eps);
}

std::int64_t plane_size(IntArrayRef input) {
  return count_elements(IntArrayRef(input.data() + 2, input.size() - 2));
}

NormShape group_shape(const Tensor& input, std::int64_t num_groups, double eps) {
  NormShape s;
  s.affine = NormShape::Affine::kSegment;
  s.groups = num_groups;
  s.rows = input.size(0) * num_groups;
  s.segments = input.size(1) / num_groups;
  s.length = s.segment_step = plane_size(input.sizes());
  s.row_step = s.segments * s.length;
  s.eps = eps;
  return s;
}

}  // namespace

struct GroupNormBackward : Operator {
  static constexpr Schema schema{"group_norm_backward",
                                 {"grad", "input", "num_groups", "weight", "mean", "rstd", "eps"},
                                 "gradients of group_norm with respect to input, weight and bias"};
  static constexpr std::tuple<Tensor, Tensor, Tensor> (*api)(const Tensor&, const Tensor&, std::int64_t,
                                                             const Tensor&, const Tensor&, const Tensor&,
                                                             double) = &halftone::group_norm_backward;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | keep_input(2);

  static std::array<Meta, 3> infer(const Tensor& grad, const Tensor& input, std::int64_t num_groups,
                                   const Tensor& weight, const Tensor& mean, const Tensor& rstd, double eps) {
    check_group_operands(schema.name, input, num_groups, weight, {}, eps);
    const std::int64_t rows = input.size(0) * num_groups;
    if (mean.defined() != rstd.defined() ||
        (mean.defined() && (mean.numel() != rows || rstd.numel() != rows))) {
      fail(schema.name, "expected mean and rstd of ", rows, " groups each, or neither");
    }
    return norm_gradient_metas(schema.name, grad, input, weight);
  }
  static void run(const std::array<Tensor, 3>& out, const Tensor& grad, const Tensor& input,
                  std::int64_t num_groups, const Tensor& weight, const Tensor& mean, const Tensor& rstd,
                  double eps) {
    const NoGradGuard no_grad;
    kernels(input).backward(out[0], wanted_gradient(out[1], weight), wanted_gradient(out[2], weight),
                            grad.contiguous(), input.contiguous(), weight,
                            mean.defined() ? mean.contiguous() : mean,
                            rstd.defined() ? rstd.contiguous() : rstd, group_shape(input, num_groups, eps));
  }
  static Gradients backward(const Saved& s, const Gradients& g, std::int64_t num_groups, double eps) {
    const Dims& sizes = s.sizes(1);
    const std::int64_t channels = sizes[1] / num_groups, plane = plane_size(sizes);
    const auto rows = [&](const Tensor& t) {
      return t.defined() ? reshape(wide(t), {sizes[0], num_groups, channels, plane}) : t;
    };
    const auto factors = [&](const Tensor& t) {
      return t.defined() ? reshape(wide(t), {num_groups, channels, 1}) : t;
    };
    const bool affine = s.input(2).defined();
    const NormDerivative d = differentiate_norm_backward(
        {rows(s.input(0)), rows(s.input(1)), factors(s.input(2)), rows(g[0]),
         factors(affine ? g[1] : Tensor()), factors(affine ? g[2] : Tensor()), Dims{2, 3}},
        eps, true);
    Gradients grads(5, Tensor());
    if (d.g.defined()) grads[0] = reshape(d.g, sizes);
    if (d.x.defined()) grads[1] = reshape(d.x, sizes);
    if (d.w.defined()) grads[2] = reshape(sum(d.w, {0, 3}), {sizes[1]});
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({2, 4, 2}), s.rand({2, 4, 2}), 2, s.rand({4}), std::nullopt, std::nullopt, 1e-5);
    s(s.rand({2, 3, 2, 2}), s.rand({2, 3, 2, 2}), 1, std::nullopt, std::nullopt, std::nullopt, 0.1);
    s(s.rand({2, 4, 2}), s.rand({2, 4, 2}), 2, s.rand({4}), s.rand({2, 2}), s.rand({2, 2}, 0.5, 2), 0.1)
        .smooth = false;  // statistics that are not the input's
    s(s.rand({0, 4, 2}), s.rand({0, 4, 2}), 2, s.rand({4}), std::nullopt, std::nullopt, 1e-5);
  }
};
HALFTONE_REGISTER_OPERATOR(GroupNormBackward)

struct GroupNorm : Operator {
  static constexpr Schema schema{
      "group_norm",
      {"input", "num_groups", "weight", "bias", "eps", "cudnn_enabled"},
      "(x - mean) / sqrt(var + eps) * weight + bias per sample and group of channels"};
  static constexpr Tensor (*api)(const Tensor&, std::int64_t, const Tensor&, const Tensor&, double,
                                 bool) = &halftone::group_norm;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0, {0, 1, 2}) | keep_input(1) | keep_result(1) | keep_result(2);

  static std::array<Meta, 3> infer(const Tensor& input, std::int64_t num_groups, const Tensor& weight,
                                   const Tensor& bias, double eps, bool) {
    check_group_operands(schema.name, input, num_groups, weight, bias, eps);
    const Meta statistic = norm_statistic(input, {input.size(0), num_groups});
    return {like(input), statistic, statistic};
  }
  static void run(const std::array<Tensor, 3>& out, const Tensor& input, std::int64_t num_groups,
                  const Tensor& weight, const Tensor& bias, double eps, bool) {
    const NoGradGuard no_grad;
    kernels(input).forward(out[0], out[1], out[2], {}, input.contiguous(), weight, bias,
                           group_shape(input, num_groups, eps));
  }
  static Gradients backward(const Saved& s, const Gradients& g, std::int64_t num_groups, double eps, bool) {
    Gradients grads(3, Tensor());
    const Tensor weight = s.input(1);
    if (s.needs(0) || s.needs(1) || weight.defined()) {
      const auto [gx, gw, gb] = group_norm_backward(g[0], s.input(0), num_groups, weight,
                                                    s.result(1).detach(), s.result(2).detach(), eps);
      grads[0] = gx;
      if (weight.defined()) {
        grads[1] = gw;
        grads[2] = gb;
      }
    }
    if (s.needs(2) && !weight.defined())
      grads[2] = sum(flatten(transpose(g[0], 0, 1), 1), 1, false, s.dtype(2));
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({2, 4, 2}), 2, s.rand({4}), s.rand({4}), 1e-5, true);
    s(s.rand({2, 3, 2, 2}), 1, s.rand({3}), std::nullopt, 0.1, false);
    s(s.rand({3, 4}), 2, std::nullopt, s.rand({4}), 0.1, true);
    s(s.rand({0, 4, 2}), 2, s.rand({4}), s.rand({4}), 1e-5, true);
  }
};
HALFTONE_REGISTER_OPERATOR(GroupNorm)

}  // namespace ops

Tensor group_norm(const Tensor& input, std::int64_t num_groups, const Tensor& weight, const Tensor& bias,
                  double eps, bool cudnn_enabled) {
  return ops::dispatch<ops::GroupNorm>(input, num_groups, weight, bias, eps, cudnn_enabled)[0];
}

std::tuple<Tensor, Tensor, Tensor> group_norm_backward(const Tensor& grad, const Tensor& input,
                                                       std::int64_t num_groups, const Tensor& weight,
                                                       const Tensor& mean, const Tensor& rstd, double eps) {
  const auto out = ops::dispatch<ops::GroupNormBackward>(grad, input, num_groups, weight, mean, rstd, eps);
  return {out[0], out[1], out[2]};
}

}  // namespace halftone
