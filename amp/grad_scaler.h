#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "halftone/amp/loss_scaling.h"
#include "halftone/optim/optimizer.h"

namespace halftone::amp {

/// PyTorch's name for the options.
using GradScalerOptions = LossScalingOptions;

/// Python's torch.amp.GradScaler over a LossScaling, with its names and its order of calls:
///
///   scaler.scale(loss).backward();
///   scaler.unscale_(optimizer);                                   // only to look at or clip the gradients
///   nn::utils::clip_grad_norm_(model->parameters(), 1.0);
///   scaler.step(optimizer);
///   scaler.update();
///
/// A wrong order throws an Error that says what to call. Not enabled, everything passes through unchanged.
class GradScaler {
 public:
  /// With a controller of its own.
  explicit GradScaler(const GradScalerOptions& options = {});
  /// Over a controller made elsewhere, for instance LossScaling::fixed(1024).
  explicit GradScaler(LossScaling scaling) : scaling_(std::move(scaling)) {}

  /// The loss times the scale; see LossScaling::scale.
  Tensor scale(const Tensor& loss) { return scaling_.scale(loss); }
  std::vector<Tensor> scale(const std::vector<Tensor>& losses) { return scaling_.scale(losses); }
  /// Divides the optimizer's gradients in place by the scale. Once per iteration, before step(). True when
  /// all of them are finite; only asking waits for a CUDA device.
  optim::DeferredFlag unscale_(optim::Optimizer& optimizer);
  /// Steps unless a gradient is infinite or NaN; unscales first if unscale_() did not.
  optim::StepReport step(optim::Optimizer& optimizer);
  /// Of LBFGS, whose closure calls scale(loss).backward() and returns the loss: an overflow in any evaluation
  /// gives up the whole step. For other optimizers Error when enabled: the step comes after the closure
  /// there.
  Tensor step(optim::Optimizer& optimizer, optim::Optimizer::LossClosure closure);
  /// Ends the iteration: moves the scale, or sets it to `new_scale`.
  void update(std::optional<double> new_scale = std::nullopt);
  /// Ends the optimizer's iteration without a step; update() is optional then, and does not move the scale.
  void abandon(optim::Optimizer& optimizer);
  /// Lets the optimizer unscale once more in this iteration: for methods with two backward passes per step
  /// (SAM). Clear the gradients between the passes.
  void rearm(optim::Optimizer& optimizer);

  /// What the loss is multiplied by, and the settings behind it, by Python's names; see LossScalingOptions.
  /// @{
  double get_scale() const { return scaling_.get_scale(); }
  double get_growth_factor() const { return scaling_.options().growth_factor(); }
  double get_backoff_factor() const { return scaling_.options().backoff_factor(); }
  std::int64_t get_growth_interval() const { return scaling_.options().growth_interval(); }
  void set_growth_factor(double value) { scaling_.options().growth_factor(value); }
  void set_backoff_factor(double value) { scaling_.options().backoff_factor(value); }
  void set_growth_interval(std::int64_t value) { scaling_.options().growth_interval(value); }
  std::int64_t get_growth_tracker() const { return scaling_.growth_tracker(); }
  /// @}
  /// Without it everything passes through unchanged.
  bool is_enabled() const { return scaling_.is_enabled(); }
  /// Several ranks decide together whether to skip.
  void agree(std::function<bool(bool)> decide) { scaling_.agree(std::move(decide)); }
  /// The controller behind it.
  LossScaling& loss_scaling() { return scaling_; }

  /// Empty when not enabled. Throws Error between unscale_ or step and update.
  StateDict state_dict() const { return scaling_.state_dict(); }
  /// Throws Error, changing nothing, when an entry is missing or makes no sense.
  void load_state_dict(const StateDict& state) { scaling_.load_state_dict(state); }

 private:
  void check_own(const char* op, optim::Optimizer& optimizer) const;

  LossScaling scaling_;
};

}  // namespace halftone::amp
