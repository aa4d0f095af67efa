// Arithmetic of two and three operands, and its backward formulas. See pointwise_functors.h.

// clang-format off
#define HALFTONE_ARITH_FUNCTORS(X) \
  X(Add) X(Sub) X(Mul) X(Div) X(FloorDivide) X(Remainder) X(Fmod) X(Pow) X(Atan2) X(Maximum) \
  X(Minimum) X(MulAdd) X(Lerp) X(LerpScalar) X(Addcmul) X(Addcdiv) X(BitwiseAnd) X(BitwiseOr) \
  X(BitwiseXor) X(DivBackwardOther) X(PowBackward) X(PowBackwardExponent) X(Atan2BackwardSelf) \
  X(Atan2BackwardOther) X(MaximumBackward) X(MinimumBackward) X(LerpBackwardWeight) \
  X(AddcdivBackwardOther)
// clang-format on

#ifdef HALFTONE_FUNCTOR_BODIES

/// a + alpha b. Params: alpha.
struct Add {
  static constexpr bool kIntegers = true;
  double alpha;
  HALFTONE_HD explicit Add(const Params& params) : alpha(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return a + V(alpha) * b;
  }
};

/// a - alpha b. Params: alpha.
struct Sub {
  static constexpr bool kIntegers = true;
  double alpha;
  HALFTONE_HD explicit Sub(const Params& params) : alpha(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return a - V(alpha) * b;
  }
};

struct Mul {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return a * b;
  }
};

struct Div {
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return a / b;
  }
};

/// The rest of a / b with the sign of b (Python's %).
struct Remainder {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    const V zero(0.0), rest = fmod(a, b);
    return select(both(rest != zero, (rest < zero) ^ (b < zero)), rest + b, rest);
  }
};

/// The rest of a / b with the sign of a (C's fmod).
struct Fmod {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return fmod(a, b);
  }
};

/// a / b rounded toward minus infinity, consistent with Remainder as in Python.
struct FloorDivide {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    const V zero(0.0), one(1.0), rest = fmod(a, b);
    const auto below = both(rest != zero, (rest < zero) ^ (b < zero));
    if constexpr (kIsInteger<V>) {
      return select(below, a / b - one, a / b);
    } else {
      V quotient = (a - rest) / b;
      quotient = select(below, quotient - one, quotient);
      V result = floor(quotient);
      result = select(quotient - result > V(0.5), result + one, result);
      result = select(quotient == zero, copysign(zero, a / b), result);
      return select(b == zero, a / b, result);
    }
  }
};

struct Pow {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V base, V exponent) const {
    return pow(base, exponent);
  }
};

struct Atan2 {
  template <class V>
  HALFTONE_HD V operator()(V y, V x) const {
    return atan2(y, x);
  }
};

struct Maximum {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return max(a, b);
  }
};

struct Minimum {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return min(a, b);
  }
};

/// a b + c.
struct MulAdd {
  template <class V>
  HALFTONE_HD V operator()(V a, V b, V c) const {
    return fma(a, b, c);
  }
};

/// Between a (weight 0) and b (weight 1), exact at both ends.
struct Lerp {
  template <class V>
  HALFTONE_HD V operator()(V a, V b, V weight) const {
    return select(weight < V(0.5), a + weight * (b - a), b - (b - a) * (V(1.0) - weight));
  }
};

/// Params: weight.
struct LerpScalar {
  double weight;
  HALFTONE_HD explicit LerpScalar(const Params& params) : weight(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return Lerp{}(a, b, V(weight));
  }
};

/// x + value a b. Params: value.
struct Addcmul {
  static constexpr bool kIntegers = true;
  double value;
  HALFTONE_HD explicit Addcmul(const Params& params) : value(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V x, V a, V b) const {
    return x + V(value) * a * b;
  }
};

/// x + value a / b. Params: value.
struct Addcdiv {
  double value;
  HALFTONE_HD explicit Addcdiv(const Params& params) : value(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V x, V a, V b) const {
    return x + V(value) * a / b;
  }
};

/// The bitwise functors exist for integers only.
struct BitwiseAnd {
  static constexpr bool kIntegers = true;
  template <class V>
  requires kIsInteger<V> HALFTONE_HD V operator()(V a, V b) const { return a & b; }
};

struct BitwiseOr {
  static constexpr bool kIntegers = true;
  template <class V>
  requires kIsInteger<V> HALFTONE_HD V operator()(V a, V b) const { return a | b; }
};

struct BitwiseXor {
  static constexpr bool kIntegers = true;
  template <class V>
  requires kIsInteger<V> HALFTONE_HD V operator()(V a, V b) const { return a ^ b; }
};

/// d(a / b)/db = -a / b^2, times g; without forming b^2, which overflows early.
struct DivBackwardOther {
  template <class V>
  HALFTONE_HD V operator()(V g, V a, V b) const {
    return -g * (a / b / b);
  }
};

/// d(x^e)/dx = e x^(e-1), times g; 0 for e = 0.
struct PowBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x, V e) const {
    return select(e == V(0.0), V(0.0), g * (e * pow(x, e - V(1.0))));
  }
};

/// d(x^e)/de = x^e log x, times g; 0 for x = 0 and e >= 0. `result` is x^e.
struct PowBackwardExponent {
  template <class V>
  HALFTONE_HD V operator()(V g, V x, V e, V result) const {
    return select(both(x == V(0.0), e >= V(0.0)), V(0.0), g * (result * log(x)));
  }
};

/// d atan2(a, b)/da = b / (a^2 + b^2), times g; scaled so that the squares stay in range, 0 at the origin.
struct Atan2BackwardSelf {
  template <class V>
  HALFTONE_HD V operator()(V g, V a, V b) const {
    const V larger = max(abs(a), abs(b));
    const V x = b / larger, y = a / larger;
    return select(larger == V(0.0), V(0.0), g * (x / (x * x + y * y) / larger));
  }
};

struct Atan2BackwardOther {
  template <class V>
  HALFTONE_HD V operator()(V g, V a, V b) const {
    return Atan2BackwardSelf{}(-g, b, a);
  }
};

/// Gradient of max(a, b) for a; equal operands share it.
struct MaximumBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V a, V b) const {
    return select(a < b, V(0.0), select(a == b, g * V(0.5), g));
  }
};

struct MinimumBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V a, V b) const {
    return select(a > b, V(0.0), select(a == b, g * V(0.5), g));
  }
};

/// g (b - a): the gradient of Lerp for its weight.
struct LerpBackwardWeight {
  template <class V>
  HALFTONE_HD V operator()(V g, V a, V b) const {
    return g * (b - a);
  }
};

/// -value g a / b^2: the gradient of Addcdiv for its divisor. Params: value.
struct AddcdivBackwardOther {
  double value;
  HALFTONE_HD explicit AddcdivBackwardOther(const Params& params) : value(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V g, V a, V b) const {
    return -(g * V(value)) * (a / b / b);
  }
};

#endif  // HALFTONE_FUNCTOR_BODIES
