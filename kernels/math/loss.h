// Losses of one element, x the prediction and t the target, and their gradients for x, times g. The mean or
// sum is taken elsewhere. See pointwise_functors.h.

// clang-format off
#define HALFTONE_LOSS_FUNCTORS(X) \
  X(Mse) X(L1) X(SmoothL1) X(Huber) X(Bce) X(BceWithLogits) X(BceWithLogitsPosWeight) X(KlDiv) \
  X(KlDivLogTarget) X(SoftMargin) X(PoissonNll) X(PoissonNllLogInput) X(MseBackward) X(L1Backward) X(SmoothL1Backward) X(HuberBackward) \
  X(BceBackward) X(BceWithLogitsBackward) X(BceWithLogitsPosWeightBackward) X(KlDivBackward) \
  X(KlDivLogTargetBackward) X(SoftMarginBackward) X(PoissonNllBackward) X(PoissonNllLogInputBackward)
// clang-format on

#ifdef HALFTONE_FUNCTOR_BODIES

struct Mse {
  template <class V>
  HALFTONE_HD V operator()(V x, V t) const {
    return (x - t) * (x - t);
  }
};

struct MseBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x, V t) const {
    return g * ((x - t) * V(2.0));
  }
};

struct L1 {
  template <class V>
  HALFTONE_HD V operator()(V x, V t) const {
    return abs(x - t);
  }
};

struct L1Backward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x, V t) const {
    return g * Sign{}(x - t);
  }
};

/// d^2 / (2 beta) for |d| < beta, else |d| - beta/2. Params: beta.
struct SmoothL1 {
  double beta;
  HALFTONE_HD explicit SmoothL1(const Params& params) : beta(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V x, V t) const {
    const V d = abs(x - t);
    return select(d < V(beta), V(0.5) * d * d / V(beta), d - V(0.5 * beta));
  }
};

struct SmoothL1Backward {
  double beta;
  HALFTONE_HD explicit SmoothL1Backward(const Params& params) : beta(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V g, V x, V t) const {
    const V d = x - t;
    return g * select(abs(d) < V(beta), d / V(beta), Sign{}(d));
  }
};

/// d^2 / 2 for |d| <= delta, else delta (|d| - delta/2). Params: delta.
struct Huber {
  double delta;
  HALFTONE_HD explicit Huber(const Params& params) : delta(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V x, V t) const {
    const V d = abs(x - t);
    return select(d <= V(delta), V(0.5) * d * d, V(delta) * (d - V(0.5 * delta)));
  }
};

struct HuberBackward {
  double delta;
  HALFTONE_HD explicit HuberBackward(const Params& params) : delta(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V g, V x, V t) const {
    return g * min(max(x - t, V(-delta)), V(delta));
  }
};

/// -(t log x + (1 - t) log(1 - x)), each logarithm bounded below by -100 as in PyTorch.
struct Bce {
  template <class V>
  HALFTONE_HD V operator()(V x, V t) const {
    const V hit = max(log(x), V(-100.0)), miss = max(log1p(-x), V(-100.0));
    return (t - V(1.0)) * miss - t * hit;
  }
};

struct BceBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x, V t) const {
    return g * ((x - t) / max((V(1.0) - x) * x, V(1e-12)));
  }
};

/// log(1 + e^-x), for every x.
template <class V>
HALFTONE_HD V softplus_of_minus(V x) {
  return log1p(exp(-abs(x))) + max(-x, V(0.0));
}

/// Bce of sigmoid(x): (1 - t) x + log(1 + e^-x).
struct BceWithLogits {
  template <class V>
  HALFTONE_HD V operator()(V x, V t) const {
    return (V(1.0) - t) * x + softplus_of_minus(x);
  }
};

struct BceWithLogitsBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x, V t) const {
    return g * (sigmoid(x) - t);
  }
};

/// The same with the positive class weighted: (1 - t) x + (1 + (weight - 1) t) log(1 + e^-x).
struct BceWithLogitsPosWeight {
  template <class V>
  HALFTONE_HD V operator()(V x, V t, V weight) const {
    return (V(1.0) - t) * x + (V(1.0) + (weight - V(1.0)) * t) * softplus_of_minus(x);
  }
};

struct BceWithLogitsPosWeightBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x, V t, V weight) const {
    return g * ((V(1.0) - t) - (V(1.0) + (weight - V(1.0)) * t) * sigmoid(-x));
  }
};

/// t (log t - x), x a logarithm; 0 where t = 0.
struct KlDiv {
  template <class V>
  HALFTONE_HD V operator()(V x, V t) const {
    return select(t == V(0.0), V(0.0), t * log(t)) - t * x;
  }
};

struct KlDivBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V t) const {
    return -g * t;
  }
};

/// e^t (t - x), both logarithms.
struct KlDivLogTarget {
  template <class V>
  HALFTONE_HD V operator()(V x, V t) const {
    return exp(t) * (t - x);
  }
};

struct KlDivLogTargetBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V t) const {
    return -g * exp(t);
  }
};

/// log(1 + e^(-t x)).
struct SoftMargin {
  template <class V>
  HALFTONE_HD V operator()(V x, V t) const {
    return softplus_of_minus(t * x);
  }
};

struct SoftMarginBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x, V t) const {
    return -g * sigmoid(-(t * x)) * t;
  }
};

/// x - t log(x + eps), x a rate. Params: eps.
struct PoissonNll {
  double eps;
  HALFTONE_HD explicit PoissonNll(const Params& params) : eps(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V x, V t) const {
    return x - t * log(x + V(eps));
  }
};

struct PoissonNllBackward {
  double eps;
  HALFTONE_HD explicit PoissonNllBackward(const Params& params) : eps(params.p[0]) {}
  template <class V>
  HALFTONE_HD V operator()(V g, V x, V t) const {
    return g - g * t / (x + V(eps));
  }
};

/// e^x - t x, x the logarithm of a rate.
struct PoissonNllLogInput {
  template <class V>
  HALFTONE_HD V operator()(V x, V t) const {
    return exp(x) - t * x;
  }
};

struct PoissonNllLogInputBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V x, V t) const {
    return g * exp(x) - g * t;
  }
};

#endif  // HALFTONE_FUNCTOR_BODIES
