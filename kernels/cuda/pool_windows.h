#pragma once

#include <cstdint>
#include <type_traits>

#include "halftone/kernels/cuda/element.h"
#include "halftone/kernels/pool.h"

// Windows of pooling in one dimension: what window i covers, and which windows cover input y.
namespace halftone::cuda {

/// begin .. end - 1.
struct Range {
  std::int64_t begin, end;
};

__device__ inline std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
__device__ inline std::int64_t larger(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
/// a / b rounded up; b > 0.
__device__ inline std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return a > 0 ? (a + b - 1) / b : -(-a / b);
}

/// Windows of k inputs `dil` apart, `stride` from one to the next.
struct Windows {
  std::int64_t size, count, k, stride, pad, dil;
  bool include_pad;

  /// What lies inside the input, in steps of `dil`.
  __device__ Range covered(std::int64_t i) const {
    const std::int64_t begin = i * stride - pad, end = smaller(begin + (k - 1) * dil + 1, size);
    return {begin < 0 ? begin + divide_up(-begin, dil) * dil : begin, end};
  }
  /// What a window counts in a divisor; dil is 1.
  __device__ std::int64_t weight(std::int64_t i) const {
    const std::int64_t begin = i * stride - pad, end = smaller(begin + k, size + pad);
    return include_pad ? end - begin : larger(smaller(end, size) - larger(begin, 0), 0);
  }
  /// The windows that reach from before y to y or behind it: those that cover y, and those that step over it.
  __device__ Range around(std::int64_t y) const {
    const std::int64_t first = divide_up(y + pad - (k - 1) * dil, stride), last = (y + pad) / stride;
    return {larger(first, 0), smaller(last + 1, count)};
  }
};

/// Adaptive windows: i covers floor(i size / count) .. ceil((i + 1) size / count).
struct AdaptiveWindows {
  std::int64_t size, count;

  __device__ Range covered(std::int64_t i) const {
    return {i / count * size + i % count * size / count, ((i + 1) * size + count - 1) / count};
  }
  __device__ std::int64_t weight(std::int64_t i) const {
    const Range range = covered(i);
    return range.end - range.begin;
  }
  __device__ Range around(std::int64_t y) const {
    return {y * count / size, ((y + 1) * count + size - 1) / size};
  }
};

/// Memory that is read and written as Real: elements of T, or of the given dtype if T is void.
template <class Real, class T>
__device__ inline Real load(const void* data, ScalarType dtype, std::int64_t i) {
  if constexpr (std::is_void_v<T>) {
    return read<Real>(data, dtype, i);
  } else {
    return to_compute<Real>(static_cast<const T*>(data)[i]);
  }
}
template <class T, class Real>
__device__ inline void store(void* data, ScalarType dtype, std::int64_t i, Real value) {
  if constexpr (std::is_void_v<T>) {
    write(data, dtype, i, value);
  } else {
    static_cast<T*>(data)[i] = from_compute<T>(value);
  }
}

/// Calls f.operator()<Real, T>() for a pair of tensors: T is their dtype where it is a common one, else void.
template <class F>
void dispatch_pool(ScalarType a, ScalarType b, F&& f) {
  if (a == b && a == kFloat) return f.template operator()<float, float>();
  if (a == b && a == kHalf) return f.template operator()<float, Half>();
  if (a == b && a == kBFloat16) return f.template operator()<float, BFloat16>();
  if (a == kDouble || b == kDouble) return f.template operator()<double, void>();
  return f.template operator()<float, void>();
}

inline Windows rows_of(const PoolShape& s) {
  return {s.h, s.oh(), s.kh, s.stride_h, s.pad_h, s.dil_h, s.count_include_pad};
}
inline Windows columns_of(const PoolShape& s) {
  return {s.w, s.ow(), s.kw, s.stride_w, s.pad_w, s.dil_w, s.count_include_pad};
}

}  // namespace halftone::cuda
