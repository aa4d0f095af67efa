// Who has unscaled, who has stepped, and what may come next; saving and loading.

#include <algorithm>

#include "halftone/amp/loss_scaling.h"
#include "halftone/kernels/record.h"

namespace halftone::amp {

using autograd::GradientStamp;
using autograd::TensorMeta;

namespace {

std::string leaf_name(const TensorMeta& leaf) {
  return leaf.name.empty() ? concat("a parameter ", leaf.leaf.dtype, leaf.leaf.sizes)
                           : "parameter '" + leaf.name + "'";
}

}  // namespace

LossScaling::Progress LossScaling::progress(OptimizerId optimizer) const {
  const auto found = progress_.find(optimizer);
  if (found != progress_.end()) return found->second;
  Progress fresh;
  fresh.iteration = iteration_;
  return fresh;
}

GradientFactor LossScaling::unscale_factor(OptimizerId optimizer, const TensorMeta& leaf, double share) {
  const auto reciprocal_of = [&](const GradientStamp& stamp) -> GradientFactor {
    if (!stamp.device_scale.defined()) return {share / stamp.scale, {}};
    if (stamp.device_scale.device() != leaf.grad.device()) return {share / stamp.read_scale(), {}};
    return {share, stamp.device_scale};
  };
  if (const GradientStamp* stamp = autograd::gradient_stamp(leaf)) {
    if (stamp->scaler != id()) {
      fail("GradScaler", leaf_name(leaf),
           " holds a gradient scaled by another scaler; use one scaler per optimizer");
    }
    return reciprocal_of(*stamp);
  }
  if (is_unscaled(optimizer) || unscaled_.count(&leaf)) return {share, {}};
  if (leaf.grad.unsafe_impl()->is_true_gradient) {
    fail("GradScaler", leaf_name(leaf), " holds the gradient of a loss that was not scaled, which would be ",
         "divided by the scale; call scaler.scale(loss).backward(), or optimizer.backward(loss)");
  }
  return reciprocal_of(present_stamp());  // put there by hand, from a scaled loss
}

bool LossScaling::is_late(OptimizerId optimizer, const TensorMeta& leaf) const {
  if (const GradientStamp* stamp = autograd::gradient_stamp(leaf)) return stamp->iteration < iteration_;
  const Progress now = progress(optimizer);
  return now.phase == Phase::kUnscaled && (now.late || now.iteration < iteration_);
}

void LossScaling::begin_unscale(OptimizerId optimizer) {
  Progress now = progress(optimizer);
  if (now.iteration < iteration_)
    now = {Phase::kReady, iteration_, {}, false};  // never stepped; update() closed it
  if (now.phase == Phase::kUnscaled) {
    fail("unscale_",
         "it was called already on this optimizer since the last update(), and the gradients were divided "
         "then; call step(optimizer) and update() next");
  }
  if (now.phase == Phase::kStepped) {
    fail("unscale_",
         "it was called after step(optimizer); call update() first, which begins the next iteration");
  }
  progress_[optimizer] = now;
}

void LossScaling::check_unscale(const TensorMeta& leaf) const {
  if (!autograd::gradient_stamp(leaf) && unscaled_.count(&leaf)) {
    fail("unscale_", leaf_name(leaf), " was unscaled already in this iteration, through another optimizer");
  }
}

void LossScaling::end_unscale(OptimizerId optimizer, const std::vector<const TensorMeta*>& leaves,
                              const Tensor& found, bool late) {
  Progress& now = progress_[optimizer];
  now.phase = Phase::kUnscaled;
  now.iteration = iteration_;
  now.found = found;
  now.late = late;
  for (const TensorMeta* leaf : leaves) unscaled_[leaf] = optimizer;
}

void LossScaling::begin_step(OptimizerId optimizer, bool any_scaled) {
  Progress now = progress(optimizer);
  if (now.phase == Phase::kStepped) {
    fail("step", "it was called already for this optimizer since the last update(); call update() first");
  }
  // Unscaled in an iteration that is over, and new gradients have come since.
  if (now.iteration < iteration_ && any_scaled) now = {Phase::kReady, iteration_, {}, false};
  progress_[optimizer] = now;
}

bool LossScaling::is_unscaled(OptimizerId optimizer) const {
  return progress(optimizer).phase == Phase::kUnscaled;
}

const Tensor& LossScaling::found_by_unscale(OptimizerId optimizer) const {
  static const Tensor nothing;
  const auto entry = progress_.find(optimizer);
  return entry == progress_.end() ? nothing : entry->second.found;
}

void LossScaling::end_step(OptimizerId optimizer) {
  Progress& now = progress_[optimizer];
  now.phase = Phase::kStepped;
  now.iteration = iteration_;
  any_step_ = true;
}

void LossScaling::abandon(OptimizerId optimizer) {
  if (progress(optimizer).phase == Phase::kStepped) {
    fail("abandon", "the optimizer has stepped already; call update() to end its iteration");
  }
  rearm(optimizer);
  progress_.erase(optimizer);
  any_abandoned_ = true;
}

void LossScaling::rearm(OptimizerId optimizer) {
  const auto found = progress_.find(optimizer);
  if (found != progress_.end()) {
    if (found->second.phase == Phase::kStepped) {
      fail("rearm", "the optimizer has stepped already; call update() first");
    }
    found->second.phase = Phase::kReady;
  }
  std::erase_if(unscaled_, [&](const auto& entry) { return entry.second == optimizer; });
}

StateDict LossScaling::state_dict() const {
  StateDict state;
  if (!is_enabled()) return state;
  bool pending = any_step_;
  for (const auto& entry : progress_) {
    pending = pending || (entry.second.iteration == iteration_ && entry.second.phase != Phase::kReady);
  }
  if (pending) {
    fail("state_dict",
         "called between unscale_ or step and update(), where an overflow found would be forgotten; call "
         "it after update()");
  }
  const LossScaleState now = this->state();
  state.set("scale", static_cast<double>(now.scale));
  state.set("growth_factor", options_.growth_factor());
  state.set("backoff_factor", options_.backoff_factor());
  state.set("growth_interval", options_.growth_interval());
  state.set("_growth_tracker", now.growth_tracker);
  state.set("hysteresis_left", now.hysteresis_left);
  state.set("floor_skips", now.floor_skips);
  state.set("min_scale", options_.min_scale());
  state.set("max_scale", options_.max_scale());
  state.set("hysteresis", options_.hysteresis());
  state.set("refill_hysteresis", options_.refill_hysteresis());
  state.set("fixed", fixed_);
  return state;
}

void LossScaling::load_state_dict(const StateDict& state) {
  if (!is_enabled()) return;
  if (state.empty())
    fail("load_state_dict", "the state is empty: it was saved from a scaler that was not enabled");
  LossScalingOptions options = options_;  // changed only when every entry is right
  const double scale = state.number("scale");
  options.growth_factor(state.number("growth_factor")).backoff_factor(state.number("backoff_factor"));
  options.growth_interval(state.integer("growth_interval"));
  options.min_scale(state.number("min_scale")).max_scale(state.number("max_scale"));
  options.hysteresis(state.integer("hysteresis")).refill_hysteresis(state.boolean("refill_hysteresis"));
  options.init_scale(scale).check();
  options.init_scale(std::min(std::max(options_.init_scale(), options.min_scale()), options.max_scale()));
  const std::int64_t tracker = state.integer("_growth_tracker"), left = state.integer("hysteresis_left"),
                     skips = state.integer("floor_skips");
  if (tracker < 0 || left < 1 || skips < 0) {
    fail("load_state_dict", "counters: _growth_tracker ", tracker, ", hysteresis_left ", left,
         ", floor_skips ", skips, " cannot be");
  }
  fixed_ = state.boolean("fixed");
  options_ = options;
  LossScaleState loaded = this->state();
  loaded.scale = static_cast<float>(scale);
  loaded.growth_tracker = tracker;
  loaded.hysteresis_left = left;
  loaded.floor_skips = skips;
  write_record(state_, loaded);
  snapshot_.reset();
}

}  // namespace halftone::amp
