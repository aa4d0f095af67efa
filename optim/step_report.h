#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace halftone::optim {

/// What one optimizer step did, and why.
class StepReport {
 public:
  /// The weights moved.
  bool applied() const { return applied_; }
  /// Nothing changed, bit for bit: a gradient was infinite or NaN, here or on another rank.
  bool skipped_nonfinite() const { return skipped_nonfinite_; }
  /// Nothing changed: no parameter has a gradient.
  bool no_gradients() const { return no_gradients_; }
  /// Skipped so often in a row with the scale at its floor (`stalled_after`) that training stands still.
  bool stalled() const { return stalled_; }
  /// Skipped three times in a row on the same gradient: it was not cleared, and keeps what made it
  /// non-finite.
  bool persistent_nonfinite() const { return persistent_nonfinite_; }
  /// The loss was infinite or NaN before it was scaled: not an overflow that the scale made.
  bool loss_was_nonfinite() const { return loss_was_nonfinite_; }
  /// The gradients were looked at by this step; false when it relied on what unscale_() had seen.
  bool rechecked() const { return rechecked_; }

  /// The loss scale of this step and of the next. The same in GradScaler, which moves the scale in update().
  double scale_before() const { return scale_before_; }
  double scale_after() const { return scale_after_; }
  /// Norm of all true gradients before clipping; NaN when neither loss scaling nor clipping had it computed.
  double grad_norm() const { return grad_norm_; }
  /// Parameters whose gradient is not finite: positions in the flattened param groups, and names where the
  /// optimizer was made from named parameters.
  const std::vector<std::int64_t>& overflowed_parameters() const { return overflowed_parameters_; }
  const std::vector<std::string>& overflowed_names() const { return overflowed_names_; }
  /// Parameters the optimizer holds.
  std::int64_t parameter_count() const { return parameter_count_; }
  /// Losses left out of this step by accumulation(kDropMicroBatch).
  std::int64_t dropped_micro_batches() const { return dropped_micro_batches_; }

  /// One line: "applied, scale 65536, gradient norm 1.25" or why not.
  std::string str() const;

 private:
  friend class Optimizer;

  bool applied_ = false;
  bool skipped_nonfinite_ = false;
  bool no_gradients_ = false;
  bool stalled_ = false;
  bool persistent_nonfinite_ = false;
  bool loss_was_nonfinite_ = false;
  bool rechecked_ = false;
  double scale_before_ = 1;
  double scale_after_ = 1;
  double grad_norm_ = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::int64_t> overflowed_parameters_;
  std::vector<std::string> overflowed_names_;
  std::int64_t parameter_count_ = 0;
  std::int64_t dropped_micro_batches_ = 0;
};

}  // namespace halftone::optim
