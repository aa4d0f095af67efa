#pragma once

#include "halftone/optim/betas_options.h"

namespace halftone::optim {

/// Settings of Lion; weight_decay shrinks the weight itself. A good lr is three to ten times smaller than
/// AdamW's, a good weight_decay as many times larger.
class LionOptions : public BetasOptions<LionOptions> {
 public:
  LionOptions(double lr = 1e-4) : BetasOptions(lr, {0.9, 0.99}, 0) {}
  std::vector<OptionField> fields() override;
  void check() const override;
  UpdateSettings settings() const override;
};

/// Lion's moments of one parameter.
class LionParamState : public OptimizerParamState {
 public:
  using OptimizerParamState::OptimizerParamState;
  Tensor& exp_avg() { return moment(0); }
};

/// The sign of a moment (Chen et al. 2023, "Symbolic discovery of optimization algorithms"): every weight
/// moves by lr, and one moment is kept.
class Lion final : public Optimizer {
 public:
  explicit Lion(ParameterList parameters, LionOptions defaults = {});

 private:
  MomentNames moment_names() const override { return {"exp_avg"}; }
  void bind_moments(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) const override;
  std::unique_ptr<OptimizerParamState> shown(ParameterState& state) const override;
};

}  // namespace halftone::optim
