#pragma once

#include <cstdint>

#include "halftone/kernels/cuda/element.h"

// Elements that are only moved: known by their size.
namespace halftone::cuda {

/// Sixteen bytes of neighbouring elements.
using Chunk = Pack<std::uint64_t, 2>;

/// What stands for an element that could not be fetched: all bits set, which is NaN in every floating type,
/// or zero.
template <class T>
__device__ inline T missing(bool nan) {
  return static_cast<T>(nan ? ~T(0) : T(0));
}
template <>
__device__ inline Chunk missing<Chunk>(bool nan) {
  const auto half = missing<std::uint64_t>(nan);
  return {{half, half}};
}

/// Element `to_i` of one tensor becomes element `from_i` of another, of `size` bytes. The branch is the same
/// for all threads.
__device__ inline void move_element(void* to, std::int64_t to_i, const void* from, std::int64_t from_i,
                                    int size) {
  switch (size) {
    case 1:
      static_cast<std::uint8_t*>(to)[to_i] = static_cast<const std::uint8_t*>(from)[from_i];
      return;
    case 2:
      static_cast<std::uint16_t*>(to)[to_i] = static_cast<const std::uint16_t*>(from)[from_i];
      return;
    case 4:
      static_cast<std::uint32_t*>(to)[to_i] = static_cast<const std::uint32_t*>(from)[from_i];
      return;
    default:
      static_cast<std::uint64_t*>(to)[to_i] = static_cast<const std::uint64_t*>(from)[from_i];
  }
}

/// Calls f.operator()<T>() with an unsigned integer of the element's size.
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

}  // namespace halftone::cuda
