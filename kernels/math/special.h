// Inverse hyperbolic, gamma and other special functions, with their backward formulas. See
// pointwise_functors.h.

// clang-format off
#define HALFTONE_SPECIAL_FUNCTORS(X) \
  X(Acosh) X(Asinh) X(Atanh) X(Sinc) X(ErfInv) X(Logit) X(Polygamma) X(Lgamma) X(Hypot) X(Copysign) X(LogAddExp) \
  X(LogAddExp2) X(Xlogy) X(Fmax) X(Fmin) X(ShiftLeft) X(ShiftRight) X(AcoshBackward) X(AsinhBackward) \
  X(AtanhBackward) X(SincBackward) X(ErfInvBackward) X(LogitBackward) X(PolygammaBackward) X(HypotBackward) X(CopysignBackward) \
  X(LogAddExpBackward) X(LogAddExp2Backward) X(XlogyBackwardSelf) X(XlogyBackwardOther)
// clang-format on

#ifdef HALFTONE_FUNCTOR_BODIES

struct Acosh {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    const V t = x - V(1.0);
    return select(x > V(1e8), log(x) + V(0.693147180559945309417), log1p(t + sqrt(t * V(2.0) + t * t)));
  }
};

struct Asinh {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    const V a = abs(x);
    const V near = log1p(a + a * a / (V(1.0) + sqrt(a * a + V(1.0))));
    return copysign(select(a > V(1e8), log(a) + V(0.693147180559945309417), near), x);
  }
};

struct Atanh {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    const V a = abs(x);
    return copysign(V(0.5) * log1p((a + a) / (V(1.0) - a)), x);
  }
};

struct Sinc {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    const V angle = x * V(3.14159265358979323846);
    return select(x == V(0.0), V(1.0), sin(angle) / angle);
  }
};

struct ErfInv {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return erfinv(x);
  }
};

/// log(x / (1 - x)), x moved into the bounds first. Params: lowest, highest.
struct Logit {
  double lowest, highest;
  HALFTONE_HD explicit Logit(const Params& params) : lowest(params.p[0]), highest(params.p[1]) {}
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    const V inside = max(min(x, V(highest)), V(lowest));
    return log(inside) - log1p(-inside);
  }
};

/// The n-th derivative of the digamma function. Params: n.
struct Polygamma {
  double n;
  HALFTONE_HD explicit Polygamma(const Params& params) : n(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return polygamma(V(n), x);
  }
};

struct Lgamma {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return lgamma(x);
  }
};

/// sqrt(a^2 + b^2) without overflow of the squares.
struct Hypot {
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    const V p = abs(a), q = abs(b), larger = max(p, q), ratio = min(p, q) / larger;
    const V length = select(larger == V(0.0), larger, larger * sqrt(V(1.0) + ratio * ratio));
    return select(isinf(p), p, select(isinf(q), q, length));
  }
};

struct Copysign {
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return copysign(a, b);
  }
};

struct LogAddExp {
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    const V larger = max(a, b);
    return select(isinf(larger), larger, larger + log1p(exp(-abs(a - b))));
  }
};

struct LogAddExp2 {
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    const V larger = max(a, b);
    return select(isinf(larger), larger, larger + log1p(exp2(-abs(a - b))) * V(1.44269504088896340736));
  }
};

/// a log b, 0 for a = 0 unless b is NaN.
struct Xlogy {
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return select(isnan(b), b, select(a == V(0.0), V(0.0), a * log(b)));
  }
};

/// The larger operand, or the one that is not NaN.
struct Fmax {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return select(a != a, b, select(b != b, a, max(a, b)));
  }
};

struct Fmin {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return select(a != a, b, select(b != b, a, min(a, b)));
  }
};

/// Shifts exist for integers only. Params: the bits of the type.
struct ShiftLeft {
  static constexpr bool kIntegers = true;
  double bits;
  HALFTONE_HD explicit ShiftLeft(const Params& params) : bits(params.p[0]) {}
  template <class V>
  requires kIsInteger<V> HALFTONE_HD V operator()(V a, V b) const {
    const bool inside = b.v >= 0 && b < V(bits);
    return inside ? wrapped(bits_of(a) << b.v) : V(0.0);
  }
};

