// Stable radix sort, least significant digit first: of each digit of 8 bits a histogram per tile of pairs,
// sums over the histograms, and every pair written to its place. Few pairs are sorted by one block in one
// launch.

#include "halftone/kernels/cuda/sort.h"

#include <utility>

#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/cuda/sort_block.h"
#include "halftone/kernels/cuda/sort_scan.h"

namespace halftone::cuda {
namespace {

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;
constexpr int kWarps = kThreads / 32;
constexpr int kItems = 8;  // pairs of a thread
constexpr int kTile = kThreads * kItems;
static_assert(kDigits == kThreads, "thread d looks after digit d");

template <class Key>
__device__ inline int digit_of(Key key, int shift) {
  return static_cast<int>((key >> shift) & static_cast<Key>(kDigits - 1));
}

/// counts (digits, tiles): how often each digit is in each tile.
template <class Key>
__global__ void count_digits_kernel(const Key* keys, std::int64_t n, int shift, std::int64_t* counts) {
  HT_SHARED(unsigned, count, [kDigits]);
  count[thread_id()] = 0;
  __syncthreads();
  for (int k = 0; k < kItems; ++k) {
    const std::int64_t i = block_id() * kTile + k * kThreads + thread_id();
    if (i < n) atomicAdd(&count[digit_of(keys[i], shift)], 1u);
  }
  __syncthreads();
  counts[thread_id() * grid_size() + block_id()] = count[thread_id()];
}

/// The lanes among `lanes` that have this lane's digit.
__device__ inline unsigned lanes_of_digit(unsigned lanes, int digit) {
  for (int bit = 0; bit < kDigitBits; ++bit) {
    const bool set = (digit >> bit & 1) != 0;
    const unsigned with = __ballot_sync(kFullWarp, set);
    lanes &= set ? with : ~with;
  }
  return lanes;
}

/// `before` (digits, tiles): pairs of the same digit in earlier tiles; `totals`: pairs of each digit.
template <class Key, class Source>
__global__ void scatter_digits_kernel(const Key* keys, const Source* sources, std::int64_t n, int shift,
                                      const std::int64_t* before, const std::int64_t* totals, Key* to_keys,
                                      Source* to_sources) {
  HT_SHARED(unsigned, count, [kWarps][kDigits]);  // first of a warp's pairs, then of those of earlier warps
  HT_SHARED(std::int64_t, start, [kDigits]);
  std::int64_t all;
  start[thread_id()] =
      block_exclusive_scan(totals[thread_id()], all) + before[thread_id() * grid_size() + block_id()];
  for (int w = 0; w < kWarps; ++w) count[w][thread_id()] = 0;
  __syncthreads();

  // A warp takes neighbouring pairs 32 at a time, so that ranks follow their order.
  const std::int64_t first = block_id() * kTile + warp_id() * (32 * kItems) + lane_id();
  const unsigned lower_lanes = (1u << lane_id()) - 1u;
  Key key[kItems];
  unsigned rank[kItems];
  HT_UNROLL
  for (int k = 0; k < kItems; ++k) {
    const std::int64_t i = first + 32 * k;
    key[k] = i < n ? keys[i] : Key(0);
    const int digit = digit_of(key[k], shift);
    const unsigned peers = lanes_of_digit(__ballot_sync(kFullWarp, i < n), digit);
    const unsigned known = count[warp_id()][digit];
    rank[k] = known + static_cast<unsigned>(__popc(peers & lower_lanes));
    __syncwarp();
    if (i < n && (peers & lower_lanes) == 0)
      count[warp_id()][digit] = known + static_cast<unsigned>(__popc(peers));
    __syncwarp();
  }
  __syncthreads();
  unsigned earlier = 0;
  for (int w = 0; w < kWarps; ++w) {
    const unsigned own = count[w][thread_id()];
    count[w][thread_id()] = earlier;
    earlier += own;
  }
  __syncthreads();
  HT_UNROLL
  for (int k = 0; k < kItems; ++k) {
    const std::int64_t i = first + 32 * k;
    if (i >= n) continue;
    const int digit = digit_of(key[k], shift);
    const std::int64_t to = start[digit] + count[warp_id()][digit] + rank[k];
    to_keys[to] = key[k];
    to_sources[to] = sources[i];
  }
}

/// All pairs, by one block.
template <class Key, class Source>
__global__ void sort_few_kernel(const Key* keys, const Source* sources, int n, int size, Key* to_keys,
                                Source* to_sources) {
  HT_SHARED(std::uint64_t, shared_keys, [kBlockSort]);
  HT_SHARED(std::uint32_t, shared_places, [kBlockSort]);
  for (int i = thread_id(); i < size; i += block_size()) {
    shared_keys[i] = i < n ? static_cast<std::uint64_t>(keys[i]) : ~std::uint64_t{0};
    shared_places[i] = static_cast<std::uint32_t>(i);
  }
  sort_in_block({shared_keys, shared_places}, size);
  for (int i = thread_id(); i < n; i += block_size()) {
    to_keys[i] = static_cast<Key>(shared_keys[i]);
    to_sources[i] = sources[shared_places[i]];
  }
}

}  // namespace

// --------------------------------------------------------------------------------------------------------

Pairs::Pairs(std::int64_t count, int bits, Device device)
    : count_(count), narrow_(bits <= 32 && bits_for(count) <= 32) {
  const TensorOptions options = TensorOptions(narrow_ ? kInt : kLong).device(device);
  keys_ = empty({count}, options);
  sources_ = empty({count}, options);
}

template <class Key, class Source>
void Pairs::sort_as(int bits) {
  const auto of = [](const Tensor& tensor) { return tensor.data_ptr(); };
  const auto swap = [&] {
    std::swap(keys_, spare_keys_);
    std::swap(sources_, spare_sources_);
  };
  if (count_ <= kBlockSort) {
    const int size = block_sort_size(count_);
    launch<sort_few_kernel<Key, Source>>(1, block_sort_threads(size), 0, static_cast<const Key*>(of(keys_)),
                                         static_cast<const Source*>(of(sources_)), static_cast<int>(count_),
                                         size, static_cast<Key*>(of(spare_keys_)),
                                         static_cast<Source*>(of(spare_sources_)));
    swap();
    return;
  }
  const std::int64_t tiles = (count_ + kTile - 1) / kTile;
  const TensorOptions options = TensorOptions(kLong).device(keys_.device());
  const Tensor counts = empty({kDigits * tiles}, options), totals = empty({kDigits}, options);
  const auto grid = static_cast<unsigned>(tiles);
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    const auto* keys = static_cast<const Key*>(of(keys_));
    launch<count_digits_kernel<Key>>(grid, kThreads, 0, keys, count_, shift, counts.data_ptr<std::int64_t>());
    exclusive_scan(counts, totals, kDigits, tiles);
    launch<scatter_digits_kernel<Key, Source>>(
        grid, kThreads, 0, keys, static_cast<const Source*>(of(sources_)), count_, shift,
        counts.data_ptr<std::int64_t>(), totals.data_ptr<std::int64_t>(), static_cast<Key*>(of(spare_keys_)),
        static_cast<Source*>(of(spare_sources_)));
    swap();
  }
}

void Pairs::sort(int bits) {
  if (count_ < 2) return;
  if (!spare_keys_.defined()) {
    spare_keys_ = empty(keys_.sizes(), keys_.options());
    spare_sources_ = empty(keys_.sizes(), keys_.options());
  }
  narrow_ ? sort_as<std::uint32_t, std::uint32_t>(bits) : sort_as<std::uint64_t, std::int64_t>(bits);
}

}  // namespace halftone::cuda
