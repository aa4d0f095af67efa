// Losses that reduce one formula per element. See element_loss.h.

#include "halftone/engine/nn_functions.h"
#include "halftone/ops/composed.h"
#include "halftone/ops/element_loss.h"

namespace halftone {
namespace ops {
namespace {

/// A loss of predictions and targets without further arguments than a number.
LossCall plain(const char* op, const char* loss, const Tensor& x, const Tensor& target,
               Reduction::Reduction reduction, double parameter = 0) {
  return {op, element_loss(loss, false), x, target, {}, {}, reduction, parameter};
}

Gradients plain_gradients(const Saved& s, const Tensor& grad, const char* op, const char* loss,
                          Reduction::Reduction reduction, double parameter = 0) {
  const Gradients all = loss_gradients(plain(op, loss, s.input(0), s.input(1), reduction, parameter), grad,
                                       {s.needs(0), s.needs(1), false, false});
  return {all[0], all[1]};
}

}  // namespace

struct ElementwiseLoss : Operator {
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1);
};

/// The same, with a formula of the operator's name and no further argument.
template <class Op>
struct PlainLoss : ElementwiseLoss {
  static Meta infer(const Tensor& x, const Tensor& target, Reduction::Reduction reduction) {
    return loss_meta(plain(Op::schema.name, Op::schema.name, x, target, reduction));
  }
  static void run(const Tensor& out, const Tensor& x, const Tensor& target, Reduction::Reduction reduction) {
    run_loss(out, plain(Op::schema.name, Op::schema.name, x, target, reduction));
  }
  static Gradients backward(const Saved& s, const Tensor& grad, Reduction::Reduction reduction) {
    return plain_gradients(s, grad, Op::schema.name, Op::schema.name, reduction);
  }
};

struct MseLoss : PlainLoss<MseLoss> {
  static constexpr Schema schema{
      "mse_loss", {"self", "target", "reduction"}, "(self - target)^2, mean or sum"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, Reduction::Reduction) = &halftone::mse_loss;

  static void samples(Samples& s) {
    s(s.rand({3, 4}), s.rand({3, 4}), Reduction::Mean);
    s(s.rand({3, 1}), s.rand({2}), Reduction::None);
    s(s.rand({4}), s.rand({4}), Reduction::Sum);
    s(s.rand({0, 2}), s.rand({0, 2}), Reduction::Sum);
  }
};
HALFTONE_REGISTER_OPERATOR(MseLoss)

struct L1Loss : PlainLoss<L1Loss> {
  static constexpr Schema schema{"l1_loss", {"self", "target", "reduction"}, "|self - target|, mean or sum"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, Reduction::Reduction) = &halftone::l1_loss;

  static void samples(Samples& s) {
    s(s.rand({3, 4}, 0.5, 2), s.rand({3, 4}, -2, 0), Reduction::Mean);
    s(s.rand({3, 1}, -2, 0), s.rand({2}, 0.5, 2), Reduction::None);
    s(s.rand({0, 2}), s.rand({0, 2}), Reduction::Sum);
  }
};
HALFTONE_REGISTER_OPERATOR(L1Loss)

struct SmoothL1Loss : ElementwiseLoss {
  static constexpr Schema schema{"smooth_l1_loss",
                                 {"self", "target", "reduction", "beta"},
                                 "d^2 / (2 beta) for |d| < beta, else |d| - beta / 2"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, Reduction::Reduction,
                                 double) = &halftone::smooth_l1_loss;

