#include "halftone/optim/lr_scheduler_decay.h"

#include <algorithm>
#include <cmath>

#include "halftone/optim/optimizer.h"

namespace halftone::optim {
namespace {

double power(double gamma, std::int64_t exponent) { return std::pow(gamma, static_cast<double>(exponent)); }

}  // namespace

double FactorLR::lr_at(std::int64_t step, std::size_t group) const {
  return base_lrs()[group] * factor(step);
}

double FactorLR::lr_after(double lr, std::int64_t step, std::size_t group) const {
  const double before = step > 0 ? factor(step - 1) : 1, now = factor(step);
  if (now == before) return lr;
  return before == 0 ? lr_at(step, group) : lr * (now / before);
}

StepLR::StepLR(Optimizer& optimizer, std::int64_t step_size, double gamma)
    : FactorLR("StepLR", optimizer), step_size_(step_size), gamma_(gamma) {
  check();
  start();
}

double StepLR::factor(std::int64_t step) const { return power(gamma_, step / step_size_); }

std::vector<detail::SchedulerField> StepLR::fields() {
  return {{"step_size", &step_size_}, {"gamma", &gamma_}};
}

void StepLR::check() const {
  detail::check_count(name(), "step_size", step_size_, 1);
  check_not_negative(name(), "gamma", gamma_);
}

MultiStepLR::MultiStepLR(Optimizer& optimizer, std::vector<std::int64_t> milestones, double gamma)
    : FactorLR("MultiStepLR", optimizer), milestones_(std::move(milestones)), gamma_(gamma) {
  check();
  start();
}

double MultiStepLR::factor(std::int64_t step) const {
  return power(gamma_, std::upper_bound(milestones_.begin(), milestones_.end(), step) - milestones_.begin());
}

std::vector<detail::SchedulerField> MultiStepLR::fields() {
  return {{"milestones", &milestones_}, {"gamma", &gamma_}};
}

void MultiStepLR::check() const {
  for (const std::int64_t milestone : milestones_) detail::check_count(name(), "milestones", milestone, 0);
  if (!std::is_sorted(milestones_.begin(), milestones_.end()))
    fail(name(), "milestones: expected step counts in ascending order");
  check_not_negative(name(), "gamma", gamma_);
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma)
    : FactorLR("ExponentialLR", optimizer), gamma_(gamma) {
  check();
  start();
}

double ExponentialLR::factor(std::int64_t step) const { return power(gamma_, step); }

std::vector<detail::SchedulerField> ExponentialLR::fields() { return {{"gamma", &gamma_}}; }

void ExponentialLR::check() const { check_not_negative(name(), "gamma", gamma_); }

LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor, std::int64_t total_iters)
    : FactorLR("LinearLR", optimizer),
      start_factor_(start_factor),
      end_factor_(end_factor),
      total_iters_(total_iters) {
  check();
  start();
}

double LinearLR::factor(std::int64_t step) const {
  if (step >= total_iters_) return end_factor_;
  const double done = static_cast<double>(step) / static_cast<double>(total_iters_);
  return start_factor_ + (end_factor_ - start_factor_) * done;
}

std::vector<detail::SchedulerField> LinearLR::fields() {
  return {{"start_factor", &start_factor_}, {"end_factor", &end_factor_}, {"total_iters", &total_iters_}};
}

void LinearLR::check() const {
  if (!(start_factor_ > 0 && start_factor_ <= 1))
    fail(name(), "start_factor: expected a number in (0, 1], got ", start_factor_);
  detail::check_range(name(), "end_factor", end_factor_, 0, 1);
  detail::check_count(name(), "total_iters", total_iters_, 1);
}

ConstantLR::ConstantLR(Optimizer& optimizer, double factor, std::int64_t total_iters)
    : FactorLR("ConstantLR", optimizer), factor_(factor), total_iters_(total_iters) {
  check();
  start();
}

double ConstantLR::factor(std::int64_t step) const { return step < total_iters_ ? factor_ : 1; }

std::vector<detail::SchedulerField> ConstantLR::fields() {
  return {{"factor", &factor_}, {"total_iters", &total_iters_}};
}

void ConstantLR::check() const {
  detail::check_range(name(), "factor", factor_, 0, 1);
  detail::check_count(name(), "total_iters", total_iters_, 1);
}

LambdaLR::LambdaLR(Optimizer& optimizer, Function lr_lambda)
    : LambdaLR(optimizer, std::vector<Function>(optimizer.param_groups().size(), lr_lambda)) {}

LambdaLR::LambdaLR(Optimizer& optimizer, std::vector<Function> lr_lambdas)
    : LRScheduler("LambdaLR", optimizer), lr_lambdas_(std::move(lr_lambdas)) {
  if (lr_lambdas_.size() != group_count())
    fail(name(), "lr_lambdas: expected one function for each of the optimizer's ", group_count(),
         " groups, got ", lr_lambdas_.size());
  check();
  start();
}

double LambdaLR::lr_at(std::int64_t step, std::size_t group) const {
  const double base = base_lrs()[group];
  return group < lr_lambdas_.size() ? base * lr_lambdas_[group](step) : base;
}

double LambdaLR::lr_after(double lr, std::int64_t step, std::size_t group) const {
  return group < lr_lambdas_.size() ? lr_at(step, group) : lr;
}

std::vector<detail::SchedulerField> LambdaLR::fields() { return {}; }

void LambdaLR::check() const {
  for (const Function& lambda : lr_lambdas_) {
    if (!lambda) fail(name(), "lr_lambdas: expected functions, got an empty one");
  }
}

}  // namespace halftone::optim
