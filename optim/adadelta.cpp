#include "halftone/optim/adadelta.h"

namespace halftone::optim {

std::vector<OptionField> AdadeltaOptions::fields() {
  std::vector<OptionField> all{
      {"lr", &lr_}, {"rho", &rho_}, {"eps", &eps_}, {"weight_decay", &weight_decay_}};
  add_common_fields(all);
  return all;
}

void AdadeltaOptions::check() const {
  check_not_negative("Adadelta", "lr", lr_);
  if (!(rho_ >= 0 && rho_ <= 1)) fail("Adadelta", "rho: expected a number in [0, 1], got ", rho_);
  check_not_negative("Adadelta", "eps", eps_);
  check_not_negative("Adadelta", "weight_decay", weight_decay_);
}

UpdateSettings AdadeltaOptions::settings() const {
  UpdateSettings settings;
  settings.rule = UpdateRule::kAdadelta;
  settings.lr = lr_;
  settings.weight_decay = weight_decay_;
  settings.eps = eps_;
  settings.a = rho_;
  return settings;
}

Adadelta::Adadelta(ParameterList parameters, AdadeltaOptions defaults)
    : Optimizer("Adadelta", std::move(parameters), defaults.clone()) {}

void Adadelta::bind_moments(ParameterState& state, const OptimizerOptions&, UpdateCall& call) const {
  call.moments[0] = state.moment(0);
  call.moments[1] = state.moment(1);
}

std::unique_ptr<OptimizerParamState> Adadelta::shown(ParameterState& state) const {
  return std::make_unique<AdadeltaParamState>(state);
}

}  // namespace halftone::optim
