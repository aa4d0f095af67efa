#pragma once

#include "halftone/engine/tensor.h"
#include "halftone/kernels/cuda/geometry.h"
#include "halftone/kernels/cuda/index_places.h"
#include "halftone/kernels/cuda/sort.h"

namespace halftone::cuda {

/// Sources of a writing kernel, sorted by where they go. The key of a pair is a position in `places`; a group
/// of pairs writes one place, in order. Keys outside `places` belong to indices that are out of range: they
/// write nothing.
struct Destinations {
  Pairs pairs;
  Places places;
  Geometry<1> sources;  // where source number i lies
  Geometry<2> inner;    // what is moved per pair: offsets in the destination and in the source
};

/// Rows of `self` at `positions` in `dims` from those of `values` (kernels/index.h).
Destinations row_destinations(const Tensor& self, const Tensor& positions, const Dims& dims,
                              const Tensor& values);
/// Elements of `self`: element i of `src` goes to i with coordinate `dim` replaced by index[i].
Destinations element_destinations(const Tensor& self, std::int64_t dim, const Tensor& index,
                                  const Tensor& src);
/// Element i of `src` goes to element i of `self`, of which several may be one in memory.
Destinations overlapping_destinations(const Tensor& self, const Tensor& src);

}  // namespace halftone::cuda
