#include "halftone/nn/transformer.h"

#include <limits>

#include "halftone/nn/functional.h"
#include "halftone/nn/init.h"

namespace halftone::nn {

Tensor TransformerActivation::operator()(const Tensor& x) const {
  if (function_) return function_(x);
  return gelu_ ? halftone::gelu(x) : halftone::relu(x);
}

namespace {

MultiheadAttention attention(std::int64_t features, std::int64_t heads, double dropout) {
  return MultiheadAttention(MultiheadAttentionOptions(features, heads).dropout(dropout));
}

LayerNorm norm_of(std::int64_t features) { return LayerNorm(LayerNormOptions({features})); }

/// The result of attention alone.
Tensor attend(MultiheadAttention& attention, const Tensor& query, const Tensor& memory, const Tensor& mask,
              const Tensor& key_padding_mask) {
  return std::get<0>(attention(query, memory, memory, key_padding_mask, /*need_weights=*/false, mask));
}

}  // namespace

TransformerEncoderLayerImpl::TransformerEncoderLayerImpl(const TransformerEncoderLayerOptions& options)
    : options(options) {
  reset();
}

void TransformerEncoderLayerImpl::reset() {
  const std::int64_t e = options.d_model(), wide = options.dim_feedforward();
  const double p = options.dropout();
  self_attn = register_module("self_attn", attention(e, options.nhead(), p));
  linear1 = register_module("linear1", Linear(e, wide));
  dropout = register_module("dropout", Dropout(p));
  linear2 = register_module("linear2", Linear(wide, e));
  norm1 = register_module("norm1", norm_of(e));
  norm2 = register_module("norm2", norm_of(e));
  dropout1 = register_module("dropout1", Dropout(p));
  dropout2 = register_module("dropout2", Dropout(p));
}

void TransformerEncoderLayerImpl::reset_parameters() {
  self_attn->_reset_parameters();
  linear1->reset_parameters();
  linear2->reset_parameters();
  norm1->reset_parameters();
  norm2->reset_parameters();
}

Tensor TransformerEncoderLayerImpl::forward(const Tensor& src, const Tensor& src_mask,
                                            const Tensor& src_key_padding_mask) {
  const Tensor x = norm1(src + dropout1(attend(self_attn, src, src, src_mask, src_key_padding_mask)));
  const Tensor fed = linear2(dropout(options.activation()(linear1(x))));
  return norm2(x + dropout2(fed));
}

TransformerDecoderLayerImpl::TransformerDecoderLayerImpl(const TransformerDecoderLayerOptions& options)
    : options(options) {
  reset();
}

void TransformerDecoderLayerImpl::reset() {
  const std::int64_t e = options.d_model(), wide = options.dim_feedforward();
  const double p = options.dropout();
  self_attn = register_module("self_attn", attention(e, options.nhead(), p));
  multihead_attn = register_module("multihead_attn", attention(e, options.nhead(), p));
  linear1 = register_module("linear1", Linear(e, wide));
  dropout = register_module("dropout", Dropout(p));
  linear2 = register_module("linear2", Linear(wide, e));
  norm1 = register_module("norm1", norm_of(e));
  norm2 = register_module("norm2", norm_of(e));
  norm3 = register_module("norm3", norm_of(e));
  dropout1 = register_module("dropout1", Dropout(p));
  dropout2 = register_module("dropout2", Dropout(p));
  dropout3 = register_module("dropout3", Dropout(p));
}

void TransformerDecoderLayerImpl::reset_parameters() {
  self_attn->_reset_parameters();
  multihead_attn->_reset_parameters();
  linear1->reset_parameters();
  linear2->reset_parameters();
  norm1->reset_parameters();
  norm2->reset_parameters();
  norm3->reset_parameters();
}

Tensor TransformerDecoderLayerImpl::forward(Tensor tgt, const Tensor& memory, const Tensor& tgt_mask,
                                            const Tensor& memory_mask, const Tensor& tgt_key_padding_mask,
                                            const Tensor& memory_key_padding_mask) {
  const Tensor x = norm1(tgt + dropout1(attend(self_attn, tgt, tgt, tgt_mask, tgt_key_padding_mask)));
  const Tensor y =
      norm2(x + dropout2(attend(multihead_attn, x, memory, memory_mask, memory_key_padding_mask)));
  const Tensor fed = linear2(dropout(options.activation()(linear1(y))));
  return norm3(y + dropout3(fed));
}

namespace {

void check_layers(const char* name, std::int64_t num_layers) {
  if (num_layers < 1) fail(name, "expected a positive num_layers, got ", num_layers);
}

/// A copy of the module given for the last result.
AnyModule norm_copy(const AnyModule& norm) { return norm.is_empty() ? norm : norm.clone(); }

}  // namespace

TransformerEncoderOptions::TransformerEncoderOptions(TransformerEncoderLayer encoder_layer,
                                                     std::int64_t num_layers)
    : encoder_layer_(std::move(encoder_layer)), num_layers_(num_layers) {}

TransformerEncoderOptions::TransformerEncoderOptions(
    const TransformerEncoderLayerOptions& encoder_layer_options, std::int64_t num_layers)
    : encoder_layer_(encoder_layer_options), num_layers_(num_layers) {}

TransformerEncoderImpl::TransformerEncoderImpl(TransformerEncoderLayer encoder_layer, std::int64_t num_layers)
    : TransformerEncoderImpl(TransformerEncoderOptions(std::move(encoder_layer), num_layers)) {}

TransformerEncoderImpl::TransformerEncoderImpl(TransformerEncoderOptions options)
    : options(std::move(options)) {
  reset();
}

void TransformerEncoderImpl::reset() {
  check_layers("TransformerEncoder", options.num_layers());
  layers = register_module("layers", ModuleList());
  for (std::int64_t i = 0; i < options.num_layers(); ++i) layers->push_back(options.encoder_layer()->clone());
  norm = norm_copy(options.norm());
  if (!norm.is_empty()) register_module("norm", norm.ptr());
}

void TransformerEncoderImpl::reset_parameters() {
  for (std::size_t i = 0; i < layers->size(); ++i)
    layers->at<TransformerEncoderLayerImpl>(i).reset_parameters();
}

Tensor TransformerEncoderImpl::forward(const Tensor& src, const Tensor& src_mask,
                                       const Tensor& src_key_padding_mask) {
  Tensor x = src;
  for (std::size_t i = 0; i < layers->size(); ++i) {
    x = layers->at<TransformerEncoderLayerImpl>(i).forward(x, src_mask, src_key_padding_mask);
  }
  return norm.is_empty() ? x : norm.forward(x);
}

TransformerDecoderOptions::TransformerDecoderOptions(TransformerDecoderLayer decoder_layer,
                                                     std::int64_t num_layers)
    : decoder_layer_(std::move(decoder_layer)), num_layers_(num_layers) {}

TransformerDecoderOptions::TransformerDecoderOptions(
    const TransformerDecoderLayerOptions& decoder_layer_options, std::int64_t num_layers)
    : decoder_layer_(decoder_layer_options), num_layers_(num_layers) {}

TransformerDecoderImpl::TransformerDecoderImpl(TransformerDecoderLayer decoder_layer, std::int64_t num_layers)
    : TransformerDecoderImpl(TransformerDecoderOptions(std::move(decoder_layer), num_layers)) {}

TransformerDecoderImpl::TransformerDecoderImpl(TransformerDecoderOptions options)
    : options(std::move(options)) {
  reset();
}

void TransformerDecoderImpl::reset() {
  check_layers("TransformerDecoder", options.num_layers());
  layers = register_module("layers", ModuleList());
  for (std::int64_t i = 0; i < options.num_layers(); ++i) layers->push_back(options.decoder_layer()->clone());
  norm = norm_copy(options.norm());
  if (!norm.is_empty()) register_module("norm", norm.ptr());
}

void TransformerDecoderImpl::reset_parameters() {
  for (std::size_t i = 0; i < layers->size(); ++i)
    layers->at<TransformerDecoderLayerImpl>(i).reset_parameters();
}

Tensor TransformerDecoderImpl::forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask,
                                       const Tensor& memory_mask, const Tensor& tgt_key_padding_mask,
                                       const Tensor& memory_key_padding_mask) {
  Tensor x = tgt;
  for (std::size_t i = 0; i < layers->size(); ++i) {
    x = layers->at<TransformerDecoderLayerImpl>(i).forward(x, memory, tgt_mask, memory_mask,
                                                           tgt_key_padding_mask, memory_key_padding_mask);
  }
  return norm.is_empty() ? x : norm.forward(x);
}

