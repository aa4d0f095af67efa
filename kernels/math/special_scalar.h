#pragma once

#include <cmath>
#include <limits>

#include "halftone/engine/host_device.h"

/// Special functions of one number, in double; float results are these, rounded. Shared by CPU and CUDA.
namespace halftone::special {

inline constexpr double kPi = 3.141592653589793238463;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// log |gamma(x)|.
HALFTONE_HD inline double lgamma(double x) {
#if defined(__CUDA_ARCH__)
  return ::lgamma(x);
#else
  int sign = 0;
  return ::lgamma_r(x, &sign);  // lgamma writes a global variable
#endif
}

/// The sum of (q + k)^-s over k = 0, 1, ...: by Euler and Maclaurin. For s > 1.
HALFTONE_HD inline double hurwitz_zeta(double s, double q) {
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity;
    if (s != std::floor(s)) return std::numeric_limits<double>::quiet_NaN();
  }
  double sum = 0;
  for (int k = 0; k < 12 || q < 12; ++k, q += 1) {
    const double term = std::pow(q, -s);
    sum += term;
    if (q > 0 && term < sum * 1e-17) return sum;
  }
  // (2k)! / B_2k
  constexpr double kDivisors[] = {12.0,
                                  -720.0,
                                  30240.0,
                                  -1209600.0,
                                  47900160.0,
                                  -1.8924375803183791606e9,
                                  7.47242496e10,
                                  -2.950130727918164224e12,
                                  1.1646782814350067249e14};
  const double power = std::pow(q, -s);
  sum += power * q / (s - 1) + power / 2;
  double factor = s * power / q;
  for (int k = 0; k < 9; ++k) {
    sum += factor / kDivisors[k];
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (q * q);
  }
  return sum;
}

/// The derivative of lgamma.
HALFTONE_HD inline double digamma(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  double result = 0;
  if (x < 0) {
    const double fraction = x - std::floor(x);
    if (fraction == 0) return std::numeric_limits<double>::quiet_NaN();
    result = -kPi / std::tan(kPi * fraction);
    x = 1 - x;
  }
  for (; x < 12; x += 1) result -= 1 / x;
  if (!(x < 1e17)) return result + std::log(x);
  const double y = 1 / (x * x);
  constexpr double kTerms[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                               1.0 / 132, -691.0 / 32760, 1.0 / 12};
  double series = 0;
  for (int k = 6; k >= 0; --k) series = (series + kTerms[k]) * y;
  return result + std::log(x) - 0.5 / x - series;
}

/// The n-th derivative of digamma; n = 0 is digamma itself.
HALFTONE_HD inline double polygamma(double n, double x) {
  if (n == 0) return digamma(x);
  const double magnitude = std::exp(special::lgamma(n + 1)) * hurwitz_zeta(n + 1, x);
  return std::fmod(n, 2.0) == 0 ? -magnitude : magnitude;
}

/// The inverse of erf: a start by a rational function (Giles), then Halley's steps on erf, or on erfc near
/// the ends.
HALFTONE_HD inline double erfinv(double y) {
  const double magnitude = std::fabs(y);
  if (!(magnitude < 1))
    return magnitude == 1 ? std::copysign(kInfinity, y) : std::numeric_limits<double>::quiet_NaN();
  double w = -std::log((1 - magnitude) * (1 + magnitude)), z = 0;
  if (w < 5) {
    w -= 2.5;
    constexpr double kCentral[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                   -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                   -0.00417768164,  0.246640727,    1.50140941};
    for (double c : kCentral) z = z * w + c;
  } else {
    w = std::sqrt(w) - 3;
    constexpr double kTail[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
    for (double c : kTail) z = z * w + c;
  }
  z *= magnitude;
  for (int step = 0; step < 2; ++step) {
    const double over = magnitude < 0.5 ? std::erf(z) - magnitude : (1 - magnitude) - std::erfc(z);
    const double newton = over / (2 / std::sqrt(kPi) * std::exp(-z * z));
    z -= newton / (1 + z * newton);
  }
  return std::copysign(z, y);
}

}  // namespace halftone::special