  static Meta infer(const Tensor& x, const Tensor& target, Reduction::Reduction reduction, double beta) {
    if (!(beta >= 0)) fail(schema.name, "expected beta >= 0, got ", beta);
    return loss_meta(plain(schema.name, schema.name, x, target, reduction, beta));
  }
  static void run(const Tensor& out, const Tensor& x, const Tensor& target, Reduction::Reduction reduction,
                  double beta) {
    run_loss(out, plain(schema.name, schema.name, x, target, reduction, beta));
  }
  static Gradients backward(const Saved& s, const Tensor& grad, Reduction::Reduction reduction, double beta) {
    return plain_gradients(s, grad, schema.name, schema.name, reduction, beta);
  }
  static void samples(Samples& s) {
    s(s.rand({3, 4}, -0.4, 0.4), s.rand({3, 4}, -0.4, 0.4), Reduction::Mean, 1.0);
    s(s.rand({3, 1}, 1, 2), s.rand({2}, -2, 0), Reduction::None, 0.5);
    s(s.rand({3}, 1, 2), s.rand({3}, -2, 0), Reduction::Sum, 0.0);
    s(s.rand({0, 2}), s.rand({0, 2}), Reduction::Sum, 1.0);
  }
};
HALFTONE_REGISTER_OPERATOR(SmoothL1Loss)

struct HuberLoss : ElementwiseLoss {
  static constexpr Schema schema{"huber_loss",
                                 {"self", "target", "reduction", "delta"},
                                 "d^2 / 2 for |d| <= delta, else delta (|d| - delta / 2)"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, Reduction::Reduction,
                                 double) = &halftone::huber_loss;

  static Meta infer(const Tensor& x, const Tensor& target, Reduction::Reduction reduction, double delta) {
    if (!(delta > 0)) fail(schema.name, "expected delta > 0, got ", delta);
    return loss_meta(plain(schema.name, schema.name, x, target, reduction, delta));
  }
  static void run(const Tensor& out, const Tensor& x, const Tensor& target, Reduction::Reduction reduction,
                  double delta) {
    run_loss(out, plain(schema.name, schema.name, x, target, reduction, delta));
  }
  static Gradients backward(const Saved& s, const Tensor& grad, Reduction::Reduction reduction,
                            double delta) {
    return plain_gradients(s, grad, schema.name, schema.name, reduction, delta);
  }
  static void samples(Samples& s) {
    s(s.rand({3, 4}, -0.4, 0.4), s.rand({3, 4}, -0.4, 0.4), Reduction::Mean, 1.0);
    s(s.rand({3, 1}, 1, 2), s.rand({2}, -2, 0), Reduction::None, 0.5);
    s(s.rand({0, 2}), s.rand({0, 2}), Reduction::Sum, 1.0);
  }
};
HALFTONE_REGISTER_OPERATOR(HuberLoss)

/// Takes log-probabilities for `self`; "batchmean" is the Sum over the batch size (nn::functional).
struct KlDiv : ElementwiseLoss {
  static constexpr Schema schema{"kl_div",
                                 {"self", "target", "reduction", "log_target"},
                                 "target (log(target) - self): the divergence of exp(self) from target"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, Reduction::Reduction,
                                 bool) = &halftone::kl_div;

  static const char* formula(bool log_target) { return log_target ? "kl_div_log_target" : "kl_div"; }

  static Meta infer(const Tensor& x, const Tensor& target, Reduction::Reduction reduction, bool log_target) {
    return loss_meta(plain(schema.name, formula(log_target), x, target, reduction));
  }
  static void run(const Tensor& out, const Tensor& x, const Tensor& target, Reduction::Reduction reduction,
                  bool log_target) {
    run_loss(out, plain(schema.name, formula(log_target), x, target, reduction));
  }
  static Gradients backward(const Saved& s, const Tensor& grad, Reduction::Reduction reduction,
                            bool log_target) {
    return plain_gradients(s, grad, schema.name, formula(log_target), reduction);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}, 0.1, 1), Reduction::Mean, false);
    s(s.rand({2, 3}), s.rand({3}, -2, 0), Reduction::Sum, true);
    s(s.rand({3}), s.rand({2, 3}, 0.1, 1), Reduction::None, false);
    s(s.rand({0, 2}), s.rand({0, 2}), Reduction::Sum, true);
  }
};
HALFTONE_REGISTER_OPERATOR(KlDiv)

struct SoftMarginLoss : PlainLoss<SoftMarginLoss> {
  static constexpr Schema schema{
      "soft_margin_loss", {"self", "target", "reduction"}, "log(1 + exp(-target * self)), mean or sum"};
  static constexpr auto api = &halftone::soft_margin_loss;

  static void samples(Samples& s) {
    s(s.rand({3, 4}), s.rand({3, 4}), Reduction::Mean);
    s(s.rand({3, 1}), s.rand({2}), Reduction::None);
    s(s.rand({0, 2}), s.rand({0, 2}), Reduction::Sum);
  }
};
HALFTONE_REGISTER_OPERATOR(SoftMarginLoss)

