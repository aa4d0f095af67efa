// The fully connected layer: one product with the bias added before the only rounding.

#include "halftone/ops/check_defined.h"
#include "halftone/ops/operator.h"
#include "halftone/ops/product.h"

namespace halftone {
namespace ops {

struct Linear : Operator {
  static constexpr Schema schema{
      "linear", {"input", "weight", "bias"}, "input @ weight.t() + bias over the last dimension"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&) = &halftone::linear;
  static constexpr auto precision = amp::Precision::kLow;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {0});

  static Meta infer(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    check_defined(schema.name, "input", input);
    check_defined(schema.name, "weight", weight);
    if (input.dim() == 0) fail(schema.name, "expected an input (..., in), got ", input);
    if (weight.dim() != 2) fail(schema.name, "expected a weight (out, in), got ", weight);
    if (input.size(-1) != weight.size(1)) {
      fail(schema.name, "the input ", input, " has ", input.size(-1), " features, the weight ", weight,
           " takes ", weight.size(1));
    }
    check_product_operands(schema.name, {&input, &weight, &bias});
    if (bias.defined() && !(bias.sizes() == IntArrayRef({weight.size(0)}))) {
      fail(schema.name, "expected a bias (", weight.size(0), "), got ", bias);
    }
    Dims sizes = input.sizes().dims();
    sizes.back() = weight.size(0);
    return like(input, sizes);
  }
  static void run(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias) {
    Epilogue epilogue;
    Tensor dense_bias;
    if (bias.defined()) {
      const NoGradGuard no_grad;
      dense_bias = bias.contiguous();
      epilogue.bias = dense_bias.data_ptr();
      epilogue.bias_dtype = dense_bias.scalar_type();
    }
    run_product(out.device(), row_or_matrices(out), row_or_matrices(input), transposed(matrices(weight)),
                epilogue);
  }
  static Gradients backward(const Saved& s, const Tensor& g) {
    Gradients grads(3, Tensor());
    const bool vector = s.sizes(0).size() == 1;
    const Tensor rows = vector ? unsqueeze(g, 0) : g;
    if (s.needs(0)) {
      Dims sizes = s.sizes(0);
      if (vector) sizes.insert(0, 1);
      grads[0] = matmul_to_size(rows, s.input(1), sizes, s.dtype(0), 1);
      if (vector) grads[0] = squeeze(grads[0], 0);
    }
    if (s.needs(1)) {
      const Tensor input = vector ? unsqueeze(s.input(0), 0) : s.input(0);
      grads[1] = matmul_to_size(transpose(rows, -2, -1), input, s.sizes(1), s.dtype(1), 1);
    }
    if (s.needs(2)) grads[2] = g;  // the engine sums it over the rows, in fp32
    return grads;
  }
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

}  // namespace halftone
