// Elements moved around by rule; sorting is in arrange_sort.cu.

#include <algorithm>

#include "halftone/kernels/cuda/arrange_sort.h"
#include "halftone/kernels/cuda/element.h"
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

/// A thread per value. NaN is the largest.
template <class C>
__global__ void search_kernel(void* out, ScalarType out_dtype, const void* sorted, const void* values,
                              ScalarType dtype, std::int64_t count, std::int64_t per_row, std::int64_t n,
                              bool right) {
  const auto less = [](C a, C b) { return a < b || (b != b && a == a); };
  for (std::int64_t i = global_id(); i < count; i += global_size()) {
    const C wanted = read<C>(values, dtype, i);
    const std::int64_t row = i / per_row * n;
    std::int64_t low = 0, high = n;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const C x = read<C>(sorted, dtype, row + middle);
      if (right ? !less(wanted, x) : less(x, wanted))
        low = middle + 1;
      else
        high = middle;
    }
    write(out, out_dtype, i, low);
  }
}

// --------------------------------------------------------------------------------------------------------

void search(const Tensor& out, const Tensor& sorted, const Tensor& values, bool right) {
  if (values.numel() == 0) return;
  const DeviceScope scope(out.device());
  const auto start = [&]<class C>() {
    launch<search_kernel<C>>(blocks_for(values.numel()), kThreads, 0, out.data_ptr(), out.scalar_type(),
                             sorted.data_ptr(), values.data_ptr(), values.scalar_type(), values.numel(),
                             sorted.dim() == 1 ? values.numel() : values.size(-1), sorted.size(-1), right);
  };
  switch (accumulate_type(values.scalar_type())) {
    case kDouble:
      return start.operator()<double>();
    case kFloat:
      return start.operator()<float>();
    default:
      return start.operator()<std::int64_t>();
  }
}

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
  static constexpr ArrangeKernels kernels{
      .sort = cuda::sort, .search = cuda::search, .flip = cuda::flip, .triangle = cuda::triangle};
  return kernels;
}

}  // namespace halftone
