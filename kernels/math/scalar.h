// The names the functors use, for plain float and double and for I64, which stands for all integer types.
// Pasted into the namespace that pastes the functors. `select`, `max`, ... of F32 are in vec.inc and
// elementary.h.

/// An int64 whose arithmetic wraps around, so that no input is undefined behaviour.
struct I64 {
  std::int64_t v;
  I64() = default;
  HALFTONE_HD explicit I64(std::int64_t value) : v(value) {}
  /// Truncates; out of range saturates, NaN gives 0.
  HALFTONE_HD explicit I64(double value) : v(0) {
    if (value >= 9223372036854775808.0) {
      v = INT64_MAX;
    } else if (value < -9223372036854775808.0) {
      v = INT64_MIN;
    } else if (value == value) {
      v = static_cast<std::int64_t>(value);
    }
  }
};

/// Conditions, of one element here and of a vector of them in vec.inc.
HALFTONE_HD inline bool both(bool a, bool b) { return a && b; }
HALFTONE_HD inline bool either(bool a, bool b) { return a || b; }

template <class V>
inline constexpr bool kIsInteger = false;
template <>
inline constexpr bool kIsInteger<I64> = true;

HALFTONE_HD inline I64 wrapped(std::uint64_t bits) { return I64(static_cast<std::int64_t>(bits)); }
HALFTONE_HD inline std::uint64_t bits_of(I64 a) { return static_cast<std::uint64_t>(a.v); }
HALFTONE_HD inline I64 operator+(I64 a, I64 b) { return wrapped(bits_of(a) + bits_of(b)); }
HALFTONE_HD inline I64 operator-(I64 a, I64 b) { return wrapped(bits_of(a) - bits_of(b)); }
HALFTONE_HD inline I64 operator*(I64 a, I64 b) { return wrapped(bits_of(a) * bits_of(b)); }
HALFTONE_HD inline I64 operator-(I64 a) { return wrapped(0 - bits_of(a)); }
/// Toward zero; x / 0 gives 0 (operators refuse it before it comes here).
HALFTONE_HD inline I64 operator/(I64 a, I64 b) {
  if (b.v == 0) return I64(std::int64_t{0});
  return b.v == -1 ? -a : I64(a.v / b.v);
}
HALFTONE_HD inline I64 fmod(I64 a, I64 b) {
  return (b.v == 0 || b.v == -1) ? I64(std::int64_t{0}) : I64(a.v % b.v);
}
HALFTONE_HD inline I64 operator&(I64 a, I64 b) { return I64(a.v & b.v); }
HALFTONE_HD inline I64 operator|(I64 a, I64 b) { return I64(a.v | b.v); }
HALFTONE_HD inline I64 operator^(I64 a, I64 b) { return I64(a.v ^ b.v); }
HALFTONE_HD inline bool operator==(I64 a, I64 b) { return a.v == b.v; }
HALFTONE_HD inline bool operator!=(I64 a, I64 b) { return a.v != b.v; }
HALFTONE_HD inline bool operator<(I64 a, I64 b) { return a.v < b.v; }
HALFTONE_HD inline bool operator<=(I64 a, I64 b) { return a.v <= b.v; }
HALFTONE_HD inline bool operator>(I64 a, I64 b) { return a.v > b.v; }
HALFTONE_HD inline bool operator>=(I64 a, I64 b) { return a.v >= b.v; }
HALFTONE_HD inline I64 select(bool m, I64 yes, I64 no) { return m ? yes : no; }
HALFTONE_HD inline I64 max(I64 a, I64 b) { return a.v > b.v ? a : b; }
HALFTONE_HD inline I64 min(I64 a, I64 b) { return a.v < b.v ? a : b; }
HALFTONE_HD inline I64 abs(I64 a) { return a.v < 0 ? -a : a; }
HALFTONE_HD inline bool signbit(I64 a) { return a.v < 0; }
HALFTONE_HD inline bool isnan(I64) { return false; }
/// a^b by squaring, wrapping around; for b < 0 the integer part of the true value: 0, or +-1 for a = +-1.
HALFTONE_HD inline I64 pow(I64 a, I64 b) {
  if (b.v < 0) {
    if (a.v == 1) return a;
    if (a.v == -1) return I64(std::int64_t{(b.v & 1) != 0 ? -1 : 1});
    return I64(std::int64_t{0});
  }
  std::uint64_t result = 1, factor = bits_of(a);
  for (std::uint64_t left = bits_of(b); left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= factor;
    factor *= factor;
  }
  return wrapped(result);
}

template <class T>
concept Plain = std::is_floating_point_v<T>;