/// Without the target's own term: poisson_nll_loss adds that for `full`.
struct PoissonNllLoss : ElementwiseLoss {
  static Tensor call(const Tensor& x, const Tensor& target, bool log_input, double eps,
                     Reduction::Reduction reduction) {
    return dispatch<PoissonNllLoss>(x, target, log_input, eps, reduction);
  }
  static constexpr Schema schema{"poisson_nll_loss",
                                 {"self", "target", "log_input", "eps", "reduction"},
                                 "exp(self) - target * self, or self - target * log(self + eps)"};
  static constexpr auto api = &call;

  static const char* formula(bool log_input) {
    return log_input ? "poisson_nll_loss_log_input" : "poisson_nll_loss";
  }

  static Meta infer(const Tensor& x, const Tensor& target, bool log_input, double eps,
                    Reduction::Reduction reduction) {
    return loss_meta(plain(schema.name, formula(log_input), x, target, reduction, eps));
  }
  static void run(const Tensor& out, const Tensor& x, const Tensor& target, bool log_input, double eps,
                  Reduction::Reduction reduction) {
    run_loss(out, plain(schema.name, formula(log_input), x, target, reduction, eps));
  }
  static Gradients backward(const Saved& s, const Tensor& grad, bool log_input, double eps,
                            Reduction::Reduction reduction) {
    return plain_gradients(s, grad, schema.name, formula(log_input), reduction, eps);
  }
  static void samples(Samples& s) {
    s(s.rand({3, 4}), s.rand({3, 4}, 0, 3), true, 1e-8, Reduction::Mean);
    s(s.rand({3, 1}, 0.5, 2), s.rand({2}, 0, 3), false, 0.25, Reduction::None);
    s(s.rand({0, 2}), s.rand({0, 2}), true, 1e-8, Reduction::Sum);
  }
};
HALFTONE_REGISTER_OPERATOR(PoissonNllLoss)

struct BinaryCrossEntropy : Operator {
  static constexpr Schema schema{"binary_cross_entropy",
                                 {"self", "target", "weight", "reduction"},
                                 "-(t log x + (1 - t) log(1 - x)), the logarithms bounded below by -100"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&,
                                 Reduction::Reduction) = &halftone::binary_cross_entropy;
  static constexpr auto precision = amp::Precision::kBanned;
  static constexpr const char* instead =
      "; use binary_cross_entropy_with_logits on the scores before the sigmoid, or convert to float32";
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | keep_input(2);

  static LossCall call_of(const Tensor& x, const Tensor& target, const Tensor& weight,
                          Reduction::Reduction reduction) {
    return {schema.name, element_loss(schema.name, false), x, target, weight, {}, reduction};
  }
  static Meta infer(const Tensor& x, const Tensor& target, const Tensor& weight,
                    Reduction::Reduction reduction) {
    return loss_meta(call_of(x, target, weight, reduction));
  }
  static void run(const Tensor& out, const Tensor& x, const Tensor& target, const Tensor& weight,
                  Reduction::Reduction reduction) {
    run_loss(out, call_of(x, target, weight, reduction));
  }
  static Gradients backward(const Saved& s, const Tensor& grad, Reduction::Reduction reduction) {
    const Gradients all = loss_gradients(call_of(s.input(0), s.input(1), s.input(2), reduction), grad,
                                         {s.needs(0), s.needs(1), s.needs(2), false});
    return {all[0], all[1], all[2]};
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}, 0.1, 0.9), s.rand({2, 3}, 0, 1), std::nullopt, Reduction::Mean);
    s(s.rand({2, 3}, 0.1, 0.9), s.rand({2, 3}, 0, 1), s.rand({3}, 0.5, 2), Reduction::None);
    s(s.rand({0, 3}, 0.1, 0.9), s.rand({0, 3}, 0, 1), std::nullopt, Reduction::Sum);
  }
};
HALFTONE_REGISTER_OPERATOR(BinaryCrossEntropy)

struct BinaryCrossEntropyWithLogits : Operator {
  static constexpr Schema schema{"binary_cross_entropy_with_logits",
                                 {"self", "target", "weight", "pos_weight", "reduction"},
                                 "binary_cross_entropy of sigmoid(self), stable for every self"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                 Reduction::Reduction) = &halftone::binary_cross_entropy_with_logits;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | keep_input(2) | keep_input(3);

