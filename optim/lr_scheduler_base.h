#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halftone/optim/lr_scheduler_fields.h"

namespace halftone::optim {

class StepReport;

/// Base of the schedules that depend on a count of steps only, with the semantics of Python's
/// torch.optim.lr_scheduler: a scheduler sets the first learning rate when it is made, and step() sets the
/// next one. (libtorch's C++ StepLR decays one call late.)
///
///   optim::StepLR scheduler(optimizer, /*step_size=*/30, /*gamma=*/0.1);
///   for (epoch ...) { train(...); scheduler.step(); }
///
/// With loss scaling a step of the optimizer may be skipped. A schedule that counts steps rather than epochs
/// is then moved by `scheduler.step(optimizer.step())`, which does not count the skipped ones.
///
/// Every param group has its own base learning rate: what it had before the first scheduler was made. As long
/// as nobody else writes a group's learning rate, it is computed from the base by a closed formula, so
/// nothing accumulates. Once the user or another scheduler has changed it, each step multiplies what is there
/// instead, as PyTorch does.
///
/// A scheduler refers to its optimizer, which must outlive it.
class LRScheduler {
 public:
  virtual ~LRScheduler() = default;
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;

  /// Sets the next learning rate of every group.
  void step() { advance(); }
  /// The same, if the optimizer's step was applied; nothing otherwise.
  void step(const StepReport& report);

  /// How often the schedule has moved: 0 after construction. (Python's last_epoch.)
  std::int64_t step_count() const { return step_; }
  /// The learning rates this scheduler set last, one per group.
  const std::vector<double>& get_last_lr() const { return last_lrs_; }
  /// The learning rates of the optimizer's groups now.
  std::vector<double> get_current_lrs() const;
  /// The learning rates the schedule starts from, one per group.
  const std::vector<double>& base_lrs() const { return base_lrs_; }
  /// Whose learning rates it sets.
  Optimizer& optimizer() const { return *optimizer_; }

  /// Position and settings, and the groups' present learning rates.
  virtual StateDict state_dict() const;
  /// Restores all of these, so that scheduler and optimizer may be loaded in any order. Throws Error,
  /// changing nothing, when the state is another scheduler's or does not fit the optimizer's groups.
  virtual void load_state_dict(const StateDict& state);

 protected:
  /// `name` is the class's, for messages and state; it must outlive the scheduler. Derived constructors end
  /// with `check(); start();`.
  LRScheduler(const char* name, Optimizer& optimizer);

  /// The learning rate of a group after `step` steps.
  virtual double lr_at(std::int64_t step, std::size_t group) const = 0;
  /// The learning rate after `step` steps of a group that somebody set to `lr` after the step before.
  virtual double lr_after(double lr, std::int64_t step, std::size_t group) const;
  /// The settings, for state dictionaries.
  virtual std::vector<detail::SchedulerField> fields() = 0;
  /// Throws Error naming the field that makes no sense.
  virtual void check() const = 0;
  /// Moves by one step.
  virtual void advance();
  /// Sets the learning rates of step 0 from the base.
  virtual void restart();

  /// Sets the first learning rates.
  void start();
  /// Makes `lrs` the base, in the optimizer's groups too.
  void set_base_lrs(std::vector<double> lrs);
  /// Writes one group's learning rate into the optimizer.
  void set_lr(std::size_t group, double lr);
  /// The class's, for messages and state.
  const char* name() const { return name_; }
  /// Param groups of the optimizer now.
  std::size_t group_count() const;

  /// What step_count() returns.
  std::int64_t step_ = 0;

 private:
  friend class SequentialLR;

  void adopt_new_groups();
  std::vector<detail::SchedulerField> all_fields(std::vector<double>& lrs);
  void assign(const StateDict& state);

  const char* name_;
  Optimizer* optimizer_;
  std::vector<double> base_lrs_;
  std::vector<double> last_lrs_;
  std::vector<std::int64_t> chained_;  // per group: 1 once somebody else has written its learning rate
};

}  // namespace halftone::optim
