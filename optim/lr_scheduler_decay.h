#pragma once

#include <functional>
#include <vector>

#include "halftone/optim/lr_scheduler_base.h"

namespace halftone::optim {

/// Base of the schedules that multiply the base learning rate by a factor that depends on the step only.
class FactorLR : public LRScheduler {
 protected:
  using LRScheduler::LRScheduler;

  /// What the base learning rate is multiplied by after `step` steps.
  virtual double factor(std::int64_t step) const = 0;
  double lr_at(std::int64_t step, std::size_t group) const override;
  double lr_after(double lr, std::int64_t step, std::size_t group) const override;
};

/// base * gamma^floor(step / step_size): multiplied by gamma every `step_size` steps. step_size >= 1, gamma
/// >= 0.
class StepLR : public FactorLR {
 public:
  StepLR(Optimizer& optimizer, std::int64_t step_size, double gamma = 0.1);

 protected:
  double factor(std::int64_t step) const override;
  std::vector<detail::SchedulerField> fields() override;
  void check() const override;

 private:
  std::int64_t step_size_;
  double gamma_;
};

/// Multiplied by gamma at each milestone. Milestones >= 0 in ascending order (one that stands twice counts
/// twice).
class MultiStepLR : public FactorLR {
 public:
  MultiStepLR(Optimizer& optimizer, std::vector<std::int64_t> milestones, double gamma = 0.1);

 protected:
  double factor(std::int64_t step) const override;
  std::vector<detail::SchedulerField> fields() override;
  void check() const override;

 private:
  std::vector<std::int64_t> milestones_;
  double gamma_;
};

/// base * gamma^step, gamma >= 0.
class ExponentialLR : public FactorLR {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma);

 protected:
  double factor(std::int64_t step) const override;
  std::vector<detail::SchedulerField> fields() override;
  void check() const override;

 private:
  double gamma_;
};

/// The factor goes from `start_factor` (0 < .. <= 1) to `end_factor` (0 <= .. <= 1) in equal steps, reaches
/// it after `total_iters` >= 1 steps and stays there: warm-up.
class LinearLR : public FactorLR {
 public:
  LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1.0,
           std::int64_t total_iters = 5);

 protected:
  double factor(std::int64_t step) const override;
  std::vector<detail::SchedulerField> fields() override;
  void check() const override;

 private:
  double start_factor_, end_factor_;
  std::int64_t total_iters_;
};

/// base * factor (0 <= .. <= 1) for `total_iters` >= 1 steps, then base.
class ConstantLR : public FactorLR {
 public:
  ConstantLR(Optimizer& optimizer, double factor = 1.0 / 3, std::int64_t total_iters = 5);

 protected:
  double factor(std::int64_t step) const override;
  std::vector<detail::SchedulerField> fields() override;
  void check() const override;

 private:
  double factor_;
  std::int64_t total_iters_;
};

/// base * f(step) with a function of your own, one for all groups or one each. The functions are not part of
/// the state. Param groups added later keep their learning rate.
class LambdaLR : public LRScheduler {
 public:
  /// From the number of steps to the factor.
  using Function = std::function<double(std::int64_t)>;

  LambdaLR(Optimizer& optimizer, Function lr_lambda);
  LambdaLR(Optimizer& optimizer, std::vector<Function> lr_lambdas);

 protected:
  double lr_at(std::int64_t step, std::size_t group) const override;
  double lr_after(double lr, std::int64_t step, std::size_t group) const override;
  std::vector<detail::SchedulerField> fields() override;
  void check() const override;

 private:
  std::vector<Function> lr_lambdas_;
};

}  // namespace halftone::optim
