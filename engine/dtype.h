#pragma once

#include <cstddef>
#include <cstdint>

#include "halftone/engine/half.h"

namespace halftone {

/// Element type of a tensor. Names and order follow c10::ScalarType; `Dtype` is the alias users write.
enum class ScalarType : std::int8_t {
  kByte,      // uint8
  kBool,      // one byte, 0 or 1
  kInt,       // int32
  kLong,      // int64
  kHalf,      // IEEE binary16
  kBFloat16,  // upper half of binary32
  kFloat,     // IEEE binary32
  kDouble,    // IEEE binary64

  // libtorch's names.
  Byte = kByte,
  Bool = kBool,
  Int = kInt,
  Long = kLong,
  Half = kHalf,
  BFloat16 = kBFloat16,
  Float = kFloat,
  Double = kDouble,
};

/// The name users write.
using Dtype = ScalarType;

/// Number of element types; `ScalarType` values are 0 .. kDtypeCount - 1.
inline constexpr int kDtypeCount = 8;

/// The element types by libtorch's names.
/// @{
inline constexpr ScalarType kByte = ScalarType::kByte;
inline constexpr ScalarType kUInt8 = ScalarType::kByte;
inline constexpr ScalarType kBool = ScalarType::kBool;
inline constexpr ScalarType kInt = ScalarType::kInt;
inline constexpr ScalarType kInt32 = ScalarType::kInt;
inline constexpr ScalarType kLong = ScalarType::kLong;
inline constexpr ScalarType kInt64 = ScalarType::kLong;
inline constexpr ScalarType kHalf = ScalarType::kHalf;
inline constexpr ScalarType kFloat16 = ScalarType::kHalf;
inline constexpr ScalarType kBFloat16 = ScalarType::kBFloat16;
inline constexpr ScalarType kFloat = ScalarType::kFloat;
inline constexpr ScalarType kFloat32 = ScalarType::kFloat;
inline constexpr ScalarType kDouble = ScalarType::kDouble;
inline constexpr ScalarType kFloat64 = ScalarType::kDouble;
/// @}

/// "float32", "bfloat16", "int64", "bool", ...: the names Python's PyTorch prints.
const char* dtype_name(ScalarType dtype);

/// Bytes of one element.
constexpr std::size_t element_size(ScalarType dtype) {
  constexpr std::size_t sizes[kDtypeCount] = {1, 1, 4, 8, 2, 2, 4, 8};
  return sizes[static_cast<int>(dtype)];
}

/// True for float16, bfloat16, float32 and float64.
constexpr bool is_floating_point(ScalarType dtype) { return dtype >= ScalarType::kHalf; }

/// True for the two 16-bit floating types.
constexpr bool is_low_precision(ScalarType dtype) { return dtype == kHalf || dtype == kBFloat16; }

/// The type arithmetic on `dtype` is carried out and accumulated in: float32 for float16, bfloat16 and
/// float32, float64 for float64, int64 for integers and bool.
constexpr ScalarType accumulate_type(ScalarType dtype) {
  if (dtype == kDouble) return kDouble;
  return is_floating_point(dtype) ? kFloat : kLong;
}

/// The narrowest type that represents both operands in PyTorch's promotion lattice; float16 with bfloat16
/// gives float32, uint8 with a signed integer gives that integer.
ScalarType promote_types(ScalarType a, ScalarType b);

/// Largest relative error of one rounding to `dtype`: 2^-11 for float16, 2^-8 for bfloat16, 2^-24 for
/// float32, 2^-53 for float64; 0 for integers.
double unit_roundoff(ScalarType dtype);

/// Largest finite value of a floating type; for integers the largest value.
double max_value(ScalarType dtype);

/// Maps a C++ type to its ScalarType: `dtype_of<float> == kFloat`.
template <class T>
struct DtypeOf;
/// @cond
template <>
struct DtypeOf<std::uint8_t> {
  static constexpr ScalarType value = kByte;
};
template <>
struct DtypeOf<bool> {
  static constexpr ScalarType value = kBool;
};
template <>
struct DtypeOf<std::int32_t> {
  static constexpr ScalarType value = kInt;
};
template <>
struct DtypeOf<std::int64_t> {
  static constexpr ScalarType value = kLong;
};
template <>
struct DtypeOf<long long> {
  static constexpr ScalarType value = kLong;
};
template <>
struct DtypeOf<Half> {
  static constexpr ScalarType value = kHalf;
};
template <>
struct DtypeOf<BFloat16> {
  static constexpr ScalarType value = kBFloat16;
};
template <>
struct DtypeOf<float> {
  static constexpr ScalarType value = kFloat;
};
template <>
struct DtypeOf<double> {
  static constexpr ScalarType value = kDouble;
};
/// @endcond

/// The ScalarType of a C++ type.
template <class T>
inline constexpr ScalarType dtype_of = DtypeOf<T>::value;

/// Calls `f.template operator()<T>()` with the C++ type of `dtype`, any of the eight.
template <class F>
decltype(auto) dispatch_all(ScalarType dtype, F&& f) {
  switch (dtype) {
    case kByte:
      return f.template operator()<std::uint8_t>();
    case kBool:
      return f.template operator()<bool>();
    case kInt:
      return f.template operator()<std::int32_t>();
    case kLong:
      return f.template operator()<std::int64_t>();
    case kHalf:
      return f.template operator()<Half>();
    case kBFloat16:
      return f.template operator()<BFloat16>();
    case kFloat:
      return f.template operator()<float>();
    case kDouble:
      break;
  }
  return f.template operator()<double>();
}

}  // namespace halftone
