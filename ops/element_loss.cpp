#include "halftone/ops/element_loss.h"

#include "halftone/kernels/check.h"
#include "halftone/kernels/reduce.h"
#include "halftone/ops/check_defined.h"
#include "halftone/ops/promotion.h"
#include "halftone/ops/wide.h"

namespace halftone {
namespace ops {
namespace {

// --- The formulas
// ----------------------------------------------------------------------------------------------
using E = const LossElements&;

Tensor distance(E e) { return e.x - e.target; }
Tensor inside(E e) { return to_dtype(le(abs(distance(e)), e.parameter), e.x.scalar_type()); }

Tensor mse_dx(E e) { return distance(e) * 2; }
Tensor mse_dxx(E e) { return full({}, 2, e.x.options()); }
Tensor l1_dx(E e) { return sign(distance(e)); }
Tensor smooth_l1_dx(E e) {
  return e.parameter == 0 ? l1_dx(e) : clamp(distance(e) / e.parameter, Scalar(-1.0), Scalar(1.0));
}
Tensor smooth_l1_dxx(E e) { return e.parameter == 0 ? zeros({}, e.x.options()) : inside(e) / e.parameter; }
Tensor huber_dx(E e) { return clamp(distance(e), Scalar(-e.parameter), Scalar(e.parameter)); }

Tensor bce_value(E e) { return binary_cross_entropy(e.x, e.target, {}, Reduction::None); }
Tensor bce_dx(E e) { return (e.x - e.target) / clamp_min((1 - e.x) * e.x, 1e-12); }
Tensor bce_dt(E e) { return clamp_min(log1p(neg(e.x)), -100) - clamp_min(log(e.x), -100); }
Tensor bce_dxx(E e) { return e.target / square(e.x) + (1 - e.target) / square(1 - e.x); }
Tensor bce_dxt(E e) { return neg(reciprocal(clamp_min((1 - e.x) * e.x, 1e-12))); }

Tensor logits_value(E e) {
  return binary_cross_entropy_with_logits(e.x, e.target, {}, e.pos_weight, Reduction::None);
}
Tensor logits_dx(E e) { return sigmoid(e.x) - e.target; }
Tensor logits_dt(E e) { return neg(e.x); }
Tensor logits_dxx(E e) { return sigmoid(e.x) * sigmoid(neg(e.x)); }
Tensor logits_dxt(E e) { return full({}, -1, e.x.options()); }

/// (1 - t) x + k log(1 + e^-x) with k = 1 + (pos_weight - 1) t.
Tensor positive_factor(E e) { return 1 + (e.pos_weight - 1) * e.target; }
Tensor weighted_dx(E e) { return (1 - e.target) - positive_factor(e) * sigmoid(neg(e.x)); }
Tensor weighted_dt(E e) { return neg(e.x) - (e.pos_weight - 1) * log_sigmoid(e.x); }
Tensor weighted_dxx(E e) { return positive_factor(e) * logits_dxx(e); }
Tensor weighted_dxt(E e) { return neg(1 + (e.pos_weight - 1) * sigmoid(neg(e.x))); }
Tensor weighted_dp(E e) { return neg(e.target * log_sigmoid(e.x)); }
Tensor weighted_dxp(E e) { return neg(e.target * sigmoid(neg(e.x))); }

Tensor kl_dx(E e) { return neg(e.target); }
Tensor kl_dt(E e) { return log(e.target) + 1 - e.x; }
Tensor kl_dxt(E e) { return full({}, -1, e.x.options()); }
Tensor log_kl_dx(E e) { return neg(exp(e.target)); }
Tensor log_kl_dt(E e) { return exp(e.target) * (e.target - e.x + 1); }

Tensor soft_margin_slope(E e) { return neg(sigmoid(neg(e.target * e.x))); }
Tensor soft_margin_dx(E e) { return soft_margin_slope(e) * e.target; }
Tensor soft_margin_dt(E e) { return soft_margin_slope(e) * e.x; }
/// The second derivative of log(1 + e^-z), z = t x.
Tensor soft_margin_bend(E e) { return sigmoid(e.target * e.x) * sigmoid(neg(e.target * e.x)); }
Tensor soft_margin_dxx(E e) { return square(e.target) * soft_margin_bend(e); }
Tensor soft_margin_dxt(E e) { return soft_margin_slope(e) + e.target * e.x * soft_margin_bend(e); }

Tensor poisson_dx(E e) { return 1 - e.target / (e.x + e.parameter); }
Tensor poisson_dt(E e) { return neg(log(e.x + e.parameter)); }
Tensor poisson_dxx(E e) { return e.target / square(e.x + e.parameter); }
Tensor poisson_dxt(E e) { return neg(reciprocal(e.x + e.parameter)); }
Tensor log_poisson_dx(E e) { return exp(e.x) - e.target; }
Tensor log_poisson_dt(E e) { return neg(e.x); }
Tensor log_poisson_dxx(E e) { return exp(e.x); }
Tensor log_poisson_dxt(E e) { return full({}, -1, e.x.options()); }

constexpr ElementLoss kLosses[] = {
    {"mse_loss", Fn::kMse, Fn::kMseBackward, true, true, nullptr, mse_dx, nullptr, mse_dxx, nullptr},
    {"l1_loss", Fn::kL1, Fn::kL1Backward, true, true, nullptr, l1_dx, nullptr, nullptr, nullptr},
    {"smooth_l1_loss", Fn::kSmoothL1, Fn::kSmoothL1Backward, true, true, nullptr, smooth_l1_dx, nullptr,
     smooth_l1_dxx, nullptr},
    {"huber_loss", Fn::kHuber, Fn::kHuberBackward, true, true, nullptr, huber_dx, nullptr, inside, nullptr},
    {"binary_cross_entropy", Fn::kBce, Fn::kBceBackward, false, false, bce_value, bce_dx, bce_dt, bce_dxx,
     bce_dxt},
    {"binary_cross_entropy_with_logits", Fn::kBceWithLogits, Fn::kBceWithLogitsBackward, false, false,
     logits_value, logits_dx, logits_dt, logits_dxx, logits_dxt},
    {"kl_div", Fn::kKlDiv, Fn::kKlDivBackward, true, false, nullptr, kl_dx, kl_dt, nullptr, kl_dxt},
    {"kl_div_log_target", Fn::kKlDivLogTarget, Fn::kKlDivLogTargetBackward, true, false, nullptr, log_kl_dx,
     log_kl_dt, nullptr, log_kl_dx},
    {"soft_margin_loss", Fn::kSoftMargin, Fn::kSoftMarginBackward, true, false, nullptr, soft_margin_dx,
     soft_margin_dt, soft_margin_dxx, soft_margin_dxt},
    {"poisson_nll_loss", Fn::kPoissonNll, Fn::kPoissonNllBackward, true, false, nullptr, poisson_dx,
     poisson_dt, poisson_dxx, poisson_dxt},
    {"poisson_nll_loss_log_input", Fn::kPoissonNllLogInput, Fn::kPoissonNllLogInputBackward, true, false,
     nullptr, log_poisson_dx, log_poisson_dt, log_poisson_dxx, log_poisson_dxt},
};
constexpr ElementLoss kWithPosWeight = {"binary_cross_entropy_with_logits",
                                        Fn::kBceWithLogitsPosWeight,
                                        Fn::kBceWithLogitsPosWeightBackward,
                                        false,
                                        false,
                                        logits_value,
                                        weighted_dx,
                                        weighted_dt,
                                        weighted_dxx,
                                        weighted_dxt,
                                        weighted_dp,
                                        weighted_dxp};

// --- Shapes and dtypes
// -----------------------------------------------------------------------------------------

Dims element_shape(const LossCall& call) {
  return broadcast_shapes(call.op, call.x.sizes(), call.target.sizes());
}

/// What elements are computed in.
ScalarType element_dtype(std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* tensor : tensors) {
    if (tensor->defined() && tensor->scalar_type() == kDouble) return kDouble;
  }
  return kFloat;
}

void pointwise_into(Fn fn, const Tensor& out, std::initializer_list<const Tensor*> operands,
                    double parameter = 0) {
  const auto& kernels = kernels_for<PointwiseKernels>(out.device());
  kernels.run(fn, out, {operands.begin(), static_cast<std::size_t>(kernels.operands(fn))},
              Params{{parameter}});
}

/// Over the dimensions that `out` has with size 1 and `elements` with more, or over all if `out` has none.
void reduce_into(ReduceOp op, const Tensor& out, const Tensor& elements) {
  DimMask mask = 0;
  for (std::int64_t d = 0; d < elements.dim(); ++d) {
    if (out.dim() == 0 || out.size(d) != elements.size(d)) mask |= DimMask{1} << d;
  }
  kernels_for<ReduceKernels>(out.device()).run(op, out, elements, mask, {});
}

void check_weight(const LossCall& call, const char* name, const Tensor& weight, const Dims& shape) {
  if (!weight.defined()) return;
  if (!weight.is_floating_point() || !(broadcast_shapes(call.op, weight.sizes(), shape) == shape)) {
    fail(call.op, "expected a floating ", name, " that broadcasts to ", shape, ", got ", weight);
  }
}

/// The arriving gradient divided by what a mean divides by, in fp32.
Tensor scaled(const LossCall& call, const Tensor& grad) {
  if (call.reduction != Reduction::Mean) return wide(grad);
  return wide(grad) / static_cast<double>(count_elements(element_shape(call)));
}

LossElements elements_of(const LossCall& call) {
  const ScalarType dtype = element_dtype({&call.x, &call.target, &call.weight, &call.pos_weight});
  const auto convert = [&](const Tensor& t) { return t.defined() ? to_dtype(t, dtype) : t; };
  return {convert(call.x), convert(call.target), convert(call.pos_weight), call.parameter};
}

Tensor times_weight(const LossCall& call, const Tensor& values) {
  return call.weight.defined() ? values * to_dtype(call.weight, values.scalar_type()) : values;
}

}  // namespace

const ElementLoss& element_loss(std::string_view name, bool has_pos_weight) {
  if (has_pos_weight && name == kWithPosWeight.name) return kWithPosWeight;
  for (const ElementLoss& loss : kLosses) {
    if (name == loss.name) return loss;
  }
  fail("element_loss_backward", "there is no loss named '", name, "'");
}

Meta loss_meta(const LossCall& call) {
  const Tensor &x = call.x, &target = call.target;
  check_defined(call.op, "self", x);
  check_defined(call.op, "target", target);
  if (!x.is_floating_point()) fail(call.op, "expected floating predictions, got ", x);
  if (!call.loss.broadcasts && !(x.sizes() == target.sizes())) {
    fail(call.op, "expected a target shaped like the predictions ", x, ", got ", target);
  }
  const Dims shape = element_shape(call);
  check_weight(call, "weight", call.weight, shape);
  check_weight(call, "pos_weight", call.pos_weight, shape);
  for (const Tensor* other : {&target, &call.weight, &call.pos_weight}) {
    if (other->defined() && other->device() != x.device()) {
      fail(call.op, "expected all tensors on one device, got ", x.device(), " and ", other->device());
    }
  }
  const ScalarType dtype = result_type(x, target);
  if (call.reduction == Reduction::None) return like(x, shape, dtype);
  if (call.reduction == Reduction::Mean || call.reduction == Reduction::Sum) return like(x, {}, dtype);
  fail(call.op, "expected the reduction None, Mean or Sum, got ", static_cast<int>(call.reduction));
}

void run_loss(const Tensor& out, const LossCall& call) {
  if (call.loss.forward == Fn::kBce)
    kernels_for<CheckKernels>(call.x.device()).values(call.op, ValueRule::kProbability, call.x);
  const bool reduces = call.reduction != Reduction::None;
  Tensor elements = out;
  if (reduces || call.weight.defined()) {
    const ScalarType dtype = element_dtype({&out, &call.x, &call.target, &call.weight, &call.pos_weight});
    elements = allocate({element_shape(call), dtype, out.device()});
  }
  pointwise_into(call.loss.forward, elements, {&call.x, &call.target, &call.pos_weight}, call.parameter);
  if (call.weight.defined()) pointwise_into(Fn::kMul, reduces ? elements : out, {&elements, &call.weight});
  if (reduces)
    reduce_into(call.reduction == Reduction::Mean ? ReduceOp::kMean : ReduceOp::kSum, out, elements);
}

Gradients loss_gradients(const LossCall& call, const Tensor& grad, const std::array<bool, 4>& wanted) {
  Gradients grads(4, Tensor());
  const ElementLoss& loss = call.loss;
  const auto fused = [&](const Tensor& x, const Tensor& target) {
    return element_loss_backward(grad, x, target, call.weight, call.pos_weight, loss.name, call.reduction,
                                 call.parameter);
  };
  if (wanted[0]) grads[0] = fused(call.x, call.target);
  if (wanted[1] && loss.symmetric) grads[1] = fused(call.target, call.x);
  if ((wanted[1] && !loss.symmetric) || wanted[2] || wanted[3]) {
    const LossElements e = elements_of(call);
    const Tensor g = scaled(call, grad);
    if (wanted[1]) grads[1] = times_weight(call, g * loss.dt(e));
    if (wanted[2]) grads[2] = g * loss.value(e);
    if (wanted[3]) grads[3] = times_weight(call, g * loss.dp(e));
  }
  return grads;
}

struct ElementLossBackward : Operator {
  static constexpr Schema schema{
      "element_loss_backward",
      {"grad", "self", "target", "weight", "pos_weight", "loss", "reduction", "parameter"},
      "gradient for self of the loss named by `loss`, in self's dtype"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                 std::string_view, Reduction::Reduction,
                                 double) = &halftone::element_loss_backward;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | keep_input(2) | keep_input(3) | keep_input(4);

