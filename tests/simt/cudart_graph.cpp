// Stream capture and graphs.

#include <cuda_runtime_api.h>

#include "halftone/tests/simt/capture.h"
#include "halftone/tests/simt/queue.h"
#include "halftone/tests/simt/runtime.h"

using namespace simt;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return api_call([&] {
    Stream* stream = find_stream(handle);
    return stream == nullptr ? cudaErrorInvalidResourceHandle : begin_capture(*stream, mode);
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph_handle) {
  return api_call([&] {
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    std::shared_ptr<Graph> graph;
    const cudaError_t status = end_capture(*stream, graph);
    *graph_handle = reinterpret_cast<cudaGraph_t>(graph.get());
    return status;
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                     std::size_t* dependency_count) {
  return api_call([&] {
    // Graphs under construction are not shown.
    if (graph != nullptr || dependencies != nullptr || edges != nullptr || dependency_count != nullptr) {
      return cudaErrorNotSupported;
    }
    const Stream* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    *status = cudaStreamCaptureStatusNone;
    if (!stream->capture) return cudaSuccess;
    *status =
        stream->capture->is_invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
    if (id != nullptr) *id = stream->capture->id;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(handle, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return api_call([&] {
    *mode = exchange_capture_mode(*mode);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t handle, unsigned long long flags) {
  return api_call([&] {
    const std::shared_ptr<Graph> graph = find_graph(handle);
    if (graph == nullptr || graph->is_executable) return cudaErrorInvalidValue;
    if (flags != 0 && flags != cudaGraphInstantiateFlagAutoFreeOnLaunch) return cudaErrorNotSupported;
    auto copy = std::make_shared<Graph>(*graph);
    copy->is_executable = true;
    *executable = reinterpret_cast<cudaGraphExec_t>(add_graph(std::move(copy)).get());
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(executable, graph, flags);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream) {
  return api_call([&] {
    const std::shared_ptr<Graph> graph = find_graph(handle);
    if (graph == nullptr || !graph->is_executable) return cudaErrorInvalidValue;
    ++counters().graph_launches;
    return enqueue(stream, [graph] { run_graph(*graph); });
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t) {
  return api_call([&] { return find_graph(handle) != nullptr ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return api_call([&] {
    if (find_graph(handle) == nullptr) return cudaErrorInvalidValue;
    destroy_graph(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  return api_call([&] {
    if (find_graph(handle) == nullptr) return cudaErrorInvalidValue;
    destroy_graph(handle);
    return cudaSuccess;
  });
}

/// The number of nodes only.
cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, std::size_t* count) {
  return api_call([&] {
    const std::shared_ptr<Graph> graph = find_graph(handle);
    if (graph == nullptr) return cudaErrorInvalidValue;
    if (nodes != nullptr) return cudaErrorNotSupported;
    *count = graph->nodes.size();
    return cudaSuccess;
  });
}

}  // extern "C"
