// Max pooling. One thread per output; backward one per input, which looks through the windows that may have
// taken it, in their order. An index outside its plane is reported and takes no gradient.

#include "halftone/kernels/cuda/pool_max.h"

#include <limits>

#include "halftone/kernels/cuda/fault.h"
#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/cuda/pool_windows.h"

namespace halftone::cuda {
namespace {

/// x (planes, rows.size, columns.size), out and indices (planes, rows.count, columns.count).
template <class Real, class T>
__global__ void max_forward_kernel(void* out, ScalarType out_dtype, std::int64_t* indices, const void* x,
                                   ScalarType x_dtype, std::int64_t planes, Windows rows, Windows columns) {
  const std::int64_t w = columns.size;
  for (std::int64_t i = global_id(); i < planes * rows.count * columns.count; i += global_size()) {
    const std::int64_t line = i / columns.count, plane = line / rows.count;
    const Range row = rows.covered(line % rows.count), column = columns.covered(i % columns.count);
    const std::int64_t start = plane * rows.size * w;
    Real best = -std::numeric_limits<Real>::infinity();
    std::int64_t at = row.begin < row.end && column.begin < column.end ? row.begin * w + column.begin : -1;
    for (std::int64_t y = row.begin; y < row.end; y += rows.dil) {
      for (std::int64_t j = y * w + column.begin; j < y * w + column.end; j += columns.dil) {
        const Real value = load<Real, T>(x, x_dtype, start + j);
        if (value > best || value != value) best = value, at = j;
      }
    }
    store<T>(out, out_dtype, i, best);
    indices[i] = at;
  }
}

template <class Real, class T>
__global__ void max_backward_kernel(void* gx, ScalarType gx_dtype, const void* gy, ScalarType gy_dtype,
                                    const std::int64_t* indices, std::int64_t planes, Windows rows,
                                    Windows columns, FaultSink sink) {
  const std::int64_t h = rows.size, w = columns.size;
  for (std::int64_t i = global_id(); i < planes * h * w; i += global_size()) {
    const std::int64_t here = i % (h * w), first = i / (h * w) * rows.count * columns.count;
    const Range row = rows.around(here / w), column = columns.around(here % w);
    Real sum = 0;
    for (std::int64_t y = row.begin; y < row.end; ++y) {
      for (std::int64_t j = first + y * columns.count + column.begin;
           j < first + y * columns.count + column.end; ++j) {
        const std::int64_t index = indices[j];
        if (index == here) sum += load<Real, T>(gy, gy_dtype, j);
        if (index < -1 || index >= h * w) report_fault(sink, Fault::kPlaceOutOfRange, index, h * w);
      }
    }
    store<T>(gx, gx_dtype, i, sum);
  }
}

}  // namespace

// --------------------------------------------------------------------------------------------------------

void max_forward(const Tensor& out, const Tensor& indices, const Tensor& x, const PoolShape& shape) {
  const DeviceScope scope(out.device());
  dispatch_pool(out.scalar_type(), x.scalar_type(), [&]<class Real, class T>() {
    launch<max_forward_kernel<Real, T>>(blocks_for(out.numel()), kThreads, 0, out.data_ptr(),
                                        out.scalar_type(), indices.data_ptr<std::int64_t>(), x.data_ptr(),
                                        x.scalar_type(), shape.planes, rows_of(shape), columns_of(shape));
  });
}

void max_backward(const Tensor& gx, const Tensor& gy, const Tensor& indices, const PoolShape& shape) {
  const DeviceScope scope(gx.device());
  dispatch_pool(gx.scalar_type(), gy.scalar_type(), [&]<class Real, class T>() {
    launch<max_backward_kernel<Real, T>>(blocks_for(gx.numel()), kThreads, 0, gx.data_ptr(), gx.scalar_type(),
                                         gy.data_ptr(), gy.scalar_type(), indices.data_ptr<std::int64_t>(),
                                         shape.planes, rows_of(shape), columns_of(shape),
                                         fault_sink("max_pool2d_backward"));
  });
}

}  // namespace halftone::cuda
