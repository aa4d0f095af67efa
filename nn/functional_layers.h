#pragma once

#include "halftone/engine/nn_functions.h"
#include "halftone/nn/options/layers.h"

/// More of torch::nn::functional; included by functional.h.
namespace halftone::nn::functional {

/// Channels of each sample of (N, C, ...) normalised by their own statistics.
Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& options = {});
/// (N, C, ...).
Tensor local_response_norm(const Tensor& input, const LocalResponseNormFuncOptions& options);
/// (N, C r^2, H, W) to (N, C, H r, W r), r the upscale_factor (arXiv:1609.05158).
Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options);
/// (N, C, H r, W r) to (N, C r^2, H, W), r the downscale_factor.
Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& options);
/// (..., k): input1 (..., i) and input2 (..., j) times weight (k, i, j), plus bias (k).
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias = {});
/// The cosine of the angle between the vectors of x1 and x2 along dim.
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, const CosineSimilarityFuncOptions& options = {});
/// The p-norm distances of all pairs of rows of (N, D): (N (N - 1) / 2).
Tensor pdist(const Tensor& input, double p = 2.0);
/// The p-norm of x1 - x2 + eps along the last dimension.
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, const PairwiseDistanceFuncOptions& options = {});
/// Bags of rows of `weight`: the rows of a two-dimensional input, or pieces of a one-dimensional one at the
/// offsets.
Tensor embedding_bag(const Tensor& input, const Tensor& weight, const EmbeddingBagFuncOptions& options = {});

}  // namespace halftone::nn::functional
