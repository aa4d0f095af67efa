#include "halftone/nn/linear.h"

#include <cmath>
#include <ostream>

#include "halftone/autograd/grad_mode.h"
#include "halftone/nn/functional.h"
#include "halftone/nn/init.h"
#include "halftone/nn/layer_text.h"
#include "halftone/nn/padding_row.h"

namespace halftone::nn {

LinearImpl::LinearImpl(const LinearOptions& options) : options(options) { reset(); }

void LinearImpl::reset() {
  if (options.in_features() < 0 || options.out_features() < 0)
    fail("Linear", "features must not be negative, got ", options.in_features(), " -> ",
         options.out_features());
  weight = register_parameter("weight", empty({options.out_features(), options.in_features()}));
  bias = register_parameter("bias", options.bias() ? empty({options.out_features()}) : Tensor());
  reset_parameters();
}

void LinearImpl::reset_parameters() {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const double bound =
      options.in_features() > 0 ? 1 / std::sqrt(static_cast<double>(options.in_features())) : 0;
  init::uniform_(bias, -bound, bound);
}

void LinearImpl::pretty_print(std::ostream& stream) const {
  stream << kLayerPrefix << "Linear(in_features=" << options.in_features()
         << ", out_features=" << options.out_features() << ", bias=" << (options.bias() ? "true" : "false")
         << ")";
}

Tensor LinearImpl::forward(const Tensor& input) {
  return functional::linear(input, effective(weight, "weight"), bias);
}

void IdentityImpl::pretty_print(std::ostream& stream) const { stream << kLayerPrefix << "Identity()"; }

void FlattenImpl::pretty_print(std::ostream& stream) const {
  stream << kLayerPrefix << "Flatten(start_dim=" << options.start_dim() << ", end_dim=" << options.end_dim()
         << ")";
}

void UnflattenImpl::pretty_print(std::ostream& stream) const {
  stream << kLayerPrefix << "Unflatten(dim=" << options.dim() << ", unflattened_size={";
  for (std::size_t i = 0; i < options.sizes().size(); ++i)
    stream << (i > 0 ? ", " : "") << options.sizes()[i];
  stream << "})";
}

EmbeddingImpl::EmbeddingImpl(EmbeddingOptions options) : options(std::move(options)) { reset(); }

void EmbeddingImpl::reset() {
  const std::int64_t rows = options.num_embeddings(), columns = options.embedding_dim();
  if (auto& padding = options.padding_idx()) padding = padding_row("Embedding", padding, rows);
  const Tensor given = options._weight();
  options._weight() = Tensor();  // a copy of this module gets values of its own
  if (given.defined() && given.sizes() != IntArrayRef{rows, columns})
    fail("Embedding", "_weight is ", given, ", expected [", rows, ", ", columns, "]");
  weight = register_parameter("weight", given.defined() ? given : empty({rows, columns}));
  if (!given.defined()) reset_parameters();
}

void EmbeddingImpl::reset_parameters() {
  init::normal_(weight);
  if (!options.padding_idx()) return;
  NoGradGuard no_grad;
  weight[*options.padding_idx()].zero_();
}

void EmbeddingImpl::pretty_print(std::ostream& stream) const {
  stream << kLayerPrefix << "Embedding(num_embeddings=" << options.num_embeddings()
         << ", embedding_dim=" << options.embedding_dim();
  if (options.padding_idx()) stream << ", padding_idx=" << *options.padding_idx();
  if (options.max_norm()) stream << ", max_norm=" << *options.max_norm();
  if (options.norm_type() != 2) stream << ", norm_type=" << options.norm_type();
  if (options.scale_grad_by_freq()) stream << ", scale_grad_by_freq=true";
  stream << ")";
}

Embedding Embedding::from_pretrained(const Tensor& embeddings,
                                     const EmbeddingFromPretrainedOptions& options) {
  if (!embeddings.defined() || embeddings.dim() != 2) {
    fail("Embedding", "from_pretrained expects a table (rows, features), got ", embeddings);
  }
  Embedding embedding(EmbeddingOptions(embeddings.size(0), embeddings.size(1))
                          ._weight(embeddings)
                          .padding_idx(options.padding_idx())
                          .max_norm(options.max_norm())
                          .norm_type(options.norm_type())
                          .scale_grad_by_freq(options.scale_grad_by_freq())
                          .sparse(options.sparse()));
  embedding->weight.set_requires_grad(!options.freeze());
  return embedding;
}

Tensor EmbeddingImpl::forward(const Tensor& input) {
  return functional::embedding(input, effective(weight, "weight"),
                               functional::EmbeddingFuncOptions()
                                   .padding_idx(options.padding_idx())
                                   .max_norm(options.max_norm())
                                   .norm_type(options.norm_type())
                                   .scale_grad_by_freq(options.scale_grad_by_freq())
                                   .sparse(options.sparse()));
}

DropoutImpl::DropoutImpl(const DropoutOptions& options) : options(options) { reset(); }

void DropoutImpl::reset() {
  if (!(options.p() >= 0 && options.p() <= 1)) fail("Dropout", "p must be in [0, 1], got ", options.p());
}

void DropoutImpl::pretty_print(std::ostream& stream) const {
  stream << kLayerPrefix << "Dropout(p=" << options.p()
         << ", inplace=" << (options.inplace() ? "true" : "false") << ")";
}

Tensor DropoutImpl::forward(const Tensor& input) {
  return functional::dropout(
      input,
      functional::DropoutFuncOptions().p(options.p()).training(is_training()).inplace(options.inplace()));
}

}  // namespace halftone::nn
