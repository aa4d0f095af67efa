#pragma once

#include <cstdint>

#include "halftone/engine/host_device.h"
#include "halftone/kernels/math/loss_scale.h"

// Whether an optimizer's step happens, and what is known about it afterwards. Everything here lies in the
// memory of the parameters' device; the decision runs there too, so that a step on a CUDA device never waits
// for the host.
namespace halftone {

/// What a pass over all gradients found. One ScanEntry per gradient follows it in memory.
struct ScanHeader {
  double norm = 0;                       ///< of all gradients, taken as one vector
  std::int64_t nonfinite_gradients = 0;  ///< gradients with an infinite or NaN element
  std::int64_t found = 0;  ///< not 0: this scan or one before it in the same iteration found some
};

struct ScanEntry {
  std::int64_t nonfinite = 0;  ///< elements that are infinite or NaN
  double norm = 0;             ///< infinite or NaN when an element is
  std::uint64_t gradient = 0;  ///< says which tensor it was
};

/// What an optimizer remembers from step to step.
struct StepControl {
  std::int64_t applied_steps = 0, attempted_steps = 0;
  std::uint64_t skipped_gradient =
      0;                        ///< the first non-finite gradient of the last step, if that was skipped
  std::int64_t same_skips = 0;  ///< steps in a row that were skipped for it
  std::int64_t changed = 0, lost = 0;  ///< of UpdateMeter
  std::uint64_t rounding_seed = 0;     ///< random stream of stochastic rounding: the step under way starts at
  std::uint64_t rounding_start = 0;    ///< `rounding_start`, the next one at `rounding_next`
  std::uint64_t rounding_next = 0;
  double clip_factor = 1;  ///< of the step under way
  double max_norm = -1;    ///< threshold of clip_grad_norm_
  std::int64_t skip = 0;   ///< the step under way changes nothing
};

/// What one step did; read by StepReport.
struct StepRecord {
  double scale_before = 1, scale_after = 1;
  double grad_norm = 0;
  std::int64_t applied = 0, skipped_nonfinite = 0, stalled = 0, persistent_nonfinite = 0,
               loss_was_nonfinite = 0;
};

/// What the host knows about a step.
struct StepRequest {
  enum class Verdict : std::uint8_t { kOfGradients, kApply, kSkip };

  Verdict verdict = Verdict::kOfGradients;  ///< other ranks may have decided, or dropped micro-batches
  bool any_gradient = false;
  bool late = false;             ///< all gradients belong to an iteration that is over
  bool is_scan_current = false;  ///< the scan saw the gradients as they are
  bool clips = false;
  bool cleared = false;               ///< zero_grad() was called since the last step
  std::uint64_t rounding_blocks = 0;  ///< random numbers that the step draws
};

/// PyTorch's factor; 1 when the norm is small enough.
HALFTONE_HD inline double clip_factor(double max_norm, double norm) {
  const double factor = max_norm / (norm + 1e-6);
  return factor >= 1 ? 1 : factor;
}

/// Decides. `scan`: the last pass over the gradients, or null; `found`: what unscale_ found, or null;
/// `scaling`: the loss scale, or null without loss scaling, when every step is applied.
HALFTONE_HD inline void decide_step(StepControl& control, StepRecord& record, const ScanHeader* scan,
                                    std::int64_t scanned, const ScanHeader* found, LossScaleState* scaling,
                                    const LossScaleRules& rules, const StepRequest& request) {
  constexpr std::int64_t kPersistent = 3;  // skips on the same gradient before the report says so
  bool nonfinite = false;
  if (scaling) {
    nonfinite = (found && found->found) || (request.is_scan_current && scan && scan->nonfinite_gradients > 0);
    if (request.verdict != StepRequest::Verdict::kOfGradients) {
      nonfinite = request.verdict == StepRequest::Verdict::kSkip;
    }
    record.scale_before = record.scale_after = static_cast<double>(scaling->scale);
    scaling->overflowed |= nonfinite;
    scaling->clean |= !nonfinite && request.any_gradient && !request.late;
  }
  record.grad_norm = scan ? scan->norm : 0;
  ++control.attempted_steps;
  if (request.cleared) control.skipped_gradient = 0;
  const bool applied = !nonfinite && request.any_gradient;
  control.skip = !applied;
  control.clip_factor = request.clips && scan ? clip_factor(control.max_norm, scan->norm) : 1;
  control.rounding_start = control.rounding_next;
  if (nonfinite) {
    std::uint64_t gradient = 0;
    const ScanEntry* entries = reinterpret_cast<const ScanEntry*>(scan + 1);
    for (std::int64_t i = 0; scan && i < scanned && gradient == 0; ++i) {
      if (entries[i].nonfinite > 0) gradient = entries[i].gradient;
    }
    const bool same = gradient != 0 && gradient == control.skipped_gradient;
    control.same_skips = same ? control.same_skips + 1 : 1;
    control.skipped_gradient = gradient;
    record.skipped_nonfinite = 1;
    record.persistent_nonfinite = control.same_skips >= kPersistent;
    record.stalled = would_stall(*scaling, rules);
    record.loss_was_nonfinite = scaling->loss_nonfinite;
  } else if (applied) {
    ++control.applied_steps;
    control.rounding_next += request.rounding_blocks;
    control.skipped_gradient = 0;
    control.same_skips = 0;
    record.applied = 1;
  }
}

}  // namespace halftone
