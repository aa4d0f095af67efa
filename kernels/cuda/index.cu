// Index tensors themselves: checked, and combined to positions. The rest of the family is in index_*.cu.

#include "halftone/kernels/index.h"

#include "halftone/kernels/cuda/fault.h"
#include "halftone/kernels/cuda/geometry.h"
#include "halftone/kernels/cuda/index_functions.h"
#include "halftone/kernels/cuda/launch.h"

namespace halftone::cuda {
namespace {

__global__ void check_range_kernel(FaultSink sink, const std::int64_t* indices, Geometry<1> geometry,
                                   std::int64_t low, std::int64_t size) {
  for (std::int64_t i = global_id(); i < geometry.numel; i += global_size()) {
    const std::int64_t index = indices[geometry.offsets(i).at[0]];
    if (index < low || index >= size) report_fault(sink, Fault::kIndexOutOfRange, index, size);
  }
}

/// A position that had an index out of range is -1 and stays it.
__global__ void combine_kernel(std::int64_t* positions, const std::int64_t* indices, Geometry<2> geometry,
                               std::int64_t size) {
  for (std::int64_t i = global_id(); i < geometry.numel; i += global_size()) {
    const auto offsets = geometry.offsets(i);
    const std::int64_t index = indices[offsets.at[1]], wrapped = index < 0 ? index + size : index;
    std::int64_t& position = positions[offsets.at[0]];
    const bool inside = position >= 0 && wrapped >= 0 && wrapped < size;
    position = inside ? position * size + wrapped : -1;
  }
}

// --------------------------------------------------------------------------------------------------------

/// Reports instead of throwing: the indices are not known here. The functions that follow leave out what is
/// wrong.
void check_range(const char* op, const Tensor& index, std::int64_t size, std::int64_t dim, bool negative) {
  if (index.numel() == 0) return;
  const DeviceScope scope(index.device());
  launch<check_range_kernel>(blocks_for(index.numel()), kThreads, 0, fault_sink(op, dim),
                             index.data_ptr<std::int64_t>(), make_geometry(index.sizes(), index),
                             negative ? -size : 0, size);
}

void combine(const Tensor& positions, const Tensor& index, std::int64_t size) {
  if (positions.numel() == 0) return;
  const DeviceScope scope(positions.device());
  launch<combine_kernel>(blocks_for(positions.numel()), kThreads, 0, positions.data_ptr<std::int64_t>(),
                         index.data_ptr<std::int64_t>(), make_geometry(positions.sizes(), positions, index),
                         size);
}

}  // namespace
}  // namespace halftone::cuda

namespace halftone {

template <>
const IndexKernels& cuda_kernels<IndexKernels>() {
  static constexpr IndexKernels kernels{
      .check_range = cuda::check_range,
      .combine = cuda::combine,
      .take = cuda::take,
      .put = cuda::put,
      .add = cuda::add,
      .gather = cuda::gather,
      .scatter = cuda::scatter,
      .scatter_add = cuda::scatter_add,
      .accumulate = cuda::accumulate,
      .count_nonzero = cuda::count_nonzero,
      .nonzero = cuda::nonzero,
  };
  return kernels;
}

}  // namespace halftone
