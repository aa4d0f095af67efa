// Elementary functions of F32, pasted into each ISA namespace by pointwise_functors.h. (On the device and for
// double the same names are the platform's own.) The bound beside each function is its largest error in ULP
// of the result, over all finite inputs, with FMA | without (the baseline); test_vec_math tests these
// numbers. Infinities, NaN, signed zeros and subnormals give what the C library gives.

/// Applies a scalar function to every lane.
template <float (*f)(float)>
HALFTONE_INLINE F32 per_lane(F32 x) {
  alignas(64) float lane[kLanes];
  store(lane, x);
  for (int i = 0; i < kLanes; ++i) lane[i] = f(lane[i]);
  return load(lane);
}

template <float (*f)(float, float)>
HALFTONE_INLINE F32 per_lane(F32 a, F32 b) {
  alignas(64) float lane[kLanes], other[kLanes];
  store(lane, a);
  store(other, b);
  for (int i = 0; i < kLanes; ++i) lane[i] = f(lane[i], other[i]);
  return load(lane);
}

/// 2^n for -126 <= n <= 127.
HALFTONE_INLINE F32 power_of_two(I32 n) { return as_float(shift_left<23>(n + I32(127))); }

/// a * 2^n for -252 <= n <= 254, rounded once.
HALFTONE_INLINE F32 scale(F32 a, I32 n) {
  const I32 half = shift_right_signed<1>(n);
  return a * power_of_two(half) * power_of_two(n - half);
}

/// The same for a whole n in a float.
HALFTONE_INLINE F32 scale(F32 a, F32 n) {
#if HALFTONE_ISA_LEVEL >= 2
  return _mm512_scalef_ps(a.v, n.v);
#else
  return scale(a, to_int(n));
#endif
}

/// (e^r - 1 - r) / r^2 for |r| <= 0.35.
HALFTONE_INLINE F32 exp_tail(F32 r) {
  F32 p = fma(F32(0.000198527617612853646278381), r, F32(0.00139304355252534151077271));
  p = fma(p, r, F32(0.00833336077630519866943359));
  p = fma(p, r, F32(0.0416664853692054748535156));
  p = fma(p, r, F32(0.166666671633720397949219));
  return fma(p, r, F32(0.5));
}

/// x - n ln 2, in two steps of which the first is exact.
HALFTONE_INLINE F32 minus_n_ln2(F32 x, F32 n) {
  return fnma(n, F32(-2.12194440e-4), fnma(n, F32(0.693359375), x));
}

/// e^x = y 2^n with y in (0.7, 1.42), for -106 <= x <= 90.
struct ExpParts {
  F32 y, n;
};
HALFTONE_INLINE ExpParts exp_parts(F32 x) {
  const F32 n = round_even(x * F32(1.44269504088896340736));
  const F32 r = minus_n_ln2(x, n);
  return {fma(r * r, exp_tail(r), r) + F32(1.0), n};
}

/// e^x * 2^shift.
HALFTONE_INLINE F32 exp_shifted(F32 x, int shift) {
  const ExpParts e = exp_parts(max_second(F32(-106.0), min_second(F32(90.0), x)));  // NaN stays
  return scale(e.y, e.n + F32(shift));
}

/// e^x. 1 | 1
HALFTONE_INLINE F32 exp(F32 x) {
  const ExpParts e = exp_parts(max_second(F32(-106.0), min_second(F32(90.0), x)));
  return scale(e.y, e.n);
}

/// The same for x <= 0, not NaN: equal to exp bit for bit, in fewer steps. -infinity gives 0.
HALFTONE_INLINE F32 exp_nonpositive(F32 x) {
  const ExpParts e = exp_parts(max_second(F32(-106.0), x));
#if HALFTONE_ISA_LEVEL >= 2
  return scale(e.y, e.n);
#else
  // y 2^(n + 32) is a normal number, so that adding to the exponent's bits is exact.
  return as_float(as_int(e.y) + shift_left<23>(to_int(e.n) + I32(32))) * F32(0x1p-32);
#endif
}

/// 2^x. 1 | 1
HALFTONE_INLINE F32 exp2(F32 x) {
  const F32 bounded = max_second(F32(-152.0), min_second(F32(129.0), x));
  const F32 n = round_even(bounded);
  const F32 r = (bounded - n) * F32(0.693147180559945309417);
  return scale(fma(r * r, exp_tail(r), r) + F32(1.0), n);
}

/// e^x - 1. 2 | 2
HALFTONE_INLINE F32 expm1(F32 x) {
  const F32 bounded = max_second(F32(-20.0), min_second(F32(89.0), x));
  const F32 n = round_even(bounded * F32(1.44269504088896340736));
  const F32 r = minus_n_ln2(bounded, n);
  const F32 y = fma(r * r, exp_tail(r), r);
  const F32 half = power_of_two(to_int(n) - I32(1));  // of 2^n, which may overflow where the result does not
  const F32 full = fma(y, half, half - F32(0.5)) * F32(2.0);
  return select(n == F32(0.0), select(r == F32(0.0), bounded, y), full);
}

/// x = m * 2^e with m in [sqrt(1/2), sqrt(2)), for positive finite x.
struct Decomposed {
  F32 m, e;
};
HALFTONE_INLINE Decomposed decompose(F32 x) {
  const Mask tiny = x < F32(1.17549435e-38);
  const I32 bits = as_int(select(tiny, x * F32(8388608.0), x)) - I32(0x3f3504f3);
  const F32 e = to_float(shift_right_signed<23>(bits)) - select(tiny, F32(23.0), F32(0.0));
  return {as_float((bits & I32(0x7fffff)) + I32(0x3f3504f3)), e};
}

