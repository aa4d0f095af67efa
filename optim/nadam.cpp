#include "halftone/optim/nadam.h"

namespace halftone::optim {

std::vector<OptionField> NAdamOptions::fields() {
  std::vector<OptionField> all = beta_fields();
  all.push_back({"eps", &eps_});
  all.push_back({"momentum_decay", &momentum_decay_});
  all.push_back({"decoupled_weight_decay", &decoupled_weight_decay_});
  return all;
}

void NAdamOptions::check() const {
  check_betas("NAdam");
  check_not_negative("NAdam", "eps", eps_);
  check_not_negative("NAdam", "momentum_decay", momentum_decay_);
}

UpdateSettings NAdamOptions::settings() const {
  UpdateSettings settings = beta_settings(UpdateRule::kNadam);
  settings.eps = eps_;
  settings.c = momentum_decay_;
  settings.decoupled = decoupled_weight_decay_;
  return settings;
}

NAdam::NAdam(ParameterList parameters, NAdamOptions defaults)
    : Optimizer("NAdam", std::move(parameters), defaults.clone()) {}

void NAdam::bind_moments(ParameterState& state, const OptimizerOptions&, UpdateCall& call) const {
  call.moments[0] = state.moment(0);
  call.moments[1] = state.moment(1);
}

std::unique_ptr<OptimizerParamState> NAdam::shown(ParameterState& state) const {
  return std::make_unique<NAdamParamState>(state);
}

}  // namespace halftone::optim
