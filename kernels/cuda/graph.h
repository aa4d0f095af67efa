#pragma once

#include <cuda_runtime_api.h>

// Recording of a stream's work, for engine/cuda_graph.cpp.
namespace halftone::cuda {

/// From here on `stream` records what is enqueued on it, instead of running it. Calls of this thread that
/// cannot be recorded fail; other threads are not concerned.
void begin_capture(cudaStream_t stream);
/// The recorded work, ready to launch. Throws Error when something happened that cannot be recorded.
cudaGraphExec_t end_capture(cudaStream_t stream);
/// Ends a recording that failed.
void abandon_capture(cudaStream_t stream) noexcept;
void launch_graph(cudaGraphExec_t graph, cudaStream_t stream);
void destroy_graph(cudaGraphExec_t graph) noexcept;

}  // namespace halftone::cuda
