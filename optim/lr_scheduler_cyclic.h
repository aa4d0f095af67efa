#pragma once

#include <vector>

#include "halftone/optim/lr_scheduler_base.h"

namespace halftone::optim {

/// Half a cosine from the base learning rate to `eta_min` >= 0 in `T_max` >= 1 steps; further steps climb
/// back, with period 2 T_max. Loshchilov and Hutter 2017, "SGDR", arXiv 1608.03983, without the restarts.
class CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, std::int64_t T_max, double eta_min = 0);

 protected:
  double lr_at(std::int64_t step, std::size_t group) const override;
  double lr_after(double lr, std::int64_t step, std::size_t group) const override;
  std::vector<detail::SchedulerField> fields() override;
  void check() const override;

 private:
  std::int64_t t_max_;
  double eta_min_;
};

/// Half a cosine from the base learning rate towards `eta_min` >= 0 in T_0 >= 1 steps, again and again; every
/// round takes `T_mult` >= 1 times as many steps as the one before. arXiv 1608.03983, equation 5.
class CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer, std::int64_t T_0, std::int64_t T_mult = 1,
                              double eta_min = 0);

 protected:
  double lr_at(std::int64_t step, std::size_t group) const override;
  std::vector<detail::SchedulerField> fields() override;
  void check() const override;

 private:
  std::int64_t t_0_, t_mult_;
  double eta_min_;
};

/// How OneCycleLR goes from one value to the next.
enum class AnnealStrategy : std::uint8_t { kCos, kLinear };

/// Settings of OneCycleLR, with Python's names and defaults.
class OneCycleLROptions {
 public:
  /// Peak learning rate, one for all groups or one each, > 0; and the number of steps of the cycle, >= 1.
  OneCycleLROptions(double max_lr, std::int64_t total_steps)
      : OneCycleLROptions(std::vector<double>{max_lr}, total_steps) {}
  OneCycleLROptions(std::vector<double> max_lr, std::int64_t total_steps)
      : max_lr_(std::move(max_lr)), total_steps_(total_steps) {}

  /// Share of the cycle spent climbing, in [0, 1].
  OneCycleLROptions& pct_start(double value) { return pct_start_ = value, *this; }
  /// Along half a cosine, or a straight line.
  OneCycleLROptions& anneal_strategy(AnnealStrategy value) {
    return linear_ = value == AnnealStrategy::kLinear, *this;
  }
  /// Whether momentum (Adam: beta1) moves the other way, between base_momentum and max_momentum.
  OneCycleLROptions& cycle_momentum(bool value) { return cycle_momentum_ = value, *this; }
  /// At the peak of the learning rate, in [0, 1).
  OneCycleLROptions& base_momentum(double value) { return base_momentum_ = value, *this; }
  /// At the first and the last learning rate, in [0, 1).
  OneCycleLROptions& max_momentum(double value) { return max_momentum_ = value, *this; }
  /// The first learning rate is max_lr / div_factor. > 0.
  OneCycleLROptions& div_factor(double value) { return div_factor_ = value, *this; }
  /// The last learning rate is the first divided by it. > 0.
  OneCycleLROptions& final_div_factor(double value) { return final_div_factor_ = value, *this; }
  /// Down to the first learning rate as fast as up, then on to the last.
  OneCycleLROptions& three_phase(bool value) { return three_phase_ = value, *this; }

 private:
  friend class OneCycleLR;

  std::vector<double> max_lr_;
  std::int64_t total_steps_;
  double pct_start_ = 0.3;
  bool linear_ = false;
  bool cycle_momentum_ = true;
  double base_momentum_ = 0.85, max_momentum_ = 0.95;
  double div_factor_ = 25, final_div_factor_ = 1e4;
  bool three_phase_ = false;
};

/// One climb and one descent. Smith and Topin 2018, "Super-convergence", arXiv 1708.07120. Call step() after
/// every step of the optimizer; calling it more than `total_steps` times throws Error. Momentum is cycled
/// where the optimizer has one (SGD and RMSprop "momentum", Adam "beta1"). Param groups added later keep
/// their learning rate.
class OneCycleLR : public LRScheduler {
 public:
  OneCycleLR(Optimizer& optimizer, OneCycleLROptions options);
  OneCycleLR(Optimizer& optimizer, double max_lr, std::int64_t total_steps)
      : OneCycleLR(optimizer, OneCycleLROptions(max_lr, total_steps)) {}

 protected:
  double lr_at(std::int64_t step, std::size_t group) const override;
  double lr_after(double lr, std::int64_t step, std::size_t group) const override;
  std::vector<detail::SchedulerField> fields() override;
  void check() const override;
  void advance() override;
  void restart() override;

 private:
  double at(std::int64_t step, double first, double peak, double last, double rest) const;
  double anneal(double from, double to, double share) const;
  void set_momentum();

  OneCycleLROptions options_;
};

}  // namespace halftone::optim
