// Comparisons, logic and selection. Truth values are 1 and 0, so that they may be written to any type. See
// pointwise_functors.h.

// clang-format off
#define HALFTONE_COMPARE_FUNCTORS(X) \
  X(Eq) X(Ne) X(Lt) X(Le) X(Gt) X(Ge) X(LogicalAnd) X(LogicalOr) X(LogicalXor) X(LogicalNot) \
  X(IsNan) X(IsInf) X(IsFinite) X(Signbit) X(Where) X(MaskedFill) X(Clamp) X(ClampTensor) \
  X(ClampBackward) X(ClampTensorBackward) X(NanToNum) X(NanToNumBackward)
// clang-format on

#ifdef HALFTONE_FUNCTOR_BODIES

struct Eq {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return select(a == b, V(1.0), V(0.0));
  }
};

struct Ne {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return select(a != b, V(1.0), V(0.0));
  }
};

struct Lt {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return select(a < b, V(1.0), V(0.0));
  }
};

struct Le {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return select(a <= b, V(1.0), V(0.0));
  }
};

struct Gt {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return select(a > b, V(1.0), V(0.0));
  }
};

struct Ge {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return select(a >= b, V(1.0), V(0.0));
  }
};

struct LogicalAnd {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return select(both(a != V(0.0), b != V(0.0)), V(1.0), V(0.0));
  }
};

struct LogicalOr {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return select(either(a != V(0.0), b != V(0.0)), V(1.0), V(0.0));
  }
};

struct LogicalXor {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V a, V b) const {
    return select((a != V(0.0)) ^ (b != V(0.0)), V(1.0), V(0.0));
  }
};

struct LogicalNot {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return select(x == V(0.0), V(1.0), V(0.0));
  }
};

struct IsNan {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return select(x != x, V(1.0), V(0.0));
  }
};

struct IsInf {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    if constexpr (kIsInteger<V>)
      return V(0.0);
    else
      return select(isinf(x), V(1.0), V(0.0));
  }
};

struct IsFinite {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    if constexpr (kIsInteger<V>)
      return V(1.0);
    else
      return select(isfinite(x), V(1.0), V(0.0));
  }
};

struct Signbit {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return select(signbit(x), V(1.0), V(0.0));
  }
};

/// condition ? a : b, for any condition that is not 0.
struct Where {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V condition, V a, V b) const {
    return select(condition != V(0.0), a, b);
  }
};

/// mask ? value : x. Params: value.
struct MaskedFill {
  static constexpr bool kIntegers = true;
  double value;
  HALFTONE_HD explicit MaskedFill(const Params& params) : value(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V x, V mask) const {
    return select(mask != V(0.0), V(value), x);
  }
};

/// min(max(x, lowest), highest); NaN stays NaN. Params: lowest, highest (infinite for none).
struct Clamp {
  static constexpr bool kIntegers = true;
  double lowest, highest;
  HALFTONE_HD explicit Clamp(const Params& params) : lowest(params.p[0]), highest(params.p[1]) {}
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return min(max(x, V(lowest)), V(highest));
  }
};

struct ClampTensor {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x, V lowest, V highest) const {
    return min(max(x, lowest), highest);
  }
};

/// g inside the bounds and on them, 0 outside. Params: lowest, highest.
struct ClampBackward {
  double lowest, highest;
  HALFTONE_HD explicit ClampBackward(const Params& params) : lowest(params.p[0]), highest(params.p[1]) {}
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return select(both(x >= V(lowest), x <= V(highest)), g, V(0.0));
  }
};

struct ClampTensorBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x, V lowest, V highest) const {
    return select(both(x >= lowest, x <= highest), g, V(0.0));
  }
};

/// Params: what NaN, +infinity and -infinity become.
struct NanToNum {
  static constexpr bool kIntegers = true;
  double nan, above, below;
  HALFTONE_HD explicit NanToNum(const Params& params)
      : nan(params.p[0]), above(params.p[1]), below(params.p[2]) {}
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    if constexpr (kIsInteger<V>) {
      return x;
    } else {
      const V infinite = select(x > V(0.0), V(above), V(below));
      return select(isfinite(x), x, select(isnan(x), V(nan), infinite));
    }
  }
};

struct NanToNumBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return select(isfinite(x), g, V(0.0));
  }
};

#endif  // HALFTONE_FUNCTOR_BODIES
