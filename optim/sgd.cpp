#include "halftone/optim/sgd.h"

namespace halftone::optim {

std::vector<OptionField> SGDOptions::fields() {
  std::vector<OptionField> all{{"lr", &lr_},
                               {"momentum", &momentum_},
                               {"dampening", &dampening_},
                               {"weight_decay", &weight_decay_},
                               {"nesterov", &nesterov_}};
  add_common_fields(all);
  return all;
}

void SGDOptions::check() const {
  check_not_negative("SGD", "lr", lr_);
  check_not_negative("SGD", "momentum", momentum_);
  check_not_negative("SGD", "weight_decay", weight_decay_);
  if (nesterov_ && (momentum_ <= 0 || dampening_ != 0)) {
    fail("SGD", "nesterov: needs momentum > 0 and dampening 0, got momentum ", momentum_, " and dampening ",
         dampening_);
  }
}

UpdateSettings SGDOptions::settings() const {
  UpdateSettings settings;
  settings.rule = UpdateRule::kSgd;
  settings.lr = lr_;
  settings.weight_decay = weight_decay_;
  settings.a = momentum_;
  settings.b = dampening_;
  settings.flag = nesterov_;
  return settings;
}

SGD::SGD(ParameterList parameters, SGDOptions defaults)
    : Optimizer("SGD", std::move(parameters), defaults.clone()) {}

void SGD::bind_moments(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) const {
  if (static_cast<const SGDOptions&>(options).momentum() != 0) call.moments[0] = state.moment(0);
}

std::unique_ptr<OptimizerParamState> SGD::shown(ParameterState& state) const {
  return std::make_unique<SGDParamState>(state);
}

}  // namespace halftone::optim
