// Resampling: a thread per element of the result, its taps computed where they are needed. Nothing is copied
// to the device, so a captured graph may contain it.

#include "halftone/kernels/resample.h"

#include "halftone/kernels/cuda/element.h"
#include "halftone/kernels/cuda/launch.h"

namespace halftone::cuda {
namespace {

/// Calls f(column, weight) for what element i of the result is made of along `dim`.
template <bool kAdjoint, class F>
__device__ inline void for_each_tap(const ResampleDim& dim, std::int64_t i, F&& f) {
  if constexpr (kAdjoint) {
    dim.for_each_reader(i, f);
  } else {
    for (int k = 0; k < dim.taps(); ++k) {
      const ResampleDim::Tap tap = dim.tap(i, k);
      f(tap.column, tap.weight);
    }
  }
}

template <class Real, bool kAdjoint>
__global__ void resample_kernel(void* out, ScalarType out_dtype, const void* x, ScalarType x_dtype,
                                std::int64_t planes, ResampleDim depth, ResampleDim rows, ResampleDim along) {
  const std::int64_t od = kAdjoint ? depth.in : depth.out, oh = kAdjoint ? rows.in : rows.out,
                     ow = kAdjoint ? along.in : along.out;
  const std::int64_t d = kAdjoint ? depth.out : depth.in, h = kAdjoint ? rows.out : rows.in,
                     w = kAdjoint ? along.out : along.in;
  for (std::int64_t i = global_id(); i < planes * od * oh * ow; i += global_size()) {
    const std::int64_t plane = i / (od * oh * ow);
    Real sum = 0;
    for_each_tap<kAdjoint>(depth, i / (oh * ow) % od, [&](std::int64_t z, double by_depth) {
      for_each_tap<kAdjoint>(rows, i / ow % oh, [&](std::int64_t y, double by_row) {
        const std::int64_t start = ((plane * d + z) * h + y) * w;
        Real line = 0;
        for_each_tap<kAdjoint>(along, i % ow, [&](std::int64_t c, double weight) {
          line += static_cast<Real>(weight) * read<Real>(x, x_dtype, start + c);
        });
        sum += static_cast<Real>(by_depth * by_row) * line;
      });
    });
    write(out, out_dtype, i, sum);
  }
}

// --------------------------------------------------------------------------------------------------------

template <class Real>
void run_as(const Tensor& out, const Tensor& x, const ResampleShape& shape, bool adjoint) {
  const auto start = [&]<bool kAdjoint>() {
    launch<resample_kernel<Real, kAdjoint>>(blocks_for(out.numel()), kThreads, 0, out.data_ptr(),
                                            out.scalar_type(), x.data_ptr(), x.scalar_type(), shape.planes,
                                            shape.dims[0], shape.dims[1], shape.dims[2]);
  };
  if (adjoint) {
    start.template operator()<true>();
  } else {
    start.template operator()<false>();
  }
}

void run(const Tensor& out, const Tensor& x, const ResampleShape& shape, bool adjoint) {
  const DeviceScope scope(out.device());
  if (out.scalar_type() == kDouble || x.scalar_type() == kDouble) {
    run_as<double>(out, x, shape, adjoint);
  } else {
    run_as<float>(out, x, shape, adjoint);
  }
}

}  // namespace
}  // namespace halftone::cuda

namespace halftone {

template <>
const ResampleKernels& cuda_kernels<ResampleKernels>() {
  static constexpr ResampleKernels kernels{&cuda::run};
  return kernels;
}

}  // namespace halftone
