#pragma once

// More of the public operators, those that layers and losses are made of: functions.h's rules hold here too.
// Those marked "composed" are made of other operators; they have no row in the registry of their own.

#include "halftone/engine/tensor.h"

namespace halftone {

// --- Activations (ops/shrink.cpp, ops/exponential_unit.cpp, ops/prelu.cpp)
// -------------------------------------------------------------------------------
/// x, and 0 where |x| <= lambd.
Tensor hardshrink(const Tensor& self, const Scalar& lambd = 0.5);
/// x moved towards 0 by lambd, at most to 0.
Tensor softshrink(const Tensor& self, const Scalar& lambd = 0.5);
Tensor hardsigmoid(const Tensor& self);
Tensor hardswish(const Tensor& self);
/// x where x > threshold, `value` elsewhere.
Tensor threshold(const Tensor& self, const Scalar& threshold, const Scalar& value);
/// x / (1 + |x|).
Tensor softsign(const Tensor& self);
Tensor selu(const Tensor& self);
Tensor celu(const Tensor& self, const Scalar& alpha = 1.0);
/// leaky_relu with a learned slope: one number, or one per channel (dimension 1).
Tensor prelu(const Tensor& self, const Tensor& weight);
/// The first half of `dim` times the sigmoid of the second half.
Tensor glu(const Tensor& self, std::int64_t dim = -1);
/// Composed. In training each negative element gets a slope of its own, uniform in [lower, upper]; else all
/// get the mean slope.
Tensor rrelu(const Tensor& self, const Scalar& lower = 0.125, const Scalar& upper = 1.0 / 3.0,
             bool training = false, std::optional<Generator> generator = std::nullopt);
Tensor& selu_(Tensor& self);
Tensor& celu_(Tensor& self, const Scalar& alpha = 1.0);
Tensor& relu6_(Tensor& self);
Tensor& hardsigmoid_(Tensor& self);
Tensor& hardswish_(Tensor& self);
Tensor& threshold_(Tensor& self, const Scalar& threshold, const Scalar& value);
Tensor& rrelu_(Tensor& self, const Scalar& lower = 0.125, const Scalar& upper = 1.0 / 3.0,
               bool training = false, std::optional<Generator> generator = std::nullopt);

// --- Dropout of channels (ops/feature_dropout.cpp): composed
// ---------------------------------------------------------------------------------
/// Drops whole channels of (N, C, ...).
Tensor feature_dropout(const Tensor& input, double p, bool train);
/// Dropout that keeps mean and variance of what SELU gives: dropped elements become SELU's limit at minus
/// infinity.
Tensor alpha_dropout(const Tensor& input, double p, bool train);
/// alpha_dropout of whole channels of (N, C, ...).
Tensor feature_alpha_dropout(const Tensor& input, double p, bool train);
Tensor& feature_dropout_(Tensor& self, double p, bool train);
Tensor& alpha_dropout_(Tensor& self, double p, bool train);
Tensor& feature_alpha_dropout_(Tensor& self, double p, bool train);

// --- Transposed convolution (ops/conv_transpose.cpp)
// --------------------------------------------------------------------------------------
/// The gradient of conv1d as a layer: input (N, C, L), weight (C, O / groups, k), result (N, O, (L - 1) *
/// stride - 2 * padding + dilation * (k - 1) + output_padding + 1).
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
                        IntArrayRef stride = 1, IntArrayRef padding = 0, IntArrayRef output_padding = 0,
                        std::int64_t groups = 1, IntArrayRef dilation = 1);
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
                        IntArrayRef stride = 1, IntArrayRef padding = 0, IntArrayRef output_padding = 0,
                        std::int64_t groups = 1, IntArrayRef dilation = 1);

// --- Pooling (ops/adaptive_max_pool.cpp): composed
// ----------------------------------------------------------------------------------------
/// Maxima of windows chosen so that the output has the given size, and where in its plane each stood.
std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& self, IntArrayRef output_size);
/// The same for (N, C, H, W) or (C, H, W).
std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& self, IntArrayRef output_size);
/// The largest value of each window (kernel_size) of (N, C, H, W) or (C, H, W), and where in its plane it
/// stood. The windows lie at random, output_size of them per plane (Graham, arXiv:1412.6071). random_samples:
/// (N, C, 2) or (C, 2), in [0, 1), where each plane's sequences of windows start.
std::tuple<Tensor, Tensor> fractional_max_pool2d(const Tensor& self, IntArrayRef kernel_size,
                                                 IntArrayRef output_size, const Tensor& random_samples);
