#include "halftone/optim/lr_scheduler_sequential.h"

#include <algorithm>

#include "halftone/optim/optimizer.h"

namespace halftone::optim {

SequentialLR::SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
                           std::vector<std::int64_t> milestones)
    : LRScheduler("SequentialLR", optimizer),
      schedulers_(std::move(schedulers)),
      milestones_(std::move(milestones)) {
  if (schedulers_.empty()) fail(name(), "schedulers: expected at least one, got none");
  for (std::size_t i = 0; i < schedulers_.size(); ++i) {
    if (!schedulers_[i]) fail(name(), "schedulers: number ", i, " is null");
    if (&schedulers_[i]->optimizer() != &optimizer)
      fail(name(), "schedulers: number ", i, " (", schedulers_[i]->name(), ") is of another optimizer");
  }
  check();
  restart();
}

std::vector<detail::SchedulerField> SequentialLR::fields() { return {{"milestones", &milestones_}}; }

void SequentialLR::check() const {
  if (milestones_.size() + 1 != schedulers_.size())
    fail(name(), "milestones: expected one fewer than schedulers, got ", milestones_.size(), " for ",
         schedulers_.size());
  std::int64_t least = 1;
  for (const std::int64_t milestone : milestones_) {
    detail::check_count(name(), "milestones", milestone, least);
    least = milestone + 1;
  }
}

double SequentialLR::lr_at(std::int64_t, std::size_t group) const { return base_lrs()[group]; }

void SequentialLR::restart() {
  LRScheduler::restart();  // undoes what the schedulers' own construction set
  schedulers_.front()->restart();
  note_lrs();
}

void SequentialLR::advance() {
  ++step_;
  const auto next = std::upper_bound(milestones_.begin(), milestones_.end(), step_);
  LRScheduler& scheduler = *schedulers_[static_cast<std::size_t>(next - milestones_.begin())];
  if (next != milestones_.begin() && *(next - 1) == step_) {
    scheduler.restart();
  } else {
    scheduler.step();
  }
  note_lrs();
}

void SequentialLR::note_lrs() {
  adopt_new_groups();
  last_lrs_ = get_current_lrs();
}

StateDict SequentialLR::state_dict() const {
  StateDict state = LRScheduler::state_dict();
  for (std::size_t i = 0; i < schedulers_.size(); ++i) {
    state.add(concat("schedulers.", i), schedulers_[i]->state_dict());
  }
  return state;
}

void SequentialLR::load_state_dict(const StateDict& state) {
  const StateDict before = SequentialLR::state_dict();
  try {
    load(state);
  } catch (...) {
    load(before);
    throw;
  }
}

void SequentialLR::load(const StateDict& state) {
  for (std::size_t i = 0; i < schedulers_.size(); ++i) {
    schedulers_[i]->load_state_dict(state.under(concat("schedulers.", i)));
  }
  LRScheduler::load_state_dict(state);
}

}  // namespace halftone::optim
