#pragma once

#include "halftone/optim/betas_options.h"

namespace halftone::optim {

/// Settings of Adamax.
class AdamaxOptions : public BetasOptions<AdamaxOptions> {
 public:
  AdamaxOptions(double lr = 2e-3) : BetasOptions(lr, {0.9, 0.999}, 0) {}
  std::vector<OptionField> fields() override;
  void check() const override;
  UpdateSettings settings() const override;

  /// Added to the gradient's magnitude.
  HALFTONE_ARG(double, eps) = 1e-8;
};

/// Adamax's moments of one parameter.
class AdamaxParamState : public OptimizerParamState {
 public:
  using OptimizerParamState::OptimizerParamState;
  Tensor& exp_avg() { return moment(0); }
  /// The decaying maximum of the gradient's magnitude, like the parameter.
  Tensor& exp_inf() { return moment(1); }
};

/// Adam with the largest magnitude in the place of the second moment (Kingma and Ba 2015), as PyTorch's.
class Adamax final : public Optimizer {
 public:
  explicit Adamax(ParameterList parameters, AdamaxOptions defaults = {});

 private:
  MomentNames moment_names() const override { return {"exp_avg", "exp_inf"}; }
  void bind_moments(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) const override;
  std::unique_ptr<OptimizerParamState> shown(ParameterState& state) const override;
};

}  // namespace halftone::optim
