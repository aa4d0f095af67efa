#pragma once

#include <tuple>

#include "halftone/nn/linear.h"
#include "halftone/nn/options/attention.h"

namespace halftone::nn {

/// Attention with several heads (arXiv:1706.03762) over (L, N, E) queries and (S, N, kdim), (S, N, vdim) keys
/// and values.
class MultiheadAttentionImpl : public Cloneable<MultiheadAttentionImpl> {
 public:
  MultiheadAttentionImpl(std::int64_t embed_dim, std::int64_t num_heads)
      : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)) {}
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& options);
  void reset() override;
  void _reset_parameters();
  /// The result (L, N, E), and the weights: (N, L, S) averaged over the heads, (N, heads, L, S) if not
  /// average_attn_weights, undefined if not need_weights (which lets the fused operator compute the result).
  /// key_padding_mask (N, S): true where a key is to be ignored. attn_mask (L, S) or (N * heads, L, S): true
  /// where a pair is to be ignored, or numbers to add.
  std::tuple<Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const Tensor& key_padding_mask = {}, bool need_weights = true,
                                     const Tensor& attn_mask = {}, bool average_attn_weights = true);
  HALFTONE_FORWARD_HAS_DEFAULT_ARGS({3, AnyValue(Tensor())}, {4, AnyValue(true)}, {5, AnyValue(Tensor())},
                                    {6, AnyValue(true)})

  MultiheadAttentionOptions options;
  /// Whether kdim and vdim are embed_dim, so that in_proj_weight is used.
  bool _qkv_same_embed_dim = true;
  Tensor in_proj_weight;  ///< (3 E, E); undefined when kdim or vdim differ from embed_dim
  Tensor in_proj_bias;    ///< (3 E), undefined without bias
  Tensor bias_k, bias_v;  ///< (1, 1, E), undefined unless add_bias_kv
  /// From the heads' results side by side, E, to E.
  Linear out_proj = nullptr;
  /// (E, E), (E, kdim), (E, vdim), where in_proj_weight is not.
  Tensor q_proj_weight, k_proj_weight, v_proj_weight;
  std::int64_t head_dim = 0;  ///< embed_dim / num_heads
};
HALFTONE_MODULE(MultiheadAttention);

}  // namespace halftone::nn
