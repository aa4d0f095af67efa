#pragma once

#include <cstdint>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/cuda/geometry.h"

namespace halftone::cuda {

/// Some dimensions of a tensor read as one, row-major: where in memory a position in them lies.
struct Places {
  std::int64_t count = 1;
  std::int64_t sizes[kMaxDims] = {};
  std::int64_t strides[kMaxDims] = {};
  int rank = 0;

  HALFTONE_HD bool contains(std::int64_t position) const { return position >= 0 && position < count; }
  HALFTONE_HD std::int64_t offset(std::int64_t position) const {
    std::int64_t result = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const std::int64_t coordinate = d == 0 ? position : position % sizes[d];
      position = d == 0 ? 0 : position / sizes[d];
      result += coordinate * strides[d];
    }
    return result;
  }

  void add(std::int64_t size, std::int64_t stride) {
    count *= size;
    sizes[rank] = size;
    strides[rank++] = stride;
  }
};

/// `whole` is (before, dims, after), `part` is (before, positions, after) as kernels/index.h says. Offsets 0
/// are of whole (of positions in `rows`), offsets 1 of part.
struct RowGeometry {
  Geometry<2> before, rows, after;
  Places places;

  RowGeometry(const Tensor& whole, const Tensor& part, const Tensor& positions, const Dims& dims);
};

}  // namespace halftone::cuda
