#pragma once

#include <cmath>
#include <limits>

#include "halftone/engine/half.h"

namespace halftone::amp {

/// What rounding to `T`, Half or BFloat16, makes of a magnitude. Ties go to the even neighbour: half the
/// smallest subnormal to zero, half a step above the largest number to infinity.
template <class T>
struct HalfRange {
  /// Of T.
  using Limits = std::numeric_limits<T>;
  /// The largest magnitude that becomes zero.
  const double zero_up_to = std::ldexp(1.0, Limits::min_exponent - Limits::digits - 1);
  /// The smallest magnitude that loses no more bits than larger ones.
  const double normal_from = std::ldexp(1.0, Limits::min_exponent - 1);
  /// The smallest magnitude that becomes infinite.
  const double infinite_from = std::ldexp(1 - std::ldexp(1.0, -Limits::digits - 1), Limits::max_exponent);

  /// Not zero, and zero afterwards.
  bool flushes(double magnitude) const { return magnitude > 0 && magnitude <= zero_up_to; }
  /// Fewer bits than others afterwards.
  bool makes_subnormal(double magnitude) const { return magnitude > zero_up_to && magnitude < normal_from; }
  /// Infinite afterwards, or before.
  bool overflows(double magnitude) const { return magnitude >= infinite_from; }
};

}  // namespace halftone::amp
