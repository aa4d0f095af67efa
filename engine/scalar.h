#pragma once

#include <concepts>
#include <cstdint>

#include "halftone/engine/dtype.h"

namespace halftone {

/// One number with its kind (floating, integer or bool): what `x + 2` and `fill_(0.5)` take.
class Scalar {
 public:
  Scalar() : Scalar(0) {}
  Scalar(bool value) : integer_(value), kind_(Kind::kBool) {}
  template <std::integral T>
  Scalar(T value) : integer_(static_cast<std::int64_t>(value)), kind_(Kind::kInteger) {}
  template <std::floating_point T>
  Scalar(T value) : floating_(static_cast<double>(value)), kind_(Kind::kFloating) {}
  Scalar(Half value) : Scalar(static_cast<float>(value)) {}
  Scalar(BFloat16 value) : Scalar(static_cast<float>(value)) {}

  bool is_floating_point() const { return kind_ == Kind::kFloating; }
  bool is_boolean() const { return kind_ == Kind::kBool; }
  bool is_integral() const { return kind_ == Kind::kInteger; }

  /// float64, int64 or bool.
  ScalarType type() const { return is_floating_point() ? kDouble : is_boolean() ? kBool : kLong; }

  double to_double() const { return is_floating_point() ? floating_ : static_cast<double>(integer_); }
  /// Truncates towards zero; NaN gives 0 and out-of-range values saturate.
  std::int64_t to_long() const;

  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, bool>) {
      return is_floating_point() ? floating_ != 0 : integer_ != 0;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(to_long());
    } else {
      return static_cast<T>(to_double());
    }
  }

 private:
  enum class Kind : std::uint8_t { kFloating, kInteger, kBool };
  union {
    double floating_;
    std::int64_t integer_;
  };
  Kind kind_;
};

}  // namespace halftone
