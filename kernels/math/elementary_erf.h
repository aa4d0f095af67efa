// erf and erfc of F32; see elementary.h. The polynomials are Norbert Juffa's.

/// erf x. 1.1 | 1.3
HALFTONE_INLINE F32 erf(F32 x) {
  const F32 t = abs(x);
  const F32 s = x * x;
  F32 r = fma(F32(-1.72853470e-5), t, F32(3.83197126e-4));
  const F32 u = fma(F32(-3.88396438e-3), t, F32(2.42546219e-2));
  r = fma(r, s, u);
  r = fma(r, t, F32(-1.06777877e-1));
  r = fma(r, t, F32(-6.34846687e-1));
  r = fma(r, t, F32(-1.28717512e-1));
  r = fma(r, t, -t);
  const F32 far = select(t < F32(4.0), F32(1.0) - exp(r), F32(1.0));
  F32 p = fma(F32(-5.96761703e-4), s, F32(4.99119423e-3));
  p = fma(p, s, F32(-2.67681349e-2));
  p = fma(p, s, F32(1.12819925e-1));
  p = fma(p, s, F32(-3.76125336e-1));
  p = fma(p, s, F32(1.28379166e-1));
  const F32 near_zero = fma(p, x, x);
  return select(t > F32(0.927734375), copysign(far, x), near_zero);
}

/// a^2 - s where s is a^2 rounded: exact with FMA, by splitting without.
HALFTONE_INLINE F32 square_rest(F32 a, F32 s) {
#if HALFTONE_ISA_LEVEL >= 1
  return fma(a, a, -s);
#else
  const F32 high = as_float(as_int(a) & I32(-4096));
  const F32 low = a - high;
  return high * high - s + F32(2.0) * high * low + low * low;
#endif
}

/// 1 - erf x, accurate in the tail. 3 | 3.3
HALFTONE_INLINE F32 erfc(F32 x) {
  const F32 a = abs(x);
  // q = (a - 2) / (a + 2), which maps [0, inf) to [-1, 1), with one correction step.
  F32 r = F32(1.0) / (a + F32(2.0));
  F32 q = (a - F32(2.0)) * r;
  const F32 t = fma(q + F32(1.0), F32(-2.0), a);
  q = fma(r, fnma(q, a, t), q);
  // (1 + 2a) e^(a^2) erfc(a) = 1 + p(q)
  F32 p = fma(F32(-4.01139259e-4), q, F32(-1.23075210e-3));
  p = fma(p, q, F32(1.31355342e-3));
  p = fma(p, q, F32(8.63227434e-3));
  p = fma(p, q, F32(-8.05991981e-3));
  p = fma(p, q, F32(-5.42046614e-2));
  p = fma(p, q, F32(1.64055392e-1));
  p = fma(p, q, F32(-1.66031361e-1));
  p = fma(p, q, F32(-9.27639827e-2));
  p = fma(p, q, F32(2.76978403e-1));
  r = F32(1.0) / fma(F32(2.0), a, F32(1.0));
  q = fma(p, r, r);
  const F32 e = fma(fnma(q, a, F32(0.5)), F32(2.0), p - q);
  r = fma(e, r, q);
  // times e^(-a^2), with the rounding error of a^2 put back
  const F32 s = a * a;
  const F32 g = exp(-s);
  r = fnma(r * g, square_rest(a, s), r * g);
  r = select(a > F32(10.06), F32(0.0), r);
  r = select(x < F32(0.0), F32(2.0) - r, r);
  return select(isnan(x), x, r);
}
