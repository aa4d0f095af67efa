#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "halftone/tests/simt/control.h"
#include "halftone/tests/simt/report.h"

// The host side of the emulated device: what the emulated libraries (cudart, cuBLASLt) are written with.
namespace simt {

/// One lock for everything: emulated calls hold it from start to end, work included.
std::recursive_mutex& runtime_lock();

/// Adds work to a stream. It runs at once, later or, where the stream is being captured, whenever the graph
/// is launched. It must own copies of all it needs from the host, may touch device memory directly, and calls
/// no runtime function. An error (invalid stream, failed device) means it will not run.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);

/// Whether all bytes belong to one allocation of device memory that is in use (0 bytes: the pointer lies in
/// one).
bool is_device_range(const void* data, std::size_t bytes);
/// The same for host memory that was allocated or registered as pinned.
bool is_pinned_range(const void* data, std::size_t bytes);

/// The error that all calls return from now on, as after a failed kernel.
void set_sticky_error(cudaError_t error);
cudaError_t sticky_error();
/// Remembers `error` for cudaGetLastError of this host thread, and returns it.
cudaError_t remember(cudaError_t error);

/// cudaSuccess where there is a usable device.
cudaError_t device_status();

/// Whether calls that could disturb a capture are forbidden now to this host thread; the captures concerned
/// are then invalid.
bool breaks_capture();

/// This host thread's current device.
int current_device();

/// What control.h counts; under the lock.
control::Counters& counters();

/// The body of every emulated call: under the lock, and only on a usable device. The body returns an error
/// code.
template <class Body>
cudaError_t api_call(Body&& body) {
  const std::lock_guard lock(runtime_lock());
  const cudaError_t status = device_status();
  return remember(status != cudaSuccess ? status : std::forward<Body>(body)());
}

/// For calls that are unsafe while a capture goes on, such as allocations.
template <class Body>
cudaError_t unsafe_api_call(Body&& body) {
  return api_call([&] { return breaks_capture() ? cudaErrorStreamCaptureUnsupported : body(); });
}

/// While work of the device runs on this host thread; device memory is then accessible.
class OperationScope {
 public:
  OperationScope();
  ~OperationScope();
  OperationScope(const OperationScope&) = delete;
  OperationScope& operator=(const OperationScope&) = delete;
  static bool is_active();
};

}  // namespace simt
