#include "halftone/ops/linear_rule.h"

#include "halftone/ops/check_defined.h"
#include "halftone/ops/product.h"

namespace halftone::ops {

Gradients linear_gradients(const Saved& s, const Tensor& g) {
  Gradients grads(3, Tensor());
  const bool vector = s.sizes(0).size() == 1;
  if (s.needs(0)) {
    Dims sizes = s.sizes(0);
    if (vector) sizes.insert(0, 1);
    grads[0] = matmul_to_size(vector ? unsqueeze(g, 0) : g, s.input(1), sizes, s.dtype(0), 1);
    if (vector) grads[0] = squeeze(grads[0], 0);
  }
  if (s.needs(1) && s.needs(2)) {
    std::tie(grads[1], grads[2]) = linear_weight_backward(g, s.input(0), s.dtype(1));
  } else if (s.needs(1)) {
    const Tensor input = vector ? unsqueeze(s.input(0), 0) : s.input(0);
    const Tensor rows = vector ? unsqueeze(g, 0) : g;
    grads[1] = matmul_to_size(transpose(rows, -2, -1), input, s.sizes(1), s.dtype(1), 1);
  } else if (s.needs(2)) {
    grads[2] = g;  // the engine sums it over the rows, in fp32
  }
  return grads;
}

Meta linear_meta(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  check_defined(op, "input", input);
  check_defined(op, "weight", weight);
  if (input.dim() == 0) fail(op, "expected an input (..., in), got ", input);
  if (weight.dim() != 2) fail(op, "expected a weight (out, in), got ", weight);
  if (input.size(-1) != weight.size(1)) {
    fail(op, "the input ", input, " has ", input.size(-1), " features, the weight ", weight, " takes ",
         weight.size(1));
  }
  check_product_operands(op, {&input, &weight, &bias});
  if (bias.defined() && !(bias.sizes() == IntArrayRef({weight.size(0)}))) {
    fail(op, "expected a bias (", weight.size(0), "), got ", bias);
  }
  Dims sizes = input.sizes().dims();
  sizes.back() = weight.size(0);
  return like(input, sizes);
}

void run_linear(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
                Activation activation, const Tensor& before_activation) {
  Epilogue epilogue;
  epilogue.activation = activation;
  if (before_activation.defined()) epilogue.before_activation = before_activation.data_ptr();
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

}  // namespace halftone::ops
