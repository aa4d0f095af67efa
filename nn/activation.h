#pragma once

#include "halftone/nn/functional.h"
#include "halftone/nn/module_holder.h"

namespace halftone::nn {

/// What activations have in common: no parameters, a name to print.
template <class Derived>
class ActivationBase : public Cloneable<Derived> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
};

/// max(x, 0).
class ReLUImpl : public ActivationBase<ReLUImpl> {
 public:
  explicit ReLUImpl(const ReLUOptions& options = {}) : options(options) {}
  Tensor forward(Tensor input) { return functional::relu(std::move(input), options); }
  ReLUOptions options;
};
HALFTONE_MODULE(ReLU);

/// x for x > 0, negative_slope * x elsewhere.
class LeakyReLUImpl : public ActivationBase<LeakyReLUImpl> {
 public:
  explicit LeakyReLUImpl(const LeakyReLUOptions& options = {}) : options(options) {}
  Tensor forward(Tensor input) { return functional::leaky_relu(std::move(input), options); }
  LeakyReLUOptions options;
};
HALFTONE_MODULE(LeakyReLU);

/// x Phi(x), or its tanh approximation.
class GELUImpl : public ActivationBase<GELUImpl> {
 public:
  explicit GELUImpl(GELUOptions options = {}) : options(std::move(options)) {}
  Tensor forward(const Tensor& input) { return functional::gelu(input, options); }
  GELUOptions options;
};
HALFTONE_MODULE(GELU);

/// x sigmoid(x).
class SiLUImpl : public ActivationBase<SiLUImpl> {
 public:
  Tensor forward(const Tensor& input) { return functional::silu(input); }
};
HALFTONE_MODULE(SiLU);

/// x tanh(softplus(x)).
class MishImpl : public ActivationBase<MishImpl> {
 public:
  Tensor forward(const Tensor& input) { return functional::mish(input); }
};
HALFTONE_MODULE(Mish);

/// 1 / (1 + exp(-x)).
class SigmoidImpl : public ActivationBase<SigmoidImpl> {
 public:
  Tensor forward(const Tensor& input) { return sigmoid(input); }
};
HALFTONE_MODULE(Sigmoid);

/// The hyperbolic tangent.
class TanhImpl : public ActivationBase<TanhImpl> {
 public:
  Tensor forward(const Tensor& input) { return tanh(input); }
};
HALFTONE_MODULE(Tanh);

/// log(1 + exp(beta x)) / beta.
class SoftplusImpl : public ActivationBase<SoftplusImpl> {
 public:
  explicit SoftplusImpl(const SoftplusOptions& options = {}) : options(options) {}
  Tensor forward(const Tensor& input) { return functional::softplus(input, options); }
  SoftplusOptions options;
};
HALFTONE_MODULE(Softplus);

/// x for x > 0, alpha (exp(x) - 1) elsewhere.
class ELUImpl : public ActivationBase<ELUImpl> {
 public:
  explicit ELUImpl(const ELUOptions& options = {}) : options(options) {}
  Tensor forward(Tensor input) { return functional::elu(std::move(input), options); }
  ELUOptions options;
};
HALFTONE_MODULE(ELU);

/// Clamps to [min_val, max_val].
class HardtanhImpl : public ActivationBase<HardtanhImpl> {
 public:
  explicit HardtanhImpl(const HardtanhOptions& options = {}) : options(options) {}
  Tensor forward(Tensor input) { return functional::hardtanh(std::move(input), options); }
  HardtanhOptions options;
};
HALFTONE_MODULE(Hardtanh);

/// exp(x) / sum(exp(x)) along dim.
class SoftmaxImpl : public ActivationBase<SoftmaxImpl> {
 public:
  explicit SoftmaxImpl(std::int64_t dim) : options(dim) {}
  explicit SoftmaxImpl(const SoftmaxOptions& options) : options(options) {}
  Tensor forward(const Tensor& input) { return functional::softmax(input, options.dim()); }
  SoftmaxOptions options;
};
HALFTONE_MODULE(Softmax);

/// log(softmax(x)) along dim.
class LogSoftmaxImpl : public ActivationBase<LogSoftmaxImpl> {
 public:
  explicit LogSoftmaxImpl(std::int64_t dim) : options(dim) {}
  explicit LogSoftmaxImpl(const LogSoftmaxOptions& options) : options(options) {}
  Tensor forward(const Tensor& input) { return functional::log_softmax(input, options.dim()); }
  LogSoftmaxOptions options;
};
HALFTONE_MODULE(LogSoftmax);

/// 1.0507 x for x > 0, 1.0507 * 1.6733 (exp(x) - 1) elsewhere (arXiv:1706.02515).
class SELUImpl : public ActivationBase<SELUImpl> {
 public:
  explicit SELUImpl(const SELUOptions& options = {}) : options(options) {}
  Tensor forward(Tensor input) { return functional::selu(std::move(input), options); }
  SELUOptions options;
};
HALFTONE_MODULE(SELU);

