#include "halftone/amp/autocast.h"

#include "halftone/ops/autocast.h"
#include "halftone/ops/registry.h"

namespace halftone::amp {

Autocast::Autocast(DeviceType device, Dtype dtype, bool enabled) : device_(static_cast<std::size_t>(device)) {
  if (!is_low_precision(dtype) && dtype != kFloat) {
    fail("Autocast", "expected float16, bfloat16, or float32 (which switches it off), got ", dtype);
  }
  detail::ThreadState& state = detail::thread_state;
  previous_enabled_ = state.enabled[device_];
  previous_dtype_ = state.dtype[device_];
  state.enabled[device_] = enabled && dtype != kFloat && !state.suppressed;
  if (dtype != kFloat) state.dtype[device_] = dtype;
  if (state.enabled[device_]) state.last_used = dtype;
  ops::enter_autocast_scope();
}

Autocast::Autocast(DeviceType device, bool enabled) : Autocast(device, get_autocast_dtype(device), enabled) {}

Autocast::~Autocast() {
  detail::thread_state.enabled[device_] = previous_enabled_;
  detail::thread_state.dtype[device_] = previous_dtype_;
  ops::leave_autocast_scope();
}

AutocastState AutocastState::capture() {
  AutocastState state;
  state.enabled_ = detail::thread_state.enabled;
  state.dtype_ = detail::thread_state.dtype;
  for (const auto* link = detail::thread_state.overrides; link; link = link->outer) {
    state.overrides_.emplace(state.overrides_.begin(), link->op, link->precision);
  }
  return state;
}

AutocastState::Guard::Guard(const AutocastState& state) : previous_(detail::thread_state) {
  links_.reserve(state.overrides_.size());  // the links point at each other
  const detail::OverrideLink* outer = nullptr;
  for (const auto& [op, precision] : state.overrides_) {
    links_.push_back({op, precision, outer});
    outer = &links_.back();
  }
  detail::ThreadState& now = detail::thread_state;
  now.enabled = state.enabled_;
  now.dtype = state.dtype_;
  now.overrides = outer;
  ops::enter_autocast_scope();
}

AutocastState::Guard::~Guard() {
  detail::ThreadState& now = detail::thread_state;
  now.enabled = previous_.enabled;
  now.dtype = previous_.dtype;
  now.overrides = previous_.overrides;
  ops::leave_autocast_scope();
}

PolicyOverride::PolicyOverride(std::string_view op, Precision precision) {
  const ops::OpInfo* info = ops::find_operator(op);
  if (!info) {
    fail("PolicyOverride", "there is no operator named '", op,
         "'; registry() lists them all. A function composed of operators has no policy: override theirs");
  }
  link_ = {info->name, precision, detail::thread_state.overrides};
  detail::thread_state.overrides = &link_;
}

PolicyOverride::~PolicyOverride() { detail::thread_state.overrides = link_.outer; }

}  // namespace halftone::amp
