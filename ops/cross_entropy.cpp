// Cross entropy of class scores: one pass over the scores in their own dtype, which are all that is kept for
// backward.

#include "halftone/ops/class_loss.h"

namespace halftone {
namespace ops {
namespace {

ClassLossOptions cross_entropy_options(const char* op, Reduction::Reduction reduction,
                                       std::int64_t ignore_index, double label_smoothing) {
  return {op, reduction, ignore_index, label_smoothing, false};
}

}  // namespace

struct CrossEntropyBackward : Operator {
  static constexpr Schema schema{
      "cross_entropy_backward",
      {"grad", "self", "target", "weight", "reduction", "ignore_index", "label_smoothing"},
      "gradient of cross_entropy_loss for the scores, in their dtype"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                 Reduction::Reduction, std::int64_t,
                                 double) = &halftone::cross_entropy_backward;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | keep_input(2) | keep_input(3);

  static Meta infer(const Tensor& grad, const Tensor& x, const Tensor& target, const Tensor& weight,
                    Reduction::Reduction reduction, std::int64_t ignore_index, double label_smoothing) {
    return class_loss_backward_meta(
        grad, x, target, weight,
        cross_entropy_options(schema.name, reduction, ignore_index, label_smoothing));
  }
  static void run(const Tensor& out, const Tensor& grad, const Tensor& x, const Tensor& target,
                  const Tensor& weight, Reduction::Reduction reduction, std::int64_t ignore_index,
                  double label_smoothing) {
    kernels_for<ClassLossKernels>(out.device())
        .backward(out, grad, x, target, weight,
                  cross_entropy_options(schema.name, reduction, ignore_index, label_smoothing));
  }
  /// The result is row_grad (mass p - q), where p is softmax(x) and mass the sum of q over the classes.
  static Gradients backward(const Saved& s, const Tensor& g, Reduction::Reduction reduction,
                            std::int64_t ignore_index, double label_smoothing) {
    Gradients grads(4, Tensor());
    const Tensor x = s.input(1), grad = s.input(0);
    const ClassLossParts parts(x, s.input(2), s.input(3),
                               cross_entropy_options(schema.name, reduction, ignore_index, label_smoothing));
    const Tensor u = wide(g), p = softmax(x, class_dim(x.dim()), u.scalar_type());
    const Tensor mass = parts.sum_classes(parts.q()), u_p = parts.sum_classes(u * p);
    const Tensor rows = mass * u_p - parts.sum_classes(u * parts.q());
    if (s.needs(0)) grads[0] = parts.grad_of_grad(rows);
    const Tensor scale = parts.row_grad(grad), dq = scale * (u_p - u);
    if (s.needs(1)) grads[1] = scale * mass * p * (u - u_p);
    if (s.needs(2)) grads[2] = parts.target_grad(dq);
    if (s.needs(3)) grads[3] = parts.weight_grad(dq, rows, grad);
    return grads;
  }
  static void samples(Samples& s) {
    const Tensor labels = s.randint({3}, 0, 4);
    s(s.rand({}), s.rand({3, 4}), labels, std::nullopt, Reduction::Mean, -100, 0.0);
    s(s.rand({3}), s.rand({3, 4}), labels, s.rand({4}, 0.5, 2), Reduction::None, 1, 0.25);
    s(s.rand({}), s.rand({2, 3, 2}), s.randint({2, 2}, 0, 3), s.rand({3}, 0.5, 2), Reduction::Mean, 0, 0.0);
    s(s.rand({}), s.rand({2, 3}), s.rand({2, 3}, 0.1, 1), s.rand({3}, 0.5, 2), Reduction::Sum, -100, 0.1);
    s(s.rand({}), s.rand({2, 3}), s.rand({2, 3}, 0.1, 1), std::nullopt, Reduction::Mean, -100, 0.0);
    s(s.rand({}), s.rand({3}), s.randint({}, 0, 3), std::nullopt, Reduction::Sum, -100, 0.0);
    s(s.rand({}), s.rand({0, 3}), s.randint({0}, 0, 3), std::nullopt, Reduction::Sum, -100, 0.0);
  }
};
HALFTONE_REGISTER_OPERATOR(CrossEntropyBackward)

struct CrossEntropyLoss : Operator {
  static constexpr Schema schema{
      "cross_entropy_loss",
      {"self", "target", "weight", "reduction", "ignore_index", "label_smoothing"},
      "-log softmax(self) at the target class, or its mean under target probabilities"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, Reduction::Reduction,
                                 std::int64_t, double) = &halftone::cross_entropy_loss;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | keep_input(2);

