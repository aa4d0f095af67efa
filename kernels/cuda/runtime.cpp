#include "halftone/kernels/cuda/runtime.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "halftone/engine/error.h"

namespace halftone::cuda {
namespace {

thread_local std::array<cudaStream_t, kMaxDevices> streams{};

DeviceCount ask_for_devices() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    cudaGetLastError();  // it is not the next call's
    return {0, status == cudaErrorInsufficientDriver
                   ? "there is no NVIDIA driver, or it is older than this build's CUDA"
                   : cudaGetErrorString(status)};
  }
  return {std::min(count, kMaxDevices), count > 0 ? "" : "there is no CUDA device"};
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, current_device_index()), "cudaDeviceGetAttribute");
  return value;
}

/// An attribute of the current device, asked for once per device.
template <cudaDeviceAttr Which>
int cached_attribute() {
  static std::array<std::atomic<int>, kMaxDevices> cache{};
  std::atomic<int>& value = cache[static_cast<std::size_t>(current_device_index())];
  int known = value.load(std::memory_order_relaxed);
  if (known == 0) value.store(known = attribute(Which), std::memory_order_relaxed);
  return known;
}

}  // namespace

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) [[likely]]
    return;
  cudaGetLastError();
  fail("cuda", call, " failed: ", cudaGetErrorString(status), " (", cudaGetErrorName(status), ")");
}

const DeviceCount& count_devices() {
  static const DeviceCount counted = ask_for_devices();
  return counted;
}

int current_device_index() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

void set_current_device_index(int device) { check(cudaSetDevice(device), "cudaSetDevice"); }

cudaStream_t current_stream() { return current_stream_of(current_device_index()); }
cudaStream_t current_stream_of(int device) { return streams[static_cast<std::size_t>(device)]; }
void set_current_stream_of(int device, cudaStream_t stream) {
  streams[static_cast<std::size_t>(device)] = stream;
}

void refuse_while_capturing(const char* op) {
  const cudaStream_t stream = current_stream();
  if (!stream) return;  // the default stream cannot be captured
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  if (status != cudaStreamCaptureStatusNone) {
    fail(op,
         "waits for the device, which is not possible while a CUDA graph is captured; read values after "
         "replay()");
  }
}

int multiprocessor_count() { return cached_attribute<cudaDevAttrMultiProcessorCount>(); }

std::size_t shared_memory_limit() {
  return static_cast<std::size_t>(cached_attribute<cudaDevAttrMaxSharedMemoryPerBlockOptin>());
}

DeviceScope::DeviceScope(Device device) {
  const int current = current_device_index();
  if (!device.has_index() || device.index() == current) return;
  previous_ = current;
  set_current_device_index(device.index());
}

DeviceScope::~DeviceScope() {
  if (previous_ >= 0) cudaSetDevice(previous_);
}

}  // namespace halftone::cuda
