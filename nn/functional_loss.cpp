#include "halftone/nn/functional.h"

namespace halftone::nn::functional {

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target,
                            const HingeEmbeddingLossFuncOptions& options) {
  return halftone::hinge_embedding_loss(input, target, options.margin(), options.reduction());
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             const CosineEmbeddingLossFuncOptions& options) {
  return halftone::cosine_embedding_loss(input1, input2, target, options.margin(), options.reduction());
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           const MarginRankingLossFuncOptions& options) {
  return halftone::margin_ranking_loss(input1, input2, target, options.margin(), options.reduction());
}

Tensor multi_margin_loss(const Tensor& input, const Tensor& target,
                         const MultiMarginLossFuncOptions& options) {
  return halftone::multi_margin_loss(input, target, options.p(), options.margin(), options.weight(),
                                     options.reduction());
}

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target,
                              const MultilabelMarginLossFuncOptions& options) {
  return halftone::multilabel_margin_loss(input, target, options.reduction());
}

Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                   const MultilabelSoftMarginLossFuncOptions& options) {
  return halftone::multilabel_soft_margin_loss(input, target, options.weight(), options.reduction());
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target, const SoftMarginLossFuncOptions& options) {
  return halftone::soft_margin_loss(input, target, options.reduction());
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginLossFuncOptions& options) {
  return halftone::triplet_margin_loss(anchor, positive, negative, options.margin(), options.p(),
                                       options.eps(), options.swap(), options.reduction());
}

Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletMarginWithDistanceLossFuncOptions& options) {
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return options.distance_function() ? (*options.distance_function())(a, b)
                                       : halftone::pairwise_distance(a, b);
  };
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (options.swap()) far = minimum(far, distance(positive, negative));
  const Tensor loss = clamp_min(near - far + options.margin(), 0);
  const Reduction::Reduction reduction = options.reduction();
  return reduction == Reduction::None ? loss : reduction == Reduction::Mean ? mean(loss) : sum(loss);
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, const PoissonNLLLossFuncOptions& options) {
  return halftone::poisson_nll_loss(input, target, options.log_input(), options.full(), options.eps(),
                                    options.reduction());
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CTCLossFuncOptions& options) {
  return halftone::ctc_loss(log_probs, targets, input_lengths, target_lengths, options.blank(),
                            options.reduction(), options.zero_infinity());
}

}  // namespace halftone::nn::functional
