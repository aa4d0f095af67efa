// Average pooling, over windows at a stride and adaptive ones; maxima are in pool_max.cu. One thread per
// output; backward one per input, which adds the shares of the windows that cover it, in their order.

#include "halftone/kernels/pool.h"

#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/cuda/pool_max.h"
#include "halftone/kernels/cuda/pool_windows.h"
#include "halftone/kernels/kernels.h"

namespace halftone::cuda {
namespace {

/// x (planes, rows.size, columns.size), out (planes, rows.count, columns.count). `divisor`: 0 for the
/// window's own.
template <class Real, class T, class W>
__global__ void mean_forward_kernel(void* out, ScalarType out_dtype, const void* x, ScalarType x_dtype,
                                    std::int64_t planes, W rows, W columns, std::int64_t divisor) {
  const std::int64_t w = columns.size;
  for (std::int64_t i = global_id(); i < planes * rows.count * columns.count; i += global_size()) {
    const std::int64_t line = i / columns.count, oy = line % rows.count, ox = i % columns.count;
    const std::int64_t start = line / rows.count * rows.size * w;
    const Range row = rows.covered(oy), column = columns.covered(ox);
    Real sum = 0;
    for (std::int64_t y = row.begin; y < row.end; ++y) {
      for (std::int64_t j = start + y * w + column.begin; j < start + y * w + column.end; ++j) {
        sum += load<Real, T>(x, x_dtype, j);
      }
    }
    const bool empty = row.begin >= row.end || column.begin >= column.end;
    const std::int64_t over = divisor != 0 ? divisor : rows.weight(oy) * columns.weight(ox);
    store<T>(out, out_dtype, i, empty ? Real(0) : sum / static_cast<Real>(over));
  }
}

template <class Real, class T, class W>
__global__ void mean_backward_kernel(void* gx, ScalarType gx_dtype, const void* gy, ScalarType gy_dtype,
                                     std::int64_t planes, W rows, W columns, std::int64_t divisor) {
  const std::int64_t h = rows.size, w = columns.size;
  for (std::int64_t i = global_id(); i < planes * h * w; i += global_size()) {
    const std::int64_t here = i % (h * w), first = i / (h * w) * rows.count * columns.count;
    const Range row = rows.around(here / w), column = columns.around(here % w);
    Real sum = 0;
    for (std::int64_t oy = row.begin; oy < row.end; ++oy) {
      for (std::int64_t ox = column.begin; ox < column.end; ++ox) {
        const std::int64_t over = divisor != 0 ? divisor : rows.weight(oy) * columns.weight(ox);
        sum += load<Real, T>(gy, gy_dtype, first + oy * columns.count + ox) / static_cast<Real>(over);
      }
    }
    store<T>(gx, gx_dtype, i, sum);
  }
}

// --------------------------------------------------------------------------------------------------------

template <class W>
void mean_forward(const Tensor& out, const Tensor& x, std::int64_t planes, W rows, W columns,
                  std::int64_t divisor) {
  const DeviceScope scope(out.device());
  dispatch_pool(out.scalar_type(), x.scalar_type(), [&]<class Real, class T>() {
    launch<mean_forward_kernel<Real, T, W>>(blocks_for(out.numel()), kThreads, 0, out.data_ptr(),
                                            out.scalar_type(), x.data_ptr(), x.scalar_type(), planes, rows,
                                            columns, divisor);
  });
}

template <class W>
void mean_backward(const Tensor& gx, const Tensor& gy, std::int64_t planes, W rows, W columns,
                   std::int64_t divisor) {
  const DeviceScope scope(gx.device());
  dispatch_pool(gx.scalar_type(), gy.scalar_type(), [&]<class Real, class T>() {
    launch<mean_backward_kernel<Real, T, W>>(blocks_for(gx.numel()), kThreads, 0, gx.data_ptr(),
                                             gx.scalar_type(), gy.data_ptr(), gy.scalar_type(), planes, rows,
                                             columns, divisor);
  });
}

/// The same without dilation, which averages do not have.
Windows undilated(Windows windows) {
  windows.dil = 1;
  return windows;
}

void avg_forward(const Tensor& out, const Tensor& x, const PoolShape& s) {
  mean_forward(out, x, s.planes, undilated(rows_of(s)), undilated(columns_of(s)), s.divisor);
}
void avg_backward(const Tensor& gx, const Tensor& gy, const PoolShape& s) {
  mean_backward(gx, gy, s.planes, undilated(rows_of(s)), undilated(columns_of(s)), s.divisor);
}

void adaptive_avg_forward(const Tensor& out, const Tensor& x, const AdaptivePoolShape& s) {
  mean_forward(out, x, s.planes, AdaptiveWindows{s.h, s.oh}, AdaptiveWindows{s.w, s.ow}, 0);
}
void adaptive_avg_backward(const Tensor& gx, const Tensor& gy, const AdaptivePoolShape& s) {
  mean_backward(gx, gy, s.planes, AdaptiveWindows{s.h, s.oh}, AdaptiveWindows{s.w, s.ow}, 0);
}

}  // namespace
}  // namespace halftone::cuda

namespace halftone {

template <>
const PoolKernels& cuda_kernels<PoolKernels>() {
  static constexpr PoolKernels kernels{cuda::max_forward,          cuda::max_backward,
                                       cuda::avg_forward,          cuda::avg_backward,
                                       cuda::adaptive_avg_forward, cuda::adaptive_avg_backward};
  return kernels;
}

}  // namespace halftone
