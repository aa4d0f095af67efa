#pragma once

// Layers that are a function with options, or little more.

#include "halftone/nn/functional.h"
#include "halftone/nn/functional_layers.h"
#include "halftone/nn/module_holder.h"
#include "halftone/nn/norm_base.h"

namespace halftone::nn {

/// What layers without parameters have in common: options and a line to print.
template <class Derived, class Options>
class FunctionLayer : public Cloneable<Derived> {
 public:
  explicit FunctionLayer(Options options);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  /// What the layer was made with.
  Options options;
};

/// What the dropouts have in common: off in evaluation.
template <class Derived>
class DropoutBase : public Cloneable<Derived> {
 public:
  /// Throws Error unless p is in [0, 1].
  explicit DropoutBase(const DropoutOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  DropoutOptions options;
};

/// Zeroes whole channels of (N, C, H, W).
class Dropout2dImpl : public DropoutBase<Dropout2dImpl> {
 public:
  explicit Dropout2dImpl(double p) : DropoutBase(DropoutOptions(p)) {}
  explicit Dropout2dImpl(const DropoutOptions& options = {}) : DropoutBase(options) {}
  Tensor forward(Tensor input);
};
HALFTONE_MODULE(Dropout2d);

/// Zeroes whole channels of (N, C, D, H, W).
class Dropout3dImpl : public DropoutBase<Dropout3dImpl> {
 public:
  explicit Dropout3dImpl(double p) : DropoutBase(DropoutOptions(p)) {}
  explicit Dropout3dImpl(const DropoutOptions& options = {}) : DropoutBase(options) {}
  Tensor forward(Tensor input);
};
HALFTONE_MODULE(Dropout3d);

/// The dropout that goes with SELU (arXiv:1706.02515).
class AlphaDropoutImpl : public DropoutBase<AlphaDropoutImpl> {
 public:
  explicit AlphaDropoutImpl(double p) : DropoutBase(DropoutOptions(p)) {}
  explicit AlphaDropoutImpl(const DropoutOptions& options = {}) : DropoutBase(options) {}
  Tensor forward(Tensor input);
};
HALFTONE_MODULE(AlphaDropout);

/// AlphaDropout of whole channels.
class FeatureAlphaDropoutImpl : public DropoutBase<FeatureAlphaDropoutImpl> {
 public:
  explicit FeatureAlphaDropoutImpl(double p) : DropoutBase(DropoutOptions(p)) {}
  explicit FeatureAlphaDropoutImpl(const DropoutOptions& options = {}) : DropoutBase(options) {}
  Tensor forward(Tensor input);
};
HALFTONE_MODULE(FeatureAlphaDropout);

/// Mirrors (N, C, L) at its ends.
class ReflectionPad1dImpl : public FunctionLayer<ReflectionPad1dImpl, ReflectionPad1dOptions> {
 public:
  ReflectionPad1dImpl(ExpandingArray<2> padding) : FunctionLayer(padding) {}
  explicit ReflectionPad1dImpl(const ReflectionPad1dOptions& options) : FunctionLayer(options) {}
  Tensor forward(const Tensor& input);
};
HALFTONE_MODULE(ReflectionPad1d);

/// Mirrors (N, C, H, W) at its edges.
class ReflectionPad2dImpl : public FunctionLayer<ReflectionPad2dImpl, ReflectionPad2dOptions> {
 public:
  ReflectionPad2dImpl(ExpandingArray<4> padding) : FunctionLayer(padding) {}
  explicit ReflectionPad2dImpl(const ReflectionPad2dOptions& options) : FunctionLayer(options) {}
  Tensor forward(const Tensor& input);
};
HALFTONE_MODULE(ReflectionPad2d);

/// Repeats the ends of (N, C, L).
class ReplicationPad1dImpl : public FunctionLayer<ReplicationPad1dImpl, ReplicationPad1dOptions> {
 public:
  ReplicationPad1dImpl(ExpandingArray<2> padding) : FunctionLayer(padding) {}
  explicit ReplicationPad1dImpl(const ReplicationPad1dOptions& options) : FunctionLayer(options) {}
  Tensor forward(const Tensor& input);
};
HALFTONE_MODULE(ReplicationPad1d);

/// Repeats the edges of (N, C, H, W).
class ReplicationPad2dImpl : public FunctionLayer<ReplicationPad2dImpl, ReplicationPad2dOptions> {
 public:
  ReplicationPad2dImpl(ExpandingArray<4> padding) : FunctionLayer(padding) {}
  explicit ReplicationPad2dImpl(const ReplicationPad2dOptions& options) : FunctionLayer(options) {}
  Tensor forward(const Tensor& input);
};
HALFTONE_MODULE(ReplicationPad2d);

/// Zeros around (N, C, H, W); negative amounts crop.
class ZeroPad2dImpl : public FunctionLayer<ZeroPad2dImpl, ZeroPad2dOptions> {
 public:
  ZeroPad2dImpl(ExpandingArray<4> padding) : FunctionLayer(padding) {}
  explicit ZeroPad2dImpl(const ZeroPad2dOptions& options) : FunctionLayer(options) {}
  Tensor forward(const Tensor& input);
};
HALFTONE_MODULE(ZeroPad2d);

/// A constant around (N, C, L).
class ConstantPad1dImpl : public FunctionLayer<ConstantPad1dImpl, ConstantPad1dOptions> {
 public:
  ConstantPad1dImpl(ExpandingArray<2> padding, double value)
      : FunctionLayer(ConstantPad1dOptions(padding, value)) {}
  explicit ConstantPad1dImpl(const ConstantPad1dOptions& options) : FunctionLayer(options) {}
  Tensor forward(const Tensor& input);
};
HALFTONE_MODULE(ConstantPad1d);

/// A constant around (N, C, H, W).
class ConstantPad2dImpl : public FunctionLayer<ConstantPad2dImpl, ConstantPad2dOptions> {
 public:
  ConstantPad2dImpl(ExpandingArray<4> padding, double value)
      : FunctionLayer(ConstantPad2dOptions(padding, value)) {}
  explicit ConstantPad2dImpl(const ConstantPad2dOptions& options) : FunctionLayer(options) {}
  Tensor forward(const Tensor& input);
};
HALFTONE_MODULE(ConstantPad2d);

/// x / (k + alpha * mean of x^2 over neighbouring channels)^beta.
class LocalResponseNormImpl : public FunctionLayer<LocalResponseNormImpl, LocalResponseNormOptions> {
 public:
  LocalResponseNormImpl(std::int64_t size) : FunctionLayer(LocalResponseNormOptions(size)) {}
  explicit LocalResponseNormImpl(const LocalResponseNormOptions& options) : FunctionLayer(options) {}
  Tensor forward(const Tensor& input) { return functional::local_response_norm(input, options); }
};
HALFTONE_MODULE(LocalResponseNorm);

/// x / (k + alpha / size * sum of x^2 over the (size - 1) / 2 neighbouring channels on each side)^beta, of
/// (N, C, H, W).
class CrossMapLRN2dImpl : public FunctionLayer<CrossMapLRN2dImpl, CrossMapLRN2dOptions> {
 public:
  CrossMapLRN2dImpl(std::int64_t size) : FunctionLayer(CrossMapLRN2dOptions(size)) {}
  explicit CrossMapLRN2dImpl(const CrossMapLRN2dOptions& options) : FunctionLayer(options) {}
  Tensor forward(const Tensor& input);
};
HALFTONE_MODULE(CrossMapLRN2d);

/// (N, C r^2, H, W) to (N, C, H r, W r) (arXiv:1609.05158).
class PixelShuffleImpl : public FunctionLayer<PixelShuffleImpl, PixelShuffleOptions> {
 public:
  PixelShuffleImpl(std::int64_t upscale_factor) : FunctionLayer(PixelShuffleOptions(upscale_factor)) {}
  explicit PixelShuffleImpl(const PixelShuffleOptions& options) : FunctionLayer(options) {}
  Tensor forward(const Tensor& input) { return functional::pixel_shuffle(input, options); }
};
HALFTONE_MODULE(PixelShuffle);

/// (N, C, H r, W r) to (N, C r^2, H, W).
class PixelUnshuffleImpl : public FunctionLayer<PixelUnshuffleImpl, PixelUnshuffleOptions> {
 public:
  PixelUnshuffleImpl(std::int64_t downscale_factor)
      : FunctionLayer(PixelUnshuffleOptions(downscale_factor)) {}
  explicit PixelUnshuffleImpl(const PixelUnshuffleOptions& options) : FunctionLayer(options) {}
  Tensor forward(const Tensor& input) { return functional::pixel_unshuffle(input, options); }
};
HALFTONE_MODULE(PixelUnshuffle);

/// The cosine of the angle between two tensors' vectors along dim.
class CosineSimilarityImpl : public FunctionLayer<CosineSimilarityImpl, CosineSimilarityOptions> {
 public:
  explicit CosineSimilarityImpl(const CosineSimilarityOptions& options = {}) : FunctionLayer(options) {}
  Tensor forward(const Tensor& x1, const Tensor& x2) {
    return functional::cosine_similarity(x1, x2, options);
  }
};
HALFTONE_MODULE(CosineSimilarity);

/// The p-norm of the difference of two tensors' vectors along the last dimension.
class PairwiseDistanceImpl : public FunctionLayer<PairwiseDistanceImpl, PairwiseDistanceOptions> {
 public:
  explicit PairwiseDistanceImpl(const PairwiseDistanceOptions& options = {}) : FunctionLayer(options) {}
  Tensor forward(const Tensor& x1, const Tensor& x2) {
    return functional::pairwise_distance(x1, x2, options);
  }
};
HALFTONE_MODULE(PairwiseDistance);

/// x1^T A_k x2 + b_k; weight and bias start uniform in +-1/sqrt(in1_features).
class BilinearImpl : public Cloneable<BilinearImpl> {
 public:
  BilinearImpl(std::int64_t in1_features, std::int64_t in2_features, std::int64_t out_features)
      : BilinearImpl(BilinearOptions(in1_features, in2_features, out_features)) {}
  explicit BilinearImpl(const BilinearOptions& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input1, const Tensor& input2);

