// Products added to a tensor: alpha, beta and the addend join in fp32, before the only rounding.

#include "halftone/ops/product_rules.h"
#include "halftone/ops/wide.h"

namespace halftone {
namespace ops {

/// beta * self + alpha * a b for matrices (Addmm) and batches of them (Baddbmm).
struct AddedProduct : Operator {
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, const Scalar&,
                                 const Scalar&) = nullptr;
  static constexpr auto precision = amp::Precision::kLow;
  static constexpr Keep saves = keep_input(1, {2}) | keep_input(2, {1});

  static Meta added(const char* op, const Tensor& self, const Tensor& a, const Meta& product,
                    const Scalar& beta, const Scalar& alpha) {
    check_defined(op, "self", self);
    check_product_operands(op, {&self, &a});
    if (!(broadcast_shapes(op, self.sizes(), product.sizes) == product.sizes)) {
      fail(op, "self ", self, " does not broadcast to the product's shape ", product.sizes);
    }
    if (!is_floating_point(product.dtype) && (beta.is_floating_point() || alpha.is_floating_point())) {
      fail(op, "expected integers for beta and alpha with ", product.dtype, " tensors");
    }
    return product;
  }
  static void run(const Tensor& out, const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                  const Scalar& alpha) {
    Epilogue epilogue;
    epilogue.alpha = alpha.to_double();
    epilogue.beta = beta.to_double();
    const MatrixStack addend = broadcast_matrices(self, out.sizes());
    run_product(out.device(), matrices(out), matrices(a), matrices(b), epilogue, &addend);
  }
  static Gradients backward(const Saved& s, const Tensor& g, const Scalar& beta, const Scalar& alpha) {
    Gradients grads(3, Tensor());
    if (is_layer(s, beta, alpha)) {
      grads[1] = grad_of_left(s, 1, 2, g);
      const auto [weight, bias] = linear_weight_backward(g, s.input(1), s.dtype(2), /*transposed=*/true);
      grads[0] = view(bias, s.sizes(0));
      grads[2] = weight;
      return grads;
    }
    if (s.needs(0)) {
      // Scaled in fp32, so that the sum over what was broadcast is the first rounding.
      grads[0] = beta.to_double() == 1 ? g : mul(wide(g), beta);
    }
    grads[1] = grad_of_left(s, 1, 2, g, alpha.to_double());
    grads[2] = grad_of_right(s, 1, 2, g, alpha.to_double());
    return grads;
  }

 private:
  /// A fully connected layer, (rows, in) times (in, out) plus a row of biases, whose gradients for bias and
  /// weight are both wanted.
  static bool is_layer(const Saved& s, const Scalar& beta, const Scalar& alpha) {
    const Dims &self = s.sizes(0), &right = s.sizes(2);
    return s.needs(0) && s.needs(2) && right.size() == 2 && count_elements(self) == right[1] &&
           !self.empty() && self.back() == right[1] && s.dtype(0) == s.dtype(2) && beta.to_double() == 1 &&
           alpha.to_double() == 1;
  }
};

struct Addmm : AddedProduct {
  static constexpr Schema schema{
      "addmm", {"self", "mat1", "mat2", "beta", "alpha"}, "beta * self + alpha * mat1 @ mat2"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, const Scalar&,
                                 const Scalar&) = &halftone::addmm;

  static Meta infer(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                    const Scalar& alpha) {
    check_rank(schema.name, "mat1", a, 2);
    check_rank(schema.name, "mat2", b, 2);
    check_inner(schema.name, a, b, a.size(1), b.size(0));
    check_product_operands(schema.name, {&a, &b});
    return added(schema.name, self, a, like(a, {a.size(0), b.size(1)}), beta, alpha);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 2}), s.rand({2, 3}), s.rand({3, 2}), Scalar(1), Scalar(1));
    s(s.rand({2}), s.rand({3, 1}), s.rand({1, 2}), Scalar(0.5), Scalar(-2.0));
    s(s.rand({}), s.rand({1, 2}), s.rand({2, 3}), Scalar(2.0), Scalar(1));
    s(s.rand({2, 1}), s.rand({2, 0}), s.rand({0, 3}), Scalar(1), Scalar(1));
  }
};
HALFTONE_REGISTER_OPERATOR(Addmm)

struct Baddbmm : AddedProduct {
  static constexpr Schema schema{
      "baddbmm", {"self", "batch1", "batch2", "beta", "alpha"}, "beta * self + alpha * batch1 @ batch2"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, const Scalar&,
                                 const Scalar&) = &halftone::baddbmm;

  static Meta infer(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                    const Scalar& alpha) {
    check_rank(schema.name, "batch1", a, 3);
    check_rank(schema.name, "batch2", b, 3);
    if (a.size(0) != b.size(0)) fail(schema.name, "the batch sizes differ: ", a, " times ", b);
    check_inner(schema.name, a, b, a.size(2), b.size(1));
    check_product_operands(schema.name, {&a, &b});
    return added(schema.name, self, a, like(a, {a.size(0), a.size(1), b.size(2)}), beta, alpha);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 2, 2}), s.rand({2, 2, 3}), s.rand({2, 3, 2}), Scalar(1), Scalar(1));
    s(s.rand({2}), s.rand({2, 3, 1}), s.rand({2, 1, 2}), Scalar(-1.5), Scalar(2.0));
    s(s.rand({1}), s.rand({0, 2, 1}), s.rand({0, 1, 2}), Scalar(1), Scalar(1));
  }
};
HALFTONE_REGISTER_OPERATOR(Baddbmm)

}  // namespace ops

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha) {
  return ops::dispatch<ops::Addmm>(self, mat1, mat2, beta, alpha);
}

Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha) {
  return ops::dispatch<ops::Baddbmm>(self, batch1, batch2, beta, alpha);
}

}  // namespace halftone
