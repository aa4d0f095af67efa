// Update rules of the optimizers: one functor per formula, generic in the vector type V (F32, float or
// double). A rule changes the weight `w` and its moments, given the true gradient `g`. The formulas are
// PyTorch's, in PyTorch's order of operations except where a rule says otherwise, without fused
// multiply-adds. Pasted into each ISA namespace like pointwise_functors.h: no include guard.

#ifdef HALFTONE_FUNCTOR_BODIES

/// Stochastic gradient descent with momentum (Sutskever et al. 2013, as PyTorch's SGD). Moment: the velocity.
struct SgdRule {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, first;
  HALFTONE_HD explicit SgdRule(const UpdateNumbers& n)
      : lr(n.lr),
        momentum(n.a),
        dampening(n.b),
        weight_decay(n.weight_decay),
        nesterov(n.flag),
        first(n.first) {}

  template <class V>
  HALFTONE_HD void operator()(V& w, V g, V& velocity, V&, V&) const {
    if (weight_decay != 0) g = g + V(weight_decay) * w;
    if (momentum != 0) {
      velocity = first ? g : V(momentum) * velocity + V(1 - dampening) * g;
      g = nesterov ? g + V(momentum) * velocity : velocity;
    }
    w = w - V(lr) * g;
  }
};

/// Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019: `decoupled` decay). Moments: m, v,
/// largest v. The second moment's correction stands in eps and the step size, as in section 2 of the paper:
/// one division per element less.
struct AdamRule {
  double decay, weight_decay, one_minus_beta1, beta2, one_minus_beta2, eps, step_size;
  bool amsgrad;
  HALFTONE_HD explicit AdamRule(const UpdateNumbers& n)
      : decay(n.decoupled ? 1 - n.lr * n.weight_decay : 1),
        weight_decay(n.decoupled ? 0 : n.weight_decay),
        one_minus_beta1(1 - n.a),
        beta2(n.b),
        one_minus_beta2(1 - n.b),
        eps(n.eps * n.correction2_sqrt),
        step_size(n.lr * n.correction2_sqrt / n.correction1),
        amsgrad(n.flag) {}

  template <class V>
  HALFTONE_HD void operator()(V& w, V g, V& m, V& v, V& largest) const {
    if (decay != 1) w = w * V(decay);
    if (weight_decay != 0) g = g + V(weight_decay) * w;
    m = m + V(one_minus_beta1) * (g - m);
    v = v * V(beta2) + V(one_minus_beta2) * (g * g);
    V second = v;
    if (amsgrad) {
      largest = max(largest, v);
      second = largest;
    }
    w = w - V(step_size) * m / (sqrt(second) + V(eps));
  }
};

/// RMSprop (Tieleman and Hinton 2012; Graves 2013 when `centered`). Moments: mean square, velocity, mean.
struct RmspropRule {
  double lr, alpha, one_minus_alpha, eps, weight_decay, momentum;
  bool centered;
  HALFTONE_HD explicit RmspropRule(const UpdateNumbers& n)
      : lr(n.lr),
        alpha(n.a),
        one_minus_alpha(1 - n.a),
        eps(n.eps),
        weight_decay(n.weight_decay),
        momentum(n.b),
        centered(n.flag) {}

  template <class V>
  HALFTONE_HD void operator()(V& w, V g, V& square, V& velocity, V& mean) const {
    if (weight_decay != 0) g = g + V(weight_decay) * w;
    square = square * V(alpha) + V(one_minus_alpha) * (g * g);
    V second = square;
    if (centered) {
      mean = mean + V(one_minus_alpha) * (g - mean);
      second = square - mean * mean;
    }
    V step = g / (sqrt(second) + V(eps));
    if (momentum > 0) {
      velocity = velocity * V(momentum) + step;
      step = velocity;
    }
    w = w - V(lr) * step;
  }
};

/// Adagrad (Duchi, Hazan and Singer 2011). Moment: the sum of squares. `lr` is already decayed.
struct AdagradRule {
  double lr, eps, weight_decay;
  HALFTONE_HD explicit AdagradRule(const UpdateNumbers& n)
      : lr(n.lr), eps(n.eps), weight_decay(n.weight_decay) {}

  template <class V>
  HALFTONE_HD void operator()(V& w, V g, V& sum, V&, V&) const {
    if (weight_decay != 0) g = g + V(weight_decay) * w;
    sum = sum + g * g;
    w = w - V(lr) * (g / (sqrt(sum) + V(eps)));
  }
};

/// Adadelta (Zeiler 2012). Moments: mean square of the gradient, mean square of the change.
struct AdadeltaRule {
  double lr, rho, one_minus_rho, eps, weight_decay;
  HALFTONE_HD explicit AdadeltaRule(const UpdateNumbers& n)
      : lr(n.lr), rho(n.a), one_minus_rho(1 - n.a), eps(n.eps), weight_decay(n.weight_decay) {}

