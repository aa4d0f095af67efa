#include "halftone/nn/attention.h"

#include <cmath>
#include <limits>

#include "halftone/nn/functional.h"
#include "halftone/nn/init.h"

namespace halftone::nn {

MultiheadAttentionImpl::MultiheadAttentionImpl(const MultiheadAttentionOptions& options)
    : Cloneable("torch::nn::MultiheadAttention"), options(options) {
  reset();
}

void MultiheadAttentionImpl::reset() {
  const std::int64_t e = options.embed_dim(), heads = options.num_heads();
  if (e < 1 || heads < 1 || e % heads != 0) {
    fail("MultiheadAttention", "embed_dim ", e, " is not divisible into ", heads, " heads");
  }
  _qkv_same_embed_dim = options.kdim() == e && options.vdim() == e;
  head_dim = e / heads;
  if (_qkv_same_embed_dim) {
    in_proj_weight = register_parameter("in_proj_weight", empty({3 * e, e}));
  } else {
    q_proj_weight = register_parameter("q_proj_weight", empty({e, e}));
    k_proj_weight = register_parameter("k_proj_weight", empty({e, options.kdim()}));
    v_proj_weight = register_parameter("v_proj_weight", empty({e, options.vdim()}));
  }
  in_proj_bias = register_parameter("in_proj_bias", options.bias() ? empty({3 * e}) : Tensor());
  out_proj = register_module("out_proj", Linear(LinearOptions(e, e).bias(options.bias())));
  if (options.add_bias_kv()) {
    bias_k = register_parameter("bias_k", empty({1, 1, e}));
    bias_v = register_parameter("bias_v", empty({1, 1, e}));
  } else {
    bias_k = bias_v = Tensor();
  }
  _reset_parameters();
}

void MultiheadAttentionImpl::_reset_parameters() {
  for (const Tensor* weight : {&in_proj_weight, &q_proj_weight, &k_proj_weight, &v_proj_weight}) {
    if (weight->defined()) init::xavier_uniform_(*weight);
  }
  if (in_proj_bias.defined()) {
    init::zeros_(in_proj_bias);
    init::zeros_(out_proj->bias);
  }
  if (bias_k.defined()) init::xavier_normal_(bias_k);
  if (bias_v.defined()) init::xavier_normal_(bias_v);
}

namespace {

/// (N, heads, length, head_dim) of (length, N, E).
Tensor split_heads(const Tensor& x, std::int64_t heads) {
  return permute(unflatten(x, -1, {heads, x.size(-1) / heads}), {1, 2, 0, 3});
}

/// One more place along `dim`, of `value`.
Tensor with_one_more(const Tensor& x, std::int64_t dim, const Scalar& value) {
  Dims sizes = x.sizes().dims();
  sizes[static_cast<std::size_t>(wrap_dim("MultiheadAttention", dim, x.dim()))] = 1;
  return cat({x, full(sizes, value, x.options())}, dim);
}

/// What is added to the scores where `mask` is true: minus infinity; masks of numbers stay.
Tensor additive(const Tensor& mask, const Tensor& like) {
  if (mask.is_floating_point()) return mask;
  const Tensor zero = zeros(mask.sizes(), like.options());
  return masked_fill(zero, mask.to(kBool), -std::numeric_limits<double>::infinity());
}

}  // namespace

std::tuple<Tensor, Tensor> MultiheadAttentionImpl::forward(const Tensor& query, const Tensor& key,
                                                           const Tensor& value,
                                                           const Tensor& key_padding_mask, bool need_weights,
                                                           const Tensor& attn_mask,
                                                           bool average_attn_weights) {
  const char* const op = "MultiheadAttention";
  const std::int64_t e = options.embed_dim(), heads = options.num_heads();
  for (const Tensor* x : {&query, &key, &value}) {
    if (!x->defined() || x->dim() != 3)
      fail(op, "expected query, key and value (length, N, features), got ", *x);
  }
  if (query.size(2) != e || key.size(2) != options.kdim() || value.size(2) != options.vdim()) {
    fail(op, "expected ", e, ", ", options.kdim(), " and ", options.vdim(), " features, got ", query, ", ",
         key, " and ", value);
  }
  const std::int64_t length = query.size(0), batch = query.size(1);
  if (key.size(0) != value.size(0) || key.size(1) != batch || value.size(1) != batch) {
    fail(op, "query ", query, ", key ", key, " and value ", value, " do not go together");
  }

  Tensor q, k, v;
  if (_qkv_same_embed_dim && query.is_same(key) && key.is_same(value)) {
    const std::vector<Tensor> all = chunk(functional::linear(query, in_proj_weight, in_proj_bias), 3, -1);
    q = all[0], k = all[1], v = all[2];
  } else {
    const auto part = [&](const Tensor& x, std::int64_t i, const Tensor& own) {
      const Tensor weight = _qkv_same_embed_dim ? narrow(in_proj_weight, 0, i * e, e) : own;
      const Tensor bias = in_proj_bias.defined() ? narrow(in_proj_bias, 0, i * e, e) : Tensor();
      return functional::linear(x, weight, bias);
    };
    q = part(query, 0, q_proj_weight);
    k = part(key, 1, k_proj_weight);
    v = part(value, 2, v_proj_weight);
  }

  // The masks, as (N or 1, heads or 1, L or 1, S), before keys are added that all may see.
  Tensor mask;
  if (attn_mask.defined()) {
    const bool shared = attn_mask.dim() == 2;
    if (attn_mask.size(-1) != key.size(0) || attn_mask.size(-2) != length ||
        (!shared && (attn_mask.dim() != 3 || attn_mask.size(0) != batch * heads))) {
      fail(op, "expected an attn_mask (", length, ", ", key.size(0), ") or (", batch * heads, ", ", length,
           ", ", key.size(0), "), got ", attn_mask);
    }
    mask = shared ? attn_mask : unflatten(attn_mask, 0, {batch, heads});
    mask = additive(mask, q);
  }
  if (key_padding_mask.defined()) {
    if (!(key_padding_mask.sizes() == IntArrayRef({batch, key.size(0)}))) {
      fail(op, "expected a key_padding_mask (", batch, ", ", key.size(0), "), got ", key_padding_mask);
    }
    const Tensor padding = additive(reshape(key_padding_mask, {batch, 1, 1, key.size(0)}), q);
    mask = mask.defined() ? mask + padding : padding;
  }
  const auto add_key = [&](const Tensor& more_k, const Tensor& more_v) {
    k = cat({k, more_k}, 0);
    v = cat({v, more_v}, 0);
    if (mask.defined()) mask = with_one_more(mask, -1, 0);
  };
  if (bias_k.defined()) {
    add_key(expand(to_dtype(bias_k, k.scalar_type()), {1, batch, e}),
            expand(to_dtype(bias_v, v.scalar_type()), {1, batch, e}));
  }
  if (options.add_zero_attn()) add_key(zeros({1, batch, e}, k.options()), zeros({1, batch, e}, v.options()));

  q = split_heads(q, heads);
  k = split_heads(k, heads);
  v = split_heads(v, heads);
  const double dropout_p = is_training() ? options.dropout() : 0;
  Tensor out, weights;
  if (need_weights) {
    Tensor scores = matmul(q * (1 / std::sqrt(static_cast<double>(head_dim))), transpose(k, -2, -1));
    if (mask.defined()) scores = scores + mask;
    weights = softmax(scores, -1);
    if (dropout_p > 0) weights = dropout(weights, dropout_p, true);
    out = matmul(weights, v);
    if (average_attn_weights) weights = mean(weights, 1);
  } else {
    out = scaled_dot_product_attention(q, k, v, mask, dropout_p);
  }
  out = reshape(permute(out, {2, 0, 1, 3}), {length, batch, e});
  return {out_proj(out), weights};
}

}  // namespace halftone::nn
