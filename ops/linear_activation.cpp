// The fully connected layer with its activation: one product, one rounding. ReLU's gradient reads the result,
// GELU's what went into it, which the product then writes as well.

#include "halftone/ops/activation_rule.h"
#include "halftone/ops/linear_rule.h"

namespace halftone {
namespace ops {
namespace {

Meta activated_meta(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  Meta meta = linear_meta(op, input, weight, bias);
  if (!is_floating_point(meta.dtype)) fail(op, "expected floating tensors, got ", input);
  return meta;
}

void linear_samples(Samples& s) {
  s(s.rand({2, 3}), s.rand({4, 3}), s.rand({4}));
  s(s.rand({2, 2, 3}), s.rand({2, 3}), std::nullopt);
  s(s.rand({3}), s.rand({2, 3}), s.rand({2}));
  s(s.rand({0, 3}), s.rand({2, 3}), s.rand({2}));
  s(s.rand({2, 0}), s.rand({2, 0}), s.rand({2}));
}

}  // namespace

struct LinearRelu : Operator {
  static constexpr Schema schema{
      "linear_relu", {"input", "weight", "bias"}, "relu(input @ weight.t() + bias) as one product"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&) = &halftone::linear_relu;
  static constexpr auto precision = amp::Precision::kLow;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {0}) | keep_result();

  static Meta infer(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    return activated_meta(schema.name, input, weight, bias);
  }
  static void run(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias) {
    run_linear(out, input, weight, bias, Activation::kRelu);
  }
  static Gradients backward(const Saved& s, const Tensor& g) {
    return linear_gradients(s, relu_backward(g, s.result(), g.scalar_type()));
  }
  static void samples(Samples& s) { linear_samples(s); }
};
HALFTONE_REGISTER_OPERATOR(LinearRelu)

struct LinearGelu : Operator {
  static constexpr Schema schema{
      "linear_gelu", {"input", "weight", "bias"}, "gelu(input @ weight.t() + bias, \"tanh\") as one product"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&) = &halftone::linear_gelu;
  static constexpr auto precision = amp::Precision::kLow;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {0}) | keep_result(1);

  /// The result, and what the activation is applied to; without elements where no gradient will ask for it.
  static std::array<Meta, 2> infer(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    const Meta meta = activated_meta(schema.name, input, weight, bias);
    const bool recorded = GradMode::is_enabled() && any_wants_grad(input, weight, bias);
    return {meta, recorded ? meta : like(input, {0})};
  }
  static void run(const std::array<Tensor, 2>& out, const Tensor& input, const Tensor& weight,
                  const Tensor& bias) {
    const bool recorded = out[1].sizes() == out[0].sizes();
    run_linear(out[0], input, weight, bias, Activation::kGeluTanh, recorded ? out[1] : Tensor());
  }
  static Gradients backward(const Saved& s, const Gradients& g) {
    // Differentiated again, a gradient also arrives for what the activation is applied to: the second output.
    if (!g[0].defined()) return linear_gradients(s, g[1]);
    const Tensor through = gelu_backward(g[0], s.result(1), "tanh", g[0].scalar_type());
    return linear_gradients(s, g[1].defined() ? through + g[1] : through);
  }
  static void samples(Samples& s) { linear_samples(s); }
};
HALFTONE_REGISTER_OPERATOR(LinearGelu)

}  // namespace ops

Tensor linear_relu(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return ops::dispatch<ops::LinearRelu>(input, weight, bias);
}

Tensor linear_relu(const Tensor& input, const Tensor& weight) { return linear_relu(input, weight, {}); }

Tensor linear_gelu(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return ops::dispatch<ops::LinearGelu>(input, weight, bias)[0];
}

Tensor linear_gelu(const Tensor& input, const Tensor& weight) { return linear_gelu(input, weight, {}); }

}  // namespace halftone