  template <class V>
  HALFTONE_HD void operator()(V& w, V g, V& square, V& change, V&) const {
    if (weight_decay != 0) g = g + V(weight_decay) * w;
    square = square * V(rho) + V(one_minus_rho) * (g * g);
    const V delta = sqrt(change + V(eps)) / sqrt(square + V(eps)) * g;
    change = change * V(rho) + V(one_minus_rho) * (delta * delta);
    w = w - V(lr) * delta;
  }
};

/// Adamax (Kingma and Ba 2015, section 7.1). Moments: m, largest decayed magnitude.
struct AdamaxRule {
  double one_minus_beta1, beta2, eps, weight_decay, step_size;
  HALFTONE_HD explicit AdamaxRule(const UpdateNumbers& n)
      : one_minus_beta1(1 - n.a),
        beta2(n.b),
        eps(n.eps),
        weight_decay(n.weight_decay),
        step_size(n.lr / n.correction1) {}

  template <class V>
  HALFTONE_HD void operator()(V& w, V g, V& m, V& largest, V&) const {
    if (weight_decay != 0) g = g + V(weight_decay) * w;
    m = m + V(one_minus_beta1) * (g - m);
    largest = max(largest * V(beta2), abs(g) + V(eps));
    w = w - V(step_size) * m / largest;
  }
};

/// NAdam (Dozat 2016). Moments: m, v.
struct NadamRule {
  double decay, weight_decay, one_minus_beta1, beta2, one_minus_beta2, eps, correction2_sqrt;
  double gradient_step, moment_step;
  HALFTONE_HD explicit NadamRule(const UpdateNumbers& n)
      : decay(n.decoupled ? 1 - n.lr * n.weight_decay : 1),
        weight_decay(n.decoupled ? 0 : n.weight_decay),
        one_minus_beta1(1 - n.a),
        beta2(n.b),
        one_minus_beta2(1 - n.b),
        eps(n.eps),
        correction2_sqrt(n.correction2_sqrt),
        gradient_step(n.lr * n.gradient_share),
        moment_step(n.lr * n.moment_share) {}

  template <class V>
  HALFTONE_HD void operator()(V& w, V g, V& m, V& v, V&) const {
    if (decay != 1) w = w * V(decay);
    if (weight_decay != 0) g = g + V(weight_decay) * w;
    m = m + V(one_minus_beta1) * (g - m);
    v = v * V(beta2) + V(one_minus_beta2) * (g * g);
    const V denominator = sqrt(v) / V(correction2_sqrt) + V(eps);
    w = w - V(gradient_step) * g / denominator;
    w = w - V(moment_step) * m / denominator;
  }
};

/// RAdam (Liu et al. 2020). Moments: m, v. While the variance cannot be rectified, it takes no part.
struct RadamRule {
  double decay, weight_decay, one_minus_beta1, beta2, one_minus_beta2, eps, step_size, rectified;
  HALFTONE_HD explicit RadamRule(const UpdateNumbers& n)
      : decay(n.decoupled ? 1 - n.lr * n.weight_decay : 1),
        weight_decay(n.decoupled ? 0 : n.weight_decay),
        one_minus_beta1(1 - n.a),
        beta2(n.b),
        one_minus_beta2(1 - n.b),
        eps(n.eps),
        step_size(n.lr / n.correction1),
        rectified(n.rectification * n.correction2_sqrt) {}

  template <class V>
  HALFTONE_HD void operator()(V& w, V g, V& m, V& v, V&) const {
    if (decay != 1) w = w * V(decay);
    if (weight_decay != 0) g = g + V(weight_decay) * w;
    m = m + V(one_minus_beta1) * (g - m);
    v = v * V(beta2) + V(one_minus_beta2) * (g * g);
    V step = V(step_size) * m;
    if (rectified != 0) step = step * V(rectified) / (sqrt(v) + V(eps));
    w = w - step;
  }
};

/// Lion (Chen et al. 2023): the sign of an interpolation between moment and gradient. Moment: m.
struct LionRule {
  double lr, decay, one_minus_beta1, one_minus_beta2;
  HALFTONE_HD explicit LionRule(const UpdateNumbers& n)
      : lr(n.lr), decay(1 - n.lr * n.weight_decay), one_minus_beta1(1 - n.a), one_minus_beta2(1 - n.b) {}

  template <class V>
  HALFTONE_HD void operator()(V& w, V g, V& m, V&, V&) const {
    if (decay != 1) w = w * V(decay);
    const V direction = m + V(one_minus_beta1) * (g - m);
    const V sign = select(direction > V(0.0), V(1.0), select(direction < V(0.0), V(-1.0), direction));
    w = w - V(lr) * sign;
    m = m + V(one_minus_beta2) * (g - m);
  }
};

#endif  // HALFTONE_FUNCTOR_BODIES
