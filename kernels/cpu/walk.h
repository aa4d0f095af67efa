#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "halftone/engine/dims.h"

namespace halftone::cpu {

/// Walks several tensors of one shape together, in row-major order of that shape (StridedLoop reorders
/// dimensions; here the order counts). Neighbouring dimensions are merged where every tensor allows it.
/// Strides may be negative.
template <int kTensors>
class Walk {
 public:
  using Offsets = std::array<std::int64_t, kTensors>;

  /// Appends an inner dimension.
  void add(std::int64_t size, const Offsets& strides) {
    count_ *= size;
    if (size == 1) return;
    if (rank_ > 0) {
      bool merge = true;
      for (int k = 0; k < kTensors; ++k) merge = merge && strides_[rank_ - 1][k] == strides[k] * size;
      if (merge) {
        sizes_[rank_ - 1] *= size;
        strides_[rank_ - 1] = strides;
        return;
      }
    }
    sizes_[rank_] = size;
    strides_[rank_++] = strides;
  }

  std::int64_t count() const { return count_; }

  Offsets at(std::int64_t element) const {
    Offsets offsets{};
    for (int d = rank_ - 1; d >= 0; --d) {
      const std::int64_t i = element % sizes_[d];
      element /= sizes_[d];
      for (int k = 0; k < kTensors; ++k) offsets[k] += i * strides_[d][k];
    }
    return offsets;
  }

  /// Calls f(offsets, steps, length) for runs that together are elements begin .. end - 1, in order.
  template <class F>
  void runs(std::int64_t begin, std::int64_t end, F&& f) const {
    if (begin >= end) return;
    if (rank_ == 0) {
      f(Offsets{}, Offsets{}, std::int64_t{1});
      return;
    }
    const int last = rank_ - 1;
    Offsets offsets{};
    std::array<std::int64_t, kMaxDims> index{};
    std::int64_t rest = begin;
    for (int d = last; d >= 0; --d) {
      index[d] = rest % sizes_[d];
      rest /= sizes_[d];
      for (int k = 0; k < kTensors; ++k) offsets[k] += index[d] * strides_[d][k];
    }
    while (true) {
      const std::int64_t length = std::min(sizes_[last] - index[last], end - begin);
      f(offsets, strides_[last], length);
      begin += length;
      if (begin == end) return;
      for (int k = 0; k < kTensors; ++k) offsets[k] -= index[last] * strides_[last][k];
      index[last] = 0;
      for (int d = last - 1;; --d) {
        for (int k = 0; k < kTensors; ++k) offsets[k] += strides_[d][k];
        if (++index[d] < sizes_[d]) break;
        for (int k = 0; k < kTensors; ++k) offsets[k] -= sizes_[d] * strides_[d][k];
        index[d] = 0;
      }
    }
  }

 private:
  int rank_ = 0;
  std::int64_t count_ = 1;
  std::array<std::int64_t, kMaxDims> sizes_{};
  std::array<Offsets, kMaxDims> strides_{};
};

/// Elements a piece of parallel work should have at least.
inline constexpr std::int64_t kWalkGrain = 32768;

/// Calls f.operator()<T>() with an unsigned integer of the element's size, for kernels that only move
/// elements.
template <class F>
void by_element_size(std::size_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f.template operator()<std::uint8_t>();
    case 2:
      return f.template operator()<std::uint16_t>();
    case 4:
      return f.template operator()<std::uint32_t>();
    default:
      return f.template operator()<std::uint64_t>();
  }
}

}  // namespace halftone::cpu