struct ShiftRight {
  static constexpr bool kIntegers = true;
  double bits;
  HALFTONE_HD explicit ShiftRight(const Params& params) : bits(params.p[0]) {}
  template <class V>
  requires kIsInteger<V> HALFTONE_HD V operator()(V a, V b) const {
    const bool inside = b.v >= 0 && b < V(bits);
    return inside ? V(a.v >> b.v) : a.v < 0 ? V(-1.0) : V(0.0);
  }
};

struct AcoshBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g / sqrt((x - V(1.0)) * (x + V(1.0)));
  }
};

struct AsinhBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g / sqrt(x * x + V(1.0));
  }
};

struct AtanhBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g / ((V(1.0) - x) * (V(1.0) + x));
  }
};

/// pi (cos s / s - sin s / s^2) with s = pi x, times g; by its series where the difference would cancel.
struct SincBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    const V pi(3.14159265358979323846), s = x * pi, q = s * s;
    const V far = (cos(s) - sin(s) / s) / x;
    const V near = pi * s *
                   (V(-1.0 / 3) +
                    q * (V(1.0 / 30) + q * (V(-1.0 / 840) + q * (V(1.0 / 45360) + q * V(-1.0 / 3991680)))));
    return g * select(abs(s) < V(0.5), near, far);
  }
};

/// What rounding took from a * b.
template <class V>
HALFTONE_HD V product_error(V a, V b, V product) {
  if constexpr (std::is_floating_point_v<V>) {
    return std::fma(a, b, -product);
  } else {
    return fma(a, b, -product);
  }
}

/// sqrt(pi) / 2 e^(y^2), times g; y is the result. What y^2 loses to rounding is made good: e^ would enlarge
/// it.
struct ErfInvBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const {
    const V square = y * y, power = exp(square);
    const V lost = select(square < V(1024), product_error(y, y, square), V(0));
    return g * (V(0.886226925452758013649) * fma(power, lost, power));
  }
};

/// g / (x (1 - x)); 0 outside the bounds, NaN outside [0, 1]. Params: lowest, highest.
struct LogitBackward {
  double lowest, highest;
  HALFTONE_HD explicit LogitBackward(const Params& params) : lowest(params.p[0]), highest(params.p[1]) {}
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    const V one(1.0), undefined(std::numeric_limits<double>::quiet_NaN());
    const V slope = select(x * (one - x) < V(0.0), undefined, g / x + g / (one - x));
    return select(x < V(lowest), V(0.0), select(x > V(highest), V(0.0), slope));
  }
};

/// The derivative of Polygamma, times g; n = -1: that of Lgamma. Params: n.
struct PolygammaBackward {
  double n;
  HALFTONE_HD explicit PolygammaBackward(const Params& params) : n(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g * polygamma(V(n + 1), x);
  }
};

/// a / sqrt(a^2 + b^2), times g; 0 at the origin.
struct HypotBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V a, V b) const {
    const V larger = max(abs(a), abs(b)), x = a / larger, y = b / larger;
    return select(larger == V(0.0), V(0.0), g * (x / sqrt(x * x + y * y)));
  }
};

/// The sign that Copysign gave a, times g; 0 for a = 0.
struct CopysignBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V a, V b) const {
    return g * (Sign{}(a)*copysign(V(1.0), b));
  }
};

struct LogAddExpBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V a, V b) const {
    return g * sigmoid(a - b);
  }
};

struct LogAddExp2Backward {
  template <class V>
  HALFTONE_HD V operator()(V g, V a, V b) const {
    return g * sigmoid((a - b) * V(0.693147180559945309417));
  }
};

struct XlogyBackwardSelf {
  template <class V>
  HALFTONE_HD V operator()(V g, V a, V b) const {
    return select(both(a == V(0.0), b <= V(0.0)), V(0.0), g * log(b));
  }
};

struct XlogyBackwardOther {
  template <class V>
  HALFTONE_HD V operator()(V g, V a, V b) const {
    return g * (a / b);
  }
};

#endif  // HALFTONE_FUNCTOR_BODIES
