#pragma once

#include <concepts>
#include <cstdint>

#include "halftone/engine/dtype.h"

namespace halftone {

/// One number with its kind (floating, integer or bool): what `x + 2` and `fill_(0.5)` take.
class Scalar {
 public:
  Scalar() : Scalar(0) {}
  template <std::same_as<bool> T>
  Scalar(T value) : integer_(value), kind_(Kind::kBool) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Scalar(T value)
      : integer_(static_cast<std::int64_t>(value)), kind_(Kind::kInteger) {}
  template <std::floating_point T>
  Scalar(T value) : floating_(static_cast<double>(value)), kind_(Kind::kFloating) {}
  Scalar(Half value) : Scalar(static_cast<float>(value)) {}
  Scalar(BFloat16 value) : Scalar(static_cast<float>(value)) {}

  /// Made from a floating-point number.
  bool is_floating_point() const { return kind_ == Kind::kFloating; }
  /// Made from a bool.
  bool is_boolean() const { return kind_ == Kind::kBool; }
  /// Made from an integer that is no bool.
  bool is_integral() const { return kind_ == Kind::kInteger; }

  /// libtorch's names of these questions and of to().
  /// @{
  bool isFloatingPoint() const { return is_floating_point(); }
  bool isBoolean() const { return is_boolean(); }
  bool isIntegral(bool include_bool) const { return is_integral() || (include_bool && is_boolean()); }
  bool isComplex() const { return false; }
  float toFloat() const { return to<float>(); }
  double toDouble() const { return to_double(); }
  Half toHalf() const { return Half(to<float>()); }
  BFloat16 toBFloat16() const { return BFloat16(to<float>()); }
  int toInt() const { return to<int>(); }
  std::int64_t toLong() const { return to_long(); }
  std::uint8_t toByte() const { return to<std::uint8_t>(); }
  bool toBool() const { return to<bool>(); }
  /// @}
  /// The same number, whatever its kind.
  template <class T>
  bool equal(T number) const {
    return is_floating_point() || std::is_floating_point_v<T> ? to_double() == static_cast<double>(number)
                                                              : integer_ == static_cast<std::int64_t>(number);
  }
  /// Of the same kind; of a bool, an integer.
  Scalar operator-() const { return is_floating_point() ? Scalar(-floating_) : Scalar(-integer_); }

  /// float64, int64 or bool.
  ScalarType type() const { return is_floating_point() ? kDouble : is_boolean() ? kBool : kLong; }

  /// The number; integers beyond 2^53 are rounded.
  double to_double() const { return is_floating_point() ? floating_ : static_cast<double>(integer_); }
  /// Truncates towards zero; NaN gives 0 and out-of-range values saturate.
  std::int64_t to_long() const;

  /// As bool: whether it is not 0. As an integer: see to_long(). As a floating type: rounded.
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
