#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "halftone/engine/device.h"

// The CUDA runtime as the kernels' host code sees it. Nothing here waits for the device.
namespace halftone::cuda {

/// Throws Error naming `call` and CUDA's reason unless `status` is success.
void check(cudaError_t status, const char* call);

/// The stream on which this thread enqueues work for the current device.
cudaStream_t current_stream();

/// Of the current device.
int multiprocessor_count();
/// Bytes of shared memory a block may have on the current device, when asked for with `allow_shared`.
std::size_t shared_memory_limit();

/// While alive, `device` is current on this thread. Every host launcher that gets tensors starts with
/// `const DeviceScope scope(out.device());`.
class DeviceScope {
 public:
  explicit DeviceScope(Device device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int previous_ = -1;  // -1: it was current already
};

}  // namespace halftone::cuda
