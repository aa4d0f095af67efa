#pragma once

#include <cmath>

#include "halftone/kernels/math/special_scalar.h"

/// Scalar functions that the vector code calls lane by lane, where no short vector form is exact. They stand
/// outside the target regions, so they are compiled for the baseline, once.
namespace halftone::cpu::lane {

inline float fmod(float a, float b) { return std::fmod(a, b); }
inline float sin(float x) { return static_cast<float>(std::sin(static_cast<double>(x))); }
inline float cos(float x) { return static_cast<float>(std::cos(static_cast<double>(x))); }
inline float tan(float x) { return static_cast<float>(std::tan(static_cast<double>(x))); }
inline float lgamma(float x) { return static_cast<float>(special::lgamma(x)); }
inline float polygamma(float n, float x) { return static_cast<float>(special::polygamma(n, x)); }
inline float erfinv(float x) { return static_cast<float>(special::erfinv(x)); }

}  // namespace halftone::cpu::lane