template <Plain T>
HALFTONE_HD inline T select(bool m, T yes, T no) {
  return m ? yes : no;
}
template <Plain T>
HALFTONE_HD inline bool isnan(T x) {
  return x != x;
}
template <Plain T>
HALFTONE_HD inline bool isinf(T x) {
  return x == x && x - x != T(0);
}
template <Plain T>
HALFTONE_HD inline bool isfinite(T x) {
  return x - x == T(0);
}
template <Plain T>
HALFTONE_HD inline bool signbit(T x) {
  return std::signbit(x);
}
template <Plain T>
HALFTONE_HD inline T max(T a, T b) {
  return a > b || a != a ? a : b;
}
template <Plain T>
HALFTONE_HD inline T min(T a, T b) {
  return a < b || a != a ? a : b;
}
template <Plain T>
HALFTONE_HD inline T abs(T x) {
  return std::fabs(x);
}
template <Plain T>
HALFTONE_HD inline T copysign(T m, T s) {
  return std::copysign(m, s);
}
template <Plain T>
HALFTONE_HD inline T floor(T x) {
  return std::floor(x);
}
template <Plain T>
HALFTONE_HD inline T ceil(T x) {
  return std::ceil(x);
}
template <Plain T>
HALFTONE_HD inline T trunc(T x) {
  return std::trunc(x);
}
template <Plain T>
HALFTONE_HD inline T round_even(T x) {
  return std::rint(x);
}
template <Plain T>
HALFTONE_HD inline T sqrt(T x) {
  return std::sqrt(x);
}
template <Plain T>
HALFTONE_HD inline T fmod(T a, T b) {
  return std::fmod(a, b);
}
template <Plain T>
HALFTONE_HD inline T exp(T x) {
  return std::exp(x);
}
template <Plain T>
HALFTONE_HD inline T exp2(T x) {
  return std::exp2(x);
}
template <Plain T>
HALFTONE_HD inline T expm1(T x) {
  return std::expm1(x);
}
template <Plain T>
HALFTONE_HD inline T log(T x) {
  return std::log(x);
}
template <Plain T>
HALFTONE_HD inline T log2(T x) {
  return std::log2(x);
}
template <Plain T>
HALFTONE_HD inline T log10(T x) {
  return std::log10(x);
}
template <Plain T>
HALFTONE_HD inline T log1p(T x) {
  return std::log1p(x);
}
template <Plain T>
HALFTONE_HD inline T sin(T x) {
  return std::sin(x);
}
template <Plain T>
HALFTONE_HD inline T cos(T x) {
  return std::cos(x);
}
template <Plain T>
HALFTONE_HD inline T tan(T x) {
  return std::tan(x);
}
template <Plain T>
HALFTONE_HD inline T asin(T x) {
  return std::asin(x);
}
template <Plain T>
HALFTONE_HD inline T acos(T x) {
  return std::acos(x);
}
template <Plain T>
HALFTONE_HD inline T atan(T x) {
  return std::atan(x);
}
template <Plain T>
HALFTONE_HD inline T atan2(T y, T x) {
  return std::atan2(y, x);
}
template <Plain T>
HALFTONE_HD inline T sinh(T x) {
  return std::sinh(x);
}
template <Plain T>
HALFTONE_HD inline T cosh(T x) {
  return std::cosh(x);
}
template <Plain T>
HALFTONE_HD inline T tanh(T x) {
  return std::tanh(x);
}
template <Plain T>
HALFTONE_HD inline T erf(T x) {
  return std::erf(x);
}
template <Plain T>
HALFTONE_HD inline T erfc(T x) {
  return std::erfc(x);
}
template <Plain T>
HALFTONE_HD inline T lgamma(T x) {
  return static_cast<T>(::halftone::special::lgamma(x));
}
template <Plain T>
HALFTONE_HD inline T polygamma(T n, T x) {
  return static_cast<T>(::halftone::special::polygamma(n, x));
}
template <Plain T>
HALFTONE_HD inline T erfinv(T x) {
  return static_cast<T>(::halftone::special::erfinv(x));
}
template <Plain T>
HALFTONE_HD inline T pow(T x, T y) {
  return std::pow(x, y);
}
template <Plain T>
HALFTONE_HD inline T fma(T a, T b, T c) {
  return a * b + c;
}
template <Plain T>
HALFTONE_HD inline T fnma(T a, T b, T c) {
  return c - a * b;
}
template <Plain T>
HALFTONE_HD inline T sigmoid(T x) {
  const T e = std::exp(-std::fabs(x));
  return (std::signbit(x) ? e : T(1)) / (T(1) + e);
}
