#pragma once

#include "halftone/optim/betas_options.h"

namespace halftone::optim {

/// Settings of RAdam.
class RAdamOptions : public BetasOptions<RAdamOptions> {
 public:
  RAdamOptions(double lr = 1e-3) : BetasOptions(lr, {0.9, 0.999}, 0) {}
  std::vector<OptionField> fields() override;
  void check() const override;
  UpdateSettings settings() const override;

  /// Added to the root of the second moment.
  HALFTONE_ARG(double, eps) = 1e-8;
  /// Weight decay shrinks the weight itself, as in AdamW.
  HALFTONE_ARG(bool, decoupled_weight_decay) = false;
};

/// RAdam's moments of one parameter.
class RAdamParamState : public OptimizerParamState {
 public:
  using OptimizerParamState::OptimizerParamState;
  Tensor& exp_avg() { return moment(0); }
  Tensor& exp_avg_sq() { return moment(1); }
};

/// Adam with a rectified variance, which needs no warm-up (Liu et al. 2020), as PyTorch's.
class RAdam final : public Optimizer {
 public:
  explicit RAdam(ParameterList parameters, RAdamOptions defaults = {});

 private:
  MomentNames moment_names() const override { return {"exp_avg", "exp_avg_sq"}; }
  void bind_moments(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) const override;
  std::unique_ptr<OptimizerParamState> shown(ParameterState& state) const override;
};

}  // namespace halftone::optim
