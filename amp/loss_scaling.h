#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "halftone/amp/loss_scaling_options.h"
#include "halftone/autograd/node.h"
#include "halftone/engine/cached_containers.h"
#include "halftone/engine/state_dict.h"
#include "halftone/kernels/math/loss_scale.h"
#include "halftone/kernels/optimizer.h"

namespace halftone::amp {

/// Dynamic loss scaling (Micikevicius et al. 2018, "Mixed precision training", arXiv 1710.03740): the loss is
/// multiplied by S before backward so that small gradients survive in half precision, and gradients are
/// divided by S before the step. A step whose gradients are not finite is skipped and S shrinks; after
/// `growth_interval` clean steps S grows.
///
/// This is the arithmetic and the protocol; it knows tensors, not optimizers. An optimizer holds one
/// (`use_loss_scaling`), or GradScaler drives one with PyTorch's names. An optimizer is known here by its
/// number.
///
/// The scale and its counters live on the device of the losses and parameters, and move there with a loss or
/// a step on another device. On a CUDA device nothing waits for them but the functions that return them.
class LossScaling {
 public:
  explicit LossScaling(const LossScalingOptions& options = {});
  /// Defaults: starts at 65536, doubles after 2000 clean steps, halves at an overflow.
  static LossScaling dynamic() { return LossScaling(); }
  /// Always `scale`; an overflow still skips its step.
  static LossScaling fixed(double scale);

  LossScaling(LossScaling&&) noexcept;
  LossScaling& operator=(LossScaling&&) noexcept;
  ~LossScaling();
  LossScaling(const LossScaling&) = delete;
  LossScaling& operator=(const LossScaling&) = delete;

  /// S times the loss, any shape: fp32 for a half or fp32 loss, fp64 for fp64. The backward of the result
  /// stamps the gradients it makes with S. Throws Error on integers and on a loss that is scaled already.
  Tensor scale(const Tensor& loss);
  std::vector<Tensor> scale(const std::vector<Tensor>& losses);

  /// Without it everything passes through unchanged.
  bool is_enabled() const { return options_.enabled(); }
  /// Whether the scale stays as it is.
  bool is_fixed() const { return fixed_; }
  /// Settings may be changed on the way; the scale and its counters stay.
  const LossScalingOptions& options() const { return options_; }
  LossScalingOptions& options() { return options_; }

  /// S; 1 when not enabled.
  double get_scale() const { return is_enabled() ? static_cast<double>(state().scale) : 1.0; }
  /// Throws Error unless min_scale <= scale <= max_scale.
  void set_scale(double scale);
  /// Clean steps since the last overflow or growth.
  std::int64_t growth_tracker() const { return state().growth_tracker; }

  /// Several ranks decide together: `decide` gets whether this one's gradients overflowed and returns whether
  /// anyone's did. Called once per step.
  void agree(std::function<bool(bool)> decide) { agree_ = std::move(decide); }

  /// Scale, counters and settings. Throws Error between unscale_ or step and update: an overflow would be
  /// forgotten.
  StateDict state_dict() const;
  /// Throws Error, changing nothing, when an entry is missing or makes no sense.
  void load_state_dict(const StateDict& state);

  // --- Protocol, for optimizers and facades: READY -> UNSCALED -> STEPPED, then update()
  // -----------------------
  /// Distinct for every optimizer of the process; Optimizer::id() is one.
  using OptimizerId = std::uint64_t;

  /// What the gradient of this leaf is to be multiplied by: `share` / the scale of the loss that made it;
  /// `share` if it was unscaled already; `share` / the present scale if it was written by hand. Throws Error
  /// if another scaler made it.
  GradientFactor unscale_factor(OptimizerId optimizer, const autograd::TensorMeta& leaf, double share = 1);
  /// True when the gradient belongs to an iteration that update() has closed.
  bool is_late(OptimizerId optimizer, const autograd::TensorMeta& leaf) const;

  /// Throws Error when the optimizer was unscaled or stepped already in this iteration.
  void begin_unscale(OptimizerId optimizer);
  /// Throws Error when another optimizer unscaled this leaf's gradient already.
  void check_unscale(const autograd::TensorMeta& leaf) const;
  /// `found`: the record that OptimizerKernels::scale filled.
  void end_unscale(OptimizerId optimizer, const std::vector<const autograd::TensorMeta*>& leaves,
                   const Tensor& found, bool late);
  /// Throws Error when the optimizer has stepped already. `any_scaled`: it holds gradients in scaled units.
  void begin_step(OptimizerId optimizer, bool any_scaled);
  /// Whether the optimizer was unscaled in this iteration.
  bool is_unscaled(OptimizerId optimizer) const;
  /// What unscale_ found for this optimizer: a scan's record, or undefined.
  const Tensor& found_by_unscale(OptimizerId optimizer) const;
  /// The step of this optimizer is decided: OptimizerKernels::decide has noted in state_on() what came out.
  void end_step(OptimizerId optimizer);

  /// The numbers, as a record (LossScaleState) on `device`; they move there.
  const Tensor& state_on(Device device);
  /// The settings as kernels read them.
  LossScaleRules rules() const;
  /// Whether other ranks are asked before a step. Then the host has to know what this one found.
  bool has_agreement() const { return static_cast<bool>(agree_); }
  /// This rank's overflow, or anybody's.
  bool decide(bool nonfinite) const { return agree_ ? agree_(nonfinite) : nonfinite; }
  /// An overflow that did not skip a step (a dropped micro-batch): the scale backs off at the next update.
  void note_overflow();

  /// Throws Error when no optimizer stepped since the last update().
  void check_update() const;
  /// Ends the iteration of all optimizers that stepped: moves the scale, and tells `record` (StepRecord)
  /// where it is defined. Throws Error when none stepped.
  void update(const Tensor& record = {});
  /// Ends an optimizer's iteration without a step.
  void abandon(OptimizerId optimizer);
  /// Back to READY within the iteration, for optimizers with two backward passes. What was found stays found.
  void rearm(OptimizerId optimizer);

  /// True when the scale cannot back off further.
  bool at_floor() const { return halftone::at_floor(state(), rules()); }
  /// Whether anything but the report happens at an overflow that finds the scale at the floor. Then the host
  /// has to know.
  bool has_floor_policy() const { return !fixed_ && options_.at_floor() != AtFloor::kContinue; }
  /// After an overflow that found the scale at the floor: calls on_floor or throws, as set.
  void apply_floor_policy() const;

 private:
  enum class Phase : std::uint8_t { kReady, kUnscaled, kStepped };
  struct Progress {
    Phase phase = Phase::kReady;
    std::uint64_t iteration = 0;
    Tensor found;  // by unscale_
    bool late = false;
  };

  const void* id() const { return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(number_)); }
  Progress progress(OptimizerId optimizer) const;
  void check_scale(double scale) const;
  void hint_about_bfloat16(const Tensor& loss);
  LossScaleState state() const;
  autograd::GradientStamp present_stamp();

  LossScalingOptions options_;
  std::uint64_t number_;  // tells its stamps from those of every other scaler, dead ones included
  bool fixed_ = false;
  bool hinted_ = false;
  Tensor state_;     // LossScaleState
  Tensor snapshot_;  // on a CUDA device: the scale as losses of this iteration use it, or undefined
  std::function<bool(bool)> agree_;

  // The iteration under way.
  std::uint64_t iteration_ = 0;
  CachedMap<OptimizerId, Progress> progress_;
  CachedMap<const autograd::TensorMeta*, OptimizerId> unscaled_;
  bool any_step_ = false, any_abandoned_ = false;
};

}  // namespace halftone::amp
