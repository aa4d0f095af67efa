#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "halftone/engine/allocator.h"

// Between the engine and the CUDA backend, which may be absent. Users include engine/cuda.h.
namespace halftone::cuda {

/// A stream as the CUDA runtime knows it; null is the default stream.
using StreamHandle = void*;
/// An event as the CUDA runtime knows it.
using EventHandle = void*;
/// A recorded graph that can be launched.
using GraphHandle = void*;

/// What the backend does for the engine. Devices are numbered 0 .. device_count() - 1.
class Backend {
 public:
  virtual ~Backend() = default;

  /// 0 where there is no driver or no device; `absence` says why.
  virtual int device_count() = 0;
  virtual std::string absence() = 0;
  virtual std::string device_name(int device) = 0;
  virtual int current_device() = 0;
  virtual void set_current_device(int device) = 0;

  virtual Allocator& allocator(int device) = 0;
  /// Allocates host memory that the device can copy to and from without waiting.
  virtual void* allocate_pinned(std::size_t bytes) = 0;
  virtual void free_pinned(void* block) noexcept = 0;
  virtual bool is_pinned(const void* block) = 0;

  /// Copies to the host and waits for it. Counted, see `host_reads`.
  virtual void read(void* host, const void* data, std::size_t bytes, int device) = 0;
  /// Copies from the host, in stream order; the source may be changed on return.
  virtual void write(void* data, const void* host, std::size_t bytes, int device) = 0;
  /// The same from pinned memory, without waiting: the source must not change before the copy is done.
  virtual void write_later(void* data, const void* pinned, std::size_t bytes, int device) = 0;
  /// Copies from device to host made since the program began.
  virtual std::uint64_t host_reads() = 0;
  /// Waits for all work of a device, then throws what kernels reported (kernels/cuda/fault.h).
  virtual void synchronize(int device) = 0;

  virtual StreamHandle current_stream(int device) = 0;
  virtual void set_current_stream(int device, StreamHandle stream) = 0;
  virtual StreamHandle create_stream(int device, bool high_priority) = 0;
  virtual void destroy_stream(StreamHandle stream) noexcept = 0;
  virtual void synchronize_stream(StreamHandle stream) = 0;
  virtual bool is_idle(StreamHandle stream) = 0;
  /// Memory in use on another stream than the one it was allocated on is not handed out again too early.
  virtual void record_use(void* block, int device, StreamHandle stream) = 0;

  virtual EventHandle create_event(bool timing) = 0;
  virtual void destroy_event(EventHandle event) noexcept = 0;
  virtual void record_event(EventHandle event, StreamHandle stream) = 0;
  virtual void wait_event(StreamHandle stream, EventHandle event) = 0;
  virtual bool is_done(EventHandle event) = 0;
  virtual void synchronize_event(EventHandle event) = 0;
  virtual float elapsed_milliseconds(EventHandle begin, EventHandle end) = 0;

  /// A pool of memory for a graph: see kernels/cuda/allocator.h. Begins and ends on one thread.
  virtual int begin_pool(int device) = 0;
  virtual void end_pool(int device) noexcept = 0;
  virtual void release_pool(int device, int pool) noexcept = 0;

  /// Recording of a stream's work: see kernels/cuda/graph.h.
  virtual void begin_capture(StreamHandle stream) = 0;
  virtual GraphHandle end_capture(StreamHandle stream) = 0;
  virtual void abandon_capture(StreamHandle stream) noexcept = 0;
  virtual void launch_graph(GraphHandle graph, StreamHandle stream) = 0;
  virtual void destroy_graph(GraphHandle graph) noexcept = 0;
};

/// The backend, or null in a build without one.
Backend* backend();
/// The backend, with at least one device. Throws Error naming `op` and saying why CUDA cannot be used.
Backend& require_backend(const char* op);
/// Makes `backend` the backend. Called before main.
void set_backend(Backend* backend);
/// Defined by the CUDA backend (kernels/cuda/backend.cpp): connects its kernels and calls set_backend.
void link_backend();

/// `device` with its number: the current one if it names none. CPU devices come back as they are. Throws
/// Error when there is no such device.
Device resolve(Device device, const char* op = "device");

}  // namespace halftone::cuda
