#pragma once

#include <cstddef>
#include <cstdint>

#include "halftone/engine/dims.h"

namespace halftone {

/// Reads and writes the elements of an N-dimensional tensor by index, without checks (libtorch's
/// TensorAccessor). It does not own the data: the tensor must outlive it.
template <class T, std::size_t N>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const std::int64_t* sizes, const std::int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}

  /// The element (N = 1), or an accessor of the remaining N - 1 dimensions.
  decltype(auto) operator[](std::int64_t i) const {
    T* at = data_ + i * strides_[0];
    if constexpr (N == 1) {
      return static_cast<T&>(*at);
    } else {
      return TensorAccessor<T, N - 1>(at, sizes_ + 1, strides_ + 1);
    }
  }
  /// The N sizes.
  IntArrayRef sizes() const { return {sizes_, N}; }
  /// The N strides, in elements.
  IntArrayRef strides() const { return {strides_, N}; }
  /// Of dimension `dim`, < N.
  std::int64_t size(std::size_t dim) const { return sizes_[dim]; }
  /// Of dimension `dim`, < N, in elements.
  std::int64_t stride(std::size_t dim) const { return strides_[dim]; }
  /// The first element.
  T* data() const { return data_; }

 private:
  T* data_;
  const std::int64_t* sizes_;
  const std::int64_t* strides_;
};

}  // namespace halftone
