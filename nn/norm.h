#pragma once

#include "halftone/nn/norm_base.h"
#include "halftone/nn/options/norm.h"

namespace halftone::nn {

/// What the batch normalisations share (Ioffe and Szegedy, arXiv:1502.03167). In training each channel is
/// normalised by the batch's mean and variance and the running statistics follow; in evaluation the running
/// statistics are used and do not change.
template <class Derived>
class BatchNormImplBase : public NormImplBase<Derived, BatchNormOptions> {
 public:
  using NormImplBase<Derived, BatchNormOptions>::NormImplBase;

 protected:
  /// (N, C, ...), by the batch's statistics in training, by the running ones in evaluation.
  Tensor normalise(const Tensor& input);
  /// The line of pretty_print(), with the layer's name.
  void print(std::ostream& stream, const char* name) const;
};

/// Over (N, C) or (N, C, L).
class BatchNorm1dImpl : public BatchNormImplBase<BatchNorm1dImpl> {
 public:
  explicit BatchNorm1dImpl(std::int64_t num_features) : BatchNormImplBase(BatchNormOptions(num_features)) {}
  explicit BatchNorm1dImpl(const BatchNormOptions& options) : BatchNormImplBase(options) {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
HALFTONE_MODULE(BatchNorm1d);

/// Over (N, C, H, W).
class BatchNorm2dImpl : public BatchNormImplBase<BatchNorm2dImpl> {
 public:
  explicit BatchNorm2dImpl(std::int64_t num_features) : BatchNormImplBase(BatchNormOptions(num_features)) {}
  explicit BatchNorm2dImpl(const BatchNormOptions& options) : BatchNormImplBase(options) {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
HALFTONE_MODULE(BatchNorm2d);

/// (x - mean) / sqrt(var + eps) over the last dimensions, times weight, plus bias (arXiv:1607.06450).
class LayerNormImpl : public Cloneable<LayerNormImpl> {
 public:
  explicit LayerNormImpl(std::vector<std::int64_t> normalized_shape)
      : LayerNormImpl(LayerNormOptions(std::move(normalized_shape))) {}
  explicit LayerNormImpl(LayerNormOptions options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  LayerNormOptions options;
  Tensor weight;  ///< normalized_shape, undefined unless elementwise_affine
  Tensor bias;    ///< normalized_shape, undefined unless elementwise_affine
};
HALFTONE_MODULE(LayerNorm);

/// Normalises groups of channels of (N, C, ...) (Wu and He, arXiv:1803.08494).
class GroupNormImpl : public Cloneable<GroupNormImpl> {
 public:
  GroupNormImpl(std::int64_t num_groups, std::int64_t num_channels)
      : GroupNormImpl(GroupNormOptions(num_groups, num_channels)) {}
  explicit GroupNormImpl(const GroupNormOptions& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  GroupNormOptions options;
  Tensor weight;  ///< (num_channels), undefined unless affine
  Tensor bias;    ///< (num_channels), undefined unless affine
};
HALFTONE_MODULE(GroupNorm);

/// x / sqrt(mean(x^2) + eps) over the last dimensions, times weight (arXiv:1910.07467).
class RMSNormImpl : public Cloneable<RMSNormImpl> {
 public:
  explicit RMSNormImpl(std::vector<std::int64_t> normalized_shape)
      : RMSNormImpl(RMSNormOptions(std::move(normalized_shape))) {}
  explicit RMSNormImpl(RMSNormOptions options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  RMSNormOptions options;
  Tensor weight;  ///< normalized_shape, undefined unless elementwise_affine
};
HALFTONE_MODULE(RMSNorm);

}  // namespace halftone::nn
