// Activation functions and their backward formulas: g is the incoming gradient, x the input, y the output.
// See pointwise_functors.h. Arguments far out on the axis are bounded where infinity would turn 0 * inf into
// NaN.

// clang-format off
#define HALFTONE_ACTIVATION_FUNCTORS(X) \
  X(Relu) X(LeakyRelu) X(Prelu) X(Threshold) X(Gelu) X(GeluTanh) X(Silu) X(Softplus) X(Elu) \
  X(Selu) X(Celu) X(Hardtanh) X(Relu6) X(Hardswish) X(Hardsigmoid) X(Mish) X(LogSigmoid) \
  X(Softsign) X(ReluBackward) X(LeakyReluBackward) X(PreluBackward) X(PreluBackwardWeight) \
  X(ThresholdBackward) X(GeluBackward) X(GeluTanhBackward) X(SiluBackward) X(SoftplusBackward) \
  X(EluBackward) X(SeluBackward) X(CeluBackward) X(HardtanhBackward) X(Relu6Backward) \
  X(HardswishBackward) X(HardsigmoidBackward) X(MishBackward) X(LogSigmoidBackward) \
  X(SoftsignBackward) X(Hardshrink) X(Softshrink) X(ShrinkBackward)
// clang-format on

#ifdef HALFTONE_FUNCTOR_BODIES

struct Relu {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return select(x <= V(0.0), V(0.0), x);
  }
};

struct ReluBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V y) const {
    return select(y > V(0.0), g, V(0.0));
  }
};

/// Params: slope of the negative side.
struct LeakyRelu {
  double slope;
  HALFTONE_HD explicit LeakyRelu(const Params& params) : slope(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return select(x > V(0.0), x, x * V(slope));
  }
};

struct LeakyReluBackward {
  double slope;
  HALFTONE_HD explicit LeakyReluBackward(const Params& params) : slope(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return select(x > V(0.0), g, g * V(slope));
  }
};

/// LeakyRelu with a learned slope, broadcast to x.
struct Prelu {
  template <class V>
  HALFTONE_HD V operator()(V x, V slope) const {
    return select(x > V(0.0), x, x * slope);
  }
};

struct PreluBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x, V slope) const {
    return select(x > V(0.0), g, g * slope);
  }
};

/// The share of one element in the gradient of the slope.
struct PreluBackwardWeight {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return select(x > V(0.0), V(0.0), g * x);
  }
};

/// x above the threshold, else value. Params: threshold, value.
struct Threshold {
  static constexpr bool kIntegers = true;
  double threshold, value;
  HALFTONE_HD explicit Threshold(const Params& params) : threshold(params.p[0]), value(params.p[1]) {}
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return select(x <= V(threshold), V(value), x);
  }
};

struct ThresholdBackward {
  double threshold;
  HALFTONE_HD explicit ThresholdBackward(const Params& params) : threshold(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return select(x <= V(threshold), V(0.0), g);
  }
};

/// x Phi(x), Phi the normal distribution function; erfc keeps the negative tail accurate.
struct Gelu {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    const V bounded = max(x, V(-100.0));
    return bounded * (V(0.5) * erfc(bounded * V(-0.70710678118654752440)));
  }
};

/// Phi(x) + x phi(x), times g; exactly 1 and 0 far out.
struct GeluBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    const V bounded = min(max(x, V(-100.0)), V(100.0));
    const V density = V(0.39894228040143267794) * exp(bounded * bounded * V(-0.5));
    return g * (V(0.5) * erfc(bounded * V(-0.70710678118654752440)) + bounded * density);
  }
};

/// x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3): the tanh form of GELU without its cancellation.
struct GeluTanh {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    const V bounded = max(x, V(-100.0));
    const V cubic = bounded + V(0.044715) * (bounded * bounded * bounded);
    return bounded * sigmoid(V(1.59576912160573071176) * cubic);
  }
};

struct GeluTanhBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    const V bounded = min(max(x, V(-100.0)), V(100.0));
    const V square = bounded * bounded;
    const V twice = V(1.59576912160573071176) * (bounded + V(0.044715) * (square * bounded));
    const V inner = V(1.59576912160573071176) * (V(1.0) + V(3 * 0.044715) * square);
    // The larger of the sigmoids of 2u and -2u is r, their product e r^2: nothing cancels.
    const V e = exp(-abs(twice)), r = V(1.0) / (V(1.0) + e);
    return g * (select(twice < V(0.0), e * r, r) + bounded * (e * r * r * inner));
  }
};

/// x sigmoid(x).
struct Silu {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    const V bounded = max(x, V(-1000.0));
    return bounded * sigmoid(bounded);
  }
};

struct SiluBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    const V bounded = min(max(x, V(-1000.0)), V(1000.0));
    const V e = exp(-abs(bounded)), r = V(1.0) / (V(1.0) + e);  // r and e r are the sigmoids of |x| and -|x|
    const V s = select(bounded < V(0.0), e * r, r), rest = select(bounded < V(0.0), r, e * r);
    return g * (s * (V(1.0) + bounded * rest));
  }
};

/// log(1 + e^(beta x)) / beta, and x itself where beta x > threshold. Params: beta, threshold.
struct Softplus {
  double beta, threshold;
  HALFTONE_HD explicit Softplus(const Params& params) : beta(params.p[0]), threshold(params.p[1]) {}
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    const V scaled = x * V(beta);
    return select(scaled > V(threshold), x, log1p(exp(scaled)) / V(beta));
  }
};

