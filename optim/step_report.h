#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "halftone/engine/cached_containers.h"
#include "halftone/engine/tensor.h"

namespace halftone::optim {

/// What one optimizer step did, and why. For parameters on a CUDA device the report is read from there by the
/// first question that needs it; asking nothing, nobody waits. The report of a captured step tells of its
/// last replay.
class StepReport {
 public:
  /// The weights moved.
  bool applied() const { return facts().applied; }
  /// Nothing changed, bit for bit: a gradient was infinite or NaN, here or on another rank.
  bool skipped_nonfinite() const { return facts().skipped_nonfinite; }
  /// Nothing changed: no parameter has a gradient.
  bool no_gradients() const { return has_no_gradient_ && !skipped_nonfinite(); }
  /// Skipped so often in a row with the scale at its floor (`stalled_after`) that training stands still.
  bool stalled() const { return facts().stalled; }
  /// Skipped three times in a row on the same gradient: it was not cleared, and keeps what made it
  /// non-finite.
  bool persistent_nonfinite() const { return facts().persistent_nonfinite; }
  /// The loss was infinite or NaN before it was scaled: not an overflow that the scale made.
  bool loss_was_nonfinite() const { return facts().loss_was_nonfinite; }
  /// The gradients were looked at by this step; false when it relied on what unscale_() had seen.
  bool rechecked() const { return rechecked_; }

  /// The loss scale of this step.
  double scale_before() const { return facts().scale_before; }
  /// The loss scale of the next step. The same as before with GradScaler, which moves the scale in update().
  double scale_after() const { return facts().scale_after; }
  /// Norm of all true gradients before clipping; NaN when neither loss scaling nor clipping had it computed.
  double grad_norm() const { return facts().grad_norm; }
  /// Parameters whose gradient is not finite: positions in the flattened param groups.
  const std::vector<std::int64_t>& overflowed_parameters() const { return facts().overflowed_parameters; }
  /// Their names, where the optimizer was made from named parameters.
  const std::vector<std::string>& overflowed_names() const { return facts().overflowed_names; }
  /// Parameters the optimizer holds.
  std::int64_t parameter_count() const { return parameter_count_; }
  /// Losses left out of this step by accumulation(kDropMicroBatch).
  std::int64_t dropped_micro_batches() const { return dropped_micro_batches_; }

  /// One line: "applied, scale 65536, gradient norm 1.25" or why not.
  std::string str() const;

 private:
  friend class Optimizer;

  /// What the parameters' device knows.
  struct Facts {
    bool applied = false;
    bool skipped_nonfinite = false;
    bool stalled = false;
    bool persistent_nonfinite = false;
    bool loss_was_nonfinite = false;
    double scale_before = 1;
    double scale_after = 1;
    double grad_norm = std::numeric_limits<double>::quiet_NaN();
    std::vector<std::int64_t> overflowed_parameters;
    std::vector<std::string> overflowed_names;
  };
  using Names = std::vector<std::string>;
  /// Where that is written. Shared by copies of a report.
  struct Source {
    Tensor record;                      // StepRecord
    Tensor scan;                        // what the gradients were, or undefined
    CachedVector<std::uint32_t> slots;  // which parameter each of them belongs to
    std::shared_ptr<const Names> names;
    bool has_norm = false;
    Facts facts;
    bool is_read = false;
    std::uint64_t replays = 0;  // when it was read
  };
  const Facts& facts() const;
  static void read(Source& source);

  std::shared_ptr<Source> source_;
  bool has_no_gradient_ = false;
  bool rechecked_ = false;
  std::int64_t parameter_count_ = 0;
  std::int64_t dropped_micro_batches_ = 0;
};

}  // namespace halftone::optim
