#pragma once

#include <memory>
#include <vector>

#include "halftone/optim/lr_scheduler_base.h"

namespace halftone::optim {

/// One schedule after another: scheduler i + 1 takes over, from its own step 0 and from the base learning
/// rates, when the count of steps reaches milestones[i].
///
///   auto warm_up = std::make_shared<optim::LinearLR>(optimizer, 0.1, 1.0, 5);
///   auto decay = std::make_shared<optim::CosineAnnealingLR>(optimizer, 95);
///   optim::SequentialLR scheduler(optimizer, {warm_up, decay}, {5});
class SequentialLR : public LRScheduler {
 public:
  /// All schedulers must be of this optimizer; step only this one. One milestone fewer than schedulers, >= 1,
  /// ascending.
  SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
               std::vector<std::int64_t> milestones);

  /// With the states of the schedulers, as "schedulers.0.*" and so on.
  StateDict state_dict() const override;
  void load_state_dict(const StateDict& state) override;

 protected:
  double lr_at(std::int64_t step, std::size_t group) const override;
  std::vector<detail::SchedulerField> fields() override;
  void check() const override;
  void advance() override;
  void restart() override;

 private:
  void load(const StateDict& state);
  void note_lrs();

  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
  std::vector<std::int64_t> milestones_;
};

}  // namespace halftone::optim
