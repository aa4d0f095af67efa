// The arithmetic of recurrent cells between their matrix products: a gate is the sum that goes into a
// sigmoid, g an incoming gradient. See pointwise_functors.h.

// clang-format off
#define HALFTONE_RECURRENT_FUNCTORS(X) \
  X(LstmCell) X(LstmCellBackward) X(SigmoidTimesTanh) X(SigmoidTimes) X(SigmoidTimesTanhBackwardGate) \
  X(SigmoidTimesTanhBackward) X(SigmoidTimesBackwardGate) X(GruCandidate) X(GruHidden) \
  X(GruCandidateBackward) X(GruUpdateGateBackward)
// clang-format on

#ifdef HALFTONE_FUNCTOR_BODIES

/// The derivative 1 - tanh(x)^2, also where tanh(x) is next to 1.
template <class V>
HALFTONE_HD V tanh_slope(V x) {
  const V twice = x + x;
  return V(4.0) * (sigmoid(twice) * sigmoid(-twice));
}

/// The new cell state sigmoid(forget) c + sigmoid(input) tanh(candidate).
struct LstmCell {
  template <class V>
  HALFTONE_HD V operator()(V input, V forget, V candidate, V c) const {
    return sigmoid(forget) * c + sigmoid(input) * tanh(candidate);
  }
};

/// The gradient of the new cell state c: what arrives there, and what comes through sigmoid(output) tanh(c).
struct LstmCellBackward {
  template <class V>
  HALFTONE_HD V operator()(V grad_c, V grad_h, V output, V c) const {
    return grad_c + grad_h * (sigmoid(output) * tanh_slope(c));
  }
};

struct SigmoidTimesTanh {
  template <class V>
  HALFTONE_HD V operator()(V gate, V x) const {
    return sigmoid(gate) * tanh(x);
  }
};

struct SigmoidTimes {
  template <class V>
  HALFTONE_HD V operator()(V gate, V x) const {
    return sigmoid(gate) * x;
  }
};

struct SigmoidTimesTanhBackwardGate {
  template <class V>
  HALFTONE_HD V operator()(V g, V gate, V x) const {
    return g * (tanh(x) * (sigmoid(gate) * sigmoid(-gate)));
  }
};

struct SigmoidTimesTanhBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V gate, V x) const {
    return g * (sigmoid(gate) * tanh_slope(x));
  }
};

struct SigmoidTimesBackwardGate {
  template <class V>
  HALFTONE_HD V operator()(V g, V gate, V x) const {
    return g * (x * (sigmoid(gate) * sigmoid(-gate)));
  }
};

/// What the candidate n is the tanh of.
struct GruCandidate {
  template <class V>
  HALFTONE_HD V operator()(V reset, V x, V h) const {
    return x + sigmoid(reset) * h;
  }
};

/// The new state n + sigmoid(update) (h - n).
struct GruHidden {
  template <class V>
  HALFTONE_HD V operator()(V update, V candidate, V h) const {
    const V n = tanh(candidate);
    return n + sigmoid(update) * (h - n);
  }
};

struct GruCandidateBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V update, V candidate) const {
    return g * (sigmoid(-update) * tanh_slope(candidate));
  }
};

struct GruUpdateGateBackward {
  template <class V>
  HALFTONE_HD V operator()(V g, V update, V candidate, V h) const {
    return g * ((h - tanh(candidate)) * (sigmoid(update) * sigmoid(-update)));
  }
};

#endif  // HALFTONE_FUNCTOR_BODIES
