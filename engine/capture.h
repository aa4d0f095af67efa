#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "halftone/engine/generator.h"

// What the engine and the optimizers know about work that is being captured into a CUDA graph
// (engine/cuda_graph.h): enqueued, but not run until the graph is replayed.
namespace halftone::cuda {

/// A capture under way on this thread.
class Capture {
 public:
  virtual ~Capture() = default;
  /// `update` runs before every replay: it brings numbers in device memory up to date that the host may have
  /// changed, such as a learning rate.
  virtual void before_replay(std::function<void()> update) = 0;
  /// Where the random numbers of `generator`, which stands at `state` now, start in a replay: a counter in
  /// device memory.
  virtual const std::uint64_t* random_base(const Generator& generator, PhiloxState state) = 0;
};

namespace detail {
inline thread_local constinit Capture* capture = nullptr;
inline constinit std::atomic<std::uint64_t> replays{0};
}  // namespace detail

/// The capture under way on this thread, or null.
inline Capture* current_capture() { return detail::capture; }

/// Throws Error while a graph is captured: `what` has to happen once, before the capture, and not in every
/// replay.
void refuse_in_capture(const char* op, const char* what);

/// Replays of all graphs so far. What was read from the device before the last one may have changed since.
inline std::uint64_t replay_count() { return detail::replays.load(std::memory_order_relaxed); }

}  // namespace halftone::cuda
