// Copies and fills. Every range is checked before anything is touched.

#include <cuda_runtime_api.h>

#include <cstring>
#include <memory>
#include <vector>

#include "halftone/tests/simt/device_memory.h"
#include "halftone/tests/simt/queue.h"
#include "halftone/tests/simt/runtime.h"
#include "halftone/tests/simt/settings.h"

using namespace simt;

namespace {

/// Rows of memory: `height` times `width` bytes, `pitch` apart.
struct Rows {
  char* data;
  std::size_t pitch;
  std::size_t width;
  std::size_t height;

  bool is_empty() const { return width == 0 || height == 0; }
  std::size_t span() const { return is_empty() ? 0 : (height - 1) * pitch + width; }
  char* row(std::size_t i) const { return data + i * pitch; }
};

enum class Place { kDevice, kPinned, kPageable, kBad };

/// Where the rows lie; kBad, with a report, where they begin in device memory but do not stay in one
/// allocation in use.
Place place_of(const Rows& rows, const char* call) {
  const std::size_t bytes = rows.span();
  if (!DeviceMemory::instance().is_device_address(rows.data)) {
    return is_pinned_range(rows.data, bytes) ? Place::kPinned : Place::kPageable;
  }
  if (is_device_range(rows.data, bytes)) return Place::kDevice;
  const Allocation* allocation = DeviceMemory::instance().find(rows.data);
  if (allocation == nullptr) {
    report(format("%s: %p is device memory that was never allocated", call, static_cast<void*>(rows.data)));
  } else {
    report(format("%s: %zu bytes from offset %ld of allocation #%llu, which has %zu bytes%s", call, bytes,
                  static_cast<long>(rows.data - allocation->data),
                  static_cast<unsigned long long>(allocation->number), allocation->bytes,
                  allocation->freed ? " and is FREED" : ""));
  }
  return Place::kBad;
}

/// Whether the places are what `kind` says.
bool is_kind(Place to, Place from, cudaMemcpyKind kind) {
  const bool to_device = to == Place::kDevice;
  const bool from_device = from == Place::kDevice;
  switch (kind) {
    case cudaMemcpyHostToHost:
      return !to_device && !from_device;
    case cudaMemcpyHostToDevice:
      return (to_device || to == Place::kPinned) && !from_device;
    case cudaMemcpyDeviceToHost:
      return !to_device && (from_device || from == Place::kPinned);
    case cudaMemcpyDeviceToDevice:
      return to != Place::kPageable && from != Place::kPageable;
    default:
      return kind == cudaMemcpyDefault;
  }
}

void copy_rows(const Rows& to, const Rows& from) {
  if (to.pitch == to.width && from.pitch == from.width) {
    std::memmove(to.data, from.data, to.width * to.height);
    return;
  }
  for (std::size_t i = 0; i < to.height; ++i) std::memmove(to.row(i), from.row(i), to.width);
}

/// The rows of pageable memory as they are now.
std::shared_ptr<std::vector<char>> snapshot(const Rows& rows) {
  auto copy = std::make_shared<std::vector<char>>(rows.width * rows.height);
  copy_rows({copy->data(), rows.width, rows.width, rows.height}, rows);
  return copy;
}

/// Copies in stream order. `blocking`: as the calls without Async, which wait unless both sides are on the
/// device.
cudaError_t copy(Rows to, Rows from, cudaMemcpyKind kind, cudaStream_t handle, bool blocking,
                 const char* call) {
  if (to.is_empty()) return cudaSuccess;
  if (to.width > to.pitch || from.width > from.pitch) return cudaErrorInvalidPitchValue;
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  const Place target = place_of(to, call);
  const Place source = place_of(from, call);
  if (target == Place::kBad || source == Place::kBad) return cudaErrorInvalidValue;
  if (!is_kind(target, source, kind)) {
    report(format("%s: the pointers are not what the kind of copy (%d) says", call, static_cast<int>(kind)));
    return cudaErrorInvalidMemcpyDirection;
  }
  if (target != Place::kDevice && source == Place::kDevice) ++counters().copies_to_host;
  if (target == Place::kDevice && source != Place::kDevice) ++counters().copies_to_device;

  const bool defers_pageable = settings().defer_pageable || stream->capture != nullptr;
  cudaError_t status = cudaSuccess;
  if (source == Place::kPageable && !blocking && !defers_pageable) {
    const auto staged = snapshot(from);
    status = enqueue(handle, [to, staged] {
      copy_rows(to, {staged->data(), to.width, to.width, to.height});
    });
  } else {
    status = enqueue(handle, [to, from] { copy_rows(to, from); });
  }
  if (status != cudaSuccess) return status;
  const bool host_waits = blocking ? target != Place::kDevice || source != Place::kDevice
                                   : target == Place::kPageable && !defers_pageable;
  if (host_waits && !stream->capture) {
    ++counters().synchronizations;
    synchronize(*stream);
  }
  return sticky_error();
}

cudaError_t fill(const Rows& rows, int value, cudaStream_t handle, const char* call) {
  if (rows.is_empty()) return cudaSuccess;
  if (rows.width > rows.pitch) return cudaErrorInvalidPitchValue;
  const Place target = place_of(rows, call);
  if (target == Place::kBad) return cudaErrorInvalidValue;
  if (target == Place::kPageable) {
    report(format("%s: %p is not device memory", call, static_cast<void*>(rows.data)));
    return cudaErrorInvalidValue;
  }
  return enqueue(handle, [rows, value] {
    for (std::size_t i = 0; i < rows.height; ++i) std::memset(rows.row(i), value, rows.width);
  });
}

Rows one_row(const void* data, std::size_t bytes) {
  return {static_cast<char*>(const_cast<void*>(data)), bytes, bytes, 1};
}
Rows rows_of(const void* data, std::size_t pitch, std::size_t width, std::size_t height) {
  return {static_cast<char*>(const_cast<void*>(data)), pitch, width, height};
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return unsafe_api_call(
      [&] { return copy(one_row(to, bytes), one_row(from, bytes), kind, nullptr, true, "cudaMemcpy"); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return api_call(
      [&] { return copy(one_row(to, bytes), one_row(from, bytes), kind, stream, false, "cudaMemcpyAsync"); });
}

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  return unsafe_api_call([&] {
    return copy(rows_of(to, to_pitch, width, height), rows_of(from, from_pitch, width, height), kind, nullptr,
                true, "cudaMemcpy2D");
  });
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return api_call([&] {
    return copy(rows_of(to, to_pitch, width, height), rows_of(from, from_pitch, width, height), kind, stream,
                false, "cudaMemcpy2DAsync");
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                cudaStream_t stream) {
  return api_call([&] {
    return copy(one_row(to, bytes), one_row(from, bytes), cudaMemcpyDeviceToDevice, stream, false,
                "cudaMemcpyPeerAsync");
  });
}

cudaError_t cudaMemset(void* data, int value, std::size_t bytes) {
  return unsafe_api_call([&] { return fill(one_row(data, bytes), value, nullptr, "cudaMemset"); });
}

cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  return api_call([&] { return fill(one_row(data, bytes), value, stream, "cudaMemsetAsync"); });
}

cudaError_t cudaMemset2DAsync(void* data, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t stream) {
  return api_call(
      [&] { return fill(rows_of(data, pitch, width, height), value, stream, "cudaMemset2DAsync"); });
}

}  // extern "C"
