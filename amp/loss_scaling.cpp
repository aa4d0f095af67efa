// The scale and its movements; scale(loss). The protocol is in loss_scaling_protocol.cpp.

#include "halftone/amp/loss_scaling.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>

#include "halftone/amp/policy.h"
#include "halftone/engine/capture.h"
#include "halftone/engine/warning.h"
#include "halftone/kernels/record.h"
#include "halftone/ops/observer.h"

namespace halftone::amp {
namespace {

/// S times its input; in backward it tells the pass that the gradients it makes are scaled, and by what.
class ScaledLoss final : public autograd::Node {
 public:
  ScaledLoss(const Tensor& loss, autograd::GradientStamp stamp) : Node("scale"), stamp_(std::move(stamp)) {
    add_input(loss);
  }

  autograd::Gradients apply(autograd::Gradients output_gradients) override {
    std::optional<autograd::GradientStamp>& stamp = *autograd::current_stamp();
    if (stamp && (stamp->scaler != stamp_.scaler || !is_scale_of(*stamp))) {
      fail("scale", "one backward reaches losses scaled by ", stamp->read_scale(), " and by ",
           stamp_.read_scale(), "; their gradients cannot be unscaled together");
    }
    stamp = stamp_;
    return {multiplied(output_gradients[0], stamp_)};
  }

  /// `tensor` times the scale, in the tensor's dtype.
  static Tensor multiplied(const Tensor& tensor, const autograd::GradientStamp& stamp) {
    return stamp.device_scale.defined() ? tensor * stamp.device_scale : tensor * stamp.scale;
  }

 private:
  /// Scales of two iterations are two numbers in device memory, and may yet be equal.
  bool is_scale_of(const autograd::GradientStamp& other) const {
    return stamp_.has_scale_of(other) || stamp_.read_scale() == other.read_scale();
  }

  autograd::GradientStamp stamp_;
};

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

LossScaling::LossScaling(LossScaling&&) noexcept = default;
LossScaling& LossScaling::operator=(LossScaling&&) noexcept = default;
LossScaling::~LossScaling() = default;

LossScaling::LossScaling(const LossScalingOptions& options) : options_(options), number_(next_number()) {
  options.check();
  LossScaleState state;
  state.scale = static_cast<float>(options.init_scale());
  state.hysteresis_left = options.hysteresis();
  state_ = make_record(state, kCPU);
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
  const Tensor& state = state_on(loss.device());
  Tensor scaled;
  autograd::GradientStamp stamp;
  {
    NoGradGuard no_grad;
    kernels_for<OptimizerKernels>(loss.device()).note_loss(state, loss.detach().contiguous());
    stamp = present_stamp();
    if (ops::Observer* watching = ops::observer()) watching->on_loss(loss, stamp.read_scale());
    scaled =
        ScaledLoss::multiplied(loss.detach().to(loss.scalar_type() == kDouble ? kDouble : kFloat), stamp);
  }
  if (GradMode::is_enabled() && loss.requires_grad()) {
    autograd::set_history(scaled, make_intrusive<ScaledLoss>(loss, std::move(stamp)));
  }
  return scaled;
}

/// What marks the gradients of a loss that is scaled now.
autograd::GradientStamp LossScaling::present_stamp() {
  if (state_.is_cpu()) return {id(), iteration_, static_cast<double>(state().scale), {}};
  if (!snapshot_.defined()) {
    snapshot_ = empty({}, TensorOptions(kFloat).device(state_.device()));
    kernels_for<OptimizerKernels>(state_.device()).copy_scale(state_, snapshot_);
  }
  return {id(), iteration_, 1, snapshot_};
}

const Tensor& LossScaling::state_on(Device device) {
  if (state_.device() == device) [[likely]]
    return state_;
  cuda::refuse_in_capture("LossScaling", "bringing the loss scale to another device");
  state_ = make_record(state(), device);
  snapshot_.reset();
  return state_;
}

LossScaleState LossScaling::state() const { return read_record<LossScaleState>(state_); }

LossScaleRules LossScaling::rules() const {
  LossScaleRules rules;
  rules.growth_factor = options_.growth_factor();
  rules.backoff_factor = options_.backoff_factor();
  rules.min_scale = options_.min_scale();
  rules.max_scale = options_.max_scale();
  rules.growth_interval = options_.growth_interval();
  rules.hysteresis = options_.hysteresis();
  rules.stalled_after = options_.stalled_after();
  rules.refill_hysteresis = options_.refill_hysteresis();
  rules.fixed = fixed_;
  return rules;
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

void LossScaling::check_scale(double scale) const {
  if (!(scale >= options_.min_scale() && scale <= options_.max_scale())) {
    fail("LossScaling", "scale: expected a number between min_scale ", options_.min_scale(),
         " and max_scale ", options_.max_scale(), ", got ", scale);
  }
}

void LossScaling::set_scale(double scale) {
  check_scale(scale);
  write_record(state_, static_cast<float>(scale), offsetof(LossScaleState, scale));
  snapshot_.reset();
}

void LossScaling::note_overflow() {
  write_record(state_, std::uint32_t{1}, offsetof(LossScaleState, overflowed));
}

void LossScaling::apply_floor_policy() const {
  if (fixed_) return;
  if (options_.at_floor() == AtFloor::kCallback) options_.on_floor()(get_scale());
  if (options_.at_floor() == AtFloor::kThrow) {
    fail("LossScaling", "gradients overflow although the scale is at its floor ", get_scale(),
         "; the model's own values are too large for the low precision: lower min_scale, or run what "
         "overflows in fp32");
  }
}

void LossScaling::check_update() const {
  if (any_step_ || any_abandoned_) return;
  fail("update",
       "no optimizer has stepped since the last update(); call step(optimizer) first, or abandon(optimizer) "
       "to end the iteration without a step");
}

void LossScaling::update(const Tensor& record) {
  check_update();
  ops::Observer* const watching = ops::observer();
  const LossScaleState before = watching ? state() : LossScaleState();
  kernels_for<OptimizerKernels>(state_.device()).move_scale(state_, rules(), record);
  if (watching) watching->on_scale(before, state(), rules());
  snapshot_.reset();
  ++iteration_;
  any_step_ = any_abandoned_ = false;
  std::erase_if(progress_, [](const auto& entry) { return entry.second.phase != Phase::kUnscaled; });
  unscaled_.clear();
}

}  // namespace halftone::amp
