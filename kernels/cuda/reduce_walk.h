#pragma once

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>

#include "halftone/kernels/cuda/geometry.h"
#include "halftone/kernels/reduce.h"

namespace halftone::cuda {

/// The walk over the kept dimensions of `in`, tensors in the order outputs, input (number N - 1), in the
/// order of the input's memory. Every output has the kept dimensions in order; the reduced ones are absent or
/// have size 1. Throws Error naming `op` otherwise.
template <int N>
Geometry<N> kept_walk(std::string_view op, std::span<const Tensor* const> outs, const Tensor& in,
                      DimMask dims) {
  const std::int64_t rank = in.dim(), kept_rank = rank - std::popcount(dims);
  for (const Tensor* out : outs) {
    bool fits = out->dim() == rank || out->dim() == kept_rank;
    for (std::int64_t d = 0, k = 0; fits && d < rank; ++d) {
      const bool reduced = (dims >> d & 1) != 0;
      if (out->dim() == rank) {
        fits = out->size(d) == (reduced ? 1 : in.size(d));
      } else if (!reduced) {
        fits = out->size(k++) == in.size(d);
      }
    }
    if (!fits) fail(op, "the output ", *out, " has not the kept dimensions of ", in);
  }
  struct Dimension {
    std::int64_t size;
    std::int64_t strides[N];
  };
  Dimension dimensions[kMaxDims] = {};
  int count = 0;
  std::int64_t k = 0;
  for (std::int64_t d = 0; d < rank; ++d) {
    if ((dims >> d & 1) != 0) continue;
    Dimension& dimension = dimensions[count++];
    dimension.size = in.size(d);
    for (std::size_t o = 0; o < outs.size(); ++o) {
      dimension.strides[o] = outs[o]->stride(outs[o]->dim() == rank ? d : k);
    }
    dimension.strides[N - 1] = in.stride(d);
    ++k;
  }
  std::stable_sort(dimensions, dimensions + count, [](const Dimension& a, const Dimension& b) {
    return a.strides[N - 1] > b.strides[N - 1];
  });
  Geometry<N> walk;
  for (int d = 0; d < count; ++d) walk.add(dimensions[d].size, dimensions[d].strides);
  return walk;
}

/// The walk over the reduced dimensions of `in`, in the order of its memory.
inline Geometry<1> reduced_walk(const Tensor& in, DimMask dims) {
  std::int64_t order[kMaxDims];
  std::int64_t count = 0;
  for (std::int64_t d = 0; d < in.dim(); ++d) {
    if ((dims >> d & 1) != 0) order[count++] = d;
  }
  std::stable_sort(order, order + count,
                   [&](std::int64_t a, std::int64_t b) { return in.stride(a) > in.stride(b); });
  Geometry<1> walk;
  for (std::int64_t i = 0; i < count; ++i) walk.add(in.size(order[i]), {in.stride(order[i])});
  return walk;
}

}  // namespace halftone::cuda
