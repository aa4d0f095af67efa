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

RMSprop::RMSprop(ParameterList parameters, RMSpropOptions defaults)
    : Optimizer("RMSprop", std::move(parameters), defaults.clone()) {}

void RMSprop::update(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) {
  const auto& o = static_cast<const RMSpropOptions&>(options);
  call.rule = UpdateRule::kRmsprop;
  call.numbers.lr = o.lr();
  call.numbers.weight_decay = o.weight_decay();
  call.numbers.eps = o.eps();
  call.numbers.a = o.alpha();
  call.numbers.b = o.momentum();
  call.numbers.flag = o.centered();
  call.moments[0] = state.moment(0);
  if (o.momentum() > 0) call.moments[1] = state.moment(1);
  if (o.centered()) call.moments[2] = state.moment(2);
  run(call);
}

}  // namespace halftone::optim
