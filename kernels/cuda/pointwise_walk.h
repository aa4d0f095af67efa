#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "halftone/kernels/cuda/geometry.h"

namespace halftone::cuda {

namespace detail {

/// Stride of dimension `d` of `out`, of a tensor that broadcasts to it. Throws Error naming `op` where it
/// does not.
inline std::int64_t checked_stride(std::string_view op, const Tensor& tensor, const Tensor& out,
                                   std::size_t d) {
  const std::size_t missing = out.sizes().size() - tensor.sizes().size();
  if (d < missing || tensor.sizes()[d - missing] == 1) return 0;
  if (tensor.sizes()[d - missing] != out.sizes()[d]) fail(op, "cannot broadcast ", tensor, " to ", out);
  return tensor.strides()[d - missing];
}

}  // namespace detail

/// The walk of an output (tensor 0) and of inputs that broadcast to it, in the order of the output's memory;
/// as many of the N - 1 inputs as there are. Throws Error naming `op` where an input does not broadcast, or
/// where elements of the output share memory.
template <int N>
Geometry<N> memory_walk(std::string_view op, const Tensor& out, std::span<const Tensor* const> in) {
  for (const Tensor* tensor : in) {
    if (tensor->dim() > out.dim()) fail(op, "cannot broadcast ", *tensor, " to ", out);
  }
  struct Dimension {
    std::int64_t size;
    std::int64_t strides[N];
  };
  Dimension dimensions[kMaxDims] = {};
  int rank = 0;
  for (std::size_t d = 0; d < out.sizes().size(); ++d) {
    Dimension& dimension = dimensions[rank];
    dimension = {out.sizes()[d], {out.strides()[d]}};
    for (std::size_t k = 0; k + 1 < N && k < in.size(); ++k) {
      dimension.strides[k + 1] = detail::checked_stride(op, *in[k], out, d);
    }
    if (dimension.size == 1) continue;
    if (dimension.strides[0] == 0 && out.numel() != 0)
      fail(op, "cannot write to ", out, ": it is expanded, its elements share memory");
    ++rank;
  }
  std::stable_sort(dimensions, dimensions + rank,
                   [](const Dimension& a, const Dimension& b) { return a.strides[0] > b.strides[0]; });
  Geometry<N> walk;
  for (int d = 0; d < rank; ++d) walk.add(dimensions[d].size, dimensions[d].strides);
  return walk;
}

/// Every W neighbouring elements of the walk, from a multiple of W on, are neighbours in tensor k as well,
/// and begin at a multiple of W there.
template <int N>
bool walks_in_packs(const Geometry<N>& walk, int k, int W) {
  const int last = walk.rank - 1;
  if (last < 0 || walk.strides[last][k] != 1) return false;
  for (int d = 0; d < last; ++d) {
    if (walk.strides[d][k] % W != 0) return false;
  }
  return last == 0 || walk.sizes[last] % W == 0;
}

}  // namespace halftone::cuda
