#include "halftone/kernels/cuda/graph.h"

#include "halftone/engine/error.h"
#include "halftone/kernels/cuda/runtime.h"

namespace halftone::cuda {

void begin_capture(cudaStream_t stream) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
}

cudaGraphExec_t end_capture(cudaStream_t stream) {
  cudaGraph_t recorded = nullptr;
  check(cudaStreamEndCapture(stream, &recorded), "cudaStreamEndCapture");
  if (!recorded) fail("cuda::Graph", "capture: the recording was spoilt by a call that waits for the device");
  cudaGraphExec_t graph = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&graph, recorded, 0);
  cudaGraphDestroy(recorded);
  check(status, "cudaGraphInstantiate");
  return graph;
}

void abandon_capture(cudaStream_t stream) noexcept {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaStreamIsCapturing(stream, &status);
  if (status != cudaStreamCaptureStatusNone) {
    cudaGraph_t recorded = nullptr;
    cudaStreamEndCapture(stream, &recorded);
    if (recorded) cudaGraphDestroy(recorded);
  }
  cudaGetLastError();
}

void launch_graph(cudaGraphExec_t graph, cudaStream_t stream) {
  check(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
}

void destroy_graph(cudaGraphExec_t graph) noexcept { cudaGraphExecDestroy(graph); }

}  // namespace halftone::cuda
