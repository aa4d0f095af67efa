#pragma once

#include <vector>

#include "halftone/engine/arg.h"
#include "halftone/engine/tensor.h"
#include "halftone/nn/enum.h"

namespace halftone::nn {

/// Options of Linear.
struct LinearOptions {
  LinearOptions(std::int64_t in_features, std::int64_t out_features)
      : in_features_(in_features), out_features_(out_features) {}
  HALFTONE_ARG(std::int64_t, in_features);
  HALFTONE_ARG(std::int64_t, out_features);
  HALFTONE_ARG(bool, bias) = true;
};

/// Options of Flatten, which joins the dimensions from start_dim to end_dim into one.
struct FlattenOptions {
  HALFTONE_ARG(std::int64_t, start_dim) = 1;
  HALFTONE_ARG(std::int64_t, end_dim) = -1;
};

/// Options of Unflatten: dimension `dim` becomes `sizes`.
struct UnflattenOptions {
  UnflattenOptions(std::int64_t dim, std::vector<std::int64_t> sizes) : dim_(dim), sizes_(std::move(sizes)) {}
  HALFTONE_ARG(std::int64_t, dim);
  HALFTONE_ARG(std::vector<std::int64_t>, sizes);
};

/// Options of Embedding. The gradient of row `padding_idx` is zero. max_norm: rows are brought down to this
/// norm before they are read. sparse: only false is supported.
struct EmbeddingOptions {
  EmbeddingOptions(std::int64_t num_embeddings, std::int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  HALFTONE_ARG(std::int64_t, num_embeddings);
  HALFTONE_ARG(std::int64_t, embedding_dim);
  HALFTONE_ARG(optional<std::int64_t>, padding_idx) = nullopt;
  HALFTONE_ARG(optional<double>, max_norm) = nullopt;
  HALFTONE_ARG(double, norm_type) = 2;
  HALFTONE_ARG(bool, scale_grad_by_freq) = false;
  HALFTONE_ARG(bool, sparse) = false;
  /// Initial weight, (num_embeddings, embedding_dim); drawn from N(0, 1) when undefined.
  HALFTONE_ARG(Tensor, _weight) = Tensor();
};

/// Options of Embedding::from_pretrained. freeze: the table takes no gradients.
struct EmbeddingFromPretrainedOptions {
  HALFTONE_ARG(bool, freeze) = true;
  HALFTONE_ARG(optional<std::int64_t>, padding_idx) = nullopt;
  HALFTONE_ARG(optional<double>, max_norm) = nullopt;
  HALFTONE_ARG(double, norm_type) = 2;
  HALFTONE_ARG(bool, scale_grad_by_freq) = false;
  HALFTONE_ARG(bool, sparse) = false;
};

/// Options of Dropout.
struct DropoutOptions {
  DropoutOptions(double p = 0.5) : p_(p) {}
  HALFTONE_ARG(double, p);
  HALFTONE_ARG(bool, inplace) = false;
};

/// The same as Dropout's.
/// @{
using Dropout2dOptions = DropoutOptions;
using Dropout3dOptions = DropoutOptions;
using AlphaDropoutOptions = DropoutOptions;
using FeatureAlphaDropoutOptions = DropoutOptions;
/// @}

namespace functional {

/// Options of functional::alpha_dropout and feature_alpha_dropout.
struct AlphaDropoutFuncOptions {
  HALFTONE_ARG(double, p) = 0.5;
  HALFTONE_ARG(bool, training) = false;
  HALFTONE_ARG(bool, inplace) = false;
};
/// The same as alpha_dropout's.
using FeatureAlphaDropoutFuncOptions = AlphaDropoutFuncOptions;

/// Options of functional::dropout.
struct DropoutFuncOptions {
  HALFTONE_ARG(double, p) = 0.5;
  HALFTONE_ARG(bool, training) = true;
  HALFTONE_ARG(bool, inplace) = false;
};

/// The same as dropout's.
/// @{
using Dropout2dFuncOptions = DropoutFuncOptions;
using Dropout3dFuncOptions = DropoutFuncOptions;
/// @}

/// Options of functional::embedding.
struct EmbeddingFuncOptions {
  HALFTONE_ARG(optional<std::int64_t>, padding_idx) = nullopt;
  HALFTONE_ARG(optional<double>, max_norm) = nullopt;
  HALFTONE_ARG(double, norm_type) = 2;
  HALFTONE_ARG(bool, scale_grad_by_freq) = false;
  HALFTONE_ARG(bool, sparse) = false;
};

/// How functional::pad fills: kConstant, kReflect (without the edge), kReplicate or kCircular.
class PadMode {
 public:
  PadMode(enumtype::kConstant) : name_("constant") {}
  PadMode(enumtype::kReflect) : name_("reflect") {}
  PadMode(enumtype::kReplicate) : name_("replicate") {}
  PadMode(enumtype::kCircular) : name_("circular") {}
  const char* name() const { return name_; }

 private:
  const char* name_;
};

/// Options of functional::pad. pad: pairs (before, after), the last dimension first; negative amounts crop.
/// mode: how the new elements are filled; value: with what, if mode is kConstant.
struct PadFuncOptions {
  PadFuncOptions(std::vector<std::int64_t> pad) : pad_(std::move(pad)) {}
  HALFTONE_ARG(std::vector<std::int64_t>, pad);
  HALFTONE_ARG(PadMode, mode) = kConstant;
  HALFTONE_ARG(double, value) = 0;
};

/// Options of functional::normalize: x / max(norm_p(x, dim), eps).
struct NormalizeFuncOptions {
  HALFTONE_ARG(double, p) = 2;
  HALFTONE_ARG(std::int64_t, dim) = 1;
  HALFTONE_ARG(double, eps) = 1e-12;
};

}  // namespace functional
}  // namespace halftone::nn
