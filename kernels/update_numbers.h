#pragma once

#include <cstdint>

namespace halftone {

enum class UpdateRule : std::uint8_t { kSgd, kAdam, kRmsprop, kAdagrad };

/// The scalar arguments of an update rule; what `a`, `b` and `flag` mean is said at the rule
/// (kernels/math/optimizer.h).
struct UpdateNumbers {
  double lr = 0;
  double weight_decay = 0;
  double eps = 0;
  double a = 0;                 ///< SGD momentum, Adam beta1, RMSprop alpha
  double b = 0;                 ///< SGD dampening, Adam beta2, RMSprop momentum
  double correction1 = 1;       ///< Adam: 1 - beta1^t
  double correction2_sqrt = 1;  ///< Adam: sqrt(1 - beta2^t)
  bool flag = false;            ///< SGD nesterov, Adam amsgrad, RMSprop centered
  bool decoupled = false;       ///< AdamW
  bool first = false;           ///< SGD: the velocity is empty yet
};

}  // namespace halftone
