#pragma once

#include "halftone/nn/functional.h"
#include "halftone/nn/module_holder.h"

namespace halftone::nn {

/// A loss as a module: forward(input, target) is the function of functional.h with the module's options.
/// Tensors among the options are registered as buffers, so that they move with the module.
template <class Derived, class Options>
class LossBase : public Cloneable<Derived> {
 public:
  explicit LossBase(Options loss_options) : options(std::move(loss_options)) { reset(); }
  void reset() override {
    if constexpr (requires { options.weight(); }) own("weight", options.weight());
    if constexpr (requires { options.pos_weight(); }) own("pos_weight", options.pos_weight());
  }
  void pretty_print(std::ostream& stream) const override;
  Options options;

 private:
  /// A handle of this module's own on the data, so that converting a copy of the module leaves the original
  /// alone.
  void own(const char* name, Tensor& tensor) {
    if (tensor.defined()) tensor = tensor.detach();
    this->register_buffer(name, tensor);
  }
};

/// Logits against classes.
class CrossEntropyLossImpl : public LossBase<CrossEntropyLossImpl, CrossEntropyLossOptions> {
 public:
  explicit CrossEntropyLossImpl(CrossEntropyLossOptions options = {}) : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& input, const Tensor& target) {
    return functional::cross_entropy(input, target, options);
  }
};
HALFTONE_MODULE(CrossEntropyLoss);

/// Log-probabilities against classes.
class NLLLossImpl : public LossBase<NLLLossImpl, NLLLossOptions> {
 public:
  explicit NLLLossImpl(NLLLossOptions options = {}) : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& input, const Tensor& target) {
    return functional::nll_loss(input, target, options);
  }
};
HALFTONE_MODULE(NLLLoss);

/// (x - y)^2.
class MSELossImpl : public LossBase<MSELossImpl, MSELossOptions> {
 public:
  explicit MSELossImpl(MSELossOptions options = {}) : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& input, const Tensor& target) {
    return functional::mse_loss(input, target, options);
  }
};
HALFTONE_MODULE(MSELoss);

/// |x - y|.
class L1LossImpl : public LossBase<L1LossImpl, L1LossOptions> {
 public:
  explicit L1LossImpl(L1LossOptions options = {}) : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& input, const Tensor& target) {
    return functional::l1_loss(input, target, options);
  }
};
HALFTONE_MODULE(L1Loss);

/// Quadratic near zero, |x - y| beyond.
class SmoothL1LossImpl : public LossBase<SmoothL1LossImpl, SmoothL1LossOptions> {
 public:
  explicit SmoothL1LossImpl(SmoothL1LossOptions options = {}) : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& input, const Tensor& target) {
    return functional::smooth_l1_loss(input, target, options);
  }
};
HALFTONE_MODULE(SmoothL1Loss);

/// Quadratic near zero, linear beyond.
class HuberLossImpl : public LossBase<HuberLossImpl, HuberLossOptions> {
 public:
  explicit HuberLossImpl(HuberLossOptions options = {}) : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& input, const Tensor& target) {
    return functional::huber_loss(input, target, options);
  }
};
HALFTONE_MODULE(HuberLoss);

/// Probabilities against 0 .. 1.
class BCELossImpl : public LossBase<BCELossImpl, BCELossOptions> {
 public:
  explicit BCELossImpl(BCELossOptions options = {}) : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& input, const Tensor& target) {
    return functional::binary_cross_entropy(input, target, options);
  }
};
HALFTONE_MODULE(BCELoss);

/// Logits against 0 .. 1.
class BCEWithLogitsLossImpl : public LossBase<BCEWithLogitsLossImpl, BCEWithLogitsLossOptions> {
 public:
  explicit BCEWithLogitsLossImpl(BCEWithLogitsLossOptions options = {}) : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& input, const Tensor& target) {
    return functional::binary_cross_entropy_with_logits(input, target, options);
  }
};
HALFTONE_MODULE(BCEWithLogitsLoss);

/// Log-probabilities against a distribution.
class KLDivLossImpl : public LossBase<KLDivLossImpl, KLDivLossOptions> {
 public:
  explicit KLDivLossImpl(KLDivLossOptions options = {}) : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& input, const Tensor& target) {
    return functional::kl_div(input, target, options);
  }
};
HALFTONE_MODULE(KLDivLoss);

}  // namespace halftone::nn
