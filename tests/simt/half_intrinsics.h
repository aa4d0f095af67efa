#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>

// What the toolkit's half headers have for the device only. Double holds the exact product of two halves and
// rounds its sum with a third far below the precision of a half, so one rounding to half remains.

inline __half __hfma(__half a, __half b, __half c) {
  return __double2half(std::fma(static_cast<double>(__half2float(a)), static_cast<double>(__half2float(b)),
                                static_cast<double>(__half2float(c))));
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return __halves2half2(__hfma(__low2half(a), __low2half(b), __low2half(c)),
                        __hfma(__high2half(a), __high2half(b), __high2half(c)));
}
inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  return __double2bfloat16(std::fma(static_cast<double>(__bfloat162float(a)),
                                    static_cast<double>(__bfloat162float(b)),
                                    static_cast<double>(__bfloat162float(c))));
}
inline __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
  return __halves2bfloat162(__hfma(__low2bfloat16(a), __low2bfloat16(b), __low2bfloat16(c)),
                            __hfma(__high2bfloat16(a), __high2bfloat16(b), __high2bfloat16(c)));
}

inline __half hexp(__half x) { return __float2half_rn(std::exp(__half2float(x))); }
inline __half hlog(__half x) { return __float2half_rn(std::log(__half2float(x))); }
inline __half hsqrt(__half x) { return __float2half_rn(std::sqrt(__half2float(x))); }
inline __half hrsqrt(__half x) { return __float2half_rn(1.0f / std::sqrt(__half2float(x))); }
inline __half hrcp(__half x) { return __float2half_rn(1.0f / __half2float(x)); }
