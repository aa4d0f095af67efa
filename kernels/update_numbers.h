#pragma once

#include <cmath>
#include <cstdint>

#include "halftone/engine/host_device.h"

namespace halftone {

enum class UpdateRule : std::uint8_t { kSgd, kAdam, kRmsprop, kAdagrad };

/// The options of one parameter group as its update rule reads them; what `a`, `b` and `flag` mean is said at
/// the rule (kernels/math/optimizer.h).
struct UpdateSettings {
  UpdateRule rule = UpdateRule::kSgd;
  double lr = 0;
  double lr_decay = 0;  ///< Adagrad
  double weight_decay = 0;
  double eps = 0;
  double a = 0;            ///< SGD momentum, Adam beta1, RMSprop alpha
  double b = 0;            ///< SGD dampening, Adam beta2, RMSprop momentum
  bool flag = false;       ///< SGD nesterov, Adam amsgrad, RMSprop centered
  bool decoupled = false;  ///< AdamW

  friend bool operator==(const UpdateSettings&, const UpdateSettings&) = default;
};

/// Steps that were applied to one parameter, in the memory of its device.
struct UpdateCounters {
  std::int64_t steps = 0;
  std::int64_t primed = 0;  ///< not 0: its first moment holds something
};

/// The scalar arguments of one parameter's step.
struct UpdateNumbers {
  double lr = 0;
  double weight_decay = 0;
  double eps = 0;
  double a = 0;
  double b = 0;
  double correction1 = 1;       ///< Adam: 1 - beta1^t
  double correction2_sqrt = 1;  ///< Adam: sqrt(1 - beta2^t)
  bool flag = false;
  bool decoupled = false;
  bool first = false;  ///< SGD: the velocity is empty yet
};

/// Counts one more step of a parameter, and says what it is made with.
HALFTONE_HD inline UpdateNumbers next_numbers(const UpdateSettings& settings, UpdateCounters& counters,
                                              bool has_moment) {
  UpdateNumbers numbers;
  const double t = static_cast<double>(++counters.steps);
  numbers.lr = settings.lr;
  numbers.weight_decay = settings.weight_decay;
  numbers.eps = settings.eps;
  numbers.a = settings.a;
  numbers.b = settings.b;
  numbers.flag = settings.flag;
  numbers.decoupled = settings.decoupled;
  numbers.first = counters.primed == 0;
  if (has_moment) counters.primed = 1;
  if (settings.rule == UpdateRule::kAdam) {
    numbers.correction1 = 1 - std::pow(settings.a, t);
    numbers.correction2_sqrt = std::sqrt(1 - std::pow(settings.b, t));
  }
  if (settings.rule == UpdateRule::kAdagrad) numbers.lr = settings.lr / (1 + (t - 1) * settings.lr_decay);
  return numbers;
}

}  // namespace halftone
