#pragma once

#include <functional>
#include <memory>

namespace halftone::cuda {

/// Work for a CUDA device that is recorded once and replayed many times at the cost of one launch: a whole
/// training step, for instance.
///
///   step();                      // once as it is: makes moments, counters and workspaces
///   cuda::Graph graph;
///   graph.capture(step);         // records, runs nothing
///   for (...) { ...; graph.replay(); }
///
/// A replay does to device memory what the function would do if it were called again, bit for bit: random
/// numbers go on, the loss scale moves, an overflow skips the step, and changed optimizer options (a learning
/// rate) count. What the host code of the function does happens once, at the capture: it decides by host
/// values and by no others, and reads nothing from the device, which throws Error naming what was asked for.
/// Tensors keep their addresses: new inputs are copied into the tensors that the function used, and its
/// results are in the tensors that the capture left behind.
///
/// Memory that is allocated during the capture belongs to the graph until it is destroyed.
class Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  /// Records the work that `step` enqueues on the current device from this thread. A graph recorded before is
  /// dropped.
  void capture(const std::function<void()>& step);
  /// Enqueues the recorded work on the current stream.
  void replay();
  /// Whether there is anything to replay.
  bool is_captured() const;
  /// Drops what was recorded, and waits for its replays.
  void reset();

 private:
  class Recording;
  std::unique_ptr<Recording> recording_;
};

}  // namespace halftone::cuda
