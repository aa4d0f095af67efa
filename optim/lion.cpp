#include "halftone/optim/lion.h"

namespace halftone::optim {

std::vector<OptionField> LionOptions::fields() { return beta_fields(); }

void LionOptions::check() const { check_betas("Lion"); }

UpdateSettings LionOptions::settings() const { return beta_settings(UpdateRule::kLion); }

Lion::Lion(ParameterList parameters, LionOptions defaults)
    : Optimizer("Lion", std::move(parameters), defaults.clone()) {}

void Lion::bind_moments(ParameterState& state, const OptimizerOptions&, UpdateCall& call) const {
  call.moments[0] = state.moment(0);
}

std::unique_ptr<OptimizerParamState> Lion::shown(ParameterState& state) const {
  return std::make_unique<LionParamState>(state);
}

}  // namespace halftone::optim
