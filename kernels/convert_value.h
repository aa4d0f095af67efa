#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "halftone/engine/half.h"

namespace halftone {

/// Converts one element, the same on every device:
/// floating to floating rounds once, ties to even; floating to integer truncates toward zero, out of range
/// saturates and NaN gives 0; integer to integer keeps the low bits; anything to bool asks whether it is not
/// zero (NaN is not).
template <class To, class From>
HALFTONE_HD constexpr To convert_value(From value) {
  constexpr bool kFromInteger = std::is_integral_v<From>;
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<To, bool>) {
    if constexpr (kFromInteger || std::is_floating_point_v<From>) {
      return value != From(0);
    } else {
      return static_cast<float>(value) != 0.0f;
    }
  } else if constexpr (std::is_integral_v<To>) {
    if constexpr (kFromInteger) {
      return static_cast<To>(value);
    } else {
      const double x = static_cast<double>(value);
      constexpr double kLow = static_cast<double>(std::numeric_limits<To>::min());
      constexpr double kEnd = static_cast<double>(std::numeric_limits<To>::max() / 2 + 1) * 2.0;  // max + 1
      if (x >= kEnd) return std::numeric_limits<To>::max();
      if (x <= kLow) return std::numeric_limits<To>::min();
      return x == x ? static_cast<To>(x) : To(0);
    }
  } else if constexpr (std::is_floating_point_v<To>) {
    if constexpr (kFromInteger || std::is_floating_point_v<From>) {
      return static_cast<To>(value);
    } else {
      return static_cast<To>(static_cast<float>(value));
    }
  } else if constexpr (kFromInteger || std::is_floating_point_v<From>) {
    return To(value);
  } else {
    return To(static_cast<float>(value));
  }
}

}  // namespace halftone
