#pragma once

#include <cstdint>

namespace halftone {

enum class UpdateRule : std::uint8_t {
  kSgd,
  kAdam,
  kRmsprop,
  kAdagrad,
  kAdadelta,
  kAdamax,
  kNadam,
  kRadam,
  kLion,
};

/// The options of one parameter group as its update rule reads them; what `a`, `b` and `flag` mean is said at
/// the rule (kernels/math/optimizer.h).
struct UpdateSettings {
  UpdateRule rule = UpdateRule::kSgd;
  double lr = 0;
  double lr_decay = 0;  ///< Adagrad
  double weight_decay = 0;
  double eps = 0;
  double a = 0;            ///< SGD momentum, beta1 of Adam and its kin, RMSprop alpha, Adadelta rho
  double b = 0;            ///< SGD dampening, beta2 of Adam and its kin, RMSprop momentum
  double c = 0;            ///< NAdam momentum_decay
  bool flag = false;       ///< SGD nesterov, Adam amsgrad, RMSprop centered
  bool decoupled = false;  ///< weight decay shrinks the weight itself: AdamW, Lion

  friend bool operator==(const UpdateSettings&, const UpdateSettings&) = default;
};

/// Steps that were applied to one parameter, in the memory of its device.
struct UpdateCounters {
  std::int64_t steps = 0;
  std::int64_t primed = 0;  ///< not 0: its first moment holds something
  double mu_product = 1;    ///< NAdam: of all momenta so far
};

}  // namespace halftone
