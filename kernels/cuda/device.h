#pragma once

// Included first by every file that holds device code. nvcc compiles these files for the GPU; the host
// compiler compiles the same text against the emulated device of tests/simt, whose simt.h gives the same
// names.
//
// Shared memory is declared with HT_SHARED and HT_DYN_SHARED, and loops are unrolled with HT_UNROLL, because
// both need a spelling of their own on the emulated device.

#if defined(__CUDACC__)

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

/// `HT_SHARED(float, tile, [16][17]);` declares a shared array, once per block.
#define HT_SHARED(T, name, ...) __shared__ T name __VA_ARGS__
/// `HT_DYN_SHARED(float, row);` names the dynamic shared memory of the launch, aligned to 16 bytes.
#define HT_DYN_SHARED(T, name)                                       \
  extern __shared__ __align__(16) unsigned char ht_dynamic_shared[]; \
  T* name = reinterpret_cast<T*>(ht_dynamic_shared)
#define HT_UNROLL _Pragma("unroll")

#else

#include <simt.h>

#endif

#include <cmath>
#include <cstdint>

namespace halftone::cuda {

/// Built-in coordinates as signed numbers.
__device__ inline int thread_id() { return static_cast<int>(threadIdx.x); }
__device__ inline int block_size() { return static_cast<int>(blockDim.x); }
__device__ inline std::int64_t block_id() { return static_cast<std::int64_t>(blockIdx.x); }
__device__ inline std::int64_t grid_size() { return static_cast<std::int64_t>(gridDim.x); }
__device__ inline int lane_id() { return thread_id() % 32; }
__device__ inline int warp_id() { return thread_id() / 32; }

/// Number of this thread among all of a one-dimensional grid, and how many there are: the start and the step
/// of a grid-stride loop.
__device__ inline std::int64_t global_id() { return block_id() * block_size() + thread_id(); }
__device__ inline std::int64_t global_size() { return grid_size() * block_size(); }

inline constexpr unsigned kFullWarp = 0xffffffffu;

}  // namespace halftone::cuda
