// Rows and elements fetched by index tensors. What an index out of range names reads as NaN, or zero in
// integers.

#include "halftone/kernels/cuda/element.h"
#include "halftone/kernels/cuda/index_functions.h"
#include "halftone/kernels/cuda/index_move.h"
#include "halftone/kernels/cuda/index_places.h"
#include "halftone/kernels/cuda/launch.h"

namespace halftone::cuda {
namespace {

/// Element by element of out, in its order.
template <class T>
__global__ void take_kernel(T* out, const T* self, const std::int64_t* positions, RowGeometry geometry,
                            bool nan) {
  const std::int64_t after = geometry.after.numel, rows = geometry.rows.numel;
  const std::int64_t count = geometry.before.numel * rows * after;
  for (std::int64_t i = global_id(); i < count; i += global_size()) {
    const auto in_after = geometry.after.offsets(i % after);
    const auto row = geometry.rows.offsets(i / after % rows);
    const auto in_before = geometry.before.offsets(i / after / rows);
    const std::int64_t position = positions[row.at[0]];
    T value = missing<T>(nan);
    if (geometry.places.contains(position)) {
      value = self[in_before.at[0] + geometry.places.offset(position) + in_after.at[0]];
    }
    out[in_before.at[1] + row.at[1] + in_after.at[1]] = value;
  }
}

/// Offsets of `geometry`: out, self without its coordinate `dim`, index.
template <class T>
__global__ void gather_kernel(T* out, const T* self, const std::int64_t* indices, Geometry<3> geometry,
                              std::int64_t size, std::int64_t step, bool nan) {
  for (std::int64_t i = global_id(); i < geometry.numel; i += global_size()) {
    const auto offsets = geometry.offsets(i);
    const std::int64_t index = indices[offsets.at[2]];
    out[offsets.at[0]] = index >= 0 && index < size ? self[offsets.at[1] + index * step] : missing<T>(nan);
  }
}

// --------------------------------------------------------------------------------------------------------

/// Whether the strides of tensors first .. last are multiples of n.
template <int N>
bool divides(std::int64_t n, const Geometry<N>& geometry, int first, int last) {
  for (int d = 0; d < geometry.rank; ++d) {
    for (int k = first; k <= last; ++k) {
      if (geometry.strides[d][k] % n != 0) return false;
    }
  }
  return true;
}

/// Counts `n` neighbouring elements as one, where rows are made of such and nothing stands between them.
bool widen(RowGeometry& geometry, std::int64_t n) {
  Geometry<2>& after = geometry.after;
  if (after.rank != 1 || !after.is_dense(0) || !after.is_dense(1) || after.numel % n != 0) return false;
  if (!divides(n, geometry.before, 0, 1) || !divides(n, geometry.rows, 1, 1)) return false;
  for (int d = 0; d < geometry.places.rank; ++d) {
    if (geometry.places.strides[d] % n != 0) return false;
  }
  after.numel /= n;
  after.sizes[0] /= n;
  for (int d = 0; d < geometry.before.rank; ++d) {
    for (auto& stride : geometry.before.strides[d]) stride /= n;
  }
  for (int d = 0; d < geometry.rows.rank; ++d) geometry.rows.strides[d][1] /= n;
  for (int d = 0; d < geometry.places.rank; ++d) geometry.places.strides[d] /= n;
  return true;
}

}  // namespace

void take(const Tensor& out, const Tensor& self, const Tensor& positions, const Dims& dims) {
  if (out.numel() == 0) return;
  const DeviceScope scope(out.device());
  RowGeometry geometry(self, out, positions, dims);
  const auto run = [&]<class T>(std::int64_t count) {
    launch<take_kernel<T>>(blocks_for(count), kThreads, 0, static_cast<T*>(out.data_ptr()),
                           static_cast<const T*>(self.data_ptr()), positions.data_ptr<std::int64_t>(),
                           geometry, out.is_floating_point());
  };
  const std::int64_t per_chunk = 16 / out.itemsize();
  if (is_pack_aligned(out.data_ptr()) && is_pack_aligned(self.data_ptr()) && widen(geometry, per_chunk)) {
    run.template operator()<Chunk>(out.numel() / per_chunk);
  } else {
    by_element_size(out.element_size(), [&]<class T>() { run.template operator()<T>(out.numel()); });
  }
}

void gather(const Tensor& out, const Tensor& self, std::int64_t dim, const Tensor& index) {
  if (index.numel() == 0) return;
  const DeviceScope scope(out.device());
  Geometry<3> geometry;
  for (std::int64_t d = 0; d < index.dim(); ++d) {
    geometry.add(index.size(d), {out.stride(d), d == dim ? 0 : self.stride(d), index.stride(d)});
  }
  const bool scalar = index.dim() == 0;
  by_element_size(out.element_size(), [&]<class T>() {
    launch<gather_kernel<T>>(blocks_for(index.numel()), kThreads, 0, static_cast<T*>(out.data_ptr()),
                             static_cast<const T*>(self.data_ptr()), index.data_ptr<std::int64_t>(), geometry,
                             scalar ? 1 : self.size(dim), scalar ? 0 : self.stride(dim),
                             out.is_floating_point());
  });
}

}  // namespace halftone::cuda