  static Meta infer(const Tensor& grad, const Tensor& x, const Tensor& target, const Tensor& weight,
                    const Tensor& pos_weight, std::string_view loss, Reduction::Reduction reduction,
                    double parameter) {
    const Meta meta = loss_meta(call_of(x, target, weight, pos_weight, loss, reduction, parameter));
    if (!(grad.sizes().dims() == meta.sizes)) {
      fail(schema.name, "expected a gradient with the loss's shape ", meta.sizes, ", got ", grad);
    }
    return like(x);
  }
  static void run(const Tensor& out, const Tensor& grad, const Tensor& x, const Tensor& target,
                  const Tensor& weight, const Tensor& pos_weight, std::string_view name,
                  Reduction::Reduction reduction, double parameter) {
    const NoGradGuard no_grad;
    const LossCall call = call_of(x, target, weight, pos_weight, name, reduction, parameter);
    const Dims shape = element_shape(call);
    const bool sums = !(shape == out.sizes().dims());
    Tensor elements = out;
    if (sums || weight.defined()) {
      elements =
          allocate({shape, element_dtype({&out, &grad, &x, &target, &weight, &pos_weight}), out.device()});
    }
    const Tensor g = reduction == Reduction::Mean ? scaled(call, grad) : grad;
    if (kernels_for<PointwiseKernels>(out.device()).operands(call.loss.backward) == 2) {
      pointwise_into(call.loss.backward, elements, {&g, &target}, parameter);
    } else {
      pointwise_into(call.loss.backward, elements, {&g, &x, &target, &pos_weight}, parameter);
    }
    if (weight.defined()) pointwise_into(Fn::kMul, sums ? elements : out, {&elements, &weight});
    if (!sums) return;
    Dims kept = out.sizes().dims();
    while (kept.size() < shape.size()) kept.insert(0, 1);
    reduce_into(ReduceOp::kSum, out.view(kept), elements);
  }
  static Gradients backward(const Saved& s, const Tensor& g, std::string_view name,
                            Reduction::Reduction reduction, double parameter) {
    Gradients grads(5, Tensor());
    const LossCall call = call_of(s.input(1), s.input(2), s.input(3), s.input(4), name, reduction, parameter);
    const ElementLoss& loss = call.loss;
    const LossElements e = elements_of(call);
    const Tensor u = expand(to_dtype(g, e.x.scalar_type()), element_shape(call));
    if (s.needs(0)) {
      const Tensor rows = times_weight(call, u * loss.dx(e));
      grads[0] = reduction == Reduction::None   ? rows
                 : reduction == Reduction::Mean ? sum(rows) / static_cast<double>(rows.numel())
                                                : sum(rows);
    }
    const Tensor v = u * scaled(call, s.input(0));
    if (s.needs(1) && loss.dxx) grads[1] = times_weight(call, v * loss.dxx(e));
    if (s.needs(2)) {
      if (loss.dxt)
        grads[2] = times_weight(call, v * loss.dxt(e));
      else if (loss.dxx)
        grads[2] = neg(times_weight(call, v * loss.dxx(e)));
    }
    if (s.needs(3)) grads[3] = v * loss.dx(e);
    if (s.needs(4)) grads[4] = times_weight(call, v * loss.dxp(e));
    return grads;
  }
  static void samples(Samples& s) {
    const Tensor none;
    s(s.rand({}), s.rand({2, 3}), s.rand({2, 3}), none, none, "mse_loss", Reduction::Mean, 0.0);
    s(s.rand({2, 2, 3}), s.rand({1, 3}), s.rand({2, 2, 1}), none, none, "mse_loss", Reduction::None, 0.0);
    s(s.rand({}), s.rand({2, 3}, 1, 2), s.rand({2, 3}, -2, 0), none, none, "l1_loss", Reduction::Sum, 0.0);
    s(s.rand({}), s.rand({4}, -0.4, 0.4), s.rand({4}, 0.5, 1), none, none, "smooth_l1_loss", Reduction::Mean,
      2.0);
    s(s.rand({4}), s.rand({4}, -0.4, 0.4), s.rand({4}, 1, 2), none, none, "huber_loss", Reduction::None, 0.5);
    s(s.rand({}), s.rand({4}, 0.2, 0.8), s.rand({4}, 0, 1), s.rand({4}, 0.5, 2), none, "binary_cross_entropy",
      Reduction::Mean, 0.0);
    s(s.rand({}), s.rand({2, 2}), s.rand({2, 2}, 0, 1), s.rand({2}, 0.5, 2), none,
      "binary_cross_entropy_with_logits", Reduction::Sum, 0.0);
    s(s.rand({}), s.rand({2, 2}), s.rand({2, 2}, 0, 1), s.rand({2}, 0.5, 2), s.rand({2}, 0.5, 2),
      "binary_cross_entropy_with_logits", Reduction::Mean, 0.0);
    s(s.rand({}), s.rand({2, 3}), s.rand({3}, 0.1, 1), none, none, "kl_div", Reduction::Mean, 0.0);
    s(s.rand({}), s.rand({3}), s.rand({2, 3}), none, none, "kl_div_log_target", Reduction::Sum, 0.0);
    s(s.rand({}), s.rand({0}), s.rand({0}), none, none, "mse_loss", Reduction::Sum, 0.0);
  }

 private:
  static LossCall call_of(const Tensor& x, const Tensor& target, const Tensor& weight,
                          const Tensor& pos_weight, std::string_view loss, Reduction::Reduction reduction,
                          double parameter) {
    return {schema.name, element_loss(loss, pos_weight.defined()), x, target, weight, pos_weight, reduction,
            parameter};
  }
};
HALFTONE_REGISTER_OPERATOR(ElementLossBackward)

}  // namespace ops

Tensor element_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                             const Tensor& weight, const Tensor& pos_weight, std::string_view loss,
                             Reduction::Reduction reduction, double parameter) {
  return ops::dispatch<ops::ElementLossBackward>(grad, self, target, weight, pos_weight, loss, reduction,
                                                 parameter);
}

}  // namespace halftone