  static Meta infer(const Tensor& x, const Tensor& target, const Tensor& weight,
                    Reduction::Reduction reduction, std::int64_t ignore_index, double label_smoothing) {
    return class_loss_meta(x, target, weight,
                           cross_entropy_options(schema.name, reduction, ignore_index, label_smoothing));
  }
  static void run(const Tensor& out, const Tensor& x, const Tensor& target, const Tensor& weight,
                  Reduction::Reduction reduction, std::int64_t ignore_index, double label_smoothing) {
    kernels_for<ClassLossKernels>(out.device())
        .forward(out, x, target, weight,
                 cross_entropy_options(schema.name, reduction, ignore_index, label_smoothing));
  }
  static Gradients backward(const Saved& s, const Tensor& g, Reduction::Reduction reduction,
                            std::int64_t ignore_index, double label_smoothing) {
    Gradients grads(3, Tensor());
    const Tensor x = s.input(0), target = s.input(1), weight = s.input(2);
    if (s.needs(0)) {
      grads[0] = cross_entropy_backward(g, x, target, weight, reduction, ignore_index, label_smoothing);
    }
    if (s.needs(1) || s.needs(2)) {
      const ClassLossParts parts(
          x, target, weight, cross_entropy_options(schema.name, reduction, ignore_index, label_smoothing));
      const Tensor y = log_softmax(x, class_dim(x.dim()), accumulate_type(x.scalar_type()));
      const Tensor dq = neg(parts.row_grad(g) * y);
      if (s.needs(1)) grads[1] = parts.target_grad(dq);
      if (s.needs(2)) grads[2] = parts.weight_grad(dq, neg(parts.sum_classes(parts.q() * y)), g);
    }
    return grads;
  }
  static void samples(Samples& s) {
    const Tensor labels = s.randint({4}, 0, 5);
    s(s.rand({4, 5}), labels, std::nullopt, Reduction::Mean, -100, 0.0);
    s(s.rand({4, 5}), labels, s.rand({5}, 0.5, 2), Reduction::Mean, 2, 0.1);
    s(s.rand({4, 5}), labels, s.rand({5}, 0.5, 2), Reduction::None, -100, 0.0);
    s(s.rand({2, 3, 2}), s.randint({2, 2}, 0, 3), std::nullopt, Reduction::Sum, 0, 0.0);
    s(s.rand({2, 3}), s.rand({2, 3}, 0.1, 1), s.rand({3}, 0.5, 2), Reduction::Mean, -100, 0.1);
    s(s.rand({2, 3}), s.rand({2, 3}, 0.1, 1), std::nullopt, Reduction::None, -100, 0.0);
    s(s.rand({5}), s.randint({}, 0, 5), std::nullopt, Reduction::Mean, -100, 0.0);
    s(s.rand({0, 5}), s.randint({0}, 0, 5), std::nullopt, Reduction::Sum, -100, 0.0);
  }
};
HALFTONE_REGISTER_OPERATOR(CrossEntropyLoss)

}  // namespace ops

Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                          Reduction::Reduction reduction, std::int64_t ignore_index, double label_smoothing) {
  return ops::dispatch<ops::CrossEntropyLoss>(self, target, weight, reduction, ignore_index, label_smoothing);
}

Tensor cross_entropy_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                              const Tensor& weight, Reduction::Reduction reduction, std::int64_t ignore_index,
                              double label_smoothing) {
  return ops::dispatch<ops::CrossEntropyBackward>(grad, self, target, weight, reduction, ignore_index,
                                                  label_smoothing);
}

}  // namespace halftone
