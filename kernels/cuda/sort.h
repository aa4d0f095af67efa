#pragma once

#include <bit>
#include <cstdint>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/cuda/device.h"

namespace halftone::cuda {

/// Pairs of a key and the number of its source, as kernels see them: 32 bits each if narrow, else 64.
struct PairView {
  void* keys;
  void* sources;
  bool narrow;

  __device__ std::uint64_t key(std::int64_t i) const {
    return narrow ? static_cast<const std::uint32_t*>(keys)[i] : static_cast<const std::uint64_t*>(keys)[i];
  }
  __device__ std::int64_t source(std::int64_t i) const {
    return narrow ? static_cast<std::int64_t>(static_cast<const std::uint32_t*>(sources)[i])
                  : static_cast<const std::int64_t*>(sources)[i];
  }
  __device__ void set(std::int64_t i, std::uint64_t key, std::int64_t source) const {
    if (narrow) {
      static_cast<std::uint32_t*>(keys)[i] = static_cast<std::uint32_t>(key);
      static_cast<std::uint32_t*>(sources)[i] = static_cast<std::uint32_t>(source);
    } else {
      static_cast<std::uint64_t*>(keys)[i] = key;
      static_cast<std::int64_t*>(sources)[i] = source;
    }
  }
};

/// Bits of numbers up to `largest`.
inline int bits_for(std::int64_t largest) { return std::bit_width(static_cast<std::uint64_t>(largest)); }

/// Pairs in scratch memory. Kernels write them through `view()`; sorting is stable, so pairs of one key keep
/// the order they had. This is how sums are made reproducible without atomics: sources sorted by where they
/// go are added by one thread per place, in their order.
class Pairs {
 public:
  /// Room for `count` pairs of keys of at most `bits` bits and sources below 2^32 (any if `count` is larger).
  Pairs(std::int64_t count, int bits, Device device);

  std::int64_t count() const { return count_; }
  PairView view() const { return {keys_.data_ptr(), sources_.data_ptr(), narrow_}; }

  /// By keys, all below 2^bits.
  void sort(int bits);

 private:
  template <class Key, class Source>
  void sort_as(int bits);

  std::int64_t count_;
  bool narrow_;
  Tensor keys_, sources_, spare_keys_, spare_sources_;
};

/// Sorted pairs of one key are a group. Where that of pair `begin`, its first, ends.
__device__ inline std::int64_t group_end(const PairView& pairs, std::int64_t begin, std::int64_t count) {
  const std::uint64_t key = pairs.key(begin);
  std::int64_t inside = begin, outside = begin + 1;
  // Most groups are short: widening steps first, then halving ones.
  for (std::int64_t step = 1; outside < count && pairs.key(outside) == key; step *= 2) {
    inside = outside;
    outside = outside + step < count ? outside + step : count;
  }
  while (outside - inside > 1) {
    const std::int64_t middle = inside + (outside - inside) / 2;
    (pairs.key(middle) == key ? inside : outside) = middle;
  }
  return outside;
}

__device__ inline bool begins_group(const PairView& pairs, std::int64_t i) {
  return i == 0 || pairs.key(i - 1) != pairs.key(i);
}
__device__ inline bool ends_group(const PairView& pairs, std::int64_t i, std::int64_t count) {
  return i + 1 == count || pairs.key(i + 1) != pairs.key(i);
}

}  // namespace halftone::cuda
