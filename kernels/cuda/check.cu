#include "halftone/kernels/check.h"

#include "halftone/kernels/cuda/element.h"
#include "halftone/kernels/cuda/fault.h"
#include "halftone/kernels/cuda/geometry.h"
#include "halftone/kernels/cuda/launch.h"

namespace halftone::cuda {
namespace {

__global__ void check_values_kernel(FaultSink sink, const void* x, ScalarType dtype, Geometry<1> geometry,
                                    ValueRule rule) {
  for (std::int64_t i = global_id(); i < geometry.numel; i += global_size()) {
    const std::int64_t at = geometry.offsets(i).at[0];
    if (rule == ValueRule::kDivisor) {
      if (read<std::int64_t>(x, dtype, at) == 0) report_fault(sink, Fault::kZeroDivisor, 0, 0);
    } else {
      const double value = read<double>(x, dtype, at);
      if (!(value >= 0 && value <= 1))
        report_fault(sink, Fault::kNoProbability, std::bit_cast<std::int64_t>(value), 0);
    }
  }
}

void values(const char* op, ValueRule rule, const Tensor& x) {
  if (x.numel() == 0) return;
  const DeviceScope scope(x.device());
  launch<check_values_kernel>(blocks_for(x.numel()), kThreads, 0, fault_sink(op), x.data_ptr(),
                              x.scalar_type(), make_geometry(x.sizes(), x), rule);
}

}  // namespace
}  // namespace halftone::cuda

namespace halftone {

template <>
const CheckKernels& cuda_kernels<CheckKernels>() {
  static constexpr CheckKernels kernels{&cuda::values};
  return kernels;
}

}  // namespace halftone
