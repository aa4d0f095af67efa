#pragma once

#include "halftone/nn/attention.h"
#include "halftone/nn/module_list.h"
#include "halftone/nn/norm.h"

namespace halftone::nn {

/// Self-attention and two linear maps, each with dropout, added to its input and normalised
/// (arXiv:1706.03762).
class TransformerEncoderLayerImpl : public Cloneable<TransformerEncoderLayerImpl> {
 public:
  TransformerEncoderLayerImpl(std::int64_t d_model, std::int64_t nhead)
      : TransformerEncoderLayerImpl(TransformerEncoderLayerOptions(d_model, nhead)) {}
  explicit TransformerEncoderLayerImpl(const TransformerEncoderLayerOptions& options);
  void reset() override;
  void reset_parameters();
  /// src (S, N, E); masks as in MultiheadAttention.
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {});
  HALFTONE_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())}, {2, AnyValue(Tensor())})

  TransformerEncoderLayerOptions options;
  /// Of the input to itself; what it gives goes through dropout1, is added and goes through norm1.
  MultiheadAttention self_attn = nullptr;
  /// From d_model to dim_feedforward.
  Linear linear1 = nullptr;
  /// Between the linear maps.
  Dropout dropout = nullptr;
  /// Back to d_model; what it gives goes through dropout2, is added and goes through norm2.
  Linear linear2 = nullptr;
  LayerNorm norm1 = nullptr, norm2 = nullptr;      ///< over d_model features, after each addition
  Dropout dropout1 = nullptr, dropout2 = nullptr;  ///< of what is added
};
HALFTONE_MODULE(TransformerEncoderLayer);

/// An encoder layer with attention to an encoder's result between.
class TransformerDecoderLayerImpl : public Cloneable<TransformerDecoderLayerImpl> {
 public:
  TransformerDecoderLayerImpl(std::int64_t d_model, std::int64_t nhead)
      : TransformerDecoderLayerImpl(TransformerDecoderLayerOptions(d_model, nhead)) {}
  explicit TransformerDecoderLayerImpl(const TransformerDecoderLayerOptions& options);
  void reset() override;
  void reset_parameters();
  /// tgt (T, N, E), memory (S, N, E).
  Tensor forward(Tensor tgt, const Tensor& memory, const Tensor& tgt_mask = {},
                 const Tensor& memory_mask = {}, const Tensor& tgt_key_padding_mask = {},
                 const Tensor& memory_key_padding_mask = {});
  HALFTONE_FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(Tensor())}, {3, AnyValue(Tensor())}, {4, AnyValue(Tensor())},
                                    {5, AnyValue(Tensor())})

  TransformerDecoderLayerOptions options;
  /// Of the target to itself; dropout1 and norm1 follow.
  MultiheadAttention self_attn = nullptr;
  /// Of what is added.
  Dropout dropout1 = nullptr;
  /// Over d_model features, after the addition.
  LayerNorm norm1 = nullptr;
  /// Of the target to the encoder's result; dropout2 and norm2 follow.
  MultiheadAttention multihead_attn = nullptr;
  /// Of what is added.
  Dropout dropout2 = nullptr;
  /// Over d_model features, after the addition.
  LayerNorm norm2 = nullptr;
  /// From d_model to dim_feedforward; the activation and `dropout` follow.
  Linear linear1 = nullptr;
  /// Between the linear maps.
  Dropout dropout = nullptr;
  /// Back to d_model; dropout3 and norm3 follow.
  Linear linear2 = nullptr;
  /// Of what is added.
  Dropout dropout3 = nullptr;
  /// Over d_model features, after the addition.
  LayerNorm norm3 = nullptr;
};
HALFTONE_MODULE(TransformerDecoderLayer);

/// Options of TransformerEncoder: num_layers copies of encoder_layer; norm: a module for the last result.
struct TransformerEncoderOptions {
  TransformerEncoderOptions(TransformerEncoderLayer encoder_layer, std::int64_t num_layers);
  TransformerEncoderOptions(const TransformerEncoderLayerOptions& encoder_layer_options,
                            std::int64_t num_layers);
  HALFTONE_ARG(TransformerEncoderLayer, encoder_layer);
  HALFTONE_ARG(std::int64_t, num_layers);
  HALFTONE_ARG(AnyModule, norm);
};

/// Encoder layers one after the other.
class TransformerEncoderImpl : public Cloneable<TransformerEncoderImpl> {
 public:
  TransformerEncoderImpl(TransformerEncoderLayer encoder_layer, std::int64_t num_layers);
  explicit TransformerEncoderImpl(TransformerEncoderOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {});
  HALFTONE_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())}, {2, AnyValue(Tensor())})

  TransformerEncoderOptions options;
  /// num_layers of them, "0", "1", ...
  ModuleList layers = nullptr;
  AnyModule norm;
};
HALFTONE_MODULE(TransformerEncoder);

/// Options of TransformerDecoder: num_layers copies of decoder_layer; norm: a module for the last result.
struct TransformerDecoderOptions {
  TransformerDecoderOptions(TransformerDecoderLayer decoder_layer, std::int64_t num_layers);
  TransformerDecoderOptions(const TransformerDecoderLayerOptions& decoder_layer_options,
                            std::int64_t num_layers);
  HALFTONE_ARG(TransformerDecoderLayer, decoder_layer);
  HALFTONE_ARG(std::int64_t, num_layers);
  HALFTONE_ARG(AnyModule, norm);
};

/// Decoder layers one after the other.
class TransformerDecoderImpl : public Cloneable<TransformerDecoderImpl> {
 public:
  TransformerDecoderImpl(TransformerDecoderLayer decoder_layer, std::int64_t num_layers);
  explicit TransformerDecoderImpl(TransformerDecoderOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {},
                 const Tensor& memory_mask = {}, const Tensor& tgt_key_padding_mask = {},
                 const Tensor& memory_key_padding_mask = {});
  HALFTONE_FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(Tensor())}, {3, AnyValue(Tensor())}, {4, AnyValue(Tensor())},
                                    {5, AnyValue(Tensor())})

  TransformerDecoderOptions options;
  /// num_layers of them, "0", "1", ...
  ModuleList layers = nullptr;
  AnyModule norm;
};
HALFTONE_MODULE(TransformerDecoder);

/// Encoder and decoder.
class TransformerImpl : public Cloneable<TransformerImpl> {
 public:
  TransformerImpl(std::int64_t d_model, std::int64_t nhead)
      : TransformerImpl(TransformerOptions(d_model, nhead)) {}
  explicit TransformerImpl(TransformerOptions options = {});
  void reset() override;
  void reset_parameters();
  /// src (S, N, E), tgt (T, N, E); the result (T, N, E).
  Tensor forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask = {},
                 const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                 const Tensor& src_key_padding_mask = {}, const Tensor& tgt_key_padding_mask = {},
                 const Tensor& memory_key_padding_mask = {});
  HALFTONE_FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(Tensor())}, {3, AnyValue(Tensor())}, {4, AnyValue(Tensor())},
                                    {5, AnyValue(Tensor())}, {6, AnyValue(Tensor())}, {7, AnyValue(Tensor())})
  /// (sz, sz): minus infinity above the diagonal, 0 elsewhere.
  static Tensor generate_square_subsequent_mask(std::int64_t sz);

  TransformerOptions options;
  AnyModule encoder, decoder;  ///< the custom ones, or else a TransformerEncoder and a TransformerDecoder
};
HALFTONE_MODULE(Transformer);

}  // namespace halftone::nn
