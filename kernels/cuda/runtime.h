#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "halftone/engine/device.h"

// The CUDA runtime as the kernels' host code sees it. Nothing here waits for the device.
namespace halftone::cuda {

/// Devices beyond this number are not used.
inline constexpr int kMaxDevices = 16;

/// Throws Error naming `call` and CUDA's reason unless `status` is success.
void check(cudaError_t status, const char* call);

/// How many devices there are, and why none when there is none: no driver (CUDA's error 35) and no device
/// (100) alike.
struct DeviceCount {
  int count = 0;
  const char* absence = "";
};
const DeviceCount& count_devices();

int current_device_index();
void set_current_device_index(int device);

/// The stream on which this thread enqueues work for the current device, or for `device`; null is the default
/// stream.
cudaStream_t current_stream();
cudaStream_t current_stream_of(int device);
void set_current_stream_of(int device, cudaStream_t stream);

/// Throws Error naming `op` while the current stream records a graph: what waits for the device cannot be
/// recorded.
void refuse_while_capturing(const char* op);

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
