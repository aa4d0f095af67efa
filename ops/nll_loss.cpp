// Negative log likelihood of class indices, the scores being log-probabilities already.

#include "halftone/ops/class_loss.h"

namespace halftone {
namespace ops {
namespace {

ClassLossOptions nll_options(const char* op, Reduction::Reduction reduction, std::int64_t ignore_index) {
  return {op, reduction, ignore_index, 0, true};
}

}  // namespace

struct NllLossBackward : Operator {
  static constexpr Schema schema{"nll_loss_backward",
                                 {"grad", "self", "target", "weight", "reduction", "ignore_index"},
                                 "gradient of nll_loss for the log-probabilities, in their dtype"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                 Reduction::Reduction, std::int64_t) = &halftone::nll_loss_backward;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves =
      keep_input(0, {3}) | keep_input(1, {0, 3}) | keep_input(2, {0, 3}) | keep_input(3, {0, 3});

  static Meta infer(const Tensor& grad, const Tensor& x, const Tensor& target, const Tensor& weight,
                    Reduction::Reduction reduction, std::int64_t ignore_index) {
    return class_loss_backward_meta(grad, x, target, weight,
                                    nll_options(schema.name, reduction, ignore_index));
  }
  static void run(const Tensor& out, const Tensor& grad, const Tensor& x, const Tensor& target,
                  const Tensor& weight, Reduction::Reduction reduction, std::int64_t ignore_index) {
    kernels_for<ClassLossKernels>(out.device())
        .backward(out, grad, x, target, weight, nll_options(schema.name, reduction, ignore_index));
  }
  /// The result is -row_grad q, whatever the scores.
  static Gradients backward(const Saved& s, const Tensor& g, Reduction::Reduction reduction,
                            std::int64_t ignore_index) {
    Gradients grads(4, Tensor());
    if (!s.needs(0) && !s.needs(3)) return grads;
    const ClassLossParts parts(s.input(1), s.input(2), s.input(3),
                               nll_options(schema.name, reduction, ignore_index));
    const Tensor u = wide(g), rows = neg(parts.sum_classes(u * parts.q()));
    if (s.needs(0)) grads[0] = parts.grad_of_grad(rows);
    if (s.needs(3)) grads[3] = parts.weight_grad(neg(parts.row_grad(s.input(0)) * u), rows, s.input(0));
    return grads;
  }
  static void samples(Samples& s) {
    const Tensor labels = s.randint({3}, 0, 4);
    s(s.rand({}), s.rand({3, 4}), labels, std::nullopt, Reduction::Mean, -100);
    s(s.rand({3}), s.rand({3, 4}), labels, s.rand({4}, 0.5, 2), Reduction::None, 1);
    s(s.rand({}), s.rand({2, 3, 2}), s.randint({2, 2}, 0, 3), s.rand({3}, 0.5, 2), Reduction::Mean, 0);
    s(s.rand({}), s.rand({3}), s.randint({}, 0, 3), std::nullopt, Reduction::Sum, -100);
    s(s.rand({}), s.rand({0, 3}), s.randint({0}, 0, 3), std::nullopt, Reduction::Sum, -100);
  }
};
HALFTONE_REGISTER_OPERATOR(NllLossBackward)

struct NllLoss : Operator {
  static constexpr Schema schema{"nll_loss",
                                 {"self", "target", "weight", "reduction", "ignore_index"},
                                 "-weight * self at the target class"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, Reduction::Reduction,
                                 std::int64_t) = &halftone::nll_loss;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | keep_input(2);

  static Meta infer(const Tensor& x, const Tensor& target, const Tensor& weight,
                    Reduction::Reduction reduction, std::int64_t ignore_index) {
    return class_loss_meta(x, target, weight, nll_options(schema.name, reduction, ignore_index));
  }
  static void run(const Tensor& out, const Tensor& x, const Tensor& target, const Tensor& weight,
                  Reduction::Reduction reduction, std::int64_t ignore_index) {
    kernels_for<ClassLossKernels>(out.device())
        .forward(out, x, target, weight, nll_options(schema.name, reduction, ignore_index));
  }
  static Gradients backward(const Saved& s, const Tensor& g, Reduction::Reduction reduction,
                            std::int64_t ignore_index) {
    Gradients grads(3, Tensor());
    const Tensor x = s.input(0), target = s.input(1), weight = s.input(2);
    if (s.needs(0)) grads[0] = nll_loss_backward(g, x, target, weight, reduction, ignore_index);
    if (s.needs(2)) {
      const ClassLossParts parts(x, target, weight, nll_options(schema.name, reduction, ignore_index));
      const Tensor y = wide(x);
      grads[2] = parts.weight_grad(neg(parts.row_grad(g) * y), neg(parts.sum_classes(parts.q() * y)), g);
    }
    return grads;
  }
  static void samples(Samples& s) {
    const Tensor labels = s.randint({4}, 0, 5);
    s(s.rand({4, 5}), labels, std::nullopt, Reduction::Mean, -100);
    s(s.rand({4, 5}), labels, s.rand({5}, 0.5, 2), Reduction::Mean, 2);
    s(s.rand({4, 5}), labels, s.rand({5}, 0.5, 2), Reduction::None, -100);
    s(s.rand({2, 3, 2}), s.randint({2, 2}, 0, 3), std::nullopt, Reduction::Sum, 0);
    s(s.rand({5}), s.randint({}, 0, 5), std::nullopt, Reduction::Mean, -100);
    s(s.rand({0, 5}), s.randint({0}, 0, 5), std::nullopt, Reduction::Sum, -100);
  }
};
HALFTONE_REGISTER_OPERATOR(NllLoss)

}  // namespace ops

Tensor nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                Reduction::Reduction reduction, std::int64_t ignore_index) {
  return ops::dispatch<ops::NllLoss>(self, target, weight, reduction, ignore_index);
}

Tensor nll_loss(const Tensor& self, const Tensor& target) { return nll_loss(self, target, Tensor()); }

Tensor nll_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
                         Reduction::Reduction reduction, std::int64_t ignore_index) {
  return ops::dispatch<ops::NllLossBackward>(grad, self, target, weight, reduction, ignore_index);
}

}  // namespace halftone
