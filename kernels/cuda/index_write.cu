// Rows and elements written by index tensors. Of several sources of one place only the last writes.

#include "halftone/kernels/cuda/index_destinations.h"
#include "halftone/kernels/cuda/index_functions.h"
#include "halftone/kernels/cuda/index_move.h"
#include "halftone/kernels/cuda/launch.h"

namespace halftone::cuda {
namespace {

template <class T>
__global__ void write_last_kernel(T* self, const T* values, PairView pairs, std::int64_t count, Places places,
                                  Geometry<1> sources, Geometry<2> inner) {
  for (std::int64_t i = global_id(); i < count * inner.numel; i += global_size()) {
    const std::int64_t pair = i / inner.numel;
    const auto position = static_cast<std::int64_t>(pairs.key(pair));
    if (!places.contains(position) || !ends_group(pairs, pair, count)) continue;
    const auto offsets = inner.offsets(i % inner.numel);
    const std::int64_t source = sources.offsets(pairs.source(pair)).at[0];
    self[places.offset(position) + offsets.at[0]] = values[source + offsets.at[1]];
  }
}

void write_last(const Tensor& self, const Tensor& values, const Destinations& to) {
  const std::int64_t count = to.pairs.count();
  by_element_size(self.element_size(), [&]<class T>() {
    launch<write_last_kernel<T>>(blocks_for(count * to.inner.numel), kThreads, 0,
                                 static_cast<T*>(self.data_ptr()), static_cast<const T*>(values.data_ptr()),
                                 to.pairs.view(), count, to.places, to.sources, to.inner);
  });
}

}  // namespace

void put(const Tensor& self, const Tensor& positions, const Dims& dims, const Tensor& values) {
  if (values.numel() == 0) return;
  const DeviceScope scope(self.device());
  write_last(self, values, row_destinations(self, positions, dims, values));
}

void scatter(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
  if (index.numel() == 0) return;
  const DeviceScope scope(self.device());
  write_last(self, src, element_destinations(self, dim, index, src));
}

}  // namespace halftone::cuda