/// Zeros of (..., output_size) with the elements of `self` at `indices` of their planes.
Tensor max_unpool2d(const Tensor& self, const Tensor& indices, IntArrayRef output_size);

// --- Normalisation and distances (ops/nn_composed.cpp): composed
// --------------------------------------------------------------------------
/// Each sample's channels normalised by their own statistics, or (not use_input_stats) by the running ones.
Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Tensor& running_mean, const Tensor& running_var, bool use_input_stats,
                     double momentum, double eps, bool cudnn_enabled = true);
/// Norms over all dimensions but `dim` (kept with size 1), over all of them for -1.
Tensor norm_except_dim(const Tensor& v, std::int64_t pow = 2, std::int64_t dim = 0);
/// v * g / norm_except_dim(v, 2, dim): a weight by direction and length (arXiv:1602.07868).
Tensor _weight_norm(const Tensor& v, const Tensor& g, std::int64_t dim = 0);
/// (N, C r^2, H, W) -> (N, C, H r, W r), and back.
Tensor pixel_shuffle(const Tensor& self, std::int64_t upscale_factor);
/// (N, C, H r, W r) to (N, C r^2, H, W), r the downscale_factor.
Tensor pixel_unshuffle(const Tensor& self, std::int64_t downscale_factor);
/// x1^T A_k x2 + b_k for every k: (..., I1), (..., I2), weight (O, I1, I2).
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias);
/// The p-norm of x1 - x2 + eps along the last dimension.
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p = 2, double eps = 1e-6,
                         bool keepdim = false);

// --- Cosines (ops/cosine_similarity.cpp)
// --------------------------------------------------------------------------------
/// (x1 / max(|x1|, eps)) . (x2 / max(|x2|, eps)) along dim.
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, std::int64_t dim = 1, double eps = 1e-8);

// --- Embedding (ops/embedding_bag.cpp): composed
// -------------------------------------------------------------------------------------
/// Divides the rows that `indices` name and whose norm is above max_norm down to it, in place and unrecorded.
Tensor& embedding_renorm_(Tensor& self, const Tensor& indices, double max_norm, double norm_type);
/// Sums (mode 0), means (1) or maxima (2) of bags of rows: bag i is indices[offsets[i] : offsets[i + 1]].
/// Returns the bags; the other three are libtorch's (offset of each position, bag sizes, places of the
/// maxima).
std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(
    const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale_grad_by_freq = false,
    std::int64_t mode = 0, bool sparse = false, const Tensor& per_sample_weights = {},
    bool include_last_offset = false, std::int64_t padding_idx = -1);

// --- Recurrent cells (ops/recurrent_cell.cpp, ops/rnn_layer.cpp)
// --------------------------------------------------------------------------
/// One step: input (N, I), hidden state(s) (N, H), weights (G H, I) and (G H, H), biases (G H) or undefined.
std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, const TensorList& hx, const Tensor& w_ih,
                                     const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh);
/// The same for a GRU cell; one hidden state.
Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const Tensor& b_ih, const Tensor& b_hh);
/// The same for a plain cell: tanh of the sums.
Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih, const Tensor& b_hh);
/// The same for a plain cell: max(sums, 0).
Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih, const Tensor& b_hh);
/// What an LSTM cell does after its matrix products: `gates` (N, 4 H) are the sums for input, forget,
/// candidate and output. The new hidden and cell states.
std::tuple<Tensor, Tensor> lstm_gates(const Tensor& gates, const Tensor& cx);
std::tuple<Tensor, Tensor> lstm_gates_backward(const Tensor& grad_h, const Tensor& grad_c,
                                               const Tensor& gates, const Tensor& cx, const Tensor& cy);
/// The same for a GRU cell: sums (N, 3 H) of the input and of the hidden state for reset, update and
/// candidate.
Tensor gru_gates(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx);
std::tuple<Tensor, Tensor, Tensor> gru_gates_backward(const Tensor& grad, const Tensor& input_gates,
                                                      const Tensor& hidden_gates, const Tensor& hx);
