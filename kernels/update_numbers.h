#pragma once

#include <cmath>

#include "halftone/engine/host_device.h"
#include "halftone/kernels/update_settings.h"

namespace halftone {

/// The scalar arguments of one parameter's step.
struct UpdateNumbers {
  double lr = 0;
  double weight_decay = 0;
  double eps = 0;
  double a = 0;
  double b = 0;
  double correction1 = 1;       ///< Adam and its kin: 1 - beta1^t
  double correction2_sqrt = 1;  ///< Adam and its kin: sqrt(1 - beta2^t)
  double gradient_share = 0;    ///< NAdam: of the gradient in the step
  double moment_share = 0;      ///< NAdam: of the first moment in the step
  double rectification = 0;     ///< RAdam: of the variance; 0 while it is not tractable
  bool flag = false;
  bool decoupled = false;
  bool first = false;  ///< SGD: the velocity is empty yet
};

/// NAdam's momentum of step t.
HALFTONE_HD inline double nadam_momentum(const UpdateSettings& settings, double t) {
  return settings.a * (1 - 0.5 * std::pow(0.96, t * settings.c));
}

/// RAdam's rectification of step t (Liu et al. 2020, algorithm 2).
HALFTONE_HD inline double radam_rectification(double beta2, double t) {
  const double power = std::pow(beta2, t);
  const double longest = 2 / (1 - beta2) - 1;
  const double length = longest - 2 * t * power / (1 - power);
  if (!(length > 5)) return 0;
  return std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
}

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
  const bool has_corrections = settings.rule == UpdateRule::kAdam || settings.rule == UpdateRule::kAdamax ||
                               settings.rule == UpdateRule::kNadam || settings.rule == UpdateRule::kRadam;
  if (has_corrections) {
    numbers.correction1 = 1 - std::pow(settings.a, t);
    numbers.correction2_sqrt = std::sqrt(1 - std::pow(settings.b, t));
  }
  if (settings.rule == UpdateRule::kAdagrad) numbers.lr = settings.lr / (1 + (t - 1) * settings.lr_decay);
  if (settings.rule == UpdateRule::kNadam) {
    const double now = nadam_momentum(settings, t), next = nadam_momentum(settings, t + 1);
    counters.mu_product *= now;
    numbers.gradient_share = (1 - now) / (1 - counters.mu_product);
    numbers.moment_share = next / (1 - counters.mu_product * next);
  }
  if (settings.rule == UpdateRule::kRadam) numbers.rectification = radam_rectification(settings.b, t);
  return numbers;
}

}  // namespace halftone
