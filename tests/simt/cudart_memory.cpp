// Device and pinned host memory.

#include <cuda_runtime_api.h>

#include "halftone/tests/simt/device_memory.h"
#include "halftone/tests/simt/host_memory.h"
#include "halftone/tests/simt/queue.h"
#include "halftone/tests/simt/runtime.h"
#include "halftone/tests/simt/settings.h"

using namespace simt;

namespace {

cudaError_t allocate(void** data, std::size_t bytes) {
  *data = nullptr;
  if (bytes == 0) return cudaSuccess;
  ++counters().allocations;
  *data = DeviceMemory::instance().allocate(bytes, current_device());
  return *data == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

/// Frees in the order of the host's calls; false, with a report, for anything but an allocation in use.
bool release(void* data, const char* call) {
  if (DeviceMemory::instance().free(data)) return true;
  const Allocation* allocation = DeviceMemory::instance().find(data);
  if (allocation != nullptr && allocation->freed && allocation->data == data) {
    report(format("%s: allocation #%llu of %zu bytes is freed twice", call,
                  static_cast<unsigned long long>(allocation->number), allocation->bytes));
  } else {
    report(format("%s: %p is not the start of an allocation", call, data));
  }
  return false;
}

}  // namespace

namespace simt {

bool is_device_range(const void* data, std::size_t bytes) {
  const std::lock_guard lock(runtime_lock());
  return DeviceMemory::instance().find_range(data, bytes) != nullptr;
}

}  // namespace simt

extern "C" {

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  return unsafe_api_call([&] { return allocate(data, bytes); });
}

cudaError_t cudaFree(void* data) {
  return unsafe_api_call([&] {
    if (data == nullptr) return cudaSuccess;
    if (!release(data, "cudaFree")) return cudaErrorInvalidValue;
    ++counters().synchronizations;
    synchronize_all();
    DeviceMemory::instance().unmap(data);
    return sticky_error();
  });
}

cudaError_t cudaMallocAsync(void** data, std::size_t bytes, cudaStream_t handle) {
  return api_call([&] {
    const Stream* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    // Memory nodes of graphs are not emulated.
    if (stream->capture) return cudaErrorNotSupported;
    return allocate(data, bytes);
  });
}

cudaError_t cudaFreeAsync(void* data, cudaStream_t handle) {
  return api_call([&] {
    const Stream* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture) return cudaErrorNotSupported;
    if (data == nullptr) return cudaErrorInvalidValue;
    if (!release(data, "cudaFreeAsync")) return cudaErrorInvalidValue;
    return enqueue(handle, [data] { DeviceMemory::instance().unmap(data); });
  });
}

cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned flags) {
  return unsafe_api_call([&] {
    *data = nullptr;
    if (bytes == 0) return cudaSuccess;
    *data = HostMemory::instance().allocate(bytes, flags);
    return *data == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
  });
}

cudaError_t cudaMallocHost(void** data, std::size_t bytes) {
  return cudaHostAlloc(data, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* data) {
  return unsafe_api_call([&] {
    if (data == nullptr) return cudaSuccess;
    synchronize_all();
    return HostMemory::instance().free(data) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned flags) {
  return unsafe_api_call([&] {
    if (data == nullptr || bytes == 0) return cudaErrorInvalidValue;
    return HostMemory::instance().register_block(data, bytes, flags) ? cudaSuccess
                                                                     : cudaErrorHostMemoryAlreadyRegistered;
  });
}

cudaError_t cudaHostUnregister(void* data) {
  return unsafe_api_call([&] {
    synchronize_all();
    return HostMemory::instance().unregister_block(data) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
  });
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* data, unsigned) {
  return api_call([&] {
    // One address space: pinned memory has the same address on both sides.
    if (!is_pinned_range(data, 0)) return cudaErrorInvalidValue;
    *device_pointer = data;
    return cudaSuccess;
  });
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* data) {
  return api_call([&] {
    const HostMemory::Block* block = HostMemory::instance().find_range(data, 0);
    if (block == nullptr) return cudaErrorInvalidValue;
    *flags = block->flags;
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return api_call([&] {
    *attributes = cudaPointerAttributes{};
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = -2;
    auto* plain = const_cast<void*>(pointer);
    if (const Allocation* allocation = DeviceMemory::instance().find_range(pointer, 0)) {
      attributes->type = cudaMemoryTypeDevice;
      attributes->device = allocation->device;
      attributes->devicePointer = plain;
    } else if (is_pinned_range(pointer, 0)) {
      attributes->type = cudaMemoryTypeHost;
      attributes->device = current_device();
      attributes->devicePointer = attributes->hostPointer = plain;
    } else {
      attributes->hostPointer = plain;
    }
    return cudaSuccess;
  });
}

}  // extern "C"