struct SoftplusBackward {
  double beta, threshold;
  HALFTONE_HD explicit SoftplusBackward(const Params& params) : beta(params.p[0]), threshold(params.p[1]) {}
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    const V scaled = x * V(beta);
    return select(scaled > V(threshold), g, g * sigmoid(scaled));
  }
};

/// scale x, and scale alpha (e^(rate x) - 1) where x <= 0. Params: alpha, scale, rate.
struct Elu {
  double alpha, scale, rate;
  HALFTONE_HD explicit Elu(const Params& params)
      : alpha(params.p[0]), scale(params.p[1]), rate(params.p[2]) {}
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return select(x > V(0.0), V(scale) * x, V(scale * alpha) * expm1(V(rate) * x));
  }
};

struct EluBackward {
  double alpha, scale, rate;
  HALFTONE_HD explicit EluBackward(const Params& params)
      : alpha(params.p[0]), scale(params.p[1]), rate(params.p[2]) {}
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g * select(x > V(0.0), V(scale), V(scale * alpha * rate) * exp(V(rate) * x));
  }
};

/// Klambauer et al. 2017.
struct Selu {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return V(1.0507009873554804934193349852946) *
           select(x > V(0.0), x, V(1.6732632423543772848170429916717) * expm1(x));
  }
};

struct SeluBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g * (V(1.0507009873554804934193349852946) *
                select(x > V(0.0), V(1.0), V(1.6732632423543772848170429916717) * exp(x)));
  }
};

/// x, and alpha (e^(x/alpha) - 1) where x <= 0. Params: alpha.
struct Celu {
  double alpha;
  HALFTONE_HD explicit Celu(const Params& params) : alpha(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return select(x > V(0.0), x, V(alpha) * expm1(x / V(alpha)));
  }
};

struct CeluBackward {
  double alpha;
  HALFTONE_HD explicit CeluBackward(const Params& params) : alpha(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return select(x > V(0.0), g, g * exp(x / V(alpha)));
  }
};

/// Params: lowest, highest.
struct Hardtanh {
  static constexpr bool kIntegers = true;
  double lowest, highest;
  HALFTONE_HD explicit Hardtanh(const Params& params) : lowest(params.p[0]), highest(params.p[1]) {}
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return min(max(x, V(lowest)), V(highest));
  }
};

/// 0 on the bounds too, unlike ClampBackward.
struct HardtanhBackward {
  double lowest, highest;
  HALFTONE_HD explicit HardtanhBackward(const Params& params) : lowest(params.p[0]), highest(params.p[1]) {}
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return select(either(x <= V(lowest), x >= V(highest)), V(0.0), g);
  }
};

struct Relu6 {
  static constexpr bool kIntegers = true;
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return min(max(x, V(0.0)), V(6.0));
  }
};

struct Relu6Backward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return select(either(x <= V(0.0), x >= V(6.0)), V(0.0), g);
  }
};

/// x min(max(x + 3, 0), 6) / 6.
struct Hardswish {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return select(x <= V(-3.0), V(0.0), x * (min(max(x + V(3.0), V(0.0)), V(6.0)) / V(6.0)));
  }
};

struct HardswishBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return select(x <= V(-3.0), V(0.0), select(x >= V(3.0), g, g * (x / V(3.0) + V(0.5))));
  }
};

/// min(max(x + 3, 0), 6) / 6.
struct Hardsigmoid {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return min(max(x + V(3.0), V(0.0)), V(6.0)) / V(6.0);
  }
};

struct HardsigmoidBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return select(both(x > V(-3.0), x < V(3.0)), g / V(6.0), V(0.0));
  }
};

/// x tanh(softplus(x)) = x w / (w + 2), w = e^x (e^x + 2).
struct Mish {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    const V e = exp(min(x, V(20.0)));
    const V w = e * (e + V(2.0));
    return select(x > V(20.0), x, max(x, V(-1000.0)) * (w / (w + V(2.0))));
  }
};

struct MishBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    const V bounded = max(x, V(-1000.0));
    const V e = exp(min(bounded, V(20.0)));
    const V w = e * (e + V(2.0)), d = w + V(2.0);
    const V slope = w / d + bounded * (V(4.0) * e * (e + V(1.0)) / (d * d));
    return g * select(x > V(20.0), V(1.0), slope);
  }
};

/// log(sigmoid(x)).
struct LogSigmoid {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return min(x, V(0.0)) - log1p(exp(-abs(x)));
  }
};

struct LogSigmoidBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return g * sigmoid(-x);
  }
};

/// x / (1 + |x|).
struct Softsign {
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return select(isinf(x), Sign{}(x), x / (V(1.0) + abs(x)));
  }
};

struct SoftsignBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    const V d = V(1.0) + abs(x);
    return g / d / d;
  }
};

/// x, and 0 where |x| <= lambda. Params: lambda.
struct Hardshrink {
  double lambda;
  HALFTONE_HD explicit Hardshrink(const Params& params) : lambda(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    return select(abs(x) <= V(lambda), V(0.0), x);
  }
};

/// x moved towards 0 by lambda, at most to 0; NaN stays. Params: lambda.
struct Softshrink {
  double lambda;
  HALFTONE_HD explicit Softshrink(const Params& params) : lambda(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V x) const {
    const V moved = select(x < V(0.0), x + V(lambda), x - V(lambda));
    return select(abs(x) <= V(lambda), V(0.0), moved);
  }
};

/// Of both. Params: lambda.
struct ShrinkBackward {
  double lambda;
  HALFTONE_HD explicit ShrinkBackward(const Params& params) : lambda(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V g, V x) const {
    return select(abs(x) <= V(lambda), V(0.0), g);
  }
};

#endif  // HALFTONE_FUNCTOR_BODIES
