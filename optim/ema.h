#pragma once

#include <cstdint>
#include <vector>

#include "halftone/engine/state_dict.h"

namespace halftone::optim {

class StepReport;

/// Settings of ExponentialMovingAverage.
class EmaOptions {
 public:
  /// Weight of the past, in [0, 1).
  EmaOptions(double decay = 0.999) : decay_(decay) {}
  /// Weight of the past.
  double decay() const { return decay_; }
  /// The n-th update decays by min(decay, (1 + n) / (10 + n)), so that the first weights are soon forgotten.
  /// Off.
  EmaOptions& warmup(bool on) { return warmup_ = on, *this; }
  bool warmup() const { return warmup_; }

 private:
  double decay_;
  bool warmup_ = false;
};

/// Average of the weights over the course of training (Polyak and Juditsky 1992), which often generalises
/// better than the last weights: average += (1 - decay) * (weight - average). Averages are kept in fp32
/// whatever the weights' type, fp64 for fp64 weights: in half precision steps that small would be lost.
///
///   optim::ExponentialMovingAverage ema(model->parameters(), 0.999);
///   ... ema.update(optimizer.step());          // a skipped step changes nothing
///   { auto averaged = ema.apply(); evaluate(model); }  // the weights come back here, bit for bit
class ExponentialMovingAverage {
 public:
  /// While alive, the parameters hold the averages. Does not outlive the average.
  class [[nodiscard]] Applied {
   public:
    Applied(Applied&& other) noexcept : ema_(other.ema_) { other.ema_ = nullptr; }
    Applied& operator=(Applied&&) = delete;
    ~Applied() { restore(); }
    /// Puts the weights back now rather than at the end of the scope.
    void restore();

   private:
    friend class ExponentialMovingAverage;
    explicit Applied(ExponentialMovingAverage* ema) : ema_(ema) {}
    ExponentialMovingAverage* ema_;
  };

  /// Starts from the parameters' present values. Throws Error on parameters that are not floating, and on a
  /// decay outside [0, 1).
  explicit ExponentialMovingAverage(std::vector<Tensor> parameters, const EmaOptions& options = {});
  ExponentialMovingAverage(const ExponentialMovingAverage&) = delete;
  ExponentialMovingAverage& operator=(const ExponentialMovingAverage&) = delete;

  /// Moves the averages towards the parameters. Throws Error while the averages are applied.
  void update();
  /// The same, if the optimizer's step was applied; nothing otherwise.
  void update(const StepReport& report);

  /// Writes the averages, rounded to their type, into the parameters until the result goes out of scope.
  /// Throws Error when they are there already.
  Applied apply();

  /// One per parameter, in their order.
  const std::vector<Tensor>& averages() const { return averages_; }
  /// Weight of the past, after the warm-up.
  double decay() const { return decay_; }
  /// Updates made so far.
  std::int64_t update_count() const { return updates_; }

  /// Averages (copies), decay and count.
  StateDict state_dict() const;
  /// Throws Error, changing nothing, when the averages do not fit the parameters.
  void load_state_dict(const StateDict& state);

 private:
  double present_decay() const;
  void restore();

  std::vector<Tensor> parameters_, averages_;
  std::vector<Tensor> originals_;  // of the parameters, while the averages are applied
  bool applied_ = false;
  double decay_;
  bool warmup_;
  std::int64_t updates_ = 0;
};

}  // namespace halftone::optim
