#pragma once

#include <functional>

#include "halftone/engine/arg.h"
#include "halftone/engine/tensor.h"
#include "halftone/nn/any_module.h"

namespace halftone::nn {

/// Options of MultiheadAttention: embed_dim features of queries and results, a multiple of num_heads. kdim
/// and vdim: features of keys and values, embed_dim by default. add_bias_kv: one learned key and value more;
/// add_zero_attn: one of zeros.
struct MultiheadAttentionOptions {
  MultiheadAttentionOptions(std::int64_t embed_dim, std::int64_t num_heads)
      : embed_dim_(embed_dim), num_heads_(num_heads), kdim_(embed_dim), vdim_(embed_dim) {}
  HALFTONE_ARG(std::int64_t, embed_dim);
  HALFTONE_ARG(std::int64_t, num_heads);
  HALFTONE_ARG(double, dropout) = 0;
  HALFTONE_ARG(bool, bias) = true;
  HALFTONE_ARG(bool, add_bias_kv) = false;
  HALFTONE_ARG(bool, add_zero_attn) = false;
  HALFTONE_ARG(std::int64_t, kdim);
  HALFTONE_ARG(std::int64_t, vdim);
};

/// What stands between the two linear maps of a transformer layer: kReLU, kGELU or a function.
class TransformerActivation {
 public:
  /// From (..., dim_feedforward) to the same shape.
  using Function = std::function<Tensor(const Tensor&)>;
  TransformerActivation(enumtype::kReLU) {}
  TransformerActivation(enumtype::kGELU) : gelu_(true) {}
  template <class F>
  requires(std::is_invocable_r_v<Tensor, F, const Tensor&> &&
           !std::is_same_v<std::remove_cvref_t<F>, TransformerActivation>) TransformerActivation(F function)
      : function_(std::move(function)) {}
  Tensor operator()(const Tensor& x) const;

 private:
  bool gelu_ = false;
  Function function_;
};
/// libtorch's name.
using activation_t = TransformerActivation;

/// Options of TransformerEncoderLayer.
struct TransformerEncoderLayerOptions {
  TransformerEncoderLayerOptions(std::int64_t d_model, std::int64_t nhead)
      : d_model_(d_model), nhead_(nhead) {}
  HALFTONE_ARG(std::int64_t, d_model);
  HALFTONE_ARG(std::int64_t, nhead);
  HALFTONE_ARG(std::int64_t, dim_feedforward) = 2048;
  HALFTONE_ARG(double, dropout) = 0.1;
  HALFTONE_ARG(activation_t, activation) = kReLU;
};

/// Options of TransformerDecoderLayer.
struct TransformerDecoderLayerOptions {
  TransformerDecoderLayerOptions(std::int64_t d_model, std::int64_t nhead)
      : d_model_(d_model), nhead_(nhead) {}
  HALFTONE_ARG(std::int64_t, d_model);
  HALFTONE_ARG(std::int64_t, nhead);
  HALFTONE_ARG(std::int64_t, dim_feedforward) = 2048;
  HALFTONE_ARG(double, dropout) = 0.1;
  HALFTONE_ARG(activation_t, activation) = kReLU;
};

/// Options of Transformer. custom_encoder and custom_decoder: modules to use instead.
struct TransformerOptions {
  TransformerOptions() = default;
  TransformerOptions(std::int64_t d_model, std::int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  TransformerOptions(std::int64_t d_model, std::int64_t nhead, std::int64_t num_encoder_layers,
                     std::int64_t num_decoder_layers)
      : d_model_(d_model),
        nhead_(nhead),
        num_encoder_layers_(num_encoder_layers),
        num_decoder_layers_(num_decoder_layers) {}
  HALFTONE_ARG(std::int64_t, d_model) = 512;
  HALFTONE_ARG(std::int64_t, nhead) = 8;
  HALFTONE_ARG(std::int64_t, num_encoder_layers) = 6;
  HALFTONE_ARG(std::int64_t, num_decoder_layers) = 6;
  HALFTONE_ARG(std::int64_t, dim_feedforward) = 2048;
  HALFTONE_ARG(double, dropout) = 0.1;
  HALFTONE_ARG(activation_t, activation) = kReLU;
  HALFTONE_ARG(AnyModule, custom_encoder);
  HALFTONE_ARG(AnyModule, custom_decoder);
};

}  // namespace halftone::nn
