#pragma once

#include "halftone/engine/nn_functions.h"
#include "halftone/nn/options/activation.h"
#include "halftone/nn/options/conv.h"
#include "halftone/nn/options/linear.h"
#include "halftone/nn/options/loss.h"
#include "halftone/nn/options/norm.h"
#include "halftone/nn/options/pooling.h"

/// Layers without state (torch::nn::functional). Each calls the operator of the same name
/// (engine/functions.h).
namespace halftone::nn::functional {

// --- Linear, embedding, dropout, shape ---
/// input (..., in) times weight (out, in) transposed, plus bias (out).
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});
/// Rows of `weight` (n, d) chosen by integer `input`.
Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options = {});
/// Zeroes elements with probability p and scales the rest by 1/(1-p); the identity when not training.
Tensor dropout(Tensor input, const DropoutFuncOptions& options = {});
/// Zeroes whole channels of (N, C, ...).
Tensor dropout2d(Tensor input, const Dropout2dFuncOptions& options = {});
/// Zeroes whole channels of (N, C, D, H, W).
Tensor dropout3d(Tensor input, const Dropout3dFuncOptions& options = {});
/// Dropout that keeps the mean and variance of what SELU gives.
Tensor alpha_dropout(Tensor input, const AlphaDropoutFuncOptions& options = {});
/// alpha_dropout of whole channels.
Tensor feature_alpha_dropout(Tensor input, const FeatureAlphaDropoutFuncOptions& options = {});
/// One more dimension: 1 at the class, 0 elsewhere (int64). num_classes -1: largest class plus one.
Tensor one_hot(const Tensor& tensor, std::int64_t num_classes = -1);
Tensor pad(const Tensor& input, const PadFuncOptions& options);
/// x / max(norm_p(x, dim), eps).
Tensor normalize(const Tensor& input, const NormalizeFuncOptions& options = {});

// --- Activations ---
Tensor relu(Tensor input, const ReLUFuncOptions& options = {});
Tensor leaky_relu(Tensor input, const LeakyReLUFuncOptions& options = {});
Tensor gelu(const Tensor& input, const GELUFuncOptions& options = {});
Tensor silu(const Tensor& input);
Tensor mish(const Tensor& input);
Tensor relu6(Tensor input, const ReLU6FuncOptions& options = {});
/// log(1 / (1 + exp(-x))).
Tensor logsigmoid(const Tensor& input);
Tensor softplus(const Tensor& input, const SoftplusFuncOptions& options = {});
Tensor elu(Tensor input, const ELUFuncOptions& options = {});
Tensor hardtanh(Tensor input, const HardtanhFuncOptions& options = {});
Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options);
/// softmax of -x.
Tensor softmin(const Tensor& input, const SoftminFuncOptions& options);
Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options);
Tensor selu(Tensor input, const SELUFuncOptions& options = {});
Tensor celu(Tensor input, const CELUFuncOptions& options = {});
Tensor prelu(const Tensor& input, const Tensor& weight);
Tensor rrelu(Tensor input, const RReLUFuncOptions& options = {});
Tensor glu(const Tensor& input, const GLUFuncOptions& options = {});
Tensor hardshrink(const Tensor& input, const HardshrinkFuncOptions& options = {});
Tensor softshrink(const Tensor& input, const SoftshrinkFuncOptions& options = {});
Tensor threshold(Tensor input, const ThresholdFuncOptions& options);
Tensor hardsigmoid(const Tensor& input);
Tensor hardswish(const Tensor& input);
Tensor softsign(const Tensor& input);
/// x - tanh(x).
Tensor tanhshrink(const Tensor& input);
/// Samples of the categorical distributions with these logits along dim, at temperature tau
/// (arXiv:1611.01144); one-hot, with the soft sample's gradient, if `hard`.
Tensor gumbel_softmax(const Tensor& logits, const GumbelSoftmaxFuncOptions& options = {});

// --- Convolution: input (N, C, L) or (N, C, H, W) ---
Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& options = {});
Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& options = {});

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight,
                        const ConvTranspose1dFuncOptions& options = {});
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight,
                        const ConvTranspose2dFuncOptions& options = {});

