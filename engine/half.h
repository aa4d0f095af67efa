#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

#include "halftone/engine/host_device.h"

namespace halftone {

namespace detail {

/// float32 -> IEEE binary16 bits, ties to even; NaN keeps its upper payload bits and becomes quiet.
HALFTONE_HD constexpr std::uint16_t float_to_half_bits(float value) {
  const std::uint32_t all = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (all >> 16) & 0x8000u;
  const std::uint32_t x = all & 0x7fffffffu;
  std::uint32_t h = 0;
  if (x > 0x7f800000u) {
    h = 0x7e00u | ((x >> 13) & 0x3ffu);
  } else if (x >= 0x477ff000u) {  // 65520 and above round to infinity
    h = 0x7c00u;
  } else if (x >= 0x38800000u) {  // normal: 2^-14 and above
    h = (x + 0xfffu + ((x >> 13) & 1u) - 0x38000000u) >> 13;
  } else if (x >= 0x33000000u) {  // 2^-25 and above: a subnormal, or zero by a tie
    const std::uint32_t shift = 126u - (x >> 23);
    const std::uint32_t mantissa = (x & 0x7fffffu) | 0x800000u;
    const std::uint32_t rest = mantissa & ((1u << shift) - 1u);
    const std::uint32_t tie = 1u << (shift - 1u);
    h = mantissa >> shift;
    if (rest > tie || (rest == tie && (h & 1u) != 0)) ++h;
  }
  return static_cast<std::uint16_t>(sign | h);
}

/// IEEE binary16 bits -> float32, exact; a signalling NaN becomes quiet, as in the F16C instructions.
HALFTONE_HD constexpr float half_bits_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  std::uint32_t exponent = (bits >> 10) & 0x1fu;
  std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 31u) {
    const std::uint32_t quiet = mantissa != 0 ? 0x400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13) | quiet);
  }
  if (exponent == 0) {
    if (mantissa == 0) return std::bit_cast<float>(sign);
    exponent = 1;
    while ((mantissa & 0x400u) == 0) {
      mantissa <<= 1;
      --exponent;  // wraps below zero; the sum below wraps back
    }
    mantissa &= 0x3ffu;
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

/// float32 -> bfloat16 bits, ties to even; NaN keeps its upper payload bits and becomes quiet.
HALFTONE_HD constexpr std::uint16_t float_to_bfloat16_bits(float value) {
  const std::uint32_t x = std::bit_cast<std::uint32_t>(value);
  if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((x >> 16) | 0x40u);
  return static_cast<std::uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}

/// bfloat16 bits -> float32, exact in every bit.
HALFTONE_HD constexpr float bfloat16_bits_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// double -> float32 rounded to odd, so that a second rounding to a 16-bit type is as good as one
/// (Boldo and Melquiond, 2008).
HALFTONE_HD constexpr float round_to_odd(double value) {
  constexpr double kMax = std::numeric_limits<float>::max();
  if (value != value) return static_cast<float>(value);
  if (value > kMax || value < -kMax) {
    if (value - value != 0) return static_cast<float>(value);  // infinite
    return value > 0 ? std::numeric_limits<float>::max() : std::numeric_limits<float>::lowest();
  }
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  if (back == value) return nearest;
  std::uint32_t x = std::bit_cast<std::uint32_t>(nearest);
  if ((back < 0 ? -back : back) > (value < 0 ? -value : value)) --x;
  return std::bit_cast<float>(x | 1u);
}

/// Integer -> double rounded to odd, for the same purpose.
template <std::integral T>
HALFTONE_HD constexpr double integer_to_odd(T value) {
  const bool negative = value < T(0);
  std::uint64_t magnitude = static_cast<std::uint64_t>(value);
  if (negative) magnitude = 0 - magnitude;
  if (magnitude >> 53 != 0) {
    magnitude = ((magnitude >> 11) | static_cast<std::uint64_t>((magnitude & 0x7ffu) != 0)) << 11;
  }
  const double result = static_cast<double>(magnitude);
  return negative ? -result : result;
}

}  // namespace detail

/// IEEE binary16: a storage type. Arithmetic happens in float through the implicit conversion, so `a * b` of
/// two Half values is a float; every conversion rounds once, ties to even. The default constructor leaves the
/// value uninitialised.
struct Half {
  std::uint16_t bits;  ///< sign, exponent and fraction, from the highest down

  Half() = default;
  HALFTONE_HD constexpr Half(float value) : bits(detail::float_to_half_bits(value)) {}
  HALFTONE_HD constexpr explicit Half(double value)
      : bits(detail::float_to_half_bits(detail::round_to_odd(value))) {}
  template <std::integral T>
  HALFTONE_HD constexpr Half(T value) : Half(detail::integer_to_odd(value)) {}

  /// The value with exactly these bits.
  HALFTONE_HD static constexpr Half from_bits(std::uint16_t bits) {
    Half result{0.0f};
    result.bits = bits;
    return result;
  }

  /// Exact.
  HALFTONE_HD constexpr operator float() const { return detail::half_bits_to_float(bits); }

