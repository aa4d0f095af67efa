// Elementary functions of one operand and their backward formulas: g is the incoming gradient, x the input, y the
// output. See pointwise_functors.h.

#define HALFTONE_UNARY_FUNCTORS(X)                                                                           \
  X(Neg) X(Abs) X(Sign) X(Reciprocal) X(Square) X(Sqrt) X(Rsqrt) X(Exp) X(Exp2) X(Expm1) X(Log) X(Log2)      \
  X(Log10) X(Log1p) X(Sin) X(Cos) X(Tan) X(Asin) X(Acos) X(Atan) X(Sinh) X(Cosh) X(Tanh) X(Sigmoid) X(Erf)   \
  X(Erfc) X(Floor) X(Ceil) X(Round) X(Trunc) X(Frac) X(BitwiseNot) X(AbsBackward) X(ReciprocalBackward)      \
  X(SquareBackward) X(SqrtBackward) X(RsqrtBackward) X(Exp2Backward) X(Expm1Backward) X(LogBackward)         \
  X(Log2Backward) X(Log10Backward) X(Log1pBackward) X(SinBackward) X(CosBackward) X(TanBackward)             \
  X(AsinBackward) X(AcosBackward) X(AtanBackward) X(SinhBackward) X(CoshBackward) X(TanhBackward)            \
  X(SigmoidBackward) X(ErfBackward) X(ErfcBackward)

#ifdef HALFTONE_FUNCTOR_BODIES

struct Neg {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const { return -x; }
};

struct Abs {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const { return abs(x); }
};

/// -1, 0 or 1; 0 for NaN, as in PyTorch.
struct Sign {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return select(x > V(0.0), V(1.0), select(x < V(0.0), V(-1.0), V(0.0)));
  }
};

struct Reciprocal {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return V(1.0) / x; }
};

struct Square {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const { return x * x; }
};

struct Sqrt {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return sqrt(x); }
};

struct Rsqrt {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return V(1.0) / sqrt(x); }
};

struct Exp {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return exp(x); }
};

struct Exp2 {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return exp2(x); }
};

struct Expm1 {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return expm1(x); }
};

struct Log {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return log(x); }
};

struct Log2 {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return log2(x); }
};

struct Log10 {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return log10(x); }
};

struct Log1p {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return log1p(x); }
};

struct Sin {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return sin(x); }
};

struct Cos {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return cos(x); }
};

struct Tan {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return tan(x); }
};

struct Asin {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return asin(x); }
};

struct Acos {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return acos(x); }
};

struct Atan {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return atan(x); }
};

struct Sinh {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return sinh(x); }
};

struct Cosh {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return cosh(x); }
};

struct Tanh {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return tanh(x); }
};

struct Sigmoid {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return sigmoid(x); }
};

struct Erf {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return erf(x); }
};

struct Erfc {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return erfc(x); }
};

struct Floor {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    if constexpr (kIsInteger<V>) return x;
    else return floor(x);
  }
};

struct Ceil {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    if constexpr (kIsInteger<V>) return x;
    else return ceil(x);
  }
};

/// Halves to even.
struct Round {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    if constexpr (kIsInteger<V>) return x;
    else return round_even(x);
  }
};

struct Trunc {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    if constexpr (kIsInteger<V>) return x;
    else return trunc(x);
  }
};

/// x - trunc(x).
struct Frac {
  template <class V>
  HALFTONE_HD V operator()(V x) const { return x - trunc(x); }
};

/// ~x of integers.
struct BitwiseNot {
  static constexpr bool kIntegers = true;
  template <class V>
  requires kIsInteger<V>
  HALFTONE_HD V operator()(V x) const { return V(-1.0) - x; }
};

struct AbsBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const { return g * Sign{}(x); }
};

struct ReciprocalBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const { return -g * (y * y); }
};

struct SquareBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const { return g * (x * V(2.0)); }
};

struct SqrtBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const { return g / (y * V(2.0)); }
};

struct RsqrtBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const { return g * V(-0.5) * (y * y * y); }
};

struct Exp2Backward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const { return g * (y * V(0.693147180559945309417)); }
};

struct Expm1Backward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const { return g * (y + V(1.0)); }
};

struct LogBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const { return g / x; }
};

struct Log2Backward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const { return g / (x * V(0.693147180559945309417)); }
};

struct Log10Backward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const { return g / (x * V(2.30258509299404568402)); }
};

struct Log1pBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const { return g / (x + V(1.0)); }
};

struct SinBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const { return g * cos(x); }
};

struct CosBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const { return -g * sin(x); }
};

struct TanBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const { return g * (V(1.0) + y * y); }
};

struct AsinBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const { return g / sqrt((V(1.0) - x) * (V(1.0) + x)); }
};

struct AcosBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const { return -AsinBackward{}(g, x); }
};

struct AtanBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const { return g / (V(1.0) + x * x); }
};

struct SinhBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const { return g * cosh(x); }
};

struct CoshBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const { return g * sinh(x); }
};

struct TanhBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const { return g * ((V(1.0) - y) * (V(1.0) + y)); }
};

struct SigmoidBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const { return g * ((V(1.0) - y) * y); }
};

/// 2 / sqrt(pi) e^(-x^2), times g.
struct ErfBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const { return g * (V(1.12837916709551257390) * exp(-(x * x))); }
};

struct ErfcBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const { return -ErfBackward{}(g, x); }
};

#endif  // HALFTONE_FUNCTOR_BODIES
