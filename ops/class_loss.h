#pragma once

// What cross_entropy_loss and nll_loss share: checking their arguments, and the derivatives for which no
// kernel is worth having (for the target, for the class weights, and second order), composed of
// differentiable operators.

#include "halftone/kernels/loss.h"
#include "halftone/ops/operator.h"
#include "halftone/ops/wide.h"

namespace halftone::ops {

/// Throws Error unless scores, target and weight fit together. Returns what the loss looks like.
Meta class_loss_meta(const Tensor& x, const Tensor& target, const Tensor& weight,
                     const ClassLossOptions& options);
/// The same for a gradient operator: additionally `grad` must be shaped like the loss.
Meta class_loss_backward_meta(const Tensor& grad, const Tensor& x, const Tensor& target, const Tensor& weight,
                              const ClassLossOptions& options);

/// The dimension that holds the classes.
std::int64_t class_dim(std::int64_t rank);

/// A classification loss as in kernels/loss.h, by its parts: loss = grad . (-sum_c q_c y_c) / divisor, where
/// q is weight_c * share_c and y the logarithms of the probabilities.
class ClassLossParts {
 public:
  ClassLossParts(const Tensor& x, const Tensor& target, const Tensor& weight,
                 const ClassLossOptions& options);

  const Tensor& q() const { return q_; }
  /// The gradient of the loss as each row's own: what arrives for None, spread out for Sum and Mean.
  Tensor row_grad(const Tensor& grad) const;
  /// The gradient for `grad`, given each row's derivative.
  Tensor grad_of_grad(const Tensor& rows) const;
  Tensor sum_classes(const Tensor& values) const { return sum(values, dim_, true); }

  /// Gradients for the target and for the class weights, given `dq`, that of q, and (for the divisor of a
  /// mean) `rows`, each row's term of what is divided, with the arriving gradient.
  Tensor target_grad(const Tensor& dq) const;
  Tensor weight_grad(const Tensor& dq, const Tensor& rows, const Tensor& grad) const;

 private:
  Tensor sum_rows(const Tensor& values) const;
  bool divides_by_weights() const { return options_.reduction == Reduction::Mean && hot_.defined(); }

  ClassLossOptions options_;
  std::int64_t dim_, rank_, rows_;
  Tensor hot_;     // indices: 1 at each row's class
  Tensor share_;   // smoothed target
  Tensor weight_;  // (1, C, 1, ...), or undefined
  Tensor q_;
  Tensor divisor_;  // of a mean over weights
};

}  // namespace halftone::ops
