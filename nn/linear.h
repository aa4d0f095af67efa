#pragma once

#include "halftone/nn/module_holder.h"
#include "halftone/nn/options/linear.h"

namespace halftone::nn {

/// y = x A^T + b: input (..., in_features), output (..., out_features). weight and bias start uniform in
/// +-1/sqrt(in_features).
class LinearImpl : public Cloneable<LinearImpl> {
 public:
  LinearImpl(std::int64_t in_features, std::int64_t out_features)
      : LinearImpl(LinearOptions(in_features, out_features)) {}
  explicit LinearImpl(const LinearOptions& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  LinearOptions options;
  Tensor weight;  ///< (out_features, in_features)
  Tensor bias;    ///< (out_features), undefined without bias

 protected:
  Tensor* normalizable(std::string_view name) override { return name == "weight" ? &weight : nullptr; }
};
HALFTONE_MODULE(Linear);

/// Gives back its input.
class IdentityImpl : public Cloneable<IdentityImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input) { return input; }
};
HALFTONE_MODULE(Identity);

/// Joins the dimensions start_dim .. end_dim into one.
class FlattenImpl : public Cloneable<FlattenImpl> {
 public:
  explicit FlattenImpl(const FlattenOptions& options = {}) : options(options) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input) { return input.flatten(options.start_dim(), options.end_dim()); }

  FlattenOptions options;
};
HALFTONE_MODULE(Flatten);

/// Splits one dimension into several.
class UnflattenImpl : public Cloneable<UnflattenImpl> {
 public:
  UnflattenImpl(std::int64_t dim, std::vector<std::int64_t> sizes) : options(dim, std::move(sizes)) {}
  explicit UnflattenImpl(UnflattenOptions options) : options(std::move(options)) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input) { return input.unflatten(options.dim(), options.sizes()); }

  UnflattenOptions options;
};
HALFTONE_MODULE(Unflatten);

/// A table of vectors: integer input (...), output (..., embedding_dim). Rows start from N(0, 1), row
/// padding_idx from 0.
class EmbeddingImpl : public Cloneable<EmbeddingImpl> {
 public:
  EmbeddingImpl(std::int64_t num_embeddings, std::int64_t embedding_dim)
      : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingImpl(EmbeddingOptions options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  EmbeddingOptions options;
  Tensor weight;  ///< (num_embeddings, embedding_dim)

 protected:
  Tensor* normalizable(std::string_view name) override { return name == "weight" ? &weight : nullptr; }
};

/// Holder of EmbeddingImpl.
class Embedding : public ModuleHolder<EmbeddingImpl> {
 public:
  using ModuleHolder<EmbeddingImpl>::ModuleHolder;
  using Impl = EmbeddingImpl;
  /// Around a table (rows, features) that is there.
  static Embedding from_pretrained(const Tensor& embeddings,
                                   const EmbeddingFromPretrainedOptions& options = {});
};

/// In training zeroes elements with probability p and scales the others by 1/(1-p); the identity in
/// evaluation.
class DropoutImpl : public Cloneable<DropoutImpl> {
 public:
  explicit DropoutImpl(double p) : DropoutImpl(DropoutOptions(p)) {}
  /// Throws Error unless p is in [0, 1].
  explicit DropoutImpl(const DropoutOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  DropoutOptions options;
};
HALFTONE_MODULE(Dropout);

}  // namespace halftone::nn