TransformerImpl::TransformerImpl(TransformerOptions options) : options(std::move(options)) { reset(); }

void TransformerImpl::reset() {
  const std::int64_t e = options.d_model();
  if (options.custom_encoder().is_empty()) {
    const auto layer = TransformerEncoderLayerOptions(e, options.nhead())
                           .dim_feedforward(options.dim_feedforward())
                           .dropout(options.dropout())
                           .activation(options.activation());
    encoder = TransformerEncoder(
        TransformerEncoderOptions(layer, options.num_encoder_layers()).norm(AnyModule(norm_of(e))));
  } else {
    encoder = options.custom_encoder().clone();
  }
  register_module("encoder", encoder.ptr());
  if (options.custom_decoder().is_empty()) {
    const auto layer = TransformerDecoderLayerOptions(e, options.nhead())
                           .dim_feedforward(options.dim_feedforward())
                           .dropout(options.dropout())
                           .activation(options.activation());
    decoder = TransformerDecoder(
        TransformerDecoderOptions(layer, options.num_decoder_layers()).norm(AnyModule(norm_of(e))));
  } else {
    decoder = options.custom_decoder().clone();
  }
  register_module("decoder", decoder.ptr());
  reset_parameters();
}

void TransformerImpl::reset_parameters() {
  for (const Tensor& parameter : parameters()) {
    if (parameter.dim() > 1) init::xavier_uniform_(parameter);
  }
}

Tensor TransformerImpl::forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask,
                                const Tensor& tgt_mask, const Tensor& memory_mask,
                                const Tensor& src_key_padding_mask, const Tensor& tgt_key_padding_mask,
                                const Tensor& memory_key_padding_mask) {
  if (!src.defined() || !tgt.defined() || src.dim() != 3 || tgt.dim() != 3 || src.size(1) != tgt.size(1) ||
      src.size(2) != options.d_model() || tgt.size(2) != options.d_model()) {
    fail("Transformer", "expected src (S, N, ", options.d_model(), ") and tgt (T, N, ", options.d_model(),
         "), got ", src, " and ", tgt);
  }
  const Tensor memory = encoder.forward(src, src_mask, src_key_padding_mask);
  return decoder.forward(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
}

Tensor TransformerImpl::generate_square_subsequent_mask(std::int64_t sz) {
  if (sz < 0) fail("Transformer", "expected a size of 0 or more, got ", sz);
  return triu(full({sz, sz}, -std::numeric_limits<double>::infinity(), TensorOptions(kFloat)), 1);
}

}  // namespace halftone::nn
