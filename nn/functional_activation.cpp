#include "halftone/autograd/grad_mode.h"
#include "halftone/nn/functional.h"

namespace halftone::nn::functional {

Tensor relu6(Tensor input, const ReLU6FuncOptions& options) {
  return options.inplace() ? relu6_(input) : halftone::relu6(input);
}

Tensor elu(Tensor input, const ELUFuncOptions& options) {
  return options.inplace() ? elu_(input, options.alpha()) : halftone::elu(input, options.alpha());
}

Tensor hardtanh(Tensor input, const HardtanhFuncOptions& options) {
  if (options.inplace()) return hardtanh_(input, options.min_val(), options.max_val());
  return halftone::hardtanh(input, options.min_val(), options.max_val());
}

Tensor softmin(const Tensor& input, const SoftminFuncOptions& options) {
  return halftone::softmax(neg(input), options.dim(), options.dtype());
}

Tensor selu(Tensor input, const SELUFuncOptions& options) {
  return options.inplace() ? selu_(input) : halftone::selu(input);
}

Tensor celu(Tensor input, const CELUFuncOptions& options) {
  return options.inplace() ? celu_(input, options.alpha()) : halftone::celu(input, options.alpha());
}

Tensor prelu(const Tensor& input, const Tensor& weight) { return halftone::prelu(input, weight); }

Tensor rrelu(Tensor input, const RReLUFuncOptions& options) {
  if (options.inplace()) return rrelu_(input, options.lower(), options.upper(), options.training());
  return halftone::rrelu(input, options.lower(), options.upper(), options.training());
}

Tensor glu(const Tensor& input, const GLUFuncOptions& options) { return halftone::glu(input, options.dim()); }

Tensor hardshrink(const Tensor& input, const HardshrinkFuncOptions& options) {
  return halftone::hardshrink(input, options.lambda());
}

Tensor softshrink(const Tensor& input, const SoftshrinkFuncOptions& options) {
  return halftone::softshrink(input, options.lambda());
}

Tensor threshold(Tensor input, const ThresholdFuncOptions& options) {
  if (options.inplace()) return threshold_(input, options.threshold(), options.value());
  return halftone::threshold(input, options.threshold(), options.value());
}

Tensor hardsigmoid(const Tensor& input) { return halftone::hardsigmoid(input); }
Tensor hardswish(const Tensor& input) { return halftone::hardswish(input); }
Tensor softsign(const Tensor& input) { return halftone::softsign(input); }
Tensor tanhshrink(const Tensor& input) { return input - tanh(input); }

Tensor gumbel_softmax(const Tensor& logits, const GumbelSoftmaxFuncOptions& options) {
  if (!(options.tau() > 0)) fail("gumbel_softmax", "tau must be positive, got ", options.tau());
  Tensor gumbel = empty_like(logits);
  {
    const NoGradGuard no_grad;
    uniform_(gumbel, 1e-20, 1);
    gumbel = neg(log(neg(log(gumbel))));
  }
  const Tensor soft = halftone::softmax((logits + gumbel) / options.tau(), options.dim());
  if (!options.hard()) return soft;
  // The value of the one-hot vector, the gradient of the soft one.
  const Tensor at = argmax(soft, options.dim(), true);
  const Tensor hard = scatter(zeros_like(soft), options.dim(), at, 1);
  return hard - soft.detach() + soft;
}

namespace {

void check_probability(const char* op, double p) {
  if (!(p >= 0 && p <= 1)) fail(op, "p must be in [0, 1], got ", p);
}

}  // namespace

Tensor dropout2d(Tensor input, const Dropout2dFuncOptions& options) {
  check_probability("dropout2d", options.p());
  if (options.inplace()) return feature_dropout_(input, options.p(), options.training());
  return feature_dropout(input, options.p(), options.training());
}

Tensor dropout3d(Tensor input, const Dropout3dFuncOptions& options) {
  return dropout2d(std::move(input), options);
}

Tensor alpha_dropout(Tensor input, const AlphaDropoutFuncOptions& options) {
  check_probability("alpha_dropout", options.p());
  if (options.inplace()) return alpha_dropout_(input, options.p(), options.training());
  return halftone::alpha_dropout(input, options.p(), options.training());
}

Tensor feature_alpha_dropout(Tensor input, const FeatureAlphaDropoutFuncOptions& options) {
  check_probability("feature_alpha_dropout", options.p());
  if (options.inplace()) return feature_alpha_dropout_(input, options.p(), options.training());
  return halftone::feature_alpha_dropout(input, options.p(), options.training());
}

}  // namespace halftone::nn::functional
