// Backward formulas of the elementary functions: g is the incoming gradient, x the input, y the output. See
// pointwise_functors.h.

// clang-format off
#define HALFTONE_UNARY_BACKWARD_FUNCTORS(X) \
  X(AbsBackward) X(ReciprocalBackward) X(SquareBackward) X(SqrtBackward) X(RsqrtBackward) \
  X(Exp2Backward) X(Expm1Backward) X(LogBackward) X(Log2Backward) X(Log10Backward) \
  X(Log1pBackward) X(SinBackward) X(CosBackward) X(TanBackward) X(AsinBackward) X(AcosBackward) \
  X(AtanBackward) X(SinhBackward) X(CoshBackward) X(TanhBackward) X(SigmoidBackward) \
  X(ErfBackward) X(ErfcBackward)
// clang-format on

#ifdef HALFTONE_FUNCTOR_BODIES

struct AbsBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g * Sign{}(x);
  }
};

struct ReciprocalBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const {
    return -g * (y * y);
  }
};

struct SquareBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g * (x * V(2.0));
  }
};

struct SqrtBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const {
    return g / (y * V(2.0));
  }
};

struct RsqrtBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const {
    return g * V(-0.5) * (y * y * y);
  }
};

struct Exp2Backward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const {
    return g * (y * V(0.693147180559945309417));
  }
};

struct Expm1Backward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const {
    return g * (y + V(1.0));
  }
};

struct LogBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g / x;
  }
};

struct Log2Backward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g / (x * V(0.693147180559945309417));
  }
};

struct Log10Backward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g / (x * V(2.30258509299404568402));
  }
};

struct Log1pBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g / (x + V(1.0));
  }
};

struct SinBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g * cos(x);
  }
};

struct CosBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return -g * sin(x);
  }
};

struct TanBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const {
    return g * (V(1.0) + y * y);
  }
};

struct AsinBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g / sqrt((V(1.0) - x) * (V(1.0) + x));
  }
};

struct AcosBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return -AsinBackward{}(g, x);
  }
};

struct AtanBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g / (V(1.0) + x * x);
  }
};

struct SinhBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g * cosh(x);
  }
};

struct CoshBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g * sinh(x);
  }
};

struct TanhBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const {
    return g * ((V(1.0) - y) * (V(1.0) + y));
  }
};

struct SigmoidBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const {
    return g * ((V(1.0) - y) * y);
  }
};

/// 2 / sqrt(pi) e^(-x^2), times g.
struct ErfBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g * (V(1.12837916709551257390) * exp(-(x * x)));
  }
};

struct ErfcBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return -ErfBackward{}(g, x);
  }
};

#endif  // HALFTONE_FUNCTOR_BODIES
