#pragma once

#include <vector>

#include "halftone/optim/lr_scheduler_fields.h"

namespace halftone::optim {

/// Multiplies the learning rates by `factor` when a metric (usually the validation loss) has not improved for
/// more than `patience` calls of step(). Semantics of torch.optim.lr_scheduler.ReduceLROnPlateau; the
/// constructor is libtorch's.
class ReduceLROnPlateau {
 public:
  /// Whether a smaller or a larger metric is better.
  enum SchedulerMode { min, max };
  /// An improvement is a change by more than `threshold` times the best value so far, or by more than
  /// `threshold`.
  enum ThresholdMode { rel, abs };

  /// factor in [0, 1), patience and cooldown (calls after a reduction that are not counted) >= 0, threshold
  /// and eps >= 0. No learning rate goes below `min_lr` (none: 0; one for all groups; or one each), and a
  /// reduction by no more than `eps` is not made. `verbose` prints each reduction.
  explicit ReduceLROnPlateau(Optimizer& optimizer, SchedulerMode mode = min, double factor = 0.1,
                             std::int64_t patience = 10, double threshold = 1e-4,
                             ThresholdMode threshold_mode = rel, std::int64_t cooldown = 0,
                             std::vector<double> min_lr = {}, double eps = 1e-8, bool verbose = false);
  virtual ~ReduceLROnPlateau() = default;
  ReduceLROnPlateau(const ReduceLROnPlateau&) = delete;
  ReduceLROnPlateau& operator=(const ReduceLROnPlateau&) = delete;

  /// Tells how training stands; NaN counts as no improvement.
  void step(double metric);

  /// The learning rates of the optimizer's groups after the last step.
  const std::vector<double>& get_last_lr() const { return last_lrs_; }
  /// The learning rates of the optimizer's groups now.
  std::vector<double> get_current_lrs() const { return detail::group_lrs(*optimizer_); }

  /// Settings, counters and the groups' learning rates.
  StateDict state_dict() const;
  /// Throws Error, changing nothing, when the state does not fit.
  void load_state_dict(const StateDict& state);

 private:
  bool is_better(double metric) const;
  void reduce();
  double floor_of(std::size_t group) const;
  void check() const;
  void assign(const StateDict& state);
  std::vector<detail::SchedulerField> fields(std::vector<double>& lrs);

  Optimizer* optimizer_;
  bool maximise_, absolute_;
  double factor_;
  std::int64_t patience_;
  double threshold_;
  std::int64_t cooldown_;
  std::vector<double> min_lrs_;
  double eps_;
  bool verbose_;

  std::int64_t step_ = 0;
  bool has_best_ = false;
  double best_ = 0;
  std::int64_t bad_steps_ = 0, cooldown_left_ = 0;
  std::vector<double> last_lrs_;
};

/// libtorch's name.
using ReduceLROnPlateauScheduler = ReduceLROnPlateau;

}  // namespace halftone::optim
