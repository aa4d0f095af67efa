// Elementary functions of one operand. See pointwise_functors.h.

// clang-format off
#define HALFTONE_UNARY_FUNCTORS(X) \
  X(Neg) X(Abs) X(Sign) X(Reciprocal) X(Square) X(Sqrt) X(Rsqrt) X(Exp) X(Exp2) X(Expm1) X(Log) \
  X(Log2) X(Log10) X(Log1p) X(Sin) X(Cos) X(Tan) X(Asin) X(Acos) X(Atan) X(Sinh) X(Cosh) X(Tanh) \
  X(Sigmoid) X(Erf) X(Erfc) X(Floor) X(Ceil) X(Round) X(Trunc) X(Frac) X(BitwiseNot)
// clang-format on

#ifdef HALFTONE_FUNCTOR_BODIES

struct Neg {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return -x;
  }
};

struct Abs {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return abs(x);
  }
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
  HALFTONE_HD V operator()(V x) const {
    return V(1.0) / x;
  }
};

struct Square {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return x * x;
  }
};

struct Sqrt {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return sqrt(x);
  }
};

struct Rsqrt {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return V(1.0) / sqrt(x);
  }
};

struct Exp {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return exp(x);
  }
};

struct Exp2 {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return exp2(x);
  }
};

struct Expm1 {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return expm1(x);
  }
};

struct Log {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return log(x);
  }
};

struct Log2 {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return log2(x);
  }
};

struct Log10 {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return log10(x);
  }
};

struct Log1p {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return log1p(x);
  }
};

struct Sin {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return sin(x);
  }
};

struct Cos {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return cos(x);
  }
};

struct Tan {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return tan(x);
  }
};

struct Asin {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return asin(x);
  }
};

struct Acos {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return acos(x);
  }
};

struct Atan {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return atan(x);
  }
};

struct Sinh {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return sinh(x);
  }
};

struct Cosh {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return cosh(x);
  }
};

struct Tanh {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return tanh(x);
  }
};

struct Sigmoid {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return sigmoid(x);
  }
};

struct Erf {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return erf(x);
  }
};

struct Erfc {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return erfc(x);
  }
};

struct Floor {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    if constexpr (kIsInteger<V>)
      return x;
    else
      return floor(x);
  }
};

struct Ceil {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    if constexpr (kIsInteger<V>)
      return x;
    else
      return ceil(x);
  }
};

/// Halves to even.
struct Round {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    if constexpr (kIsInteger<V>)
      return x;
    else
      return round_even(x);
  }
};

struct Trunc {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    if constexpr (kIsInteger<V>)
      return x;
    else
      return trunc(x);
  }
};

/// x - trunc(x).
struct Frac {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return x - trunc(x);
  }
};

/// ~x of integers.
struct BitwiseNot {
  static constexpr bool kIntegers = true;
  template <class V>
  requires kIsInteger<V> HALFTONE_HD V operator()(V x) const { return V(-1.0) - x; }
};

#endif  // HALFTONE_FUNCTOR_BODIES
