// The scale and its movements; scale(loss). The protocol is in loss_scaling_protocol.cpp.

#include "halftone/amp/loss_scaling.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "halftone/amp/policy.h"
#include "halftone/engine/warning.h"
#include "halftone/kernels/optimizer.h"

namespace halftone::amp {
namespace {

/// S times its input; in backward it tells the pass that the gradients it makes are scaled, and by what.
class ScaledLoss final : public autograd::Node {
 public:
  ScaledLoss(const Tensor& loss, autograd::GradientStamp stamp) : Node("scale"), stamp_(stamp) {
    add_input(loss);
  }

  autograd::Gradients apply(autograd::Gradients output_gradients) override {
    std::optional<autograd::GradientStamp>& stamp = *autograd::current_stamp();
    if (stamp && (stamp->scaler != stamp_.scaler || stamp->scale != stamp_.scale)) {
      fail("scale", "one backward reaches losses scaled by ", stamp->scale, " and by ", stamp_.scale,
           "; their gradients cannot be unscaled together");
    }
    stamp = stamp_;
    return {output_gradients[0] * stamp_.scale};
  }

 private:
  autograd::GradientStamp stamp_;
};

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

LossScaling::LossScaling(const LossScalingOptions& options)
    : options_(options),
      number_(next_number()),
      scale_(static_cast<float>(options.init_scale())),
      hysteresis_left_(options.hysteresis()) {
  options.check();
}

LossScaling LossScaling::fixed(double scale) {
  LossScalingOptions options;
  options.init_scale(scale);
  options.min_scale(std::min(scale, options.min_scale())).max_scale(std::max(scale, options.max_scale()));
  LossScaling scaling(options);
  scaling.fixed_ = true;
  return scaling;
}

Tensor LossScaling::scale(const Tensor& loss) {
  if (!is_enabled()) return loss;
  if (!loss.defined()) fail("scale", "the loss is undefined");
  if (!loss.is_floating_point()) {
    fail("scale", "expected a floating loss, got ", loss, "; it has no gradient to scale");
  }
  if (dynamic_cast<ScaledLoss*>(autograd::grad_fn(loss))) fail("scale", "this loss is scaled already");
  hint_about_bfloat16(loss);
  remember_loss(loss);
  Tensor scaled;
  {
    NoGradGuard no_grad;
    scaled = loss.detach().to(loss.scalar_type() == kDouble ? kDouble : kFloat) * static_cast<double>(scale_);
  }
  if (GradMode::is_enabled() && loss.requires_grad()) {
    const autograd::GradientStamp stamp{id(), iteration_, static_cast<double>(scale_)};
    autograd::set_history(scaled, make_intrusive<ScaledLoss>(loss, stamp));
  }
  return scaled;
}

std::vector<Tensor> LossScaling::scale(const std::vector<Tensor>& losses) {
  std::vector<Tensor> scaled;
  scaled.reserve(losses.size());
  for (const Tensor& loss : losses) scaled.push_back(scale(loss));
  return scaled;
}

void LossScaling::hint_about_bfloat16(const Tensor& loss) {
  if (hinted_ || fixed_) return;
  const bool from_region = detail::thread_state.last_used == kBFloat16 && loss.scalar_type() == kFloat;
  if (!from_region && loss.scalar_type() != kBFloat16) return;
  hinted_ = true;
  warn("LossScaling",
       "bfloat16 has the exponent range of float32, so its gradients need no loss scaling; it does no "
       "harm, and enabled(false) switches it off");
}

void LossScaling::remember_loss(const Tensor& loss) {
  constexpr std::size_t kMost = 16;
  if (losses_.size() == kMost) loss_was_nonfinite();
  losses_.push_back(loss.detach());
}

bool LossScaling::loss_was_nonfinite() {
  NoGradGuard no_grad;
  for (const Tensor& loss : losses_) {
    const auto& kernels = kernels_for<OptimizerKernels>(loss.device());
    loss_nonfinite_ = loss_nonfinite_ || kernels.scan(loss.contiguous(), 1, 2).nonfinite > 0;
  }
  losses_.clear();
  return loss_nonfinite_;
}

void LossScaling::set_scale(double scale) {
  if (!(scale >= options_.min_scale() && scale <= options_.max_scale())) {
    fail("LossScaling", "scale: expected a number between min_scale ", options_.min_scale(),
         " and max_scale ", options_.max_scale(), ", got ", scale);
  }
  scale_ = static_cast<float>(scale);
}

bool LossScaling::at_floor() const { return fixed_ || static_cast<double>(scale_) <= options_.min_scale(); }

bool LossScaling::would_stall() const { return at_floor() && floor_skips_ + 1 >= options_.stalled_after(); }

void LossScaling::apply_floor_policy() const {
  if (fixed_) return;
  if (options_.at_floor() == AtFloor::kCallback) options_.on_floor()(get_scale());
  if (options_.at_floor() == AtFloor::kThrow) {
    fail("LossScaling", "gradients overflow although the scale is at its floor ", get_scale(),
         "; the model's own values are too large for the low precision: lower min_scale, or run what "
         "overflows in fp32");
  }
}

void LossScaling::grow() {
  if (options_.refill_hysteresis()) hysteresis_left_ = options_.hysteresis();
  floor_skips_ = 0;
  if (++growth_tracker_ < options_.growth_interval()) return;
  growth_tracker_ = 0;
  hysteresis_left_ = options_.hysteresis();
  const double grown = static_cast<double>(scale_) * options_.growth_factor();
  if (!fixed_ && grown <= options_.max_scale()) scale_ = static_cast<float>(grown);
}

void LossScaling::back_off() {
  floor_skips_ = at_floor() ? floor_skips_ + 1 : 0;
  growth_tracker_ = 0;
  if (hysteresis_left_ > 1) {
    --hysteresis_left_;
    return;
  }
  if (!fixed_) {
    const double smaller = static_cast<double>(scale_) * options_.backoff_factor();
    scale_ = static_cast<float>(std::max(smaller, options_.min_scale()));
  }
}

void LossScaling::update() {
  if (!any_step_ && !any_abandoned_) {
    fail(
        "update",
        "no optimizer has stepped since the last update(); call step(optimizer) first, or abandon(optimizer) "
        "to end the iteration without a step");
  }
  if (iteration_nonfinite_) {
    back_off();
  } else if (any_clean_) {
    grow();
  }
  ++iteration_;
  any_step_ = any_clean_ = any_abandoned_ = iteration_nonfinite_ = false;
  std::erase_if(progress_, [](const auto& entry) { return entry.second.phase != Phase::kUnscaled; });
  unscaled_.clear();
  losses_.clear();
  loss_nonfinite_ = false;
}

}  // namespace halftone::amp
