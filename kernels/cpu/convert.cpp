#include "halftone/kernels/cpu/convert.h"

#include <cmath>
#include <cstring>

#include "halftone/kernels/convert_value.h"

#define HALFTONE_ISA_WANT_BF16
#define HALFTONE_ISA_BODY "halftone/kernels/cpu/convert.inc"
#include "halftone/kernels/cpu/foreach_isa.h"

namespace halftone::cpu {

namespace {

template <class T, class S>
void load_any(T* dst, const void* source, std::int64_t stride, std::int64_t n) {
  if (n == 0) return;  // the pointers may be null
  const S* src = static_cast<const S*>(source);
  if (stride == 1) {
    if constexpr (std::is_same_v<T, S>) {
      std::memcpy(dst, src, static_cast<std::size_t>(n) * sizeof(T));
    } else {
      for (std::int64_t i = 0; i < n; ++i) dst[i] = convert_value<T>(src[i]);
    }
  } else if (stride == 0) {
    const T value = convert_value<T>(*src);
    for (std::int64_t i = 0; i < n; ++i) dst[i] = value;
  } else {
    for (std::int64_t i = 0; i < n; ++i) dst[i] = convert_value<T>(src[i * stride]);
  }
}

template <class T, class S>
void store_any(void* target, std::int64_t stride, const T* src, std::int64_t n) {
  S* dst = static_cast<S*>(target);
  if (stride == 1) {
    for (std::int64_t i = 0; i < n; ++i) dst[i] = convert_value<S>(src[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) dst[i * stride] = convert_value<S>(src[i]);
  }
}

}  // namespace

template <class T>
Loader<T> loader(ScalarType dtype) {
  if constexpr (std::is_same_v<T, float>) {
    if (dtype == kHalf)
      return pick(&baseline::load_half, &avx2::load_half, &avx512::load_half, &avx512_bf16::load_half);
    if (dtype == kBFloat16)
      return pick(&baseline::load_bfloat16, &avx2::load_bfloat16, &avx512::load_bfloat16,
                  &avx512_bf16::load_bfloat16);
  }
  return dispatch_all(dtype, []<class S>() -> Loader<T> { return &load_any<T, S>; });
}

template <class T>
Storer<T> storer(ScalarType dtype) {
  if constexpr (std::is_same_v<T, float>) {
    if (dtype == kHalf)
      return pick(&baseline::store_half, &avx2::store_half, &avx512::store_half, &avx512_bf16::store_half);
    if (dtype == kBFloat16)
      return pick(&baseline::store_bfloat16, &avx2::store_bfloat16, &avx512::store_bfloat16,
                  &avx512_bf16::store_bfloat16);
  }
  return dispatch_all(dtype, []<class S>() -> Storer<T> { return &store_any<T, S>; });
}

template Loader<float> loader<float>(ScalarType);
template Loader<double> loader<double>(ScalarType);
template Loader<std::int64_t> loader<std::int64_t>(ScalarType);
template Storer<float> storer<float>(ScalarType);
template Storer<double> storer<double>(ScalarType);
template Storer<std::int64_t> storer<std::int64_t>(ScalarType);

}  // namespace halftone::cpu
