// Devices: count, properties, peers; versions and the texts of errors.

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include <cstring>

#include "halftone/tests/simt/capture.h"
#include "halftone/tests/simt/device_limits.h"
#include "halftone/tests/simt/device_memory.h"
#include "halftone/tests/simt/queue.h"
#include "halftone/tests/simt/runtime.h"
#include "halftone/tests/simt/settings.h"

using namespace simt;

namespace {

bool is_device(int device) { return device >= 0 && device < settings().device_count; }

/// Waits, where the host may.
cudaError_t wait_for_device() {
  ++counters().synchronizations;
  synchronize_device(current_device());
  return sticky_error();
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  const std::lock_guard lock(runtime_lock());
  if (settings().device_count == 0) return remember(static_cast<cudaError_t>(settings().absence_reason));
  *count = settings().device_count;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return api_call([&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    *properties = cudaDeviceProp{};
    std::strcpy(properties->name, "Emulated CUDA device");
    properties->totalGlobalMem = settings().device_memory;
    properties->sharedMemPerBlock = limits::kSharedBytes;
    properties->sharedMemPerBlockOptin = limits::kSharedOptInBytes;
    properties->sharedMemPerMultiprocessor = limits::kSharedPerMultiprocessor;
    properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = 1024;
    properties->maxThreadsPerMultiProcessor = limits::kThreadsPerMultiprocessor;
    properties->maxBlocksPerMultiProcessor = 32;
    properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
    properties->maxThreadsDim[2] = 64;
    properties->maxGridSize[0] = 0x7fffffff;
    properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
    properties->major = limits::kMajor;
    properties->minor = limits::kMinor;
    properties->multiProcessorCount = limits::kMultiprocessors;
    properties->l2CacheSize = static_cast<int>(limits::kCacheBytes);
    properties->memoryBusWidth = 64;
    properties->unifiedAddressing = properties->canMapHostMemory = properties->concurrentKernels = 1;
    properties->asyncEngineCount = 1;
    properties->streamPrioritiesSupported = properties->memoryPoolsSupported = 1;
    properties->pciBusID = device;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return api_call([&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    switch (attribute) {
      case cudaDevAttrMaxThreadsPerBlock:
      case cudaDevAttrMaxBlockDimX:
      case cudaDevAttrMaxBlockDimY:
        *value = 1024;
        break;
      case cudaDevAttrMaxBlockDimZ:
        *value = 64;
        break;
      case cudaDevAttrMaxGridDimX:
        *value = 0x7fffffff;
        break;
      case cudaDevAttrMaxGridDimY:
      case cudaDevAttrMaxGridDimZ:
        *value = 65535;
        break;
      case cudaDevAttrMaxSharedMemoryPerBlock:
        *value = static_cast<int>(limits::kSharedBytes);
        break;
      case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = static_cast<int>(limits::kSharedOptInBytes);
        break;
      case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        *value = static_cast<int>(limits::kSharedPerMultiprocessor);
        break;
      case cudaDevAttrWarpSize:
        *value = 32;
        break;
      case cudaDevAttrMultiProcessorCount:
        *value = limits::kMultiprocessors;
        break;
      case cudaDevAttrMaxThreadsPerMultiProcessor:
        *value = limits::kThreadsPerMultiprocessor;
        break;
      case cudaDevAttrMaxBlocksPerMultiprocessor:
        *value = 32;
        break;
      case cudaDevAttrMaxRegistersPerBlock:
      case cudaDevAttrMaxRegistersPerMultiprocessor:
        *value = 65536;
        break;
      case cudaDevAttrComputeCapabilityMajor:
        *value = limits::kMajor;
        break;
      case cudaDevAttrComputeCapabilityMinor:
        *value = limits::kMinor;
        break;
      case cudaDevAttrL2CacheSize:
        *value = static_cast<int>(limits::kCacheBytes);
        break;
      case cudaDevAttrUnifiedAddressing:
      case cudaDevAttrCanMapHostMemory:
      case cudaDevAttrCanUseHostPointerForRegisteredMem:
      case cudaDevAttrConcurrentKernels:
      case cudaDevAttrMemoryPoolsSupported:
      case cudaDevAttrStreamPrioritiesSupported:
        *value = 1;
        break;
      case cudaDevAttrMemoryClockRate:
      case cudaDevAttrClockRate:
        *value = 1'000'000;
        break;
      case cudaDevAttrGlobalMemoryBusWidth:
        *value = 64;
        break;
      case cudaDevAttrCooperativeLaunch:
      case cudaDevAttrManagedMemory:
      case cudaDevAttrPageableMemoryAccess:
      case cudaDevAttrIntegrated:
      case cudaDevAttrEccEnabled:
        *value = 0;
        break;
      default:
        note(format("cudaDeviceGetAttribute: attribute %d is not emulated", static_cast<int>(attribute)));
        return cudaErrorNotSupported;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize() { return unsafe_api_call(wait_for_device); }

cudaError_t cudaDeviceReset() {
  synchronize_all();
  control::clear_errors();
  return cudaSuccess;
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return api_call([&] { return is_device(device) ? cudaSuccess : cudaErrorInvalidDevice; });
}

cudaError_t cudaSetDeviceFlags(unsigned) {
  return api_call([] { return cudaSuccess; });
}

cudaError_t cudaDeviceCanAccessPeer(int* can_access, int device, int peer) {
  return api_call([&] {
    if (!is_device(device) || !is_device(peer)) return cudaErrorInvalidDevice;
    *can_access = 0;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return api_call([&] {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return api_call([&] {
    *total = settings().device_memory;
    *free = *total - DeviceMemory::instance().bytes_in_use(current_device());
    return cudaSuccess;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = settings().device_count == 0 ? 0 : CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaProfilerStart() {
  return api_call([] { return cudaSuccess; });
}
cudaError_t cudaProfilerStop() {
  return api_call([] { return cudaSuccess; });
}

}  // extern "C"
