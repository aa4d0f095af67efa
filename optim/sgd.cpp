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

SGD::SGD(ParameterList parameters, SGDOptions defaults)
    : Optimizer("SGD", std::move(parameters), defaults.clone()) {}

void SGD::update(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) {
  const auto& o = static_cast<const SGDOptions&>(options);
  call.rule = UpdateRule::kSgd;
  call.numbers.lr = o.lr();
  call.numbers.weight_decay = o.weight_decay();
  call.numbers.a = o.momentum();
  call.numbers.b = o.dampening();
  call.numbers.flag = o.nesterov();
  call.numbers.first = !state.has_moment(0);
  if (o.momentum() != 0) call.moments[0] = state.moment(0);
  run(call);
}

}  // namespace halftone::optim
