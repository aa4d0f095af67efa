#include "halftone/kernels/cuda/index_destinations.h"

#include "halftone/kernels/cuda/launch.h"

namespace halftone::cuda {
namespace {

/// Keys are the positions; `limit` for those out of range.
__global__ void row_keys_kernel(PairView pairs, const std::int64_t* positions, Geometry<1> geometry,
                                std::int64_t limit) {
  for (std::int64_t i = global_id(); i < geometry.numel; i += global_size()) {
    const std::int64_t position = positions[geometry.offsets(i).at[0]];
    const bool inside = position >= 0 && position < limit;
    pairs.set(i, static_cast<std::uint64_t>(inside ? position : limit), i);
  }
}

/// Keys are offsets in the destination: those of `geometry`, and `step` for each index if there are indices.
__global__ void element_keys_kernel(PairView pairs, const std::int64_t* indices, Geometry<2> geometry,
                                    std::int64_t size, std::int64_t step, std::int64_t limit) {
  for (std::int64_t i = global_id(); i < geometry.numel; i += global_size()) {
    const auto offsets = geometry.offsets(i);
    const std::int64_t index = indices != nullptr ? indices[offsets.at[1]] : 0;
    const bool inside = index >= 0 && index < size;
    pairs.set(i, static_cast<std::uint64_t>(inside ? offsets.at[0] + index * step : limit), i);
  }
}

Geometry<1> walk_of(const Tensor& tensor) { return make_geometry(tensor.sizes(), tensor); }

/// One more than the largest offset of an element.
std::int64_t extent(const Tensor& tensor) {
  std::int64_t last = 0;
  for (std::int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.size(d) > 0) last += (tensor.size(d) - 1) * tensor.stride(d);
  }
  return last + 1;
}

/// Places that are the offsets themselves.
Places offsets_below(std::int64_t limit) {
  Places places;
  places.add(limit, 1);
  return places;
}

}  // namespace

// --------------------------------------------------------------------------------------------------------

Destinations row_destinations(const Tensor& self, const Tensor& positions, const Dims& dims,
                              const Tensor& values) {
  const RowGeometry rows(self, values, positions, dims);
  const std::int64_t count = positions.numel(), limit = rows.places.count;
  Destinations to{Pairs(count, bits_for(limit), self.device()), rows.places, {}, rows.before};
  for (int d = 0; d < rows.after.rank; ++d) to.inner.add(rows.after.sizes[d], rows.after.strides[d]);
  for (int d = 0; d < rows.rows.rank; ++d) to.sources.add(rows.rows.sizes[d], {rows.rows.strides[d][1]});
  // A dimension of no elements is merged away like any other: the count tells.
  to.inner.numel = rows.before.numel * rows.after.numel;
  launch<row_keys_kernel>(blocks_for(count), kThreads, 0, to.pairs.view(), positions.data_ptr<std::int64_t>(),
                          walk_of(positions), limit);
  to.pairs.sort(bits_for(limit));
  return to;
}

Destinations element_destinations(const Tensor& self, std::int64_t dim, const Tensor& index,
                                  const Tensor& src) {
  const std::int64_t count = index.numel(), limit = extent(self);
  Destinations to{Pairs(count, bits_for(limit), self.device()), offsets_below(limit), walk_of(src), {}};
  Geometry<2> geometry;
  for (std::int64_t d = 0; d < index.dim(); ++d) {
    geometry.add(index.size(d), {d == dim ? 0 : self.stride(d), index.stride(d)});
  }
  const bool scalar = index.dim() == 0;
  launch<element_keys_kernel>(blocks_for(count), kThreads, 0, to.pairs.view(), index.data_ptr<std::int64_t>(),
                              geometry, scalar ? 1 : self.size(dim), scalar ? 0 : self.stride(dim), limit);
  to.pairs.sort(bits_for(limit));
  return to;
}

Destinations overlapping_destinations(const Tensor& self, const Tensor& src) {
  const std::int64_t count = src.numel(), limit = extent(self);
  Destinations to{Pairs(count, bits_for(limit), self.device()), offsets_below(limit), walk_of(src), {}};
  Geometry<2> geometry;
  for (std::int64_t d = 0; d < src.dim(); ++d) geometry.add(src.size(d), {self.stride(d), src.stride(d)});
  launch<element_keys_kernel>(blocks_for(count), kThreads, 0, to.pairs.view(), nullptr, geometry, 1, 0,
                              limit);
  to.pairs.sort(bits_for(limit));
  return to;
}

}  // namespace halftone::cuda
