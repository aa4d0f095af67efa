#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "halftone/tests/simt/queue.h"

namespace simt {

/// An operation of a graph.
struct Node {
  std::function<void()> work;
  std::set<int> parents;
};

/// Behind cudaGraph_t, cudaGraphExec_t.
struct Graph {
  std::vector<Node> nodes;  // parents first
  bool is_executable = false;
};

/// Streams on their way into a graph.
class Capture {
 public:
  unsigned long long id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id owner;
  Stream* origin = nullptr;
  std::set<Stream*> streams;
  bool is_invalid = false;
  bool is_ended = false;
  Graph graph;
};

cudaError_t begin_capture(Stream& stream, cudaStreamCaptureMode mode);
/// Null result where the capture was invalid.
cudaError_t end_capture(Stream& stream, std::shared_ptr<Graph>& graph);
/// Adds to the graph instead of the stream.
cudaError_t capture_operation(Stream& stream, std::function<void()> work);
/// `event` stands for what `stream` has captured so far.
cudaError_t capture_record(Event& event, Stream& stream);
/// What `stream` does from now on depends on `event`, which may draw the stream into the event's capture.
cudaError_t capture_wait(Stream& stream, const Event& event);
/// A call that cannot be captured was made on the stream.
cudaError_t invalidate(Stream& stream);

/// Whether using `stream`, the default stream, would order it with a stream that is being captured.
bool is_implicit_in_capture(const Stream& stream);

/// Graphs that handles exist for; null for an invalid one.
std::shared_ptr<Graph> find_graph(const void* handle);
std::shared_ptr<Graph> add_graph(std::shared_ptr<Graph> graph);
void destroy_graph(const void* handle);
/// Runs all nodes.
void run_graph(const Graph& graph);

/// This host thread's mode; returns the one before.
cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode);

}  // namespace simt
