#pragma once

#include <cstdint>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/cuda/device.h"

namespace halftone::cuda {

/// Where the elements of N tensors of one common shape stand: a walk over the shape with one stride per
/// tensor and dimension, passed to kernels by value. Dimensions that lie together in every tensor are merged,
/// so contiguous tensors have one. The walk is in row-major order of the shape: element i of the walk is
/// element i of the shape.
template <int N>
struct Geometry {
  std::int64_t numel = 1;
  std::int64_t sizes[kMaxDims] = {};
  std::int64_t strides[kMaxDims][N] = {};
  int rank = 0;

  /// Offsets in elements of element `i`.
  struct Offsets {
    std::int64_t at[N];
  };
  HALFTONE_HD Offsets offsets(std::int64_t i) const {
    Offsets result{};
    for (int d = rank - 1; d >= 0; --d) {
      const std::int64_t coordinate = d == 0 ? i : i % sizes[d];
      i = d == 0 ? 0 : i / sizes[d];
      for (int k = 0; k < N; ++k) result.at[k] += coordinate * strides[d][k];
    }
    return result;
  }

  /// Adds a dimension inside those added before, merging it with the last where all strides allow.
  void add(std::int64_t size, const std::int64_t (&stride)[N]) {
    numel *= size;
    if (size == 1) return;
    if (rank > 0) {
      bool merge = true;
      for (int k = 0; k < N; ++k) merge = merge && strides[rank - 1][k] == stride[k] * size;
      if (merge) {
        sizes[rank - 1] *= size;
        for (int k = 0; k < N; ++k) strides[rank - 1][k] = stride[k];
        return;
      }
    }
    sizes[rank] = size;
    for (int k = 0; k < N; ++k) strides[rank][k] = stride[k];
    ++rank;
  }

  /// Element i of the walk is element i in memory of tensor k.
  bool is_dense(int k) const { return rank == 0 || (rank == 1 && strides[0][k] == 1); }
  /// One element of tensor k stands for all.
  bool is_constant(int k) const { return rank == 0 || (rank == 1 && strides[0][k] == 0); }
};

/// Stride of dimension `d` of the shape `sizes`, of a tensor that broadcasts to it; 0 where it repeats.
inline std::int64_t broadcast_stride(const Tensor& tensor, IntArrayRef sizes, std::int64_t d) {
  const std::int64_t own = d - (static_cast<std::int64_t>(sizes.size()) - tensor.dim());
  return own < 0 || tensor.size(own) == 1 ? 0 : tensor.stride(own);
}

/// The walk over `sizes` of tensors that broadcast to it (checked by the caller).
template <class... Tensors>
Geometry<static_cast<int>(sizeof...(Tensors))> make_geometry(IntArrayRef sizes, const Tensors&... tensors) {
  Geometry<static_cast<int>(sizeof...(Tensors))> geometry;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const std::int64_t strides[sizeof...(Tensors)] = {
        broadcast_stride(tensors, sizes, static_cast<std::int64_t>(d))...};
    geometry.add(sizes[d], strides);
  }
  return geometry;
}

}  // namespace halftone::cuda