/// One direction of one recurrent layer over all steps. `input_gates` (sum of batch_sizes, G H): the input's
/// products, step after step, batch_sizes[t] rows for step t (int64), which may not increase; hx (and cx) (N,
/// H), N = batch_sizes[0]. With `reverse` the last step comes first. All give the hidden states of all steps,
/// (sum of batch_sizes, H), first; the LSTM its cell states (fp32 at least) and gate sums too, the GRU the
/// hidden state's products.
std::tuple<Tensor, Tensor, Tensor> lstm_layer(const Tensor& input_gates, const Tensor& w_hh, const Tensor& hx,
                                              const Tensor& cx, const Tensor& batch_sizes, bool reverse);
/// `bias` (3 H) of the hidden state's products, or undefined.
std::tuple<Tensor, Tensor> gru_layer(const Tensor& input_gates, const Tensor& w_hh, const Tensor& bias,
                                     const Tensor& hx, const Tensor& batch_sizes, bool reverse);
/// nonlinearity: "tanh" or "relu".
Tensor rnn_layer(const Tensor& input_gates, const Tensor& w_hh, const Tensor& hx,
                 std::string_view nonlinearity, const Tensor& batch_sizes, bool reverse);

// --- Losses (ops/composed_loss.cpp): composed; half operands are read as they are and computed in fp32, and
// in an autocast region the result is fp32
/// x where the target is 1, max(0, margin - x) where it is -1.
Tensor hinge_embedding_loss(const Tensor& self, const Tensor& target, double margin = 1.0,
                            Reduction::Reduction reduction = Reduction::Mean);
/// Of (N, D) each: 1 - cos where the target (N) is 1, max(0, cos - margin) where it is -1.
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             double margin = 0.0, Reduction::Reduction reduction = Reduction::Mean);
/// max(0, -target (input1 - input2) + margin); target 1: the first should be larger, -1: the second.
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           double margin = 0.0, Reduction::Reduction reduction = Reduction::Mean);
/// Scores (N, C), target (N) of classes: sums of max(0, margin - x[target] + x[i])^p, p 1 or 2, over the
/// other classes, divided by C. weight: one factor per class.
Tensor multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p = 1,
                         const Scalar& margin = 1, const Tensor& weight = {},
                         Reduction::Reduction reduction = Reduction::Mean);
/// Scores (N, C), target (N, C) of classes, ended by -1: sums of max(0, 1 - (x[target] - x[i])) over targets
/// and other classes, divided by C.
Tensor multilabel_margin_loss(const Tensor& self, const Tensor& target,
                              Reduction::Reduction reduction = Reduction::Mean);
/// Logits (N, C), target (N, C) of 0 and 1: binary cross entropies, averaged over the classes.
Tensor multilabel_soft_margin_loss(const Tensor& self, const Tensor& target, const Tensor& weight = {},
                                   Reduction::Reduction reduction = Reduction::Mean);
/// max(0, |anchor - positive| - |anchor - negative| + margin) of three (N, D), p-norms; swap: the nearer of
/// anchor and positive counts for the negative.
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin = 1.0, double p = 2, double eps = 1e-6, bool swap = false,
                           Reduction::Reduction reduction = Reduction::Mean);

// --- Losses (ops/loss.cpp, ops/ctc_loss.cpp)
// -------------------------------------------------------------------------------
/// log(1 + exp(-target x)); targets are 1 and -1.
Tensor soft_margin_loss(const Tensor& self, const Tensor& target,
                        Reduction::Reduction reduction = Reduction::Mean);
/// exp(x) - t x (log_input), or x - t log(x + eps); full adds Stirling's term for targets above 1.
Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full, double eps,
                        Reduction::Reduction reduction);
/// Connectionist temporal classification (Graves et al., ICML 2006; ops/ctc_loss.cpp): log_probs (T, N, C) or
/// (T, C), targets (N, S) padded, or all one after the other. The mean divides each loss by its target's
/// length first.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                IntArrayRef target_lengths, std::int64_t blank = 0,
                Reduction::Reduction reduction = Reduction::Mean, bool zero_infinity = false);
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, std::int64_t blank = 0,
                Reduction::Reduction reduction = Reduction::Mean, bool zero_infinity = false);

}  // namespace halftone
