// Elements moved around by rule; sorting is in arrange_sort.cu.

#include <algorithm>

#include "halftone/kernels/cuda/arrange_sort.h"
#include "halftone/kernels/cuda/geometry.h"
#include "halftone/kernels/cuda/index_move.h"
#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/index.h"

namespace halftone::cuda {
namespace {

/// `geometry` walks self backwards where it is reversed.
template <class T>
__global__ void flip_kernel(T* out, const T* self, Geometry<2> geometry) {
  for (std::int64_t i = global_id(); i < geometry.numel; i += global_size()) {
    const auto offsets = geometry.offsets(i);
    out[offsets.at[0]] = self[offsets.at[1]];
  }
}

/// Columns below `row + split` lie under the diagonal (for upper) or on and under it (for lower).
template <class T>
__global__ void triangle_kernel(T* out, const T* self, Geometry<2> geometry, std::int64_t rows,
                                std::int64_t columns, std::int64_t split, bool upper) {
  for (std::int64_t i = global_id(); i < geometry.numel; i += global_size()) {
    const auto offsets = geometry.offsets(i);
    const std::int64_t row = i / columns % rows, column = i % columns;
    const bool kept = (column >= row + split) == upper;
    out[offsets.at[0]] = kept ? self[offsets.at[1]] : T(0);
  }
}

// --------------------------------------------------------------------------------------------------------

void flip(const Tensor& out, const Tensor& self, const Dims& dims) {
  if (self.numel() == 0) return;
  const DeviceScope scope(out.device());
  Geometry<2> geometry;
  std::int64_t start = 0;
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    const bool reversed = std::find(dims.begin(), dims.end(), d) != dims.end();
    if (reversed) start += (self.size(d) - 1) * self.stride(d);
    geometry.add(self.size(d), {out.stride(d), reversed ? -self.stride(d) : self.stride(d)});
  }
  by_element_size(self.element_size(), [&]<class T>() {
    launch<flip_kernel<T>>(blocks_for(self.numel()), kThreads, 0, static_cast<T*>(out.data_ptr()),
                           static_cast<const T*>(self.data_ptr()) + start, geometry);
  });
}

void triangle(const Tensor& out, const Tensor& self, std::int64_t diagonal, bool upper) {
  if (self.numel() == 0) return;
  const DeviceScope scope(out.device());
  by_element_size(self.element_size(), [&]<class T>() {
    launch<triangle_kernel<T>>(blocks_for(self.numel()), kThreads, 0, static_cast<T*>(out.data_ptr()),
                               static_cast<const T*>(self.data_ptr()), make_geometry(self.sizes(), out, self),
                               self.size(-2), self.size(-1), diagonal + (upper ? 0 : 1), upper);
  });
}

}  // namespace
}  // namespace halftone::cuda

namespace halftone {

template <>
const ArrangeKernels& cuda_kernels<ArrangeKernels>() {
  static constexpr ArrangeKernels kernels{.sort = cuda::sort, .flip = cuda::flip, .triangle = cuda::triangle};
  return kernels;
}

}  // namespace halftone
