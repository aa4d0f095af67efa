#include "halftone/kernels/sequence.h"

#include "halftone/kernels/cuda/element.h"
#include "halftone/kernels/cuda/launch.h"

namespace halftone::cuda {
namespace {

__global__ void arange_kernel(void* out, ScalarType dtype, std::int64_t n, double start, double step) {
  for (std::int64_t i = global_id(); i < n; i += global_size()) {
    write(out, dtype, i, start + rounded_product(static_cast<double>(i), step));
  }
}

/// Sums wrap around.
__global__ void arange_integer_kernel(void* out, ScalarType dtype, std::int64_t n, std::uint64_t start,
                                      std::uint64_t step) {
  for (std::int64_t i = global_id(); i < n; i += global_size()) {
    write(out, dtype, i, static_cast<std::int64_t>(start + static_cast<std::uint64_t>(i) * step));
  }
}

__global__ void linspace_kernel(void* out, ScalarType dtype, std::int64_t n, double start, double end,
                                double step) {
  const std::int64_t last = n - 1;
  for (std::int64_t i = global_id(); i < n; i += global_size()) {
    const double value = 2 * i <= last ? start + rounded_product(static_cast<double>(i), step)
                                       : end - rounded_product(static_cast<double>(last - i), step);
    write(out, dtype, i, value);
  }
}

// --------------------------------------------------------------------------------------------------------

void arange(const Tensor& out, const Scalar& start, const Scalar& step) {
  const DeviceScope scope(out.device());
  const std::int64_t n = out.numel();
  if (start.is_floating_point() || step.is_floating_point()) {
    launch<arange_kernel>(blocks_for(n), kThreads, 0, out.data_ptr(), out.scalar_type(), n, start.to_double(),
                          step.to_double());
  } else {
    launch<arange_integer_kernel>(blocks_for(n), kThreads, 0, out.data_ptr(), out.scalar_type(), n,
                                  start.to_long(), step.to_long());
  }
}

void linspace(const Tensor& out, double start, double end) {
  const DeviceScope scope(out.device());
  const std::int64_t n = out.numel();
  const double step = n > 1 ? (end - start) / static_cast<double>(n - 1) : 0.0;
  launch<linspace_kernel>(blocks_for(n), kThreads, 0, out.data_ptr(), out.scalar_type(), n, start, end, step);
}

}  // namespace
}  // namespace halftone::cuda

namespace halftone {

template <>
const SequenceKernels& cuda_kernels<SequenceKernels>() {
  static constexpr SequenceKernels kernels{&cuda::arange, &cuda::linspace};
  return kernels;
}

}  // namespace halftone