// --- Pooling ---
Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& options);
Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& options);
Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& options);
Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& options);
Tensor adaptive_avg_pool1d(const Tensor& input, const AdaptiveAvgPool1dFuncOptions& options);
Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& options);
/// The maxima, and where in its plane each stood.
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input, const MaxPool1dFuncOptions& options);
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, const MaxPool2dFuncOptions& options);
/// Largest value of each of output_size windows that cover (N, C, L).
Tensor adaptive_max_pool1d(const Tensor& input, const AdaptiveMaxPool1dFuncOptions& options);
/// Largest value of each of output_size windows that cover (N, C, H, W).
Tensor adaptive_max_pool2d(const Tensor& input, const AdaptiveMaxPool2dFuncOptions& options);
/// The maxima, and where in its row each stood.
std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool1dFuncOptions& options);
/// The maxima, and where in its plane each stood.
std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool2dFuncOptions& options);
/// Puts values back where the indices say, into (N, C, L) of zeros; output_size chooses among the lengths
/// that pool to the input's.
Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const MaxUnpool1dFuncOptions& options);
/// The same for (N, C, H, W).
Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const MaxUnpool2dFuncOptions& options);
/// Maxima of windows that lie at random; see nn::FractionalMaxPool2d.
Tensor fractional_max_pool2d(const Tensor& input, const FractionalMaxPool2dFuncOptions& options);
/// The maxima, and where in its plane each stood.
std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& input,
                                                              const FractionalMaxPool2dFuncOptions& options);
/// The p-norm of each window of (N, C, L).
Tensor lp_pool1d(const Tensor& input, const LPPool1dFuncOptions& options);
/// The p-norm of each window of (N, C, H, W).
Tensor lp_pool2d(const Tensor& input, const LPPool2dFuncOptions& options);

// --- Normalisation ---
Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& options = {});
Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options);
Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& options);
Tensor rms_norm(const Tensor& input, const RMSNormFuncOptions& options);

// --- Losses ---
/// input (N, C, ...) of logits; target int64 class indices (N, ...), or probabilities shaped like the input.
Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& options = {});
/// input (N, C, ...) of log-probabilities; target int64 (N, ...).
Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& options = {});
Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& options = {});
Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& options = {});
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& options = {});
Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossFuncOptions& options = {});
/// input of probabilities; refused on half inputs under autocast.
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target,
                            const BinaryCrossEntropyFuncOptions& options = {});
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& options = {});
/// input of log-probabilities.
Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivFuncOptions& options = {});
/// input of scores or distances, target of 1 and -1.
Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target,
                            const HingeEmbeddingLossFuncOptions& options = {});
/// (N, D) each, target (N) of 1 and -1.
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             const CosineEmbeddingLossFuncOptions& options = {});
/// max(0, -target (input1 - input2) + margin); target 1: the first should be larger, -1: the second.
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           const MarginRankingLossFuncOptions& options = {});
/// Scores (N, C), target (N) of classes.
Tensor multi_margin_loss(const Tensor& input, const Tensor& target,
                         const MultiMarginLossFuncOptions& options = {});
/// Scores (N, C), target (N, C) of classes, ended by -1.
Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target,
                              const MultilabelMarginLossFuncOptions& options = {});
/// Logits (N, C), target (N, C) of 0 and 1.
Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                   const MultilabelSoftMarginLossFuncOptions& options = {});
/// log(1 + exp(-target input)); targets are 1 and -1.
Tensor soft_margin_loss(const Tensor& input, const Tensor& target,
                        const SoftMarginLossFuncOptions& options = {});
/// max(0, |anchor - positive| - |anchor - negative| + margin) of three (N, D), p-norms.
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginLossFuncOptions& options = {});
/// The same with any distance.
Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletMarginWithDistanceLossFuncOptions& options = {});
/// The negative log-likelihood of counts `target` at rates exp(input), or `input` without log_input.
Tensor poisson_nll_loss(const Tensor& input, const Tensor& target,
                        const PoissonNLLLossFuncOptions& options = {});
/// log_probs (T, N, C), targets (N, S) or one after the other; lengths of both.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CTCLossFuncOptions& options = {});

}  // namespace halftone::nn::functional
