// Losses that are a few calls of other operators. See composed.h for what they do in half precision. The
// order of factors decides what backward keeps: operands, not what was made of them.

#include "halftone/autograd/grad_mode.h"
#include "halftone/engine/nn_functions.h"
#include "halftone/ops/check_defined.h"
#include "halftone/ops/composed.h"

namespace halftone {
namespace {

using ops::WideOperands;

/// Targets that are classes (N) for scores (N, C), or one class for (C).
void check_classes(const char* op, const Tensor& self, const Tensor& target) {
  ops::check_defined(op, "self", self);
  ops::check_defined(op, "target", target);
  const bool batched = self.dim() == 2;
  if ((!batched && self.dim() != 1) || self.size(-1) == 0)
    fail(op, "expected scores (N, C) or (C), got ", self);
  if (target.is_floating_point() || target.scalar_type() == kBool || target.device() != self.device()) {
    fail(op, "expected integer targets on ", self.device(), ", got ", target);
  }
}

/// max(x, 0); keeps a bool per element for backward, where clamp_min would keep x.
Tensor hinge(const Tensor& x) { return where(lt(x, 0), 0, x); }

}  // namespace

Tensor hinge_embedding_loss(const Tensor& self, const Tensor& target, double margin,
                            Reduction::Reduction reduction) {
  const char* const op = "hinge_embedding_loss";
  const WideOperands operands(op, {&self}, {&target});
  const Tensor x = operands[0], y = operands.factor("target", target);
  const Tensor close = where(ne(y, -1), x, 0), far = where(ne(y, 1), hinge(margin - x), 0);
  return operands.result(close + far, reduction);
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                             Reduction::Reduction reduction) {
  const char* const op = "cosine_embedding_loss";
  const WideOperands operands(op, {&input1, &input2}, {&target});
  const std::int64_t rank = target.defined() ? target.dim() + 1 : 0;
  if (target.defined() && (rank > 2 || input1.dim() != rank || input2.dim() != rank)) {
    fail(op, "expected inputs (N, D) and a target (N), or (D) and (), got ", input1, ", ", input2, " and ",
         target);
  }
  const Tensor a = operands[0], b = operands[1], y = operands.factor("target", target);
  constexpr double kTiny = 1e-12;
  const Tensor cosine = sum(a * b, -1) / sqrt((sum(square(a), -1) + kTiny) * (sum(square(b), -1) + kTiny));
  const Tensor same = where(eq(y, 1), 1 - cosine, 0), other = where(eq(y, -1), hinge(cosine - margin), 0);
  return operands.result(same + other, reduction);
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                           Reduction::Reduction reduction) {
  const char* const op = "margin_ranking_loss";
  const WideOperands operands(op, {&input1, &input2}, {&target});
  const Tensor y = operands.factor("target", target);
  if (input1.dim() != input2.dim() || input1.dim() != y.dim()) {
    fail(op, "expected inputs and target of as many dimensions, got ", input1, ", ", input2, " and ", target);
  }
  return operands.result(hinge(y * (operands[1] - operands[0]) + margin), reduction);
}

Tensor multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p, const Scalar& margin,
                         const Tensor& weight, Reduction::Reduction reduction) {
  const char* const op = "multi_margin_loss";
  const WideOperands operands(op, {&self}, {&weight});
  check_classes(op, self, target);
  if (p.to_double() != 1 && p.to_double() != 2) fail(op, "p must be 1 or 2, got ", p.to_double());
  const std::int64_t classes = self.size(-1);
  if (target.numel() != self.numel() / classes || target.dim() > 1) {
    fail(op, "expected one class per row of ", self, ", got ", target);
  }
  if (weight.defined() && !(weight.sizes() == IntArrayRef({classes}))) {
    fail(op, "expected a weight (", classes, "), got ", weight);
  }
  const Tensor x = reshape(operands[0], {-1, classes}), labels = reshape(target.to(kLong), {-1, 1});
  Tensor violations = hinge(margin.to_double() - gather(x, 1, labels) + x);
  if (p.to_double() == 2) violations = square(violations);
  if (weight.defined())
    violations = violations * gather(expand(operands.factor("weight", weight), x.sizes()), 1, labels);
  violations = scatter(violations, 1, labels, 0);
  const Tensor rows = sum(violations, 1) / static_cast<double>(classes);
  return operands.result(reduction == Reduction::None ? reshape(rows, target.sizes()) : rows, reduction);
}

Tensor multilabel_margin_loss(const Tensor& self, const Tensor& target, Reduction::Reduction reduction) {
  const char* const op = "multilabel_margin_loss";
  const WideOperands operands(op, {&self});
  check_classes(op, self, target);
  if (!(target.sizes() == self.sizes())) fail(op, "expected targets shaped like ", self, ", got ", target);
  if (target.is_cpu() && target.numel() > 0 && target.min().item<std::int64_t>() < -1) {
    fail(op, "expected classes, and -1 behind the last, got ", target.min().item<std::int64_t>());
  }
  const std::int64_t classes = self.size(-1);
  const Tensor x = reshape(operands[0], {-1, classes}), labels = reshape(target.to(kLong), {-1, classes});
  Tensor listed, is_label;
  {
    // The labels are those before the first -1.
    const NoGradGuard no_grad;
    listed = eq(cumsum(to_dtype(lt(labels, 0), kLong), 1), 0);
    const Tensor hits = scatter_add(zeros(x.sizes(), TensorOptions(kLong).device(x.device())), 1,
                                    clamp_min(labels, 0), to_dtype(listed, kLong));
    is_label = hits > 0;
  }
  // (N, labels, classes): 1 - x[label] + x[class] for classes that are no labels.
  const Tensor scores = unsqueeze(gather(x, 1, clamp_min(labels, 0)), 2);
  const Tensor violations = hinge(1 - scores + unsqueeze(x, 1));
  const Tensor counts = logical_and(unsqueeze(listed, 2), unsqueeze(logical_not(is_label), 1));
  const Tensor rows = sum(where(counts, violations, 0), {1, 2}) / static_cast<double>(classes);
  return operands.result(reduction == Reduction::None && self.dim() == 1 ? reshape(rows, {}) : rows,
                         reduction);
}

Tensor multilabel_soft_margin_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                                   Reduction::Reduction reduction) {
  const char* const op = "multilabel_soft_margin_loss";
  const WideOperands operands(op, {&self}, {&target, &weight});
  const Tensor x = operands[0], y = operands.factor("target", target);
  if (self.dim() == 0 || !(self.sizes() == target.sizes())) {
    fail(op, "expected scores (..., C) and a target shaped like them, got ", self, " and ", target);
  }
  Tensor elements = neg(y * log_sigmoid(x) + (1 - y) * log_sigmoid(neg(x)));
  if (weight.defined()) elements = elements * operands.factor("weight", weight);
  return operands.result(mean(elements, -1), reduction);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin, double p, double eps, bool swap, Reduction::Reduction reduction) {
  const char* const op = "triplet_margin_loss";
  const WideOperands operands(op, {&anchor, &positive, &negative});
  if (anchor.dim() != positive.dim() || anchor.dim() != negative.dim()) {
    fail(op, "expected anchor, positive and negative of as many dimensions, got ", anchor, ", ", positive,
         " and ", negative);
  }
  const Tensor near = pairwise_distance(operands[0], operands[1], p, eps);
  Tensor far = pairwise_distance(operands[0], operands[2], p, eps);
  if (swap) far = minimum(far, pairwise_distance(operands[1], operands[2], p, eps));
  return operands.result(hinge(margin + near - far), reduction);
}

}  // namespace halftone
