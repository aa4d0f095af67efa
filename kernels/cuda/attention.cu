// Attention without a matrix of weights in memory: a block has a tile of 64 queries, walks over tiles of 64
// keys and keeps the running maximum and sum of each row (Dao et al., "FlashAttention", 2022; the online
// softmax is Milakov's and Gimelshein's, 2018). Backward computes weights again: first the statistics of the
// rows, then the gradient of the queries by tiles of queries and those of keys and values by tiles of keys,
// so that every sum has one order.
//
// These kernels take every dtype, layout and size and compute in fp32 or fp64. Features beyond 64 are further
// blocks (grid.y), which compute the weights again. attention_mma.h has the same for fp16 and bf16 on tensor
// cores.

#include <algorithm>

#include "halftone/kernels/cuda/attention_tiles.h"

namespace halftone::cuda {
namespace attention {
namespace {

template <class C>
__global__ void __launch_bounds__(kTileThreads)
    attention_forward_kernel(const void* q, const void* k, const void* v, const void* mask, void* out,
                             ScalarType out_dtype, Problem p) {
  HT_DYN_SHARED(C, memory);
  const Shared<C> shared(memory);
  const Place at = place(p.query_tiles());
  const Operands x = operands(p, at.b, q, k, v, nullptr);
  const std::int64_t visible = p.visible(at.first);
  TileRule<C, true> rule(p, mask, at.b, shared.weights, shared.keep);
  OnlineRow<C> rows[kRows];
  Part<C> result;

  for (std::int64_t key = 0; key < visible; key += kTile) {
    rule.stage(at.first, key);
    Part<C> weights = multiply_rows(shared, x.query, at.first, x.key, key);
    C factor[kRows];
    meet_scores(weights, rows, factor, rule, TileBounds(p, at.first, key));
    HT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      HT_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        weights.at[r][c] = rule.drop(weights.at[r][c], first_row() + r, first_column() + c);
        result.at[r][c] *= factor[r];
      }
    }
    store_weights(shared, weights);
    multiply_weights(result, shared, x.value, key, visible < key + kTile ? visible : key + kTile, at.column);
  }

  HT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    HT_UNROLL
    for (int c = 0; c < kColumns; ++c) result.at[r][c] *= rows[r].inverse();
  }
  write_part(out, out_dtype, result, at.b, p.length, p.value_features, at.first, at.column);
}

// ---------------------------------------------------------------------------------------------------------------------

template <class C>
void forward_in(const Problem& p, const Inputs& x, const Tensor& out) {
  launch_tiles<attention_forward_kernel<C>, C>(grid_for(p, p.query_tiles(), p.value_features), x.q.data_ptr(),
                                               x.k.data_ptr(), x.v.data_ptr(), data_of(x.mask),
                                               out.data_ptr(), out.scalar_type(), p);
}

Layout layout_of(const Tensor& x) {
  Layout layout{x.stride(-2), x.stride(-1), x.scalar_type(), false};
  const std::int64_t unit = layout.col == 1 ? -1 : -2, other = -3 - unit;  // dimensions
  layout.packs = x.is_floating_point() && is_pack_aligned(x.data_ptr()) && x.stride(unit) == 1 &&
                 x.size(unit) % 4 == 0 && x.stride(other) % 4 == 0;
  for (std::int64_t d = 0; d < x.dim() - 2; ++d) layout.packs = layout.packs && x.stride(d) % 4 == 0;
  return layout;
}

bool in_double(std::initializer_list<const Tensor*> tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor* t) { return t->scalar_type() == kDouble; });
}

void forward(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
             const AttentionOptions& options) {
  const DeviceScope scope(out.device());
  const Tensor none;
  const Inputs x{q, k, v, mask, none};
  const Problem p = make_problem(x, options);
  if (fits_tensor_cores(p, {&q, &k, &v, &out})) return mma_forward(p, x, out);
  (in_double({&out, &q, &k, &v}) ? forward_in<double> : forward_in<float>)(p, x, out);
}

void backward(const Tensor& gq, const Tensor& gk, const Tensor& gv, const Tensor& gmask, const Tensor& g,
              const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
              const AttentionOptions& options) {
  const DeviceScope scope(gq.device());
  const Inputs x{q, k, v, mask, g};
  const Problem p = make_problem(x, options);
  const ScalarType computed = in_double({&g, &q, &k, &v}) ? kDouble : kFloat;
  const Tensor planes = empty({3 * p.batches * p.length}, TensorOptions(computed).device(q.device()));
  const bool fits = fits_tensor_cores(p, {&q, &k, &v, &g, &gq, &gk, &gv});
  (fits ? mma_query_gradient : query_gradient)(p, x, planes, gq, gmask);
  (fits ? mma_key_value_gradients : key_value_gradients)(p, x, planes, gk, gv);
}

}  // namespace

Problem make_problem(const Inputs& x, const AttentionOptions& options) {
  const Tensor &q = x.q, &k = x.k, &v = x.v, &mask = x.mask, &g = x.g;
  Problem p;
  const std::int64_t batch_dims = q.dim() - 2;
  for (std::int64_t d = 0; d < batch_dims; ++d) {
    p.batch.add(q.size(d), {q.stride(d), k.stride(d), v.stride(d), mask.defined() ? mask.stride(d) : 0,
                            g.defined() ? g.stride(d) : 0});
  }
  p.batches = p.batch.numel;
  p.length = q.size(-2);
  p.keys = k.size(-2);
  p.features = q.size(-1);
  p.value_features = v.size(-1);
  p.query = layout_of(q);
  p.key = layout_of(k);
  p.value = layout_of(v);
  if (g.defined()) p.grad = layout_of(g);
  p.has_mask = mask.defined();
  if (p.has_mask) p.mask = layout_of(mask);
  p.causal = options.causal;
  p.scale = options.scale;
  p.drops = options.dropout_p != 0;
  p.drop_scale = 1 / (1 - options.dropout_p);
  p.drop_threshold = static_cast<std::uint32_t>(std::ceil(options.dropout_p * 0x1p24));
  p.state = options.state;
  return p;
}

}  // namespace attention
}  // namespace halftone::cuda

namespace halftone {

template <>
const AttentionKernels& cuda_kernels<AttentionKernels>() {
  static const AttentionKernels kernels{cuda::attention::forward, cuda::attention::backward};
  return kernels;
}

}  // namespace halftone
