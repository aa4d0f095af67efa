#pragma once

#include "halftone/engine/tensor.h"
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
/// One more dimension: 1 at the class, 0 elsewhere (int64). num_classes -1: largest class plus one.
Tensor one_hot(const Tensor& tensor, std::int64_t num_classes = -1);
Tensor pad(const Tensor& input, const PadFuncOptions& options);
Tensor normalize(const Tensor& input, const NormalizeFuncOptions& options = {});

// --- Activations ---
Tensor relu(Tensor input, const ReLUFuncOptions& options = {});
Tensor leaky_relu(Tensor input, const LeakyReLUFuncOptions& options = {});
Tensor gelu(const Tensor& input, const GELUFuncOptions& options = {});
Tensor silu(const Tensor& input);
Tensor mish(const Tensor& input);
Tensor relu6(const Tensor& input);
Tensor logsigmoid(const Tensor& input);
Tensor softplus(const Tensor& input, const SoftplusFuncOptions& options = {});
Tensor elu(const Tensor& input, const ELUFuncOptions& options = {});
Tensor hardtanh(const Tensor& input, const HardtanhFuncOptions& options = {});
Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options);
Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options);

// --- Convolution: input (N, C, L) or (N, C, H, W) ---
Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& options = {});
Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& options = {});

// --- Pooling ---
Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& options);
Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& options);
Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& options);
Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& options);
Tensor adaptive_avg_pool1d(const Tensor& input, const AdaptiveAvgPool1dFuncOptions& options);
Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& options);

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

}  // namespace halftone::nn::functional
