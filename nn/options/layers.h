#pragma once

#include "halftone/engine/arg.h"
#include "halftone/engine/tensor.h"
#include "halftone/nn/enum.h"
#include "halftone/nn/expanding_array.h"

namespace halftone::nn {

/// Options of InstanceNorm1d and InstanceNorm2d.
struct InstanceNormOptions {
  InstanceNormOptions(std::int64_t num_features) : num_features_(num_features) {}
  HALFTONE_ARG(std::int64_t, num_features);
  HALFTONE_ARG(double, eps) = 1e-5;
  HALFTONE_ARG(double, momentum) = 0.1;
  HALFTONE_ARG(bool, affine) = false;
  HALFTONE_ARG(bool, track_running_stats) = false;
};
/// By the number of dimensions.
/// @{
using InstanceNorm1dOptions = InstanceNormOptions;
using InstanceNorm2dOptions = InstanceNormOptions;
/// @}

/// Options of LocalResponseNorm: x / (k + alpha * mean of x^2 over `size` neighbouring channels)^beta.
struct LocalResponseNormOptions {
  LocalResponseNormOptions(std::int64_t size) : size_(size) {}
  HALFTONE_ARG(std::int64_t, size);
  HALFTONE_ARG(double, alpha) = 1e-4;
  HALFTONE_ARG(double, beta) = 0.75;
  HALFTONE_ARG(double, k) = 1;
};

/// Options of CrossMapLRN2d: x / (k + alpha / size * sum of x^2 over `size` neighbouring channels)^beta.
struct CrossMapLRN2dOptions {
  CrossMapLRN2dOptions(std::int64_t size) : size_(size) {}
  HALFTONE_ARG(std::int64_t, size);
  HALFTONE_ARG(double, alpha) = 1e-4;
  HALFTONE_ARG(double, beta) = 0.75;
  HALFTONE_ARG(std::int64_t, k) = 1;
};

/// Options of ReflectionPad1d and ReflectionPad2d: (left, right[, top, bottom]).
template <std::size_t D>
struct ReflectionPadOptions {
  ReflectionPadOptions(ExpandingArray<2 * D> padding) : padding_(padding) {}
  HALFTONE_ARG(ExpandingArray<2 * D>, padding);
};
/// By the number of dimensions.
/// @{
using ReflectionPad1dOptions = ReflectionPadOptions<1>;
using ReflectionPad2dOptions = ReflectionPadOptions<2>;
/// @}

/// Options of ReplicationPad1d and ReplicationPad2d.
template <std::size_t D>
struct ReplicationPadOptions {
  ReplicationPadOptions(ExpandingArray<2 * D> padding) : padding_(padding) {}
  HALFTONE_ARG(ExpandingArray<2 * D>, padding);
};
/// By the number of dimensions.
/// @{
using ReplicationPad1dOptions = ReplicationPadOptions<1>;
using ReplicationPad2dOptions = ReplicationPadOptions<2>;
/// @}

/// Options of ZeroPad2d.
struct ZeroPad2dOptions {
  ZeroPad2dOptions(ExpandingArray<4> padding) : padding_(padding) {}
  HALFTONE_ARG(ExpandingArray<4>, padding);
};

/// Options of ConstantPad1d and ConstantPad2d, which put `value` around the input.
template <std::size_t D>
struct ConstantPadOptions {
  ConstantPadOptions(ExpandingArray<2 * D> padding, double value) : padding_(padding), value_(value) {}
  HALFTONE_ARG(ExpandingArray<2 * D>, padding);
  HALFTONE_ARG(double, value);
};
/// By the number of dimensions.
/// @{
using ConstantPad1dOptions = ConstantPadOptions<1>;
using ConstantPad2dOptions = ConstantPadOptions<2>;
/// @}

/// Options of PixelShuffle: height and width grow by upscale_factor.
struct PixelShuffleOptions {
  PixelShuffleOptions(std::int64_t upscale_factor) : upscale_factor_(upscale_factor) {}
  HALFTONE_ARG(std::int64_t, upscale_factor);
};

/// Options of PixelUnshuffle: height and width shrink by downscale_factor.
struct PixelUnshuffleOptions {
  PixelUnshuffleOptions(std::int64_t downscale_factor) : downscale_factor_(downscale_factor) {}
  HALFTONE_ARG(std::int64_t, downscale_factor);
};

/// Options of Bilinear. in1_features and in2_features: last dimensions of the two inputs.
struct BilinearOptions {
  BilinearOptions(std::int64_t in1_features, std::int64_t in2_features, std::int64_t out_features)
      : in1_features_(in1_features), in2_features_(in2_features), out_features_(out_features) {}
  HALFTONE_ARG(std::int64_t, in1_features);
  HALFTONE_ARG(std::int64_t, in2_features);
  HALFTONE_ARG(std::int64_t, out_features);
  HALFTONE_ARG(bool, bias) = true;
};

/// Options of CosineSimilarity.
struct CosineSimilarityOptions {
  HALFTONE_ARG(std::int64_t, dim) = 1;
  HALFTONE_ARG(double, eps) = 1e-8;
};

/// Options of PairwiseDistance: the p-norm of x1 - x2 + eps. keepdim: the last dimension stays, of size 1.
struct PairwiseDistanceOptions {
  HALFTONE_ARG(double, p) = 2;
  HALFTONE_ARG(double, eps) = 1e-6;
  HALFTONE_ARG(bool, keepdim) = false;
};

/// How an EmbeddingBag joins its rows: kSum, kMean or kMax.
class EmbeddingBagMode {
 public:
  EmbeddingBagMode(enumtype::kSum) : value_(0) {}
  EmbeddingBagMode(enumtype::kMean) : value_(1) {}
  EmbeddingBagMode(enumtype::kMax) : value_(2) {}
  /// As halftone::embedding_bag takes it.
  std::int64_t value() const { return value_; }

