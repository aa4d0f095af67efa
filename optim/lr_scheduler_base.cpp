#include "halftone/optim/lr_scheduler_base.h"

#include "halftone/optim/optimizer.h"

namespace halftone::optim {

LRScheduler::LRScheduler(const char* name, Optimizer& optimizer) : name_(name), optimizer_(&optimizer) {
  adopt_new_groups();
}

void LRScheduler::step(const StepReport& report) {
  if (report.applied()) step();
}

std::vector<double> LRScheduler::get_current_lrs() const { return detail::group_lrs(*optimizer_); }

std::size_t LRScheduler::group_count() const { return optimizer_->param_groups().size(); }

double LRScheduler::lr_after(double, std::int64_t step, std::size_t group) const {
  return lr_at(step, group);
}

void LRScheduler::set_lr(std::size_t group, double lr) {
  optimizer_->param_groups()[group].options().set_lr(lr);
  last_lrs_[group] = lr;
}

void LRScheduler::set_base_lrs(std::vector<double> lrs) {
  base_lrs_ = std::move(lrs);
  for (std::size_t g = 0; g < base_lrs_.size(); ++g)
    optimizer_->param_groups()[g].set_initial_lr(base_lrs_[g]);
}

void LRScheduler::adopt_new_groups() {
  std::vector<OptimizerParamGroup>& groups = optimizer_->param_groups();
  for (std::size_t g = base_lrs_.size(); g < groups.size(); ++g) {
    const double lr = groups[g].options().get_lr();
    if (!groups[g].initial_lr()) groups[g].set_initial_lr(lr);
    base_lrs_.push_back(*groups[g].initial_lr());
    last_lrs_.push_back(lr);
    chained_.push_back(step_ > 0 || lr != base_lrs_[g]);
  }
}

void LRScheduler::start() {
  for (std::size_t g = 0; g < base_lrs_.size(); ++g) {
    set_lr(g, chained_[g] ? lr_after(last_lrs_[g], 0, g) : lr_at(0, g));
  }
}

void LRScheduler::restart() {
  step_ = 0;
  for (std::size_t g = 0; g < base_lrs_.size(); ++g) {
    chained_[g] = 0;
    set_lr(g, lr_at(0, g));
  }
}

void LRScheduler::advance() {
  ++step_;
  adopt_new_groups();
  const std::vector<double> lrs = get_current_lrs();
  for (std::size_t g = 0; g < lrs.size(); ++g) {
    if (lrs[g] != last_lrs_[g]) chained_[g] = 1;
    set_lr(g, chained_[g] ? lr_after(lrs[g], step_, g) : lr_at(step_, g));
  }
}

std::vector<detail::SchedulerField> LRScheduler::all_fields(std::vector<double>& lrs) {
  std::vector<detail::SchedulerField> all = fields();
  all.push_back({"step_count", &step_});
  all.push_back({"base_lrs", &base_lrs_});
  all.push_back({"last_lrs", &last_lrs_});
  all.push_back({"chained", &chained_});
  all.push_back({"lrs", &lrs});
  return all;
}

StateDict LRScheduler::state_dict() const {
  std::vector<double> lrs = get_current_lrs();
  // Saving only reads through the pointers.
  return detail::save_fields(name_, const_cast<LRScheduler*>(this)->all_fields(lrs));
}

void LRScheduler::load_state_dict(const StateDict& state) {
  adopt_new_groups();
  const StateDict before = LRScheduler::state_dict();
  try {
    assign(state);
  } catch (...) {
    assign(before);
    throw;
  }
}

void LRScheduler::assign(const StateDict& state) {
  std::vector<double> lrs;
  detail::load_fields(name_, all_fields(lrs), state);
  check();
  detail::check_count(name_, "step_count", step_, 0);
  const std::size_t groups = group_count();
  for (const std::size_t size : {base_lrs_.size(), last_lrs_.size(), chained_.size(), lrs.size()}) {
    if (size != groups)
      fail(name_, "load_state_dict: the optimizer has ", groups, " param groups, the saved state ", size);
  }
  for (const double lr : lrs) check_not_negative(name_, "lrs", lr);
  for (std::size_t g = 0; g < groups; ++g) optimizer_->param_groups()[g].options().set_lr(lrs[g]);
  set_base_lrs(base_lrs_);
}

}  // namespace halftone::optim
