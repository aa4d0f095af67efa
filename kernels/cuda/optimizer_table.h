#pragma once

#include <cstdint>

#include "halftone/kernels/cuda/element.h"
#include "halftone/kernels/cuda/launch.h"

// Many tensors in one launch. Their addresses travel as kernel parameters, which is what makes a captured
// step hold without further memory; parameters are limited to 4096 bytes, so long lists are cut into several
// launches.
namespace halftone::cuda {

/// Up to kMost tensors, each cut into chunks that one block of threads works on.
template <class Item, int kMost>
struct Table {
  static constexpr int kCapacity = kMost;
  int count = 0;
  int first_item = 0;             // number of item[0] among all items of the list
  std::int64_t first_chunk = 0;   // number of its first chunk
  std::uint32_t end[kMost] = {};  // chunks up to and with item i, from this table's first
  Item item[kMost];
};

/// A block's share of a table: an item, and which of its chunks.
struct Share {
  int item;
  std::int64_t chunk;
};

template <class Item, int kMost>
__device__ inline Share share_of(const Table<Item, kMost>& table, std::int64_t block) {
  int low = 0, high = table.count - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (block < static_cast<std::int64_t>(table.end[middle])) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return {low, block - (low > 0 ? static_cast<std::int64_t>(table.end[low - 1]) : 0)};
}

/// Fills tables with items one after another, and hands every full one, and at last the rest, to
/// `launch_table`, with the number of its blocks. An empty item has one chunk.
template <class T, class Launch>
class TableFiller {
 public:
  TableFiller(std::int64_t chunk_size, Launch launch_table)
      : chunk_size_(chunk_size), launch_(launch_table) {}

  template <class Item>
  void add(const Item& item, std::int64_t numel) {
    constexpr std::int64_t kMostBlocks = std::int64_t{1} << 30;
    const std::int64_t chunks = numel > 0 ? (numel + chunk_size_ - 1) / chunk_size_ : 1;
    if (table_.count == T::kCapacity || blocks_ + chunks > kMostBlocks) flush();
    blocks_ += chunks;
    table_.item[table_.count] = item;
    table_.end[table_.count++] = static_cast<std::uint32_t>(blocks_);
  }

  void flush() {
    if (table_.count == 0) return;
    launch_(table_, static_cast<unsigned>(blocks_));
    table_.first_item += table_.count;
    table_.first_chunk += blocks_;
    table_.count = 0;
    blocks_ = 0;
  }

 private:
  std::int64_t chunk_size_;
  Launch launch_;
  T table_;
  std::int64_t blocks_ = 0;
};

/// Four neighbouring elements of memory whose dtype is known at run time only; one access where `packed`.
/// `left` of them exist, the others are 0.
template <class C>
struct Four {
  C value[4];
};

template <class C, class T>
__device__ inline Four<C> load_four_of(const T* data, std::int64_t i, std::int64_t left, bool packed) {
  Four<C> result;
  if (packed && left >= 4) {
    const Pack<T, 4> pack = load_pack<T, 4>(data + i);
    HT_UNROLL
    for (int k = 0; k < 4; ++k) result.value[k] = to_compute<C>(pack.value[k]);
  } else {
    HT_UNROLL
    for (int k = 0; k < 4; ++k) result.value[k] = k < left ? to_compute<C>(data[i + k]) : C(0);
  }
  return result;
}

template <class C, class T>
__device__ inline void store_four_of(T* data, std::int64_t i, std::int64_t left, bool packed,
                                     const Four<C>& values) {
  if (packed && left >= 4) {
    Pack<T, 4> pack;
    HT_UNROLL
    for (int k = 0; k < 4; ++k) pack.value[k] = from_compute<T>(values.value[k]);
    store_pack(data + i, pack);
  } else {
    HT_UNROLL
    for (int k = 0; k < 4; ++k) {
      if (k < left) data[i + k] = from_compute<T>(values.value[k]);
    }
  }
}

/// Floating dtypes only.
template <class C>
__device__ inline Four<C> load_four(const void* data, ScalarType dtype, std::int64_t i, std::int64_t left,
                                    bool packed) {
  switch (dtype) {
    case kHalf:
      return load_four_of<C>(static_cast<const Half*>(data), i, left, packed);
    case kBFloat16:
      return load_four_of<C>(static_cast<const BFloat16*>(data), i, left, packed);
    case kDouble:
      return load_four_of<C>(static_cast<const double*>(data), i, left, packed);
    default:
      return load_four_of<C>(static_cast<const float*>(data), i, left, packed);
  }
}

template <class C>
__device__ inline void store_four(void* data, ScalarType dtype, std::int64_t i, std::int64_t left,
                                  bool packed, const Four<C>& values) {
  switch (dtype) {
    case kHalf:
      return store_four_of(static_cast<Half*>(data), i, left, packed, values);
    case kBFloat16:
      return store_four_of(static_cast<BFloat16*>(data), i, left, packed, values);
    case kDouble:
      return store_four_of(static_cast<double*>(data), i, left, packed, values);
    default:
      return store_four_of(static_cast<float*>(data), i, left, packed, values);
  }
}

/// A number divided by one in device memory, where that is given: GradientFactor.
__device__ inline double factor_of(double number, const float* divisor) {
  return divisor != nullptr ? number / static_cast<double>(*divisor) : number;
}

}  // namespace halftone::cuda
