// Attention of fp16 and bf16 operands on tensor cores: see attention_mma.h.

#include "halftone/kernels/cuda/attention_mma.h"

namespace halftone::cuda::attention {
namespace {

template <class T, int kWidth>
__global__ void __launch_bounds__(kMmaThreads)
    attention_mma_forward_kernel(const T* q, const T* k, const T* v, const void* mask, T* out, Problem p) {
  HT_DYN_SHARED(T, memory);
  MmaShared<T> shared{memory};
  const RowTile<T> queries = shared.tile(p.features), keys = shared.tile(p.features);
  const RowTile<T> values = shared.tile(p.value_features);
  const Place at = place(p.query_tiles());
  const auto offset = p.batch.offsets(at.b);
  const std::int64_t visible = p.visible(at.first);
  TileRule<float, true> rule(p, mask, at.b, shared.mask(), shared.keep(p));
  OnlineRow<float> rows[2];
  Sums<kWidth / 8> result;

  stage_rows(queries, q + offset.at[kQuery], p.query.row, at.first, p.length, p.features);
  for (std::int64_t key = 0; key < visible; key += kTile) {
    stage_rows(keys, k + offset.at[kKey], p.key.row, key, visible, p.features);
    stage_rows(values, v + offset.at[kValue], p.value.row, key, visible, p.value_features);
    rule.stage(at.first, key);
    __syncthreads();
    const TileBounds bounds(p, at.first, key);
    if (at.warp_row < bounds.rows) {
      Sums<kTile / 8> weights =
          multiply_rows<kTile / 8>(queries, at.warp_row, keys, 0, bounds.columns, p.features);
      float factor[2];
      meet_scores(weights, rows, factor, rule, bounds, at.warp_row);
      HT_UNROLL
      for (int n = 0; n < 4; ++n) {
        HT_UNROLL
        for (int c = 0; c < kTile / 8; ++c) {
          weights.at[c][n] = rule.drop(weights.at[c][n], at.warp_row + sum_row(n), 8 * c + sum_column(n));
        }
        HT_UNROLL
        for (int c = 0; c < kWidth / 8; ++c) result.at[c][n] *= factor[n / 2];
      }
      multiply_weights<kWidth>(result, weights, values, 0, bounds.columns, p.value_features);
    }
    __syncthreads();
  }

  const float factor[2] = {rows[0].inverse(), rows[1].inverse()};
  write_rows<kWidth>(out + at.b * p.length * p.value_features, result, factor, at.first + at.warp_row,
                     p.length, p.length, p.value_features);
}

// ---------------------------------------------------------------------------------------------------------------------

template <class T, int kWidth>
void forward_in(const Problem& p, const Inputs& x, const Tensor& out) {
  launch_tiles<attention_mma_forward_kernel<T, kWidth>>(
      p, p.query_tiles(), shared_bytes(p, 2, 1), x.q.data_ptr<T>(), x.k.data_ptr<T>(), x.v.data_ptr<T>(),
      data_of(x.mask), out.data_ptr<T>(), p);
}

bool has_tensor_cores() {
  int device = 0, major = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
  return major >= 8;
}

/// Rows can be read in packs.
bool has_packed_rows(const Tensor& x) {
  bool packed = x.stride(-1) == 1 && is_pack_aligned(x.data_ptr());
  for (std::int64_t d = 0; d < x.dim() - 1; ++d) packed = packed && x.stride(d) % kPackElements == 0;
  return packed;
}

}  // namespace

bool fits_tensor_cores(const Problem& p, std::initializer_list<const Tensor*> operands) {
  const auto fits = [](std::int64_t features) {
    return features > 0 && features <= kWidest && features % 16 == 0;
  };
  if (!fits(p.features) || !fits(p.value_features)) return false;
  const ScalarType dtype = (*operands.begin())->scalar_type();
  if (dtype != kHalf && dtype != kBFloat16) return false;
  for (const Tensor* x : operands) {
    if (x->scalar_type() != dtype || !has_packed_rows(*x)) return false;
  }
  return shared_bytes(p, 2, 2) <= shared_memory_limit() && has_tensor_cores();
}

void mma_forward(const Problem& p, const Inputs& x, const Tensor& out) {
  for_mma(p, out.scalar_type(), [&]<class T, int kWidth>() { forward_in<T, kWidth>(p, x, out); });
}

}  // namespace halftone::cuda::attention
