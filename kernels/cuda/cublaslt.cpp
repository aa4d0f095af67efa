#include "halftone/kernels/cuda/cublaslt.h"

#include <array>
#include <mutex>

#include "halftone/engine/error.h"
#include "halftone/kernels/cuda/runtime.h"

namespace halftone::cuda {

const CublasLt& cublaslt() {
  static const CublasLt functions = load_cublaslt();
  return functions;
}

cublasLtHandle_t cublaslt_handle() {
  // Never destroyed: at the end of the program the driver may already be gone.
  static std::mutex mutex;
  static std::array<cublasLtHandle_t, kMaxDevices> handles{};
  const CublasLt& lt = cublaslt();
  const auto device = static_cast<std::size_t>(current_device_index());
  const std::lock_guard lock(mutex);
  if (!handles[device]) {
    // The handle outlives a graph that is being captured, so what it allocates is no part of the graph.
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    check(cudaThreadExchangeStreamCaptureMode(&mode), "cudaThreadExchangeStreamCaptureMode");
    const cublasStatus_t status = lt.create(&handles[device]);
    check(cudaThreadExchangeStreamCaptureMode(&mode), "cudaThreadExchangeStreamCaptureMode");
    check(status, "cublasLtCreate");
  }
  return handles[device];
}

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  fail("cuda", call, " failed: ", cublaslt().status_string(status));
}

}  // namespace halftone::cuda