 private:
  std::int64_t value_;
};

/// Options of EmbeddingBag. max_norm: rows are brought down to this norm before they are read.
/// include_last_offset: offsets end with the number of indices. _weight: the first table (num_embeddings,
/// embedding_dim); drawn from N(0, 1) when undefined.
struct EmbeddingBagOptions {
  EmbeddingBagOptions(std::int64_t num_embeddings, std::int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  HALFTONE_ARG(std::int64_t, num_embeddings);
  HALFTONE_ARG(std::int64_t, embedding_dim);
  HALFTONE_ARG(optional<double>, max_norm) = nullopt;
  HALFTONE_ARG(double, norm_type) = 2;
  HALFTONE_ARG(bool, scale_grad_by_freq) = false;
  HALFTONE_ARG(EmbeddingBagMode, mode) = kMean;
  HALFTONE_ARG(bool, sparse) = false;
  HALFTONE_ARG(Tensor, _weight) = Tensor();
  HALFTONE_ARG(bool, include_last_offset) = false;
  HALFTONE_ARG(optional<std::int64_t>, padding_idx) = nullopt;
};

/// Options of EmbeddingBag::from_pretrained.
struct EmbeddingBagFromPretrainedOptions {
  HALFTONE_ARG(bool, freeze) = true;
  HALFTONE_ARG(optional<double>, max_norm) = nullopt;
  HALFTONE_ARG(double, norm_type) = 2;
  HALFTONE_ARG(bool, scale_grad_by_freq) = false;
  HALFTONE_ARG(EmbeddingBagMode, mode) = kMean;
  HALFTONE_ARG(bool, sparse) = false;
  HALFTONE_ARG(bool, include_last_offset) = false;
  HALFTONE_ARG(optional<std::int64_t>, padding_idx) = nullopt;
};

namespace functional {

/// Options of functional::instance_norm. use_input_stats: the input's own mean and variance normalise it, and
/// the running ones follow; if not, the running ones do. running_mean and running_var: (C), or undefined.
/// weight and bias: (C), or undefined.
struct InstanceNormFuncOptions {
  HALFTONE_ARG(Tensor, running_mean) = Tensor();
  HALFTONE_ARG(Tensor, running_var) = Tensor();
  HALFTONE_ARG(Tensor, weight) = Tensor();
  HALFTONE_ARG(Tensor, bias) = Tensor();
  HALFTONE_ARG(bool, use_input_stats) = true;
  HALFTONE_ARG(double, momentum) = 0.1;
  HALFTONE_ARG(double, eps) = 1e-5;
};
/// Options of the functions that need no more than their layer's.
/// @{
using LocalResponseNormFuncOptions = LocalResponseNormOptions;
using PixelShuffleFuncOptions = PixelShuffleOptions;
using PixelUnshuffleFuncOptions = PixelUnshuffleOptions;
using CosineSimilarityFuncOptions = CosineSimilarityOptions;
using PairwiseDistanceFuncOptions = PairwiseDistanceOptions;
/// @}

/// Options of functional::embedding_bag. offsets: where bags begin in an input of one dimension.
/// per_sample_weights: factors of the rows, of the input's shape, with kSum.
struct EmbeddingBagFuncOptions {
  HALFTONE_ARG(Tensor, offsets) = Tensor();
  HALFTONE_ARG(optional<double>, max_norm) = nullopt;
  HALFTONE_ARG(double, norm_type) = 2;
  HALFTONE_ARG(bool, scale_grad_by_freq) = false;
  HALFTONE_ARG(EmbeddingBagMode, mode) = kMean;
  HALFTONE_ARG(bool, sparse) = false;
  HALFTONE_ARG(Tensor, per_sample_weights) = Tensor();
  HALFTONE_ARG(bool, include_last_offset) = false;
  HALFTONE_ARG(optional<std::int64_t>, padding_idx) = nullopt;
};

}  // namespace functional
}  // namespace halftone::nn
