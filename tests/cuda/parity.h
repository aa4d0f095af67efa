#pragma once

#include <cmath>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "halftone/engine/cuda.h"
#include "halftone/tests/support/kernel_tensors.h"

/// Kernels of the device against those of the CPU: the same memory, all of it compared afterwards, so that a
/// write outside a tensor shows too.
namespace halftone::testing {

inline constexpr ScalarType kAllTypes[] = {kByte, kBool, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble};
inline constexpr ScalarType kFloatTypes[] = {kHalf, kBFloat16, kFloat, kDouble};

/// How a tensor lies in its memory.
enum class MemoryLayout {
  kDense,
  kReversed,    // the first dimension is the innermost
  kGaps,        // other elements before, between and behind
  kMisaligned,  // dense, but one element off
  kPadded,      // dense lines, one element between them
};
inline constexpr MemoryLayout kLayouts[] = {MemoryLayout::kDense, MemoryLayout::kReversed,
                                            MemoryLayout::kGaps, MemoryLayout::kMisaligned,
                                            MemoryLayout::kPadded};

inline Tensor laid_out(ScalarType dtype, const Dims& sizes, MemoryLayout layout) {
  const std::int64_t n = count_elements(sizes);
  switch (layout) {
    case MemoryLayout::kDense:
      return empty(dtype, sizes);
    case MemoryLayout::kReversed: {
      Dims strides(sizes.size(), 1);
      for (std::size_t d = 1; d < sizes.size(); ++d)
        strides[d] = strides[d - 1] * std::max<std::int64_t>(1, sizes[d - 1]);
      return strided(dtype, sizes, strides, 0, n);
    }
    case MemoryLayout::kGaps: {
      Dims strides = contiguous_strides(sizes);
      for (std::int64_t& stride : strides) stride *= 3;
      return strided(dtype, sizes, strides, 2, 3 * n + 4);
    }
    case MemoryLayout::kPadded: {
      if (sizes.empty()) break;
      Dims padded = sizes;
      ++padded.back();
      return strided(dtype, sizes, contiguous_strides(padded), 0, count_elements(padded));
    }
    case MemoryLayout::kMisaligned:
      break;
  }
  return strided(dtype, sizes, contiguous_strides(sizes), 1, n + 1);
}

/// All memory of a tensor, as a list of its dtype.
inline Tensor memory_of(const Tensor& t) {
  const auto bytes = static_cast<std::int64_t>(t.storage().bytes());
  return window(t, {bytes / t.itemsize()}, {1}, 0);
}

/// Numbers between -70 and 70 (0 to 9 in bytes), with repetitions, whose sums are rounded.
inline Tensor filled(ScalarType dtype, const Dims& sizes, MemoryLayout layout, unsigned seed) {
  const Tensor t = laid_out(dtype, sizes, layout), memory = memory_of(t);
  std::mt19937 random(seed);
  for (std::int64_t i = 0; i < memory.numel(); ++i) {
    const auto number = static_cast<double>(random() % 1000);
    put(memory, i, dtype == kByte ? std::floor(number / 100) : (number - 500) / 7);
  }
  return t;
}

/// Indices from 0 to limit - 1.
inline Tensor random_indices(ScalarType dtype, const Dims& sizes, std::int64_t limit, MemoryLayout layout,
                             unsigned seed) {
  const Tensor t = laid_out(dtype, sizes, layout);
  std::mt19937_64 random(seed);
  for (std::int64_t i = 0; i < t.numel(); ++i)
    put(t, i, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit)));
  return t;
}

/// A copy on the device, lying in its memory as `t` in its own.
inline Tensor on_device(const Tensor& t) {
  const Tensor memory = memory_of(t).to(Device(kCUDA));
  return window(memory, t.sizes().dims(), t.strides().dims(), t.storage_offset());
}

/// Whether all memory of both has the same bits.
inline bool same_memory(const Tensor& host, const Tensor& device) {
  const Tensor a = memory_of(host), b = memory_of(device).cpu();
  return a.numel() == b.numel() &&
         (a.numel() == 0 || std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0);
}

inline std::string name_of(MemoryLayout layout) {
  constexpr const char* kNames[] = {"dense", "reversed", "gaps", "misaligned", "padded"};
  static_assert(std::size(kNames) == std::size(kLayouts));
  return kNames[static_cast<std::size_t>(layout)];
}

/// Uniform numbers in [low, high). Everything between the elements is NaN: reading it would show.
inline Tensor numbers(ScalarType dtype, const Dims& sizes, MemoryLayout layout, double low, double high,
                      unsigned seed) {
  const Tensor t = laid_out(dtype, sizes, layout), memory = memory_of(t);
  for (std::int64_t i = 0; i < memory.numel(); ++i) put(memory, i, std::nan(""));
  std::mt19937 random(seed);
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    put(t, i, low + (high - low) * static_cast<double>(random()) * 0x1p-32);
  }
  return t;
}

}  // namespace halftone::testing
