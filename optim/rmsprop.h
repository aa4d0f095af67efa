#pragma once

#include "halftone/optim/optimizer.h"

namespace halftone::optim {

/// Settings of RMSprop: decay `alpha` of the mean square, `eps` added to its root, `centered` to subtract the
/// squared mean, momentum.
class RMSpropOptions : public OptimizerCloneableOptions<RMSpropOptions> {
 public:
  RMSpropOptions(double lr = 1e-2) : lr_(lr) {}
  std::vector<OptionField> fields() override;
  void check() const override;
  UpdateSettings settings() const override;

  HALFTONE_ARG(double, lr);
  HALFTONE_ARG(double, alpha) = 0.99;
  HALFTONE_ARG(double, eps) = 1e-8;
  HALFTONE_ARG(double, weight_decay) = 0;
  HALFTONE_ARG(double, momentum) = 0;
  HALFTONE_ARG(bool, centered) = false;
};

/// RMSprop's moments of one parameter.
class RMSpropParamState : public OptimizerParamState {
 public:
  using OptimizerParamState::OptimizerParamState;
  Tensor& square_avg() { return moment(0); }
  Tensor& momentum_buffer() { return moment(1); }
  /// Running mean of the gradient, with centered; undefined without.
  Tensor& grad_avg() { return moment(2); }
};

/// RMSprop (Tieleman and Hinton 2012; Graves 2013), as PyTorch's.
class RMSprop final : public Optimizer {
 public:
  explicit RMSprop(ParameterList parameters, RMSpropOptions defaults = {});

 private:
  MomentNames moment_names() const override { return {"square_avg", "momentum_buffer", "grad_avg"}; }
  void bind_moments(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) const override;
  std::unique_ptr<OptimizerParamState> shown(ParameterState& state) const override;
};

}  // namespace halftone::optim
