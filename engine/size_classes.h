#pragma once

#include <bit>
#include <cstddef>

namespace halftone {

/// Block sizes of the caching allocators: four per power of two, so at most a quarter of a block is wasted
/// and a freed block serves every request of its class. `Unit`, a power of two, is the smallest block.
template <std::size_t Unit>
struct SizeClasses {
  static constexpr int kCount = 4 * 48;                                 ///< classes
  static constexpr std::size_t kLargestRequest = std::size_t{1} << 46;  ///< in bytes

  /// The class of a request of 1 .. kLargestRequest bytes.
  static int of(std::size_t bytes) {
    const std::size_t units = (bytes + Unit - 1) / Unit;
    if (units <= 4) return static_cast<int>(units - 1);
    const int top = std::bit_width(units - 1) - 1;  // units - 1 = 1xx...b, at least 4
    return 4 * (top - 1) + static_cast<int>((units - 1) >> (top - 2) & 3);
  }

  /// Size of its blocks.
  static std::size_t bytes(int size_class) {
    if (size_class < 4) return Unit * static_cast<std::size_t>(size_class + 1);
    const int top = size_class / 4 + 1;
    return Unit * ((static_cast<std::size_t>(4 + size_class % 4 + 1)) << (top - 2));
  }
};

}  // namespace halftone
