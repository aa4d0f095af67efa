#pragma once

#include <cstdint>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/cuda/device.h"

namespace halftone::cuda {

/// Inclusive sum over the lanes up to this one. Full warps.
template <class T>
__device__ inline T warp_scan(T value) {
  for (unsigned step = 1; step < 32; step *= 2) {
    const T before = __shfl_up_sync(kFullWarp, value, step);
    if (lane_id() >= static_cast<int>(step)) value += before;
  }
  return value;
}

/// Sum of the values of the threads before this one; `total` becomes that of all. Every thread of the block
/// calls it, a block has full warps. May be called again at once.
template <class T>
__device__ inline T block_exclusive_scan(T value, T& total) {
  HT_SHARED(T, warp_total, [32]);
  const T inclusive = warp_scan(value);
  if (lane_id() == 31) warp_total[warp_id()] = inclusive;
  __syncthreads();
  const T own = lane_id() < block_size() / 32 ? warp_total[lane_id()] : T(0);
  const T warps = warp_scan(own);
  total = __shfl_sync(kFullWarp, warps, 31);
  const T before = __shfl_sync(kFullWarp, warps - own, warp_id());
  __syncthreads();
  return before + inclusive - value;
}

/// Each of the `rows` rows of `counts` (rows, n) becomes the sums of what stands before; its sum goes to
/// `totals`. Both are contiguous int64.
void exclusive_scan(const Tensor& counts, const Tensor& totals, std::int64_t rows, std::int64_t n);

}  // namespace halftone::cuda
