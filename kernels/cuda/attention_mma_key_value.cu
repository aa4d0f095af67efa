// Gradients of the keys and values of attention on tensor cores: see attention_mma.h.

#include "halftone/kernels/cuda/attention_mma.h"

namespace halftone::cuda::attention {
namespace {

/// The gradients of keys and values, of a tile of keys: the rows of weights are keys.
template <class T, int kWidth>
__global__ void __launch_bounds__(kMmaThreads)
    attention_mma_key_value_kernel(const T* g, const T* q, const T* k, const T* v, const void* mask,
                                   const float* planes, T* gk, T* gv, Problem p) {
  constexpr int kStep =
      32;  // queries at a time: two sums of 64 columns and two results do not fit into registers
  HT_DYN_SHARED(T, memory);
  MmaShared<T> shared{memory};
  const RowTile<T> keys = shared.tile(p.features), queries = shared.tile(p.features);
  const RowTile<T> values = shared.tile(p.value_features), grads = shared.tile(p.value_features);
  const Place at = place(p.key_tiles());
  const auto offset = p.batch.offsets(at.b);
  const std::int64_t first = at.first + at.warp_row;
  TileRule<float, false> rule(p, mask, at.b, shared.mask(), shared.keep(p));
  Sums<kWidth / 8> key_result, value_result;

  stage_rows(keys, k + offset.at[kKey], p.key.row, at.first, p.keys, p.features);
  stage_rows(values, v + offset.at[kValue], p.value.row, at.first, p.keys, p.value_features);
  // With a causal mask, queries before the first key of this tile do not see it.
  for (std::int64_t query = p.causal ? at.first : 0; query < p.length; query += kTile) {
    stage_rows(queries, q + offset.at[kQuery], p.query.row, query, p.length, p.features);
    stage_rows(grads, g + offset.at[kGrad], p.grad.row, query, p.length, p.value_features);
    rule.stage(query, at.first);
    __syncthreads();
    const TileBounds bounds(p, query, at.first);
    for (int step = 0; at.warp_row < bounds.columns && step < bounds.rows; step += kStep) {
      const int count = bounds.rows - step;
      Sums<kStep / 8> weights = multiply_rows<kStep / 8>(keys, at.warp_row, queries, step, count, p.features);
      Sums<kStep / 8> scores =
          multiply_rows<kStep / 8>(values, at.warp_row, grads, step, count, p.value_features);
      HT_UNROLL
      for (int c = 0; c < kStep / 8; ++c) {
        HT_UNROLL
        for (int n = 0; n < 4; ++n) {
          const int i = step + 8 * c + sum_column(n), j = at.warp_row + sum_row(n);  // query and key
          RowStatistics<float> row;
          if (i < bounds.rows)
            row = load_statistics(planes, p.batches * p.length, at.b * p.length + query + i);
          const float weight = rule.weight(weights.at[c][n], i, j, bounds, row);
          const float grad = rule.drop(scores.at[c][n], i, j);
          weights.at[c][n] = rule.drop(weight, i, j);
          scores.at[c][n] = bounds.contains(i, j) ? weight * (grad - row.dot) : 0.0f;
        }
      }
      multiply_weights<kWidth>(value_result, weights, grads, step, count, p.value_features);
      multiply_weights<kWidth>(key_result, scores, queries, step, count, p.features);
    }
    __syncthreads();
  }

  const float scales[2] = {static_cast<float>(p.scale), static_cast<float>(p.scale)}, ones[2] = {1, 1};
  write_rows<kWidth>(gk + at.b * p.keys * p.features, key_result, scales, first, p.seen_keys(), p.keys,
                     p.features);
  write_rows<kWidth>(gv + at.b * p.keys * p.value_features, value_result, ones, first, p.seen_keys(), p.keys,
                     p.value_features);
}

// ---------------------------------------------------------------------------------------------------------------------

template <class T, int kWidth>
void key_value_gradients_in(const Problem& p, const Inputs& x, const Tensor& planes, const Tensor& gk,
                            const Tensor& gv) {
  launch_tiles<attention_mma_key_value_kernel<T, kWidth>>(
      p, p.key_tiles(), shared_bytes(p, 2, 2), x.g.data_ptr<T>(), x.q.data_ptr<T>(), x.k.data_ptr<T>(),
      x.v.data_ptr<T>(), data_of(x.mask), planes.data_ptr<float>(), gk.data_ptr<T>(), gv.data_ptr<T>(), p);
}

}  // namespace

void mma_key_value_gradients(const Problem& p, const Inputs& x, const Tensor& planes, const Tensor& gk,
                             const Tensor& gv) {
  for_mma(p, gk.scalar_type(),
          [&]<class T, int kWidth>() { key_value_gradients_in<T, kWidth>(p, x, planes, gk, gv); });
}

}  // namespace halftone::cuda::attention
