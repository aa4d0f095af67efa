#include "halftone/optim/adagrad.h"

namespace halftone::optim {

std::vector<OptionField> AdagradOptions::fields() {
  std::vector<OptionField> all{{"lr", &lr_},
                               {"lr_decay", &lr_decay_},
                               {"weight_decay", &weight_decay_},
                               {"initial_accumulator_value", &initial_accumulator_value_},
                               {"eps", &eps_}};
  add_common_fields(all);
  return all;
}

void AdagradOptions::check() const {
  check_not_negative("Adagrad", "lr", lr_);
  check_not_negative("Adagrad", "lr_decay", lr_decay_);
  check_not_negative("Adagrad", "weight_decay", weight_decay_);
  check_not_negative("Adagrad", "initial_accumulator_value", initial_accumulator_value_);
  check_not_negative("Adagrad", "eps", eps_);
}

UpdateSettings AdagradOptions::settings() const {
  UpdateSettings settings;
  settings.rule = UpdateRule::kAdagrad;
  settings.lr = lr_;
  settings.lr_decay = lr_decay_;
  settings.weight_decay = weight_decay_;
  settings.eps = eps_;
  return settings;
}

Adagrad::Adagrad(ParameterList parameters, AdagradOptions defaults)
    : Optimizer("Adagrad", std::move(parameters), defaults.clone()) {}

void Adagrad::bind_moments(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) const {
  call.moments[0] = state.moment(0, static_cast<const AdagradOptions&>(options).initial_accumulator_value());
}

std::unique_ptr<OptimizerParamState> Adagrad::shown(ParameterState& state) const {
  return std::make_unique<AdagradParamState>(state);
}

}  // namespace halftone::optim
