// Statistics of the rows of attention weights, and the gradient of queries: see attention.cu.

#include "halftone/kernels/cuda/attention_tiles.h"

namespace halftone::cuda::attention {
namespace {

template <class C>
__global__ void __launch_bounds__(kTileThreads, 2)
    attention_statistics_kernel(const void* g, const void* q, const void* k, const void* v, const void* mask,
                                C* planes, Problem p) {
  HT_DYN_SHARED(C, memory);
  const Shared<C> shared(memory);
  const Place at = place(p.query_tiles());
  const Operands x = operands(p, at.b, q, k, v, g);
  const std::int64_t visible = p.visible(at.first);
  TileRule<C, true> rule(p, mask, at.b, shared.weights, shared.keep);
  OnlineRow<C> rows[kRows];
  C dot[kRows] = {};

  for (std::int64_t key = 0; key < visible; key += kTile) {
    rule.stage(at.first, key);
    Part<C> weights = multiply_rows(shared, x.query, at.first, x.key, key);
    const Part<C> grads = multiply_rows(shared, x.grad, at.first, x.value, key);
    C factor[kRows];
    meet_scores(weights, rows, factor, rule, TileBounds(p, at.first, key));
    HT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      C sum = 0;
      HT_UNROLL
      for (int c = 0; c < kColumns; ++c)
        sum += weights.at[r][c] * rule.drop(grads.at[r][c], first_row() + r, first_column() + c);
      dot[r] = dot[r] * factor[r] + group_reduce<kRowLanes>(sum, Sum());
    }
    __syncthreads();  // mask and dropout were read
  }

  const std::int64_t count = p.batches * p.length;
  HT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t i = at.first + first_row() + r;
    if (first_column() == 0 && i < p.length) {
      store_statistics(planes, count, at.b * p.length + i, rows[r].statistics(dot[r]));
    }
  }
}

/// The gradient of queries; `gmask` may be null.
template <class C>
__global__ void __launch_bounds__(kTileThreads)
    attention_query_kernel(const void* g, const void* q, const void* k, const void* v, const void* mask,
                           const C* planes, void* gq, ScalarType gq_dtype, void* gmask,
                           ScalarType gmask_dtype, Problem p) {
  HT_DYN_SHARED(C, memory);
  const Shared<C> shared(memory);
  const Place at = place(p.query_tiles());
  const Operands x = operands(p, at.b, q, k, v, g);
  const std::int64_t visible = p.visible(at.first);
  TileRule<C, true> rule(p, mask, at.b, shared.weights, shared.keep);
  RowStatistics<C> rows[kRows];
  HT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t i = at.first + first_row() + r;
    if (i < p.length) rows[r] = load_statistics(planes, p.batches * p.length, at.b * p.length + i);
  }
  Part<C> result;

  for (std::int64_t key = 0; key < visible; key += kTile) {
    rule.stage(at.first, key);
    const Part<C> products = multiply_rows(shared, x.query, at.first, x.key, key);
    Part<C> grads = multiply_rows(shared, x.grad, at.first, x.value, key);
    const TileBounds bounds(p, at.first, key);
    HT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      HT_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        const int row = first_row() + r, column = first_column() + c;
        const C weight = rule.weight(products.at[r][c], row, column, bounds, rows[r]);
        const C grad = rule.drop(grads.at[r][c], row, column);
        grads.at[r][c] = bounds.contains(row, column) ? weight * (grad - rows[r].dot) : C(0);
      }
    }
    if (gmask && at.column == 0) write_part(gmask, gmask_dtype, grads, at.b, p.length, p.keys, at.first, key);
    store_weights(shared, grads);
    multiply_weights(result, shared, x.key, key, visible < key + kTile ? visible : key + kTile, at.column);
  }

  HT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    HT_UNROLL
    for (int c = 0; c < kColumns; ++c) result.at[r][c] *= static_cast<C>(p.scale);
  }
  write_part(gq, gq_dtype, result, at.b, p.length, p.features, at.first, at.column);
  if (!gmask || at.column != 0) return;
  for (std::int64_t key = (visible + kTile - 1) / kTile * kTile; key < p.keys; key += kTile) {
    write_part(gmask, gmask_dtype, Part<C>(), at.b, p.length, p.keys, at.first, key);
  }
}

// ---------------------------------------------------------------------------------------------------------------------

template <class C>
void query_gradient_in(const Problem& p, const Inputs& x, const Tensor& planes, const Tensor& gq,
                       const Tensor& gmask) {
  C* statistics = planes.data_ptr<C>();
  launch_tiles<attention_statistics_kernel<C>, C>(grid_for(p, p.query_tiles(), 1), x.g.data_ptr(),
                                                  x.q.data_ptr(), x.k.data_ptr(), x.v.data_ptr(),
                                                  data_of(x.mask), statistics, p);
  launch_tiles<attention_query_kernel<C>, C>(grid_for(p, p.query_tiles(), p.features), x.g.data_ptr(),
                                             x.q.data_ptr(), x.k.data_ptr(), x.v.data_ptr(), data_of(x.mask),
                                             statistics, gq.data_ptr(), gq.scalar_type(), data_of(gmask),
                                             dtype_or_float(gmask), p);
}

}  // namespace

void query_gradient(const Problem& p, const Inputs& x, const Tensor& planes, const Tensor& gq,
                    const Tensor& gmask) {
  const bool wide = planes.scalar_type() == kDouble;
  (wide ? query_gradient_in<double> : query_gradient_in<float>)(p, x, planes, gq, gmask);
}

}  // namespace halftone::cuda::attention
