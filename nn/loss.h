#pragma once

#include "halftone/nn/functional.h"
#include "halftone/nn/module_holder.h"

namespace halftone::nn {

/// A loss as a module: forward(input, target) is the function of functional.h with the module's options.
/// Tensors among the options are registered as buffers, so that they move with the module.
template <class Derived, class Options>
class LossBase : public Cloneable<Derived> {
 public:
  explicit LossBase(Options options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  /// What the loss was made with.
  Options options;
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

/// Distances against 1 (similar) and -1.
class HingeEmbeddingLossImpl : public LossBase<HingeEmbeddingLossImpl, HingeEmbeddingLossOptions> {
 public:
  explicit HingeEmbeddingLossImpl(HingeEmbeddingLossOptions options = {}) : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& input, const Tensor& target) {
    return functional::hinge_embedding_loss(input, target, options);
  }
};
HALFTONE_MODULE(HingeEmbeddingLoss);

/// Hinge loss of scores against one class each.
class MultiMarginLossImpl : public LossBase<MultiMarginLossImpl, MultiMarginLossOptions> {
 public:
  explicit MultiMarginLossImpl(MultiMarginLossOptions options = {}) : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& input, const Tensor& target) {
    return functional::multi_margin_loss(input, target, options);
  }
};
HALFTONE_MODULE(MultiMarginLoss);

/// Angles of two batches of vectors against 1 (similar) and -1.
class CosineEmbeddingLossImpl : public LossBase<CosineEmbeddingLossImpl, CosineEmbeddingLossOptions> {
 public:
  explicit CosineEmbeddingLossImpl(CosineEmbeddingLossOptions options = {}) : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target) {
    return functional::cosine_embedding_loss(input1, input2, target, options);
  }
};
HALFTONE_MODULE(CosineEmbeddingLoss);

/// Hinge loss of scores against several classes each.
class MultiLabelMarginLossImpl : public LossBase<MultiLabelMarginLossImpl, MultiLabelMarginLossOptions> {
 public:
  explicit MultiLabelMarginLossImpl(MultiLabelMarginLossOptions options = {})
      : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& input, const Tensor& target) {
    return functional::multilabel_margin_loss(input, target, options);
  }
};
HALFTONE_MODULE(MultiLabelMarginLoss);

/// log(1 + exp(-target x)).
class SoftMarginLossImpl : public LossBase<SoftMarginLossImpl, SoftMarginLossOptions> {
 public:
  explicit SoftMarginLossImpl(SoftMarginLossOptions options = {}) : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& input, const Tensor& target) {
    return functional::soft_margin_loss(input, target, options);
  }
};
HALFTONE_MODULE(SoftMarginLoss);

/// Logits against 0 and 1, averaged over the classes.
class MultiLabelSoftMarginLossImpl
    : public LossBase<MultiLabelSoftMarginLossImpl, MultiLabelSoftMarginLossOptions> {
 public:
  explicit MultiLabelSoftMarginLossImpl(MultiLabelSoftMarginLossOptions options = {})
      : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& input, const Tensor& target) {
    return functional::multilabel_soft_margin_loss(input, target, options);
  }
};
HALFTONE_MODULE(MultiLabelSoftMarginLoss);

/// How much nearer the anchor is to the positive than to the negative.
class TripletMarginLossImpl : public LossBase<TripletMarginLossImpl, TripletMarginLossOptions> {
 public:
  explicit TripletMarginLossImpl(TripletMarginLossOptions options = {}) : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative) {
    return functional::triplet_margin_loss(anchor, positive, negative, options);
  }
};
HALFTONE_MODULE(TripletMarginLoss);

/// TripletMarginLoss with any distance.
class TripletMarginWithDistanceLossImpl
    : public LossBase<TripletMarginWithDistanceLossImpl, TripletMarginWithDistanceLossOptions> {
 public:
  explicit TripletMarginWithDistanceLossImpl(TripletMarginWithDistanceLossOptions options = {})
      : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative) {
    return functional::triplet_margin_with_distance_loss(anchor, positive, negative, options);
  }
};
HALFTONE_MODULE(TripletMarginWithDistanceLoss);

/// Counts against their rates.
class PoissonNLLLossImpl : public LossBase<PoissonNLLLossImpl, PoissonNLLLossOptions> {
 public:
  explicit PoissonNLLLossImpl(PoissonNLLLossOptions options = {}) : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& input, const Tensor& target) {
    return functional::poisson_nll_loss(input, target, options);
  }
};
HALFTONE_MODULE(PoissonNLLLoss);

/// Which of two scores is larger: 1 the first, -1 the second.
class MarginRankingLossImpl : public LossBase<MarginRankingLossImpl, MarginRankingLossOptions> {
 public:
  explicit MarginRankingLossImpl(MarginRankingLossOptions options = {}) : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target) {
    return functional::margin_ranking_loss(input1, input2, target, options);
  }
};
HALFTONE_MODULE(MarginRankingLoss);

/// Sequences of log-probabilities against label sequences without alignment.
class CTCLossImpl : public LossBase<CTCLossImpl, CTCLossOptions> {
 public:
  explicit CTCLossImpl(CTCLossOptions options = {}) : LossBase(std::move(options)) {}
  Tensor forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                 const Tensor& target_lengths) {
    return functional::ctc_loss(log_probs, targets, input_lengths, target_lengths, options);
  }
};
HALFTONE_MODULE(CTCLoss);

}  // namespace halftone::nn
