#pragma once

#include "halftone/optim/optimizer.h"

namespace halftone::optim {

/// Settings of Adadelta: `rho` is the decay of both running means, `eps` is added to them under the root.
class AdadeltaOptions : public OptimizerCloneableOptions<AdadeltaOptions> {
 public:
  AdadeltaOptions(double lr = 1) : lr_(lr) {}
  std::vector<OptionField> fields() override;
  void check() const override;
  UpdateSettings settings() const override;

  HALFTONE_ARG(double, lr);
  HALFTONE_ARG(double, rho) = 0.9;
  HALFTONE_ARG(double, eps) = 1e-6;
  HALFTONE_ARG(double, weight_decay) = 0;
};

/// Adadelta's moments of one parameter.
class AdadeltaParamState : public OptimizerParamState {
 public:
  using OptimizerParamState::OptimizerParamState;
  Tensor& square_avg() { return moment(0); }
  /// Running mean of the squared update, like the parameter; undefined before the first step.
  Tensor& acc_delta() { return moment(1); }
};

/// Adadelta (Zeiler 2012), as PyTorch's.
class Adadelta final : public Optimizer {
 public:
  explicit Adadelta(ParameterList parameters, AdadeltaOptions defaults = {});

 private:
  MomentNames moment_names() const override { return {"square_avg", "acc_delta"}; }
  void bind_moments(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) const override;
  std::unique_ptr<OptimizerParamState> shown(ParameterState& state) const override;
};

}  // namespace halftone::optim
