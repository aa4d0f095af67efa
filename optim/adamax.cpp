#include "halftone/optim/adamax.h"

namespace halftone::optim {

std::vector<OptionField> AdamaxOptions::fields() {
  std::vector<OptionField> all = beta_fields();
  all.push_back({"eps", &eps_});
  return all;
}

void AdamaxOptions::check() const {
  check_betas("Adamax");
  check_not_negative("Adamax", "eps", eps_);
}

UpdateSettings AdamaxOptions::settings() const {
  UpdateSettings settings = beta_settings(UpdateRule::kAdamax);
  settings.eps = eps_;
  return settings;
}

Adamax::Adamax(ParameterList parameters, AdamaxOptions defaults)
    : Optimizer("Adamax", std::move(parameters), defaults.clone()) {}

void Adamax::bind_moments(ParameterState& state, const OptimizerOptions&, UpdateCall& call) const {
  call.moments[0] = state.moment(0);
  call.moments[1] = state.moment(1);
}

std::unique_ptr<OptimizerParamState> Adamax::shown(ParameterState& state) const {
  return std::make_unique<AdamaxParamState>(state);
}

}  // namespace halftone::optim