  BilinearOptions options;
  Tensor weight;  ///< (out_features, in1_features, in2_features)
  Tensor bias;    ///< (out_features), undefined without bias

 protected:
  Tensor* normalizable(std::string_view name) override { return name == "weight" ? &weight : nullptr; }
};
HALFTONE_MODULE(Bilinear);

/// What the instance normalisations share (arXiv:1607.08022).
template <class Derived>
class InstanceNormImplBase : public NormImplBase<Derived, InstanceNormOptions> {
 public:
  using NormImplBase<Derived, InstanceNormOptions>::NormImplBase;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};

/// Over (N, C, L) or (C, L).
class InstanceNorm1dImpl : public InstanceNormImplBase<InstanceNorm1dImpl> {
 public:
  explicit InstanceNorm1dImpl(std::int64_t num_features)
      : InstanceNormImplBase(InstanceNormOptions(num_features)) {}
  explicit InstanceNorm1dImpl(const InstanceNormOptions& options) : InstanceNormImplBase(options) {}
};
HALFTONE_MODULE(InstanceNorm1d);

/// Over (N, C, H, W) or (C, H, W).
class InstanceNorm2dImpl : public InstanceNormImplBase<InstanceNorm2dImpl> {
 public:
  explicit InstanceNorm2dImpl(std::int64_t num_features)
      : InstanceNormImplBase(InstanceNormOptions(num_features)) {}
  explicit InstanceNorm2dImpl(const InstanceNormOptions& options) : InstanceNormImplBase(options) {}
};
HALFTONE_MODULE(InstanceNorm2d);

/// Sums, means or maxima of bags of rows of a table.
class EmbeddingBagImpl : public Cloneable<EmbeddingBagImpl> {
 public:
  EmbeddingBagImpl(std::int64_t num_embeddings, std::int64_t embedding_dim)
      : EmbeddingBagImpl(EmbeddingBagOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingBagImpl(EmbeddingBagOptions options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  /// input (bags, length), or one-dimensional with offsets; the result (bags, embedding_dim).
  Tensor forward(const Tensor& input, const Tensor& offsets = {}, const Tensor& per_sample_weights = {});

  EmbeddingBagOptions options;
  Tensor weight;  ///< (num_embeddings, embedding_dim)

 protected:
  Tensor* normalizable(std::string_view name) override { return name == "weight" ? &weight : nullptr; }
};

/// Holder of EmbeddingBagImpl.
class EmbeddingBag : public ModuleHolder<EmbeddingBagImpl> {
 public:
  using ModuleHolder<EmbeddingBagImpl>::ModuleHolder;
  using Impl = EmbeddingBagImpl;
  /// Around a table (rows, features) that is there.
  static EmbeddingBag from_pretrained(const Tensor& embeddings,
                                      const EmbeddingBagFromPretrainedOptions& options = {});
};

}  // namespace halftone::nn
