#pragma once

// Losses that are a mean or sum of one formula per element: what their declarations (ops/loss.cpp) have in
// common. Elements are computed in fp32 and reduced in fp32 before the only rounding, whatever the inputs'
// dtypes.

#include "halftone/kernels/pointwise.h"
#include "halftone/ops/operator.h"

namespace halftone::ops {

/// The operands of a formula, in fp32 or fp64.
struct LossElements {
  Tensor x, target, pos_weight;
  double parameter;
};

/// One formula l(x, t) and its derivatives, for rules without a kernel, composed of differentiable operators.
struct ElementLoss {
  using Rule = Tensor (*)(const LossElements&);
  const char* name;
  Fn forward;       ///< (x, t[, pos_weight])
  Fn backward;      ///< (g, x, t[, pos_weight]), or (g, t) where x does not matter
  bool broadcasts;  ///< x and t need not have one shape
  bool symmetric;   ///< l(x, t) = l(t, x)
  Rule value;       ///< l, for the gradient of the weights; null where there are none
  Rule dx;
  Rule dt;            ///< null if symmetric
  Rule dxx;           ///< null: zero
  Rule dxt;           ///< null: -dxx
  Rule dp = nullptr;  ///< for pos_weight
  Rule dxp = nullptr;
};

/// The formula of that name. Throws Error if there is none.
const ElementLoss& element_loss(std::string_view name, bool has_pos_weight);

/// The tensors and settings of one call.
struct LossCall {
  const char* op;
  const ElementLoss& loss;
  Tensor x, target, weight, pos_weight;
  Reduction::Reduction reduction;
  double parameter = 0;
};

/// Throws Error unless the operands fit together. Returns what the loss looks like.
Meta loss_meta(const LossCall& call);
void run_loss(const Tensor& out, const LossCall& call);
/// Gradients for x, target, weight and pos_weight, as far as wanted.
Gradients loss_gradients(const LossCall& call, const Tensor& grad, const std::array<bool, 4>& wanted);

}  // namespace halftone::ops