  /// Exact, of NaN too.
  HALFTONE_HD constexpr Half operator-() const {
    return from_bits(static_cast<std::uint16_t>(bits ^ 0x8000u));
  }
  /// In float, rounded once.
  /// @{
  HALFTONE_HD constexpr Half& operator+=(float other) { return *this = float(*this) + other; }
  HALFTONE_HD constexpr Half& operator-=(float other) { return *this = float(*this) - other; }
  HALFTONE_HD constexpr Half& operator*=(float other) { return *this = float(*this) * other; }
  HALFTONE_HD constexpr Half& operator/=(float other) { return *this = float(*this) / other; }
  /// @}
};

/// bfloat16: the upper half of a float32. Same rules as `Half`.
struct BFloat16 {
  std::uint16_t bits;  ///< sign, exponent and fraction, from the highest down

  BFloat16() = default;
  HALFTONE_HD constexpr BFloat16(float value) : bits(detail::float_to_bfloat16_bits(value)) {}
  HALFTONE_HD constexpr explicit BFloat16(double value)
      : bits(detail::float_to_bfloat16_bits(detail::round_to_odd(value))) {}
  template <std::integral T>
  HALFTONE_HD constexpr BFloat16(T value) : BFloat16(detail::integer_to_odd(value)) {}

  /// The value with exactly these bits.
  HALFTONE_HD static constexpr BFloat16 from_bits(std::uint16_t bits) {
    BFloat16 result{0.0f};
    result.bits = bits;
    return result;
  }

  /// Exact.
  HALFTONE_HD constexpr operator float() const { return detail::bfloat16_bits_to_float(bits); }

  /// Exact, of NaN too.
  HALFTONE_HD constexpr BFloat16 operator-() const {
    return from_bits(static_cast<std::uint16_t>(bits ^ 0x8000u));
  }
  /// In float, rounded once.
  /// @{
  HALFTONE_HD constexpr BFloat16& operator+=(float other) { return *this = float(*this) + other; }
  HALFTONE_HD constexpr BFloat16& operator-=(float other) { return *this = float(*this) - other; }
  HALFTONE_HD constexpr BFloat16& operator*=(float other) { return *this = float(*this) * other; }
  HALFTONE_HD constexpr BFloat16& operator/=(float other) { return *this = float(*this) / other; }
  /// @}
};

static_assert(sizeof(Half) == 2 && sizeof(BFloat16) == 2);

}  // namespace halftone

namespace std {

/// Limits of IEEE binary16.
template <>
class numeric_limits<halftone::Half> {
  using T = halftone::Half;

 public:
  // What the standard says of every member.
  /// @cond
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
  static constexpr bool is_iec559 = true, is_bounded = true, is_modulo = false, traps = false;
  static constexpr bool tinyness_before = false;
  static constexpr float_round_style round_style = round_to_nearest;
  static constexpr int digits = 11, digits10 = 3, max_digits10 = 5, radix = 2;
  static constexpr int min_exponent = -13, min_exponent10 = -4, max_exponent = 16, max_exponent10 = 4;
  static constexpr T min() noexcept { return T::from_bits(0x0400); }
  static constexpr T max() noexcept { return T::from_bits(0x7bff); }
  static constexpr T lowest() noexcept { return T::from_bits(0xfbff); }
  static constexpr T epsilon() noexcept { return T::from_bits(0x1400); }
  static constexpr T round_error() noexcept { return T::from_bits(0x3800); }
  static constexpr T infinity() noexcept { return T::from_bits(0x7c00); }
  static constexpr T quiet_NaN() noexcept { return T::from_bits(0x7e00); }
  static constexpr T signaling_NaN() noexcept { return T::from_bits(0x7d00); }
  static constexpr T denorm_min() noexcept { return T::from_bits(0x0001); }
  /// @endcond
};

/// Limits of bfloat16.
template <>
class numeric_limits<halftone::BFloat16> {
  using T = halftone::BFloat16;

 public:
  // What the standard says of every member.
  /// @cond
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
  static constexpr bool is_iec559 = false, is_bounded = true, is_modulo = false, traps = false;
  static constexpr bool tinyness_before = false;
  static constexpr float_round_style round_style = round_to_nearest;
  static constexpr int digits = 8, digits10 = 2, max_digits10 = 4, radix = 2;
  static constexpr int min_exponent = -125, min_exponent10 = -37, max_exponent = 128, max_exponent10 = 38;
  static constexpr T min() noexcept { return T::from_bits(0x0080); }
  static constexpr T max() noexcept { return T::from_bits(0x7f7f); }
  static constexpr T lowest() noexcept { return T::from_bits(0xff7f); }
  static constexpr T epsilon() noexcept { return T::from_bits(0x3c00); }
  static constexpr T round_error() noexcept { return T::from_bits(0x3f00); }
  static constexpr T infinity() noexcept { return T::from_bits(0x7f80); }
  static constexpr T quiet_NaN() noexcept { return T::from_bits(0x7fc0); }
  static constexpr T signaling_NaN() noexcept { return T::from_bits(0x7fa0); }
  static constexpr T denorm_min() noexcept { return T::from_bits(0x0001); }
  /// @endcond
};

}  // namespace std
