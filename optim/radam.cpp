#include "halftone/optim/radam.h"

namespace halftone::optim {

std::vector<OptionField> RAdamOptions::fields() {
  std::vector<OptionField> all = beta_fields();
  all.push_back({"eps", &eps_});
  all.push_back({"decoupled_weight_decay", &decoupled_weight_decay_});
  return all;
}

void RAdamOptions::check() const {
  check_betas("RAdam");
  check_not_negative("RAdam", "eps", eps_);
}

UpdateSettings RAdamOptions::settings() const {
  UpdateSettings settings = beta_settings(UpdateRule::kRadam);
  settings.eps = eps_;
  settings.decoupled = decoupled_weight_decay_;
  return settings;
}

RAdam::RAdam(ParameterList parameters, RAdamOptions defaults)
    : Optimizer("RAdam", std::move(parameters), defaults.clone()) {}

void RAdam::bind_moments(ParameterState& state, const OptimizerOptions&, UpdateCall& call) const {
  call.moments[0] = state.moment(0);
  call.moments[1] = state.moment(1);
}

std::unique_ptr<OptimizerParamState> RAdam::shown(ParameterState& state) const {
  return std::make_unique<RAdamParamState>(state);
}

}  // namespace halftone::optim
