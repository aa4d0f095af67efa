// Statistics of the rows of attention weights, and the gradient of queries, on tensor cores: see
// attention_mma.h.

#include "halftone/kernels/cuda/attention_mma.h"

namespace halftone::cuda::attention {
namespace {

template <class T>
__global__ void __launch_bounds__(kMmaThreads)
    attention_mma_statistics_kernel(const T* g, const T* q, const T* k, const T* v, const void* mask,
                                    float* planes, Problem p) {
  HT_DYN_SHARED(T, memory);
  MmaShared<T> shared{memory};
  const RowTile<T> queries = shared.tile(p.features), keys = shared.tile(p.features);
  const RowTile<T> grads = shared.tile(p.value_features), values = shared.tile(p.value_features);
  const Place at = place(p.query_tiles());
  const auto offset = p.batch.offsets(at.b);
  const std::int64_t visible = p.visible(at.first);
  TileRule<float, true> rule(p, mask, at.b, shared.mask(), shared.keep(p));
  OnlineRow<float> rows[2];
  float dot[2] = {};

  stage_rows(queries, q + offset.at[kQuery], p.query.row, at.first, p.length, p.features);
  stage_rows(grads, g + offset.at[kGrad], p.grad.row, at.first, p.length, p.value_features);
  for (std::int64_t key = 0; key < visible; key += kTile) {
    stage_rows(keys, k + offset.at[kKey], p.key.row, key, visible, p.features);
    stage_rows(values, v + offset.at[kValue], p.value.row, key, visible, p.value_features);
    rule.stage(at.first, key);
    __syncthreads();
    const TileBounds bounds(p, at.first, key);
    if (at.warp_row < bounds.rows) {
      Sums<kTile / 8> weights =
          multiply_rows<kTile / 8>(queries, at.warp_row, keys, 0, bounds.columns, p.features);
      const Sums<kTile / 8> of_weights =
          multiply_rows<kTile / 8>(grads, at.warp_row, values, 0, bounds.columns, p.value_features);
      float factor[2];
      meet_scores(weights, rows, factor, rule, bounds, at.warp_row);
      HT_UNROLL
      for (int half = 0; half < 2; ++half) {
        float sum = 0;
        HT_UNROLL
        for (int c = 0; c < kTile / 8; ++c) {
          HT_UNROLL
          for (int n = 2 * half; n < 2 * half + 2; ++n) {
            sum += weights.at[c][n] *
                   rule.drop(of_weights.at[c][n], at.warp_row + sum_row(n), 8 * c + sum_column(n));
          }
        }
        dot[half] = dot[half] * factor[half] + group_reduce<4>(sum, Sum());
      }
    }
    __syncthreads();
  }

  HT_UNROLL
  for (int half = 0; half < 2; ++half) {
    const std::int64_t row = at.first + at.warp_row + mma_row() + 8 * half;
    if (mma_pair() != 0 || row >= p.length) continue;
    store_statistics(planes, p.batches * p.length, at.b * p.length + row, rows[half].statistics(dot[half]));
  }
}

/// The gradient of queries; `gmask` may be null.
template <class T, int kWidth>
__global__ void __launch_bounds__(kMmaThreads, 2)
    attention_mma_query_kernel(const T* g, const T* q, const T* k, const T* v, const void* mask,
                               const float* planes, T* gq, void* gmask, ScalarType gmask_dtype, Problem p) {
  HT_DYN_SHARED(T, memory);
  MmaShared<T> shared{memory};
  const RowTile<T> queries = shared.tile(p.features), keys = shared.tile(p.features);
  const RowTile<T> grads = shared.tile(p.value_features), values = shared.tile(p.value_features);
  const Place at = place(p.query_tiles());
  const auto offset = p.batch.offsets(at.b);
  const std::int64_t visible = p.visible(at.first), first = at.first + at.warp_row;
  TileRule<float, true> rule(p, mask, at.b, shared.mask(), shared.keep(p));
  RowStatistics<float> rows[2];
  HT_UNROLL
  for (int half = 0; half < 2; ++half) {
    const std::int64_t row = first + mma_row() + 8 * half;
    if (row < p.length) rows[half] = load_statistics(planes, p.batches * p.length, at.b * p.length + row);
  }
  Sums<kWidth / 8> result;

  stage_rows(queries, q + offset.at[kQuery], p.query.row, at.first, p.length, p.features);
  stage_rows(grads, g + offset.at[kGrad], p.grad.row, at.first, p.length, p.value_features);
  for (std::int64_t key = 0; key < visible; key += kTile) {
    stage_rows(keys, k + offset.at[kKey], p.key.row, key, visible, p.features);
    stage_rows(values, v + offset.at[kValue], p.value.row, key, visible, p.value_features);
    rule.stage(at.first, key);
    __syncthreads();
    const TileBounds bounds(p, at.first, key);
    if (at.warp_row < bounds.rows) {
      const Sums<kTile / 8> products =
          multiply_rows<kTile / 8>(queries, at.warp_row, keys, 0, bounds.columns, p.features);
      Sums<kTile / 8> scores =
          multiply_rows<kTile / 8>(grads, at.warp_row, values, 0, bounds.columns, p.value_features);
      HT_UNROLL
      for (int c = 0; c < kTile / 8; ++c) {
        HT_UNROLL
        for (int n = 0; n < 4; ++n) {
          const int row = at.warp_row + sum_row(n), column = 8 * c + sum_column(n);
          const float weight = rule.weight(products.at[c][n], row, column, bounds, rows[n / 2]);
          const float grad = rule.drop(scores.at[c][n], row, column);
          scores.at[c][n] = bounds.contains(row, column) ? weight * (grad - rows[n / 2].dot) : 0.0f;
          if (gmask && row < bounds.rows && key + column < p.keys) {
            write(gmask, gmask_dtype, (at.b * p.length + at.first + row) * p.keys + key + column,
                  scores.at[c][n]);
          }
        }
      }
      multiply_weights<kWidth>(result, scores, keys, 0, bounds.columns, p.features);
    }
    __syncthreads();
  }

  const float factor[2] = {static_cast<float>(p.scale), static_cast<float>(p.scale)};
  write_rows<kWidth>(gq + at.b * p.length * p.features, result, factor, first, p.length, p.length,
                     p.features);
  if (!gmask) return;
  const std::int64_t seen = (visible + kTile - 1) / kTile * kTile;
  for (int r = warp_id(); r < kTile; r += kMmaThreads / 32) {
    for (std::int64_t j = seen + lane_id(); at.first + r < p.length && j < p.keys; j += 32) {
      write(gmask, gmask_dtype, (at.b * p.length + at.first + r) * p.keys + j, 0.0f);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------

template <class T, int kWidth>
void query_gradient_in(const Problem& p, const Inputs& x, const Tensor& planes, const Tensor& gq,
                       const Tensor& gmask) {
  float* statistics = planes.data_ptr<float>();
  const std::size_t bytes = shared_bytes(p, 2, 2);
  launch_tiles<attention_mma_statistics_kernel<T>>(p, p.query_tiles(), bytes, x.g.data_ptr<T>(),
                                                   x.q.data_ptr<T>(), x.k.data_ptr<T>(), x.v.data_ptr<T>(),
                                                   data_of(x.mask), statistics, p);
  launch_tiles<attention_mma_query_kernel<T, kWidth>>(
      p, p.query_tiles(), bytes, x.g.data_ptr<T>(), x.q.data_ptr<T>(), x.k.data_ptr<T>(), x.v.data_ptr<T>(),
      data_of(x.mask), statistics, gq.data_ptr<T>(), data_of(gmask), dtype_or_float(gmask), p);
}

}  // namespace

void mma_query_gradient(const Problem& p, const Inputs& x, const Tensor& planes, const Tensor& gq,
                        const Tensor& gmask) {
  for_mma(p, gq.scalar_type(),
          [&]<class T, int kWidth>() { query_gradient_in<T, kWidth>(p, x, planes, gq, gmask); });
}

}  // namespace halftone::cuda::attention
