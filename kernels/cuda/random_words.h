#pragma once

#include <cstdint>

#include "halftone/engine/generator.h"
#include "halftone/engine/philox.h"
#include "halftone/kernels/cuda/element.h"

// Random words on the device: those of the CPU (engine/philox.h).
namespace halftone::cuda {

/// Where a stream stands. `base` of PhiloxState goes to kernels as an argument of its own, being device
/// memory.
__device__ inline std::uint64_t stream_offset(std::uint64_t offset, const std::uint64_t* base) {
  return offset + (base != nullptr ? *base : 0);
}

/// Half `i` of the block, 0 or 1, as one number of 64 bits. By choice and not by index, which would put the
/// block into local memory.
__device__ inline std::uint64_t word64(const philox::Block& block, int i) {
  const std::uint32_t high = i == 0 ? block.word[0] : block.word[2],
                      low = i == 0 ? block.word[1] : block.word[3];
  return std::uint64_t{high} << 32 | low;
}

/// The same half as a number in [0, 1).
__device__ inline double uniform64(const philox::Block& block, int i) {
  const std::uint64_t word = word64(block, i);
  return philox::uniform(static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word));
}

/// Values first .. first + N of a contiguous tensor of n elements, as one access where `packed`: the memory
/// is aligned.
template <class T, int N>
__device__ inline void store_values(T* out, std::int64_t first, std::int64_t n, const Pack<T, N>& values,
                                    bool packed) {
  if (packed && first + N <= n) {
    store_pack(out + first, values);
    return;
  }
  for (int k = 0; k < N; ++k) {
    if (first + k < n) out[first + k] = values.value[k];
  }
}

/// Blocks of the stream for n elements.
inline std::int64_t stream_blocks(std::int64_t n, int per_block) { return (n + per_block - 1) / per_block; }

}  // namespace halftone::cuda
