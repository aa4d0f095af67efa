#include "halftone/optim/adam.h"

#include <cmath>

namespace halftone::optim {
namespace {

constexpr std::array<const char*, ParameterState::kMoments> kMomentNames{"exp_avg", "exp_avg_sq",
                                                                         "max_exp_avg_sq"};

template <class Options>
void fill(UpdateCall& call, ParameterState& state, const Options& options, bool decoupled) {
  const auto [beta1, beta2] = options.betas();
  const auto t = static_cast<double>(state.steps());
  call.rule = UpdateRule::kAdam;
  call.numbers.lr = options.lr();
  call.numbers.weight_decay = options.weight_decay();
  call.numbers.eps = options.eps();
  call.numbers.a = beta1;
  call.numbers.b = beta2;
  call.numbers.correction1 = 1 - std::pow(beta1, t);
  call.numbers.correction2_sqrt = std::sqrt(1 - std::pow(beta2, t));
  call.numbers.flag = options.amsgrad();
  call.numbers.decoupled = decoupled;
  call.moments[0] = state.moment(0);
  call.moments[1] = state.moment(1);
  if (options.amsgrad()) call.moments[2] = state.moment(2);
}

}  // namespace

Adam::Adam(ParameterList parameters, AdamOptions defaults)
    : Optimizer("Adam", std::move(parameters), defaults.clone()) {}

std::array<const char*, ParameterState::kMoments> Adam::moment_names() const { return kMomentNames; }

void Adam::update(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) {
  fill(call, state, static_cast<const AdamOptions&>(options), false);
  run(call);
}

AdamW::AdamW(ParameterList parameters, AdamWOptions defaults)
    : Optimizer("AdamW", std::move(parameters), defaults.clone()) {}

std::array<const char*, ParameterState::kMoments> AdamW::moment_names() const { return kMomentNames; }

void AdamW::update(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) {
  fill(call, state, static_cast<const AdamWOptions&>(options), true);
  run(call);
}

}  // namespace halftone::optim