/// x for x > 0, alpha (exp(x / alpha) - 1) elsewhere (arXiv:1704.07483).
class CELUImpl : public ActivationBase<CELUImpl> {
 public:
  explicit CELUImpl(const CELUOptions& options = {}) : options(options) {}
  Tensor forward(Tensor input) { return functional::celu(std::move(input), options); }
  CELUOptions options;
};
HALFTONE_MODULE(CELU);

/// min(max(x, 0), 6).
class ReLU6Impl : public ActivationBase<ReLU6Impl> {
 public:
  explicit ReLU6Impl(const ReLU6Options& options = {}) : options(options) {}
  Tensor forward(Tensor input) { return functional::relu6(std::move(input), options); }
  ReLU6Options options;
};
HALFTONE_MODULE(ReLU6);

/// The first half of dim times the sigmoid of the second half.
class GLUImpl : public ActivationBase<GLUImpl> {
 public:
  explicit GLUImpl(const GLUOptions& options = {}) : options(options) {}
  Tensor forward(const Tensor& input) { return functional::glu(input, options); }
  GLUOptions options;
};
HALFTONE_MODULE(GLU);

/// x, and 0 where |x| <= lambda.
class HardshrinkImpl : public ActivationBase<HardshrinkImpl> {
 public:
  explicit HardshrinkImpl(const HardshrinkOptions& options = {}) : options(options) {}
  Tensor forward(const Tensor& input) { return functional::hardshrink(input, options); }
  HardshrinkOptions options;
};
HALFTONE_MODULE(Hardshrink);

/// x moved towards 0 by lambda, at most to 0.
class SoftshrinkImpl : public ActivationBase<SoftshrinkImpl> {
 public:
  explicit SoftshrinkImpl(const SoftshrinkOptions& options = {}) : options(options) {}
  Tensor forward(const Tensor& input) { return functional::softshrink(input, options); }
  SoftshrinkOptions options;
};
HALFTONE_MODULE(Softshrink);

/// x for x > threshold, value elsewhere.
class ThresholdImpl : public ActivationBase<ThresholdImpl> {
 public:
  ThresholdImpl(double threshold, double value) : options(threshold, value) {}
  explicit ThresholdImpl(const ThresholdOptions& options) : options(options) {}
  Tensor forward(Tensor input) { return functional::threshold(std::move(input), options); }
  ThresholdOptions options;
};
HALFTONE_MODULE(Threshold);

/// min(max(x + 3, 0), 6) / 6.
class HardsigmoidImpl : public ActivationBase<HardsigmoidImpl> {
 public:
  Tensor forward(const Tensor& input) { return halftone::hardsigmoid(input); }
};
HALFTONE_MODULE(Hardsigmoid);

/// x min(max(x + 3, 0), 6) / 6.
class HardswishImpl : public ActivationBase<HardswishImpl> {
 public:
  Tensor forward(const Tensor& input) { return halftone::hardswish(input); }
};
HALFTONE_MODULE(Hardswish);

/// log(sigmoid(x)).
class LogSigmoidImpl : public ActivationBase<LogSigmoidImpl> {
 public:
  Tensor forward(const Tensor& input) { return log_sigmoid(input); }
};
HALFTONE_MODULE(LogSigmoid);

/// x / (1 + |x|).
class SoftsignImpl : public ActivationBase<SoftsignImpl> {
 public:
  Tensor forward(const Tensor& input) { return halftone::softsign(input); }
};
HALFTONE_MODULE(Softsign);

/// x - tanh(x).
class TanhshrinkImpl : public ActivationBase<TanhshrinkImpl> {
 public:
  Tensor forward(const Tensor& input) { return functional::tanhshrink(input); }
};
HALFTONE_MODULE(Tanhshrink);

/// leaky_relu whose slopes are drawn in training.
class RReLUImpl : public ActivationBase<RReLUImpl> {
 public:
  explicit RReLUImpl(const RReLUOptions& options = {}) : options(options) {}
  Tensor forward(Tensor input);
  RReLUOptions options;
};
HALFTONE_MODULE(RReLU);

/// x for x > 0, weight * x elsewhere (arXiv:1502.01852).
class PReLUImpl : public ActivationBase<PReLUImpl> {
 public:
  explicit PReLUImpl(const PReLUOptions& options = {});
  void reset() override;
  Tensor forward(const Tensor& input) { return functional::prelu(input, weight); }
  PReLUOptions options;
  Tensor weight;  ///< (num_parameters)
};
HALFTONE_MODULE(PReLU);

/// softmax of -x along dim.
class SoftminImpl : public ActivationBase<SoftminImpl> {
 public:
  explicit SoftminImpl(std::int64_t dim) : options(dim) {}
  explicit SoftminImpl(const SoftminOptions& options) : options(options) {}
  Tensor forward(const Tensor& input) { return functional::softmin(input, options.dim()); }
  SoftminOptions options;
};
HALFTONE_MODULE(Softmin);

/// softmax over the channels of (N, C, H, W) or (C, H, W).
class Softmax2dImpl : public ActivationBase<Softmax2dImpl> {
 public:
  Tensor forward(const Tensor& input);
};
HALFTONE_MODULE(Softmax2d);

}  // namespace halftone::nn