  static LossCall call_of(const Tensor& x, const Tensor& target, const Tensor& weight,
                          const Tensor& pos_weight, Reduction::Reduction reduction) {
    return {schema.name, element_loss(schema.name, pos_weight.defined()), x, target, weight, pos_weight,
            reduction};
  }
  static Meta infer(const Tensor& x, const Tensor& target, const Tensor& weight, const Tensor& pos_weight,
                    Reduction::Reduction reduction) {
    return loss_meta(call_of(x, target, weight, pos_weight, reduction));
  }
  static void run(const Tensor& out, const Tensor& x, const Tensor& target, const Tensor& weight,
                  const Tensor& pos_weight, Reduction::Reduction reduction) {
    run_loss(out, call_of(x, target, weight, pos_weight, reduction));
  }
  static Gradients backward(const Saved& s, const Tensor& grad, Reduction::Reduction reduction) {
    return loss_gradients(call_of(s.input(0), s.input(1), s.input(2), s.input(3), reduction), grad,
                          {s.needs(0), s.needs(1), s.needs(2), s.needs(3)});
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}, 0, 1), std::nullopt, std::nullopt, Reduction::Mean);
    s(s.rand({2, 3}), s.rand({2, 3}, 0, 1), s.rand({2, 1}, 0.5, 2), s.rand({3}, 0.5, 2), Reduction::None);
    s(s.rand({4}, -30, 30), s.rand({4}, 0, 1), std::nullopt, s.rand({4}, 0.5, 2), Reduction::Sum);
    s(s.rand({0, 3}), s.rand({0, 3}, 0, 1), std::nullopt, std::nullopt, Reduction::Sum);
  }
};
HALFTONE_REGISTER_OPERATOR(BinaryCrossEntropyWithLogits)

}  // namespace ops

Tensor mse_loss(const Tensor& self, const Tensor& target, Reduction::Reduction reduction) {
  return ops::dispatch<ops::MseLoss>(self, target, reduction);
}

Tensor l1_loss(const Tensor& self, const Tensor& target, Reduction::Reduction reduction) {
  return ops::dispatch<ops::L1Loss>(self, target, reduction);
}

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, Reduction::Reduction reduction, double beta) {
  return ops::dispatch<ops::SmoothL1Loss>(self, target, reduction, beta);
}

Tensor huber_loss(const Tensor& self, const Tensor& target, Reduction::Reduction reduction, double delta) {
  return ops::dispatch<ops::HuberLoss>(self, target, reduction, delta);
}

Tensor kl_div(const Tensor& self, const Tensor& target, Reduction::Reduction reduction, bool log_target) {
  return ops::dispatch<ops::KlDiv>(self, target, reduction, log_target);
}

Tensor soft_margin_loss(const Tensor& self, const Tensor& target, Reduction::Reduction reduction) {
  return ops::dispatch<ops::SoftMarginLoss>(self, target, reduction);
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full, double eps,
                        Reduction::Reduction reduction) {
  if (!full) return ops::PoissonNllLoss::call(input, target, log_input, eps, reduction);
  using ops::WideOperands;
  const char* const op = "poisson_nll_loss";
  ops::check_defined(op, "target", target);
  const WideOperands operands =
      target.is_floating_point() ? WideOperands(op, {&input, &target}) : WideOperands(op, {&input});
  const Tensor t = operands.factor("target", target);
  const Tensor elements = ops::PoissonNllLoss::call(input, t, log_input, eps, Reduction::None);
  const Tensor stirling = t * log(t) - t + log(t * (2 * 3.14159265358979323846)) * 0.5;
  return operands.result(elements + masked_fill(stirling, le(t, 1), 0), reduction);
}

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight,
                            Reduction::Reduction reduction) {
  return ops::dispatch<ops::BinaryCrossEntropy>(self, target, weight, reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight,
                                        const Tensor& pos_weight, Reduction::Reduction reduction) {
  return ops::dispatch<ops::BinaryCrossEntropyWithLogits>(self, target, weight, pos_weight, reduction);
}

}  // namespace halftone
