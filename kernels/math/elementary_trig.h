// Trigonometric functions of F32; see elementary.h.

// pi/2 in three parts. With FMA the products need not be exact; without, the parts are short enough to make
// them so.
#if HALFTONE_ISA_LEVEL >= 1
inline constexpr float kHalfPi1 = 0x1.921fb0p+0f, kHalfPi2 = 0x1.5110b4p-22f, kHalfPi3 = 0x1.846988p-48f;
inline constexpr float kReducible = 48039.0f;
#else
inline constexpr float kHalfPi1 = 1.5703125f, kHalfPi2 = 4.837512969970703125e-4f,
                       kHalfPi3 = 7.5497899548918821e-8f;
inline constexpr float kReducible = 256.0f;
#endif

/// x = n pi/2 + r, |r| <= pi/4, for |x| <= kReducible.
struct Reduced {
  F32 r;
  I32 n;
};
HALFTONE_INLINE Reduced reduce_half_pi(F32 x) {
  const F32 n = round_even(x * F32(0.636619772367581343076));
  F32 r = fnma(n, F32(kHalfPi1), x);
  r = fnma(n, F32(kHalfPi2), r);
  return {fnma(n, F32(kHalfPi3), r), to_int(n)};
}
HALFTONE_INLINE F32 sin_near_zero(F32 r) {
  const F32 s = r * r;
  F32 p = fma(F32(2.83960253e-6), s, F32(-1.98559923e-4));
  p = fma(p, s, F32(8.33338592e-3));
  p = fma(p, s, F32(-1.66666672e-1));
  return fma(p, r * s, r);
}
HALFTONE_INLINE F32 cos_near_zero(F32 r) {
  const F32 s = r * r;
  F32 p = fma(F32(2.44677067e-5), s, F32(-1.38877297e-3));
  p = fma(p, s, F32(4.16666567e-2));
  p = fma(p, s, F32(-0.5));
  return fma(p, s, F32(1.0));
}

/// sin(r + n pi/2)
HALFTONE_INLINE F32 sin_quadrant(F32 r, I32 n) {
  const Mask odd = (n & I32(1)) == I32(1);
  const I32 sign = shift_left<30>(n & I32(2));
  return as_float(as_int(select(odd, cos_near_zero(r), sin_near_zero(r))) ^ sign);
}

/// sin x and cos x. 1.5 | 1.5. Beyond kReducible, lane by lane through the C library.
HALFTONE_INLINE F32 sin(F32 x) {
  const Reduced d = reduce_half_pi(x);
  const F32 y = select(x == F32(0.0), x, sin_quadrant(d.r, d.n));  // keeps -0
  const Mask small = abs(x) <= F32(kReducible);
  if (!all(small)) return select(small, y, per_lane<lane::sin>(x));
  return y;
}
HALFTONE_INLINE F32 cos(F32 x) {
  const Reduced d = reduce_half_pi(x);
  const F32 y = sin_quadrant(d.r, d.n + I32(1));
  const Mask small = abs(x) <= F32(kReducible);
  if (!all(small)) return select(small, y, per_lane<lane::cos>(x));
  return y;
}

/// tan x. 3 | 3.3
HALFTONE_INLINE F32 tan(F32 x) {
  const Reduced d = reduce_half_pi(x);
  const Mask odd = (d.n & I32(1)) == I32(1);
  const F32 s = sin_near_zero(d.r), c = cos_near_zero(d.r);
  const F32 y = select(x == F32(0.0), x, select(odd, -c, s) / select(odd, s, c));
  const Mask small = abs(x) <= F32(kReducible);
  if (!all(small)) return select(small, y, per_lane<lane::tan>(x));
  return y;
}

/// atan a for 0 <= a <= 1.
HALFTONE_INLINE F32 atan_unit(F32 a) {
  const F32 s = a * a;
  F32 p = fma(F32(0x1.6d2026p-9f), s, F32(-0x1.03f2eap-6f));
  p = fma(p, s, F32(0x1.5beeb4p-5f));
  p = fma(p, s, F32(-0x1.33194cp-4f));
  p = fma(p, s, F32(0x1.b403a4p-4f));
  p = fma(p, s, F32(-0x1.22f5c2p-3f));
  p = fma(p, s, F32(0x1.997748p-3f));
  p = fma(p, s, F32(-0x1.5554d6p-2f));
  return fma(p * s, a, a);
}

inline constexpr float kPi = 3.14159274f, kPiLow = -8.74227766e-8f;
inline constexpr float kHalfPi = 1.57079637f, kHalfPiLow = -4.37113883e-8f;

/// atan x. 1.7 | 1.7
HALFTONE_INLINE F32 atan(F32 x) {
  const F32 a = abs(x);
  const Mask inverted = a > F32(1.0);
  const F32 y = atan_unit(select(inverted, F32(1.0) / a, a));
  return copysign(select(inverted, F32(kHalfPi) - (y - F32(kHalfPiLow)), y), x);
}

/// The angle of the point (x, y), as C's atan2(y, x). 2 | 2
HALFTONE_INLINE F32 atan2(F32 y, F32 x) {
  const F32 ay = abs(y), ax = abs(x);
  const Mask steep = ay > ax;
  const F32 larger = select(steep, ay, ax), smaller = select(steep, ax, ay);
  F32 ratio = smaller / larger;
  ratio = select(larger == F32(0.0), F32(0.0), ratio);
  ratio = select(isinf(larger) & isinf(smaller), F32(1.0), ratio);
  F32 angle = atan_unit(ratio);
  angle = select(steep, F32(kHalfPi) - (angle - F32(kHalfPiLow)), angle);
  angle = select(signbit(x), F32(kPi) - (angle - F32(kPiLow)), angle);
  return select(isnan(x) | isnan(y), x + y, copysign(angle, y));
}

/// asin a for 0 <= a <= 1/2.
HALFTONE_INLINE F32 asin_half(F32 a) {
  const F32 z = a * a;
  F32 p = fma(F32(4.2163199048e-2), z, F32(2.4181311049e-2));
  p = fma(p, z, F32(4.5470025998e-2));
  p = fma(p, z, F32(7.4953002686e-2));
  p = fma(p, z, F32(1.6666752422e-1));
  return fma(p * z, a, a);
}

/// asin x and acos x. 2.4 | 2.4
HALFTONE_INLINE F32 asin(F32 x) {
  const F32 a = abs(x);
  const Mask large = a > F32(0.5);
  const F32 y = asin_half(select(large, sqrt((F32(1.0) - a) * F32(0.5)), a));
  return copysign(select(large, F32(kHalfPi) - (y + y - F32(kHalfPiLow)), y), x);
}
HALFTONE_INLINE F32 acos(F32 x) {
  const F32 a = abs(x);
  const Mask large = a > F32(0.5);
  const F32 y = asin_half(select(large, sqrt((F32(1.0) - a) * F32(0.5)), a));
  const F32 middle = F32(kHalfPi) - (copysign(y, x) - F32(kHalfPiLow));
  const F32 edge = select(signbit(x), F32(kPi) - (y + y - F32(kPiLow)), y + y);
  return select(large | isnan(x), edge, middle);
}
