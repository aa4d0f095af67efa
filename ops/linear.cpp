// The fully connected layer: one product with the bias added before the only rounding, and one for the
// gradients of weight and bias.

#include "halftone/ops/check_defined.h"
#include "halftone/ops/linear_rule.h"
#include "halftone/ops/product.h"

namespace halftone {
namespace ops {

struct LinearWeightBackward : Operator {
  static constexpr Schema schema{"linear_weight_backward",
                                 {"grad", "input", "dtype", "transposed"},
                                 "gradients of linear with respect to weight and bias"};
  static constexpr std::tuple<Tensor, Tensor> (*api)(const Tensor&, const Tensor&, ScalarType,
                                                     bool) = &halftone::linear_weight_backward;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {0});

  static std::array<Meta, 2> infer(const Tensor& grad, const Tensor& input, ScalarType dtype,
                                   bool transposed) {
    check_defined(schema.name, "grad", grad);
    check_defined(schema.name, "input", input);
    const bool fits = grad.dim() > 0 && grad.dim() == input.dim() && leading(grad) == leading(input);
    if (!fits) fail(schema.name, "expected (..., out) and (..., in), got ", grad, " and ", input);
    if (!grad.is_floating_point() || !input.is_floating_point() || !is_floating_point(dtype))
      fail(schema.name, "expected floating tensors, got ", grad, " and ", input, " to ", dtype);
    const std::int64_t out = grad.size(-1), in = input.size(-1);
    std::array<Meta, 2> metas{like(grad, transposed ? Dims{in, out} : Dims{out, in}, dtype),
                              like(grad, {out}, dtype)};
    for (Meta& meta : metas) meta.explicit_dtype = true;
    return metas;
  }
  static void run(const std::array<Tensor, 2>& out, const Tensor& grad, const Tensor& input, ScalarType,
                  bool is_transposed) {
    const NoGradGuard no_grad;
    Epilogue epilogue;
    epilogue.row_sums = out[1].data_ptr();
    epilogue.row_sums_dtype = out[1].scalar_type();
    const MatrixStack weight = matrices(out[0]);
    run_product(grad.device(), is_transposed ? transposed(weight) : weight, transposed(matrices(rows(grad))),
                matrices(rows(input)), epilogue);
  }
  static Gradients backward(const Saved& s, const Gradients& g, ScalarType, bool is_transposed) {
    Gradients grads(2, Tensor());
    if (s.needs(0) && g[1].defined()) grads[0] = expand(g[1], s.sizes(0));
    if (!g[0].defined()) return grads;
    const Tensor weight = is_transposed ? transpose(g[0], 0, 1) : g[0];  // (out, in)
    if (s.needs(0)) {
      const Tensor product = rows_times(s.input(1), transpose(weight, 0, 1), s.sizes(0), s.dtype(0));
      grads[0] = grads[0].defined() ? product + grads[0] : product;
    }
    if (s.needs(1)) grads[1] = rows_times(s.input(0), weight, s.sizes(1), s.dtype(1));
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({3, 2}), s.rand({3, 4}), kDouble, false);
    s(s.rand({2, 2, 3}), s.rand({2, 2, 2}), kDouble, true);
    s(s.rand({3}), s.rand({2}), kDouble, false);
    s(s.rand({0, 2}), s.rand({0, 3}), kDouble, false);
    s(s.rand({3, 2}), s.rand({3, 0}), kDouble, true);
    s(s.rand({2, 2}), s.rand({2, 2}), kFloat, false).smooth = false;  // rounds to float32
  }

 private:
  static Dims leading(const Tensor& x) {
    return Dims(x.sizes().data(), static_cast<std::size_t>(x.dim()) - 1);
  }
  /// (..., k) times (k, n), of `sizes`.
  static Tensor rows_times(const Tensor& x, const Tensor& matrix, const Dims& sizes, ScalarType dtype) {
    if (x.dim() > 1) return matmul_to_size(x, matrix, sizes, dtype, 1);
    return squeeze(matmul_to_size(unsqueeze(x, 0), matrix, {1, sizes[0]}, dtype, 1), 0);
  }
  /// `x` as one matrix; a copy only where its rows are not evenly spaced.
  static Tensor rows(const Tensor& x) { return reshape(x, {count_elements(leading(x)), x.size(-1)}); }
};
HALFTONE_REGISTER_OPERATOR(LinearWeightBackward)

struct Linear : Operator {
  static constexpr Schema schema{
      "linear", {"input", "weight", "bias"}, "input @ weight.t() + bias over the last dimension"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&) = &halftone::linear;
  static constexpr auto precision = amp::Precision::kLow;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {0});

  static Meta infer(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    return linear_meta(schema.name, input, weight, bias);
  }
  static void run(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias) {
    run_linear(out, input, weight, bias);
  }
  static Gradients backward(const Saved& s, const Tensor& g) { return linear_gradients(s, g); }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({4, 3}), s.rand({4}));
    s(s.rand({2, 2, 3}), s.rand({2, 3}), std::nullopt);
    s(s.rand({3}), s.rand({2, 3}), s.rand({2}));
    s(s.rand({0, 3}), s.rand({2, 3}), s.rand({2}));
    s(s.rand({2, 0}), s.rand({2, 0}), s.rand({2}));
  }
};
HALFTONE_REGISTER_OPERATOR(Linear)

}  // namespace ops

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return ops::dispatch<ops::Linear>(input, weight, bias);
}

Tensor linear(const Tensor& input, const Tensor& weight) { return linear(input, weight, {}); }

std::tuple<Tensor, Tensor> linear_weight_backward(const Tensor& grad, const Tensor& input, ScalarType dtype,
                                                  bool transposed) {
  auto [weight, bias] = ops::dispatch<ops::LinearWeightBackward>(grad, input, dtype, transposed);
  return {std::move(weight), std::move(bias)};
}

}  // namespace halftone
