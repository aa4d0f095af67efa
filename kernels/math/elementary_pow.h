// pow of F32; see elementary.h.

/// x^y = 2^(y (e + log2 m)) in double, for x = m 2^e: 45 good bits of the logarithm leave the one rounding to
/// float as the only visible error. The plain loops compile to vector code.
HALFTONE_INLINE F32 pow_positive(Decomposed x, F32 y) {
  alignas(64) float m[kLanes], e[kLanes], power[kLanes], whole[kLanes];
  alignas(64) double exponent[kLanes];
  store(m, x.m);
  store(e, x.e);
  store(power, y);
  for (int i = 0; i < kLanes; ++i) {
    const double md = m[i];
    const double f = (md - 1.0) / (md + 1.0);  // log m = 2 atanh f, |f| <= 0.172
    const double z = f * f;
    double p = 1.0 / 19;
    p = p * z + 1.0 / 17;
    p = p * z + 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    p = p * z + 1.0;
    exponent[i] = power[i] * (e[i] + f * p * 2.88539008177792681472);
    whole[i] = static_cast<float>(exponent[i]);
  }
  const F32 t = load(whole);
  const F32 n = round_even(max_second(F32(-200.0), min_second(F32(200.0), t)));
  const I32 half = shift_right_signed<1>(to_int(n));
  alignas(64) float n_lane[kLanes], factor1[kLanes], factor2[kLanes];  // 2^n in two factors
  store(n_lane, n);
  store(factor1, power_of_two(half));
  store(factor2, power_of_two(to_int(n) - half));
  alignas(64) float result[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const double r = (exponent[i] - n_lane[i]) * 0.693147180559945309417;
    double q = 1.0 / 3628800;
    q = q * r + 1.0 / 362880;
    q = q * r + 1.0 / 40320;
    q = q * r + 1.0 / 5040;
    q = q * r + 1.0 / 720;
    q = q * r + 1.0 / 120;
    q = q * r + 1.0 / 24;
    q = q * r + 1.0 / 6;
    q = q * r + 0.5;
    q = q * r + 1.0;
    q = q * r + 1.0;
    result[i] = static_cast<float>(q * (static_cast<double>(factor1[i]) * factor2[i]));
  }
  const F32 far = select(t > F32(0.0), F32(std::numeric_limits<float>::infinity()), F32(0.0));
  return select(abs(t) > F32(200.0), far, load(result));
}

/// x^y. 1 | 1
HALFTONE_INLINE F32 pow(F32 x, F32 y) {
  const F32 zero(0.0), one(1.0), inf(std::numeric_limits<float>::infinity());
  const F32 a = abs(x);
  F32 r = pow_positive(decompose(a), y);
  // Magnitudes with a closed form: 1, 0 and infinity to any power, any number to an infinite power.
  r = select(a == one, one, r);
  const Mask grows = (a > one) ^ (y < zero);  // |x|^y > 1 in the limit
  r = select((a == zero) | (a == inf) | (isinf(y) & (a != one)), select(grows, inf, zero), r);
  // The sign of a negative base counts for an odd integer power; a power that is no integer gives NaN.
  const F32 rounded = trunc(y);
  const F32 half = y * F32(0.5);
  const Mask is_integer = rounded == y;
  const Mask is_odd = is_integer & (trunc(half) != half);
  const Mask negative = signbit(x);
  r = select(negative & is_odd, -r, r);
  const Mask undefined = negative & !is_integer & (a != zero) & (a != inf);
  r = select(undefined, F32(std::numeric_limits<float>::quiet_NaN()), r);
  r = select(isnan(x) | isnan(y), x + y, r);
  return select((x == one) | (y == zero), one, r);
}
