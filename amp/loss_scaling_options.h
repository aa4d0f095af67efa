#pragma once

#include <cstdint>
#include <functional>

namespace halftone::amp {

/// What happens at an overflow that finds the scale at its floor already.
enum class AtFloor : std::uint8_t {
  kContinue,  ///< the step is skipped, as always
  kCallback,  ///< ... and `on_floor` is called with the scale
  kThrow,     ///< ... and an Error is thrown
};

/// What happens when one of several accumulated losses gives a non-finite gradient.
enum class Accumulation : std::uint8_t {
  kDropWindow,      ///< the whole step is skipped
  kDropMicroBatch,  ///< only that loss is left out; costs a second copy of the gradients. Through
                    ///< optimizer.backward()
};

using enum AtFloor;
using enum Accumulation;

/// Settings of dynamic loss scaling, with PyTorch's defaults. Every setter throws Error naming its field when
/// the value makes no sense; relations between fields are checked when a LossScaling or GradScaler is made of
/// them.
class LossScalingOptions {
 public:
  /// First scale. Finite, positive; min_scale <= init_scale <= max_scale.
  LossScalingOptions& init_scale(double value);
  double init_scale() const { return init_scale_; }
  /// Multiplies the scale after `growth_interval` clean steps. > 1.
  LossScalingOptions& growth_factor(double value);
  double growth_factor() const { return growth_factor_; }
  /// Multiplies the scale at an overflow. Between 0 and 1.
  LossScalingOptions& backoff_factor(double value);
  double backoff_factor() const { return backoff_factor_; }
  /// Clean steps in a row before the scale grows. >= 1.
  LossScalingOptions& growth_interval(std::int64_t value);
  std::int64_t growth_interval() const { return growth_interval_; }
  /// Floor: a backoff stops here. Positive.
  LossScalingOptions& min_scale(double value);
  double min_scale() const { return min_scale_; }
  /// Ceiling: a growth beyond it does not happen. Finite.
  LossScalingOptions& max_scale(double value);
  double max_scale() const { return max_scale_; }
  /// Overflows before the scale backs off; those absorbed still skip their step. Refilled when the scale
  /// grows. >= 1.
  LossScalingOptions& hysteresis(std::int64_t value);
  std::int64_t hysteresis() const { return hysteresis_; }
  /// Refill the hysteresis at every clean step too.
  LossScalingOptions& refill_hysteresis(bool value);
  bool refill_hysteresis() const { return refill_hysteresis_; }
  /// Skips in a row at the floor before the report says stalled. >= 1.
  LossScalingOptions& stalled_after(std::int64_t value);
  std::int64_t stalled_after() const { return stalled_after_; }
  /// What an overflow at the floor does: AtFloor::kContinue unless given.
  LossScalingOptions& at_floor(AtFloor value);
  AtFloor at_floor() const { return at_floor_; }
  /// Called with the scale at an overflow at the floor, with at_floor(kCallback).
  LossScalingOptions& on_floor(std::function<void(double)> callback);
  const std::function<void(double)>& on_floor() const { return on_floor_; }
  /// Look at the gradients again at step() when they were looked at by unscale_() already.
  LossScalingOptions& strict(bool value);
  bool strict() const { return strict_; }
  /// A skipped step clears the gradients, so that they do not poison the next one.
  LossScalingOptions& clear_on_skip(bool value);
  bool clear_on_skip() const { return clear_on_skip_; }
  /// What an overflow does to micro-batches accumulated before it: Accumulation::kDropWindow unless given.
  LossScalingOptions& accumulation(Accumulation value);
  Accumulation accumulation() const { return accumulation_; }
  /// False: everything passes through unchanged, the plain fp32 step.
  LossScalingOptions& enabled(bool value);
  bool enabled() const { return enabled_; }

  /// Throws Error unless the fields agree with each other.
  void check() const;

 private:
  double init_scale_ = 65536;
  double growth_factor_ = 2;
  double backoff_factor_ = 0.5;
  std::int64_t growth_interval_ = 2000;
  double min_scale_ = 0x1p-14;
  double max_scale_ = 0x1p127;
  std::int64_t hysteresis_ = 1;
  bool refill_hysteresis_ = false;
  std::int64_t stalled_after_ = 100;
  AtFloor at_floor_ = AtFloor::kContinue;
  std::function<void(double)> on_floor_;
  bool strict_ = false;
  bool clear_on_skip_ = false;
  Accumulation accumulation_ = Accumulation::kDropWindow;
  bool enabled_ = true;
};

}  // namespace halftone::amp
