#include "halftone/tests/simt/capture.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "halftone/tests/simt/runtime.h"
#include "halftone/tests/simt/settings.h"

namespace simt {
namespace {

/// All captures and graphs; under the runtime's lock.
struct Graphs {
  std::set<std::shared_ptr<Capture>> captures;
  std::map<const void*, std::shared_ptr<Graph>> graphs;
  unsigned long long ids = 0;
};

Graphs& graphs() {
  static auto* const all = new Graphs;
  return *all;
}

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

/// Whether the origin's last operation comes after all others.
bool is_joined(const Capture& capture) {
  std::set<int> reached;
  std::vector<int> open(capture.origin->capture_nodes.begin(), capture.origin->capture_nodes.end());
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    if (!reached.insert(node).second) continue;
    const std::set<int>& parents = capture.graph.nodes[static_cast<std::size_t>(node)].parents;
    open.insert(open.end(), parents.begin(), parents.end());
  }
  return reached.size() == capture.graph.nodes.size();
}

}  // namespace

cudaError_t begin_capture(Stream& stream, cudaStreamCaptureMode mode) {
  if (stream.is_legacy) return cudaErrorStreamCaptureUnsupported;
  if (stream.capture) return cudaErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->id = ++graphs().ids;
  capture->mode = mode;
  capture->owner = std::this_thread::get_id();
  capture->origin = &stream;
  capture->streams.insert(&stream);
  stream.capture = capture;
  stream.capture_nodes.clear();
  graphs().captures.insert(capture);
  return cudaSuccess;
}

cudaError_t end_capture(Stream& stream, std::shared_ptr<Graph>& graph) {
  graph = nullptr;
  const std::shared_ptr<Capture> capture = stream.capture;
  if (!capture) return cudaErrorIllegalState;
  if (capture->origin != &stream) return cudaErrorStreamCaptureUnmatched;
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->owner != std::this_thread::get_id()) {
    return cudaErrorStreamCaptureWrongThread;
  }
  const bool joined = is_joined(*capture);
  capture->is_ended = true;
  for (Stream* member : capture->streams) {
    member->capture = nullptr;
    member->capture_nodes.clear();
  }
  graphs().captures.erase(capture);
  if (capture->is_invalid) return cudaErrorStreamCaptureInvalidated;
  if (!joined) return cudaErrorStreamCaptureUnjoined;
  graph = add_graph(std::make_shared<Graph>(std::move(capture->graph)));
  return cudaSuccess;
}

cudaError_t capture_operation(Stream& stream, std::function<void()> work) {
  Capture& capture = *stream.capture;
  if (capture.is_invalid) return cudaErrorStreamCaptureInvalidated;
  const int node = static_cast<int>(capture.graph.nodes.size());
  capture.graph.nodes.push_back({std::move(work), stream.capture_nodes});
  stream.capture_nodes = {node};
  return cudaSuccess;
}

cudaError_t capture_record(Event& event, Stream& stream) {
  if (stream.capture->is_invalid) return cudaErrorStreamCaptureInvalidated;
  event.capture = stream.capture;
  event.capture_nodes = stream.capture_nodes;
  return cudaSuccess;
}

cudaError_t capture_wait(Stream& stream, const Event& event) {
  if (!event.capture) {
    // Work outside of the capture cannot be part of it.
    if (event.latest) {
      stream.capture->is_invalid = true;
      return cudaErrorStreamCaptureIsolation;
    }
    return cudaSuccess;
  }
  if (event.capture->is_ended) return cudaErrorCapturedEvent;
  if (event.capture->is_invalid) return cudaErrorStreamCaptureInvalidated;
  if (stream.is_legacy) return cudaErrorStreamCaptureImplicit;
  if (!stream.capture) {
    stream.capture = event.capture;
    stream.capture_nodes.clear();
    stream.capture->streams.insert(&stream);
  }
  if (stream.capture != event.capture) {
    stream.capture->is_invalid = true;
    event.capture->is_invalid = true;
    return cudaErrorStreamCaptureMerge;
  }
  stream.capture_nodes.insert(event.capture_nodes.begin(), event.capture_nodes.end());
  return cudaSuccess;
}

cudaError_t invalidate(Stream& stream) {
  stream.capture->is_invalid = true;
  return cudaErrorStreamCaptureUnsupported;
}

bool is_implicit_in_capture(const Stream& stream) {
  if (!stream.is_legacy) return false;
  bool found = false;
  for (const auto& capture : graphs().captures) {
    for (const Stream* member : capture->streams) {
      if (!member->is_blocking() || member->device != stream.device) continue;
      capture->is_invalid = true;
      found = true;
    }
  }
  return found;
}

bool breaks_capture() {
  if (thread_mode == cudaStreamCaptureModeRelaxed) return false;
  bool broken = false;
  for (const auto& capture : graphs().captures) {
    const bool own = capture->owner == std::this_thread::get_id();
    if (capture->mode == cudaStreamCaptureModeRelaxed) continue;
    const bool concerns =
        own || (thread_mode == cudaStreamCaptureModeGlobal && capture->mode == cudaStreamCaptureModeGlobal);
    if (!concerns) continue;
    capture->is_invalid = true;
    broken = true;
  }
  return broken;
}

std::shared_ptr<Graph> find_graph(const void* handle) {
  const auto found = graphs().graphs.find(handle);
  return found == graphs().graphs.end() ? nullptr : found->second;
}

std::shared_ptr<Graph> add_graph(std::shared_ptr<Graph> graph) {
  graphs().graphs.emplace(graph.get(), graph);
  return graph;
}

void destroy_graph(const void* handle) { graphs().graphs.erase(handle); }

void run_graph(const Graph& graph) {
  if (settings().streams != control::Streams::kRandom) {
    for (const Node& node : graph.nodes) node.work();
    return;
  }
  // Any order that the dependencies allow.
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(settings().next_seed()));
  std::vector<int> open(graph.nodes.size());
  for (std::size_t i = 0; i < open.size(); ++i) open[i] = static_cast<int>(i);
  std::set<int> done;
  while (!open.empty()) {
    const std::size_t choice = random() % open.size();
    const int node = open[choice];
    const std::set<int>& parents = graph.nodes[static_cast<std::size_t>(node)].parents;
    if (!std::includes(done.begin(), done.end(), parents.begin(), parents.end())) continue;
    graph.nodes[static_cast<std::size_t>(node)].work();
    done.insert(node);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(choice));
  }
}

cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode) {
  return std::exchange(thread_mode, mode);
}

}  // namespace simt
