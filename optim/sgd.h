#pragma once

#include "halftone/optim/optimizer.h"

namespace halftone::optim {

/// Settings of SGD: momentum, dampening of the gradient in it, L2 weight decay; nesterov: the step looks
/// ahead along the momentum.
class SGDOptions : public OptimizerCloneableOptions<SGDOptions> {
 public:
  SGDOptions(double lr) : lr_(lr) {}
  std::vector<OptionField> fields() override;
  void check() const override;
  UpdateSettings settings() const override;

  HALFTONE_ARG(double, lr);
  HALFTONE_ARG(double, momentum) = 0;
  HALFTONE_ARG(double, dampening) = 0;
  HALFTONE_ARG(double, weight_decay) = 0;
  HALFTONE_ARG(bool, nesterov) = false;
};

/// SGD's moments of one parameter.
class SGDParamState : public OptimizerParamState {
 public:
  using OptimizerParamState::OptimizerParamState;
  Tensor& momentum_buffer() { return moment(0); }
};

/// Stochastic gradient descent, as PyTorch's: v = momentum v + (1 - dampening) g; w -= lr v.
class SGD final : public Optimizer {
 public:
  SGD(ParameterList parameters, SGDOptions defaults);

 private:
  MomentNames moment_names() const override { return {"momentum_buffer"}; }
  void bind_moments(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) const override;
  std::unique_ptr<OptimizerParamState> shown(ParameterState& state) const override;
};

}  // namespace halftone::optim
