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
  Tensor forward(const Tensor& input) { return functional::elu(input, options); }
  ELUOptions options;
};
HALFTONE_MODULE(ELU);

/// Clamps to [min_val, max_val].
class HardtanhImpl : public ActivationBase<HardtanhImpl> {
 public:
  explicit HardtanhImpl(const HardtanhOptions& options = {}) : options(options) {}
  Tensor forward(const Tensor& input) { return functional::hardtanh(input, options); }
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

}  // namespace halftone::nn
