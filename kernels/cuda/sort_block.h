#pragma once

#include <cstdint>

#include "halftone/kernels/cuda/device.h"

namespace halftone::cuda {

/// Entries one block sorts in shared memory at most: 24 KiB.
inline constexpr int kBlockSort = 2048;

/// What `sort_in_block` sorts: a key and where it stood. Static shared memory of the block.
struct BlockEntries {
  std::uint64_t* keys;
  std::uint32_t* places;
};

/// Sorts the first `size` entries, a power of two, by key and those of one key by place: with the places
/// numbered in order, stable. Bitonic (Batcher 1968). Every thread of the block calls it; it begins and ends
/// with a barrier.
__device__ inline void sort_in_block(BlockEntries entries, int size) {
  for (int run = 2; run <= size; run *= 2) {
    for (int step = run / 2; step > 0; step /= 2) {
      __syncthreads();
      for (int t = thread_id(); t < size / 2; t += block_size()) {
        const int low = 2 * t - (t & (step - 1)), high = low + step;
        const std::uint64_t low_key = entries.keys[low], high_key = entries.keys[high];
        const std::uint32_t low_place = entries.places[low], high_place = entries.places[high];
        const bool after = low_key != high_key ? low_key > high_key : low_place > high_place;
        const bool ascending = (low & run) == 0;
        if (after != ascending) continue;
        entries.keys[low] = high_key;
        entries.keys[high] = low_key;
        entries.places[low] = high_place;
        entries.places[high] = low_place;
      }
    }
  }
  __syncthreads();
}

/// The power of two that `sort_in_block` needs for n entries.
inline int block_sort_size(std::int64_t n) {
  int size = 1;
  while (size < n) size *= 2;
  return size;
}
/// Threads that sort so many: full warps, each with one pair or more.
inline unsigned block_sort_threads(int size) {
  const int wanted = size / 2 < 32 ? 32 : size / 2;
  return static_cast<unsigned>(wanted < 512 ? wanted : 512);
}

}  // namespace halftone::cuda
