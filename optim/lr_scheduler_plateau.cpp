#include "halftone/optim/lr_scheduler_plateau.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "halftone/optim/optimizer.h"

namespace halftone::optim {
namespace {

constexpr const char* kName = "ReduceLROnPlateau";

}  // namespace

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, SchedulerMode mode, double factor,
                                     std::int64_t patience, double threshold, ThresholdMode threshold_mode,
                                     std::int64_t cooldown, std::vector<double> min_lr, double eps,
                                     bool verbose)
    : optimizer_(&optimizer),
      maximise_(mode == max),
      absolute_(threshold_mode == abs),
      factor_(factor),
      patience_(patience),
      threshold_(threshold),
      cooldown_(cooldown),
      min_lrs_(min_lr.empty() ? std::vector<double>{0.0} : std::move(min_lr)),
      eps_(eps),
      verbose_(verbose),
      last_lrs_(get_current_lrs()) {
  check();
  min_lrs_ = detail::one_per_group(kName, "min_lr", optimizer, min_lrs_);
}

void ReduceLROnPlateau::check() const {
  if (!(factor_ >= 0 && factor_ < 1)) fail(kName, "factor: expected a number in [0, 1), got ", factor_);
  detail::check_count(kName, "patience", patience_, 0);
  check_not_negative(kName, "threshold", threshold_);
  detail::check_count(kName, "cooldown", cooldown_, 0);
  for (const double lr : min_lrs_) check_not_negative(kName, "min_lr", lr);
  check_not_negative(kName, "eps", eps_);
}

bool ReduceLROnPlateau::is_better(double metric) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!has_best_) return maximise_ ? metric > -kInfinity : metric < kInfinity;
  const double sign = maximise_ ? 1 : -1;
  const double bar = absolute_ ? best_ + sign * threshold_ : best_ * (1 + sign * threshold_);
  return maximise_ ? metric > bar : metric < bar;
}

void ReduceLROnPlateau::step(double metric) {
  ++step_;
  if (is_better(metric)) {
    has_best_ = true;
    best_ = metric;
    bad_steps_ = 0;
  } else {
    ++bad_steps_;
  }
  if (cooldown_left_ > 0) {
    --cooldown_left_;
    bad_steps_ = 0;
  }
  if (bad_steps_ > patience_) {
    reduce();
    cooldown_left_ = cooldown_;
    bad_steps_ = 0;
  }
  last_lrs_ = get_current_lrs();
}

double ReduceLROnPlateau::floor_of(std::size_t group) const {
  return group < min_lrs_.size() ? min_lrs_[group] : 0;
}

void ReduceLROnPlateau::reduce() {
  std::vector<OptimizerParamGroup>& groups = optimizer_->param_groups();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const double lr = groups[g].options().get_lr(), reduced = std::max(lr * factor_, floor_of(g));
    if (!(lr - reduced > eps_)) continue;
    groups[g].options().set_lr(reduced);
    if (verbose_) {
      std::printf("step %lld: reducing learning rate of group %zu to %.4e\n", static_cast<long long>(step_),
                  g, reduced);
    }
  }
}

std::vector<detail::SchedulerField> ReduceLROnPlateau::fields(std::vector<double>& lrs) {
  return {{"maximise", &maximise_},
          {"absolute", &absolute_},
          {"factor", &factor_},
          {"patience", &patience_},
          {"threshold", &threshold_},
          {"cooldown", &cooldown_},
          {"min_lrs", &min_lrs_},
          {"eps", &eps_},
          {"step_count", &step_},
          {"has_best", &has_best_},
          {"best", &best_},
          {"bad_steps", &bad_steps_},
          {"cooldown_left", &cooldown_left_},
          {"last_lrs", &last_lrs_},
          {"lrs", &lrs}};
}

StateDict ReduceLROnPlateau::state_dict() const {
  std::vector<double> lrs = get_current_lrs();
  // Saving only reads through the pointers.
  return detail::save_fields(kName, const_cast<ReduceLROnPlateau*>(this)->fields(lrs));
}

void ReduceLROnPlateau::load_state_dict(const StateDict& state) {
  const StateDict before = state_dict();
  try {
    assign(state);
  } catch (...) {
    assign(before);
    throw;
  }
}

void ReduceLROnPlateau::assign(const StateDict& state) {
  std::vector<double> lrs;
  detail::load_fields(kName, fields(lrs), state);
  check();
  for (const std::int64_t count : {step_, bad_steps_, cooldown_left_})
    detail::check_count(kName, "counters", count, 0);
  for (const double lr : lrs) check_not_negative(kName, "lrs", lr);
  std::vector<OptimizerParamGroup>& groups = optimizer_->param_groups();
  if (lrs.size() != groups.size())
    fail(kName, "load_state_dict: the optimizer has ", groups.size(), " param groups, the saved state ",
         lrs.size());
  for (std::size_t g = 0; g < groups.size(); ++g) groups[g].options().set_lr(lrs[g]);
}

}  // namespace halftone::optim
