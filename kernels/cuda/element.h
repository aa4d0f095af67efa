#pragma once

#include <cstring>
#include <type_traits>

#include "halftone/engine/dtype.h"
#include "halftone/engine/half.h"
#include "halftone/kernels/convert_value.h"
#include "halftone/kernels/cuda/device.h"

// Elements in memory and the types kernels compute in. C is float, double or int64.
namespace halftone::cuda {

/// What a kernel computes in for elements of T.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, double>, double,
                                   std::conditional_t<std::is_integral_v<T>, std::int64_t, float>>;

/// One element, converted to C.
template <class C, class T>
__device__ inline C to_compute(T value) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, Half>) return static_cast<C>(__half2float(__ushort_as_half(value.bits)));
#endif
  return convert_value<C>(value);
}

/// Rounded once to T.
template <class T, class C>
__device__ inline T from_compute(C value) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, Half> && std::is_same_v<C, float>) {
    return Half::from_bits(__half_as_ushort(__float2half_rn(value)));
  }
  if constexpr (std::is_same_v<T, BFloat16> && std::is_same_v<C, float>) {
    return BFloat16::from_bits(__bfloat16_as_ushort(__float2bfloat16_rn(value)));
  }
#endif
  return convert_value<T>(value);
}

/// The product, rounded before anything is added to it: nvcc would make one rounding of the two, and results
/// would differ from the CPU's.
__device__ inline float rounded_product(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
__device__ inline double rounded_product(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

/// Element `i` of memory whose dtype is known at run time only. The branch is the same for all threads.
template <class C>
__device__ inline C read(const void* data, ScalarType dtype, std::int64_t i) {
  switch (dtype) {
    case kFloat:
      return to_compute<C>(static_cast<const float*>(data)[i]);
    case kHalf:
      return to_compute<C>(static_cast<const Half*>(data)[i]);
    case kBFloat16:
      return to_compute<C>(static_cast<const BFloat16*>(data)[i]);
    case kDouble:
      return to_compute<C>(static_cast<const double*>(data)[i]);
    case kLong:
      return to_compute<C>(static_cast<const std::int64_t*>(data)[i]);
    case kInt:
      return to_compute<C>(static_cast<const std::int32_t*>(data)[i]);
    case kByte:
      return to_compute<C>(static_cast<const std::uint8_t*>(data)[i]);
    case kBool:
      break;
  }
  return to_compute<C>(static_cast<const bool*>(data)[i]);
}

template <class C>
__device__ inline void write(void* data, ScalarType dtype, std::int64_t i, C value) {
  switch (dtype) {
    case kFloat:
      static_cast<float*>(data)[i] = from_compute<float>(value);
      return;
    case kHalf:
      static_cast<Half*>(data)[i] = from_compute<Half>(value);
      return;
    case kBFloat16:
      static_cast<BFloat16*>(data)[i] = from_compute<BFloat16>(value);
      return;
    case kDouble:
      static_cast<double*>(data)[i] = from_compute<double>(value);
      return;
    case kLong:
      static_cast<std::int64_t*>(data)[i] = from_compute<std::int64_t>(value);
      return;
    case kInt:
      static_cast<std::int32_t*>(data)[i] = from_compute<std::int32_t>(value);
      return;
    case kByte:
      static_cast<std::uint8_t*>(data)[i] = from_compute<std::uint8_t>(value);
      return;
    case kBool:
      break;
  }
  static_cast<bool*>(data)[i] = from_compute<bool>(value);
}

/// N neighbouring elements, moved as one access where they fill 4, 8 or 16 bytes.
template <class T, int N>
struct alignas(sizeof(T) * N <= 16 ? sizeof(T) * N : 16) Pack {
  T value[N];
};
/// Elements of T in one 16-byte access.
template <class T>
inline constexpr int kPackSize = 16 / static_cast<int>(sizeof(T));

template <class T, int N = kPackSize<T>>
__device__ inline Pack<T, N> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}
template <class T, int N>
__device__ inline void store_pack(T* to, const Pack<T, N>& pack) {
  *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

/// Whether `data` may be read with `load_pack`.
inline bool is_pack_aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; }

}  // namespace halftone::cuda
