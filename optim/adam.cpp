#include "halftone/optim/adam.h"

namespace halftone::optim {
namespace {

constexpr ParameterState::MomentNames kMomentNames{"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};

template <class Options>
void bind(UpdateCall& call, ParameterState& state, const Options& options) {
  call.moments[0] = state.moment(0);
  call.moments[1] = state.moment(1);
  if (options.amsgrad()) call.moments[2] = state.moment(2);
}

}  // namespace

std::vector<OptionField> AdamOptions::fields() { return adam_fields(); }
void AdamOptions::check() const { check_as("Adam"); }
UpdateSettings AdamOptions::settings() const { return settings_as(false); }

std::vector<OptionField> AdamWOptions::fields() { return adam_fields(); }
void AdamWOptions::check() const { check_as("AdamW"); }
UpdateSettings AdamWOptions::settings() const { return settings_as(true); }

Adam::Adam(ParameterList parameters, AdamOptions defaults)
    : Optimizer("Adam", std::move(parameters), defaults.clone()) {}

ParameterState::MomentNames Adam::moment_names() const { return kMomentNames; }

void Adam::bind_moments(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) const {
  bind(call, state, static_cast<const AdamOptions&>(options));
}

AdamW::AdamW(ParameterList parameters, AdamWOptions defaults)
    : Optimizer("AdamW", std::move(parameters), defaults.clone()) {}

ParameterState::MomentNames AdamW::moment_names() const { return kMomentNames; }

void AdamW::bind_moments(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) const {
  bind(call, state, static_cast<const AdamWOptions&>(options));
}

std::unique_ptr<OptimizerParamState> Adam::shown(ParameterState& state) const {
  return std::make_unique<AdamParamState>(state);
}

std::unique_ptr<OptimizerParamState> AdamW::shown(ParameterState& state) const {
  return std::make_unique<AdamWParamState>(state);
}

}  // namespace halftone::optim
