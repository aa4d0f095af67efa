#pragma once

#include "halftone/optim/optimizer.h"

namespace halftone::optim {

/// Settings of Adagrad. lr_decay: the learning rate at step t is lr / (1 + (t - 1) lr_decay);
/// initial_accumulator_value: where the sum of squares starts; eps: added to its root. All >= 0.
class AdagradOptions : public OptimizerCloneableOptions<AdagradOptions> {
 public:
  AdagradOptions(double lr = 1e-2) : lr_(lr) {}
  std::vector<OptionField> fields() override;
  void check() const override;
  UpdateSettings settings() const override;

  /// The learning rate of the first step.
  HALFTONE_ARG(double, lr);
  HALFTONE_ARG(double, lr_decay) = 0;
  HALFTONE_ARG(double, weight_decay) = 0;
  HALFTONE_ARG(double, initial_accumulator_value) = 0;
  HALFTONE_ARG(double, eps) = 1e-10;
};

/// Adagrad's moments of one parameter.
class AdagradParamState : public OptimizerParamState {
 public:
  using OptimizerParamState::OptimizerParamState;
  /// Sum of the squared gradients, like the parameter.
  Tensor& sum() { return moment(0); }
};

/// Adagrad (Duchi, Hazan and Singer 2011), as PyTorch's.
class Adagrad final : public Optimizer {
 public:
  explicit Adagrad(ParameterList parameters, AdagradOptions defaults = {});

 private:
  MomentNames moment_names() const override { return {"sum"}; }
  void bind_moments(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) const override;
  std::unique_ptr<OptimizerParamState> shown(ParameterState& state) const override;
};

}  // namespace halftone::optim