/// (log(1 + f) - f + f^2/2) / f^3 for 1 + f in [sqrt(1/2), sqrt(2)).
HALFTONE_INLINE F32 log_tail(F32 f) {
  F32 p = fma(F32(7.0376836292e-2), f, F32(-1.1514610310e-1));
  p = fma(p, f, F32(1.1676998740e-1));
  p = fma(p, f, F32(-1.2420140846e-1));
  p = fma(p, f, F32(1.4249322787e-1));
  p = fma(p, f, F32(-1.6668057665e-1));
  p = fma(p, f, F32(2.0000714765e-1));
  p = fma(p, f, F32(-2.4999993993e-1));
  return fma(p, f, F32(3.3333331174e-1));
}

/// log(1 + f) + e log 2.
HALFTONE_INLINE F32 log_sum(F32 f, F32 e) {
  const F32 z = f * f;
  F32 y = f * z * log_tail(f);
  y = fma(e, F32(-2.12194440e-4), y);
  y = fma(z, F32(-0.5), y);
  return fma(e, F32(0.693359375), f + y);
}

/// `y` where x is positive and finite; else the logarithm of 0, of infinity, of a negative number or of NaN.
HALFTONE_INLINE F32 log_special(F32 x, F32 y) {
  const F32 inf(std::numeric_limits<float>::infinity());
  y = select(x == inf, inf, y);
  y = select(x == F32(0.0), -inf, y);
  return select(x >= F32(0.0), y, F32(std::numeric_limits<float>::quiet_NaN()));
}

/// log x. 1 | 1
HALFTONE_INLINE F32 log(F32 x) {
  const Decomposed d = decompose(x);
  return log_special(x, log_sum(d.m - F32(1.0), d.e));
}

/// log(1 + x). 1.6 | 1.6
HALFTONE_INLINE F32 log1p(F32 x) {
  const F32 u = x + F32(1.0);
  const F32 lost = select(x >= F32(1.0), F32(1.0) - (u - x), x - (u - F32(1.0)));  // of x, in the sum u
  const Decomposed d = decompose(u);
  const F32 f = d.m - F32(1.0) + scale(lost, I32(0) - to_int(d.e));
  const F32 y = log_special(u, log_sum(f, d.e));
  return select(x == F32(0.0), x, y);  // keeps -0
}

/// log2 x and log10 x. 2 | 2; exact at powers of two and at 1 respectively.
HALFTONE_INLINE F32 log2(F32 x) {
  const Decomposed d = decompose(x);
  return log_special(x, fma(log_sum(d.m - F32(1.0), F32(0.0)), F32(1.44269504088896340736), d.e));
}
HALFTONE_INLINE F32 log10(F32 x) {
  const Decomposed d = decompose(x);
  const F32 low =
      fma(d.e, F32(4.6050387e-6), log_sum(d.m - F32(1.0), F32(0.0)) * F32(0.434294481903251827651));
  return log_special(x, fma(d.e, F32(0.301025390625), low));
}

/// tanh x. 2 | 2
HALFTONE_INLINE F32 tanh(F32 x) {
  const F32 z = x * x;
  F32 p = fma(F32(-5.70498872745e-3), z, F32(2.06390887954e-2));
  p = fma(p, z, F32(-5.37397155531e-2));
  p = fma(p, z, F32(1.33314422036e-1));
  p = fma(p, z, F32(-3.33332819422e-1));
  const F32 near_zero = fma(p * z, x, x);
  const F32 far = F32(1.0) - F32(2.0) / (exp(abs(x) * F32(2.0)) + F32(1.0));
  return copysign(select(abs(x) < F32(0.625), near_zero, far), x);  // also of -0
}

/// 1 / (1 + e^-x). 2.3 | 2.3
HALFTONE_INLINE F32 sigmoid(F32 x) {
  const F32 e = exp(-abs(x));
  return select(signbit(x), e, F32(1.0)) / (F32(1.0) + e);
}

/// sinh x and cosh x. 1.7 | 1.7
HALFTONE_INLINE F32 sinh(F32 x) {
  const F32 z = x * x;
  F32 p = fma(F32(2.03721912945e-4), z, F32(8.33028376239e-3));
  p = fma(p, z, F32(1.66667160211e-1));
  const F32 near_zero = fma(p * z, x, x);
  const F32 a = abs(x);
  const F32 far = exp_shifted(a, -1) - exp_shifted(-a, -1);
  return select(a < F32(1.0), near_zero, copysign(far, x));
}
HALFTONE_INLINE F32 cosh(F32 x) {
  const F32 a = abs(x);
  return exp_shifted(a, -1) + exp_shifted(-a, -1);
}

#include "halftone/kernels/math/elementary_erf.h"
#include "halftone/kernels/math/elementary_pow.h"
#include "halftone/kernels/math/elementary_trig.h"

/// The rest of a / b with the sign of a, exact.
HALFTONE_INLINE F32 fmod(F32 a, F32 b) { return per_lane<lane::fmod>(a, b); }

/// Computed in double, rounded once.
HALFTONE_INLINE F32 lgamma(F32 x) { return per_lane<lane::lgamma>(x); }
HALFTONE_INLINE F32 polygamma(F32 n, F32 x) { return per_lane<lane::polygamma>(n, x); }
HALFTONE_INLINE F32 erfinv(F32 x) { return per_lane<lane::erfinv>(x); }
