#include "halftone/optim/lr_scheduler_cyclic.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "halftone/optim/optimizer.h"

namespace halftone::optim {
namespace {

/// 1 at 0, 0 at 1, and smooth between.
double half_cosine(double share) { return (1 + std::cos(std::numbers::pi * share)) / 2; }

double ratio(std::int64_t a, std::int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

void check_positive(const char* scheduler, const char* field, double value) {
  if (!(value > 0) || std::isinf(value))
    fail(scheduler, field, ": expected a finite number > 0, got ", value);
}

}  // namespace

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, std::int64_t T_max, double eta_min)
    : LRScheduler("CosineAnnealingLR", optimizer), t_max_(T_max), eta_min_(eta_min) {
  check();
  start();
}

double CosineAnnealingLR::lr_at(std::int64_t step, std::size_t group) const {
  return eta_min_ + (base_lrs()[group] - eta_min_) * half_cosine(ratio(step % (2 * t_max_), t_max_));
}

double CosineAnnealingLR::lr_after(double lr, std::int64_t step, std::size_t group) const {
  if (step == 0) return lr;
  const std::int64_t phase = (step - 1) % (2 * t_max_);
  if (phase == t_max_) {  // at the bottom the distance to eta_min says nothing: start from the base again
    return lr + (base_lrs()[group] - eta_min_) * (1 - half_cosine(ratio(1, t_max_)));
  }
  const double before = half_cosine(ratio(phase, t_max_)), now = half_cosine(ratio(phase + 1, t_max_));
  return eta_min_ + (lr - eta_min_) * (now / before);
}

std::vector<detail::SchedulerField> CosineAnnealingLR::fields() {
  return {{"T_max", &t_max_}, {"eta_min", &eta_min_}};
}

void CosineAnnealingLR::check() const {
  detail::check_count(name(), "T_max", t_max_, 1);
  check_not_negative(name(), "eta_min", eta_min_);
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, std::int64_t T_0,
                                                         std::int64_t T_mult, double eta_min)
    : LRScheduler("CosineAnnealingWarmRestarts", optimizer), t_0_(T_0), t_mult_(T_mult), eta_min_(eta_min) {
  check();
  start();
}

double CosineAnnealingWarmRestarts::lr_at(std::int64_t step, std::size_t group) const {
  double round = static_cast<double>(t_0_);
  double done = static_cast<double>(t_mult_ == 1 ? step % t_0_ : step);
  while (done >= round) {
    done -= round;
    round *= static_cast<double>(t_mult_);
  }
  return eta_min_ + (base_lrs()[group] - eta_min_) * half_cosine(done / round);
}

std::vector<detail::SchedulerField> CosineAnnealingWarmRestarts::fields() {
  return {{"T_0", &t_0_}, {"T_mult", &t_mult_}, {"eta_min", &eta_min_}};
}

void CosineAnnealingWarmRestarts::check() const {
  detail::check_count(name(), "T_0", t_0_, 1);
  detail::check_count(name(), "T_mult", t_mult_, 1);
  check_not_negative(name(), "eta_min", eta_min_);
}

OneCycleLR::OneCycleLR(Optimizer& optimizer, OneCycleLROptions options)
    : LRScheduler("OneCycleLR", optimizer), options_(std::move(options)) {
  options_.max_lr_ = detail::one_per_group(name(), "max_lr", optimizer, options_.max_lr_);
  check();
  std::vector<double> first = options_.max_lr_;
  for (double& lr : first) lr /= options_.div_factor_;
  set_base_lrs(first);
  restart();
}

double OneCycleLR::anneal(double from, double to, double share) const {
  return options_.linear_ ? from + (to - from) * share : to + (from - to) * half_cosine(share);
}

/// Climbs from `first` to `peak` and descends to `last`; in three phases back to `first`, and then from there
/// to `last` on the way of `rest`.
double OneCycleLR::at(std::int64_t step, double first, double peak, double last, double rest) const {
  struct Phase {
    double end, from, to;
  };
  const double total = static_cast<double>(options_.total_steps_), climb = options_.pct_start_ * total;
  std::vector<Phase> phases{{climb - 1, first, peak}};
  if (options_.three_phase_) phases.push_back({2 * climb - 2, peak, rest});
  phases.push_back({total - 1, phases.back().to, last});

  const double now = static_cast<double>(step);
  double begin = 0;
  for (const Phase& phase : phases) {
    if (now <= phase.end || &phase == &phases.back()) {
      const double share = phase.end > begin ? (now - begin) / (phase.end - begin) : 1;
      return anneal(phase.from, phase.to, std::min(share, 1.0));
    }
    begin = phase.end;
  }
  return last;
}

double OneCycleLR::lr_at(std::int64_t step, std::size_t group) const {
  const double first = base_lrs()[group];
  if (group >= options_.max_lr_.size()) return first;
  return at(step, first, options_.max_lr_[group], first / options_.final_div_factor_, first);
}

double OneCycleLR::lr_after(double lr, std::int64_t step, std::size_t group) const {
  return group < options_.max_lr_.size() ? lr_at(step, group) : lr;
}

void OneCycleLR::set_momentum() {
  if (!options_.cycle_momentum_) return;
  const double base = options_.base_momentum_, max = options_.max_momentum_;
  for (std::size_t g = 0; g < options_.max_lr_.size(); ++g) {
    OptimizerOptions& options = optimizer().param_groups()[g].options();
    double* momentum = options.find_number("momentum");
    if (!momentum) momentum = options.find_number("beta1");
    if (momentum) *momentum = at(step_, max, base, max, max);
  }
}

void OneCycleLR::advance() {
  if (step_ >= options_.total_steps_)
    fail(name(), "step: the cycle has total_steps = ", options_.total_steps_, " steps and is over");
  LRScheduler::advance();
  set_momentum();
}

void OneCycleLR::restart() {
  LRScheduler::restart();
  set_momentum();
}

std::vector<detail::SchedulerField> OneCycleLR::fields() {
  return {{"max_lr", &options_.max_lr_},
          {"total_steps", &options_.total_steps_},
          {"pct_start", &options_.pct_start_},
          {"linear", &options_.linear_},
          {"cycle_momentum", &options_.cycle_momentum_},
          {"base_momentum", &options_.base_momentum_},
          {"max_momentum", &options_.max_momentum_},
          {"div_factor", &options_.div_factor_},
          {"final_div_factor", &options_.final_div_factor_},
          {"three_phase", &options_.three_phase_}};
}

void OneCycleLR::check() const {
  if (options_.max_lr_.empty()) fail(name(), "max_lr: expected one value for each group, got none");
  for (const double lr : options_.max_lr_) check_positive(name(), "max_lr", lr);
  detail::check_count(name(), "total_steps", options_.total_steps_, 1);
  detail::check_range(name(), "pct_start", options_.pct_start_, 0, 1);
  check_fraction(name(), "base_momentum", options_.base_momentum_);
  check_fraction(name(), "max_momentum", options_.max_momentum_);
  check_positive(name(), "div_factor", options_.div_factor_);
  check_positive(name(), "final_div_factor", options_.final_div_factor_);
}

}  // namespace halftone::optim
