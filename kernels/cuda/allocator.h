#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "halftone/engine/allocator.h"

namespace halftone::cuda {

/// Device memory that is kept for reuse, in the order of streams: a block freed on a stream may be handed out
/// again on that stream at once, because what was enqueued before the free runs before what is enqueued after
/// it. Nothing waits for the device, except when memory runs out.
class DeviceAllocator : public Allocator {
 public:
  /// Memory used on another stream than its own is handed out again only when that stream has passed this
  /// point.
  virtual void record_use(void* block, cudaStream_t stream) = 0;

  /// From here to `end_pool`, this thread's allocations come from a pool of their own and stay there when
  /// freed, and other blocks this thread frees are kept: what a captured graph touches is touched by nobody
  /// else. Returns the pool's number.
  virtual int begin_pool() = 0;
  virtual void end_pool() noexcept = 0;
  /// The pool's memory is free for all again.
  virtual void release_pool(int pool) noexcept = 0;
};

/// The environment variable HALFTONE_CUDA_CACHING=0 turns caching off: every block comes from the CUDA
/// runtime and goes back to it, so that memory checkers see each tensor's bounds and life.
std::unique_ptr<DeviceAllocator> make_device_allocator(int device);

}  // namespace halftone::cuda
