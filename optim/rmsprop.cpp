#include "halftone/optim/rmsprop.h"

namespace halftone::optim {

std::vector<OptionField> RMSpropOptions::fields() {
  std::vector<OptionField> all{{"lr", &lr_},
                               {"alpha", &alpha_},
                               {"eps", &eps_},
                               {"weight_decay", &weight_decay_},
                               {"momentum", &momentum_},
                               {"centered", &centered_}};
  add_common_fields(all);
  return all;
}

void RMSpropOptions::check() const {
  check_not_negative("RMSprop", "lr", lr_);
  check_not_negative("RMSprop", "alpha", alpha_);
  check_not_negative("RMSprop", "eps", eps_);
  check_not_negative("RMSprop", "weight_decay", weight_decay_);
  check_not_negative("RMSprop", "momentum", momentum_);
}

UpdateSettings RMSpropOptions::settings() const {
  UpdateSettings settings;
  settings.rule = UpdateRule::kRmsprop;
  settings.lr = lr_;
  settings.weight_decay = weight_decay_;
  settings.eps = eps_;
  settings.a = alpha_;
  settings.b = momentum_;
  settings.flag = centered_;
  return settings;
}

RMSprop::RMSprop(ParameterList parameters, RMSpropOptions defaults)
    : Optimizer("RMSprop", std::move(parameters), defaults.clone()) {}

void RMSprop::bind_moments(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) const {
  const auto& o = static_cast<const RMSpropOptions&>(options);
  call.moments[0] = state.moment(0);
  if (o.momentum() > 0) call.moments[1] = state.moment(1);
  if (o.centered()) call.moments[2] = state.moment(2);
}

std::unique_ptr<OptimizerParamState> RMSprop::shown(ParameterState& state) const {
  return std::make_unique<RMSpropParamState>(state);
}

}  // namespace halftone::optim
