#pragma once

#include "halftone/kernels/cuda/device.h"

// Sums, maxima and other reductions within a warp and a block. Always in the same order, so results are the
// same from run to run. Every thread of the block calls them; full warps; a block size that is a multiple
// of 32.
namespace halftone::cuda {

struct Sum {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

/// NaN if either is.
struct Max {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

/// Combined over the 32 lanes; every lane gets the result.
template <class Combine, class T>
__device__ inline T warp_reduce(T value, Combine combine) {
  HT_UNROLL
  for (int step = 16; step > 0; step /= 2) value = combine(value, __shfl_xor_sync(kFullWarp, value, step));
  return value;
}

/// Combined over the block; every thread gets the result. `identity` leaves any value unchanged. May be
/// called again at once.
template <class Combine, class T>
__device__ inline T block_reduce(T value, Combine combine, T identity) {
  HT_SHARED(T, partial, [32]);
  value = warp_reduce(value, combine);
  if (lane_id() == 0) partial[warp_id()] = value;
  __syncthreads();
  value = lane_id() < block_size() / 32 ? partial[lane_id()] : identity;
  value = warp_reduce(value, combine);
  __syncthreads();
  return value;
}

template <class T>
__device__ inline T block_sum(T value) {
  return block_reduce(value, Sum(), T(0));
}

}  // namespace halftone::cuda
