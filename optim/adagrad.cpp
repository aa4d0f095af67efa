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

Adagrad::Adagrad(ParameterList parameters, AdagradOptions defaults)
    : Optimizer("Adagrad", std::move(parameters), defaults.clone()) {}

void Adagrad::update(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) {
  const auto& o = static_cast<const AdagradOptions&>(options);
  call.rule = UpdateRule::kAdagrad;
  call.numbers.lr = o.lr() / (1 + static_cast<double>(state.steps() - 1) * o.lr_decay());
  call.numbers.weight_decay = o.weight_decay();
  call.numbers.eps = o.eps();
  call.moments[0] = state.moment(0, o.initial_accumulator_value());
  run(call);
}

}  // namespace halftone::optim
