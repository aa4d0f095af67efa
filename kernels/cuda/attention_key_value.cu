// Gradients of the keys and values of attention: see attention.cu.

#include <algorithm>

#include "halftone/kernels/cuda/attention_tiles.h"

namespace halftone::cuda::attention {
namespace {

/// The gradients of keys and values, of a tile of keys: the tile of weights is transposed, its rows are keys.
template <class C>
__global__ void __launch_bounds__(kTileThreads)
    attention_key_value_kernel(const void* g, const void* q, const void* k, const void* v, const void* mask,
                               const C* planes, void* gk, ScalarType gk_dtype, void* gv, ScalarType gv_dtype,
                               Problem p) {
  HT_DYN_SHARED(C, memory);
  const Shared<C> shared(memory);
  const Place at = place(p.key_tiles());
  const Operands x = operands(p, at.b, q, k, v, g);
  TileRule<C, false> rule(p, mask, at.b, shared.weights, shared.keep);
  Part<C> key_result, value_result;

  // With a causal mask, queries before the first key of this tile do not see it.
  for (std::int64_t query = p.causal ? at.first : 0; query < p.length; query += kTile) {
    const std::int64_t end = query + kTile < p.length ? query + kTile : p.length;
    rule.stage(query, at.first);
    Part<C> weights = multiply_rows(shared, x.key, at.first, x.query, query);
    Part<C> grads = multiply_rows(shared, x.value, at.first, x.grad, query);
    const TileBounds bounds(p, query, at.first);
    HT_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      const int i = first_column() + c;  // the query
      RowStatistics<C> row;
      if (i < bounds.rows) row = load_statistics(planes, p.batches * p.length, at.b * p.length + query + i);
      HT_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const int j = first_row() + r;  // the key
        const C weight = rule.weight(weights.at[r][c], i, j, bounds, row);
        const C grad = rule.drop(grads.at[r][c], i, j);
        weights.at[r][c] = rule.drop(weight, i, j);
        grads.at[r][c] = bounds.contains(i, j) ? weight * (grad - row.dot) : C(0);
      }
    }
    store_weights(shared, weights);
    multiply_weights(value_result, shared, x.grad, query, end, at.column);
    store_weights(shared, grads);
    multiply_weights(key_result, shared, x.query, query, end, at.column);
  }

  HT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const bool seen = at.first + first_row() + r < p.seen_keys();
    HT_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      key_result.at[r][c] = seen ? key_result.at[r][c] * static_cast<C>(p.scale) : C(0);
      value_result.at[r][c] = seen ? value_result.at[r][c] : C(0);
    }
  }
  write_part(gk, gk_dtype, key_result, at.b, p.keys, p.features, at.first, at.column);
  write_part(gv, gv_dtype, value_result, at.b, p.keys, p.value_features, at.first, at.column);
}

// ---------------------------------------------------------------------------------------------------------------------

template <class C>
void key_value_gradients_in(const Problem& p, const Inputs& x, const Tensor& planes, const Tensor& gk,
                            const Tensor& gv) {
  launch_tiles<attention_key_value_kernel<C>, C>(
      grid_for(p, p.key_tiles(), std::max(p.features, p.value_features)), x.g.data_ptr(), x.q.data_ptr(),
      x.k.data_ptr(), x.v.data_ptr(), data_of(x.mask), planes.data_ptr<C>(), gk.data_ptr(), gk.scalar_type(),
      gv.data_ptr(), gv.scalar_type(), p);
}

}  // namespace

void key_value_gradients(const Problem& p, const Inputs& x, const Tensor& planes, const Tensor& gk,
                         const Tensor& gv) {
  const bool wide = planes.scalar_type() == kDouble;
  (wide ? key_value_gradients_in<double> : key_value_gradients_in<float>)(p, x, planes, gk, gv);
}

}  // namespace halftone::cuda::attention
