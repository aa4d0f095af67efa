// Streams and events.

#include <cuda_runtime_api.h>

#include "halftone/tests/simt/capture.h"
#include "halftone/tests/simt/queue.h"
#include "halftone/tests/simt/runtime.h"
#include "halftone/tests/simt/settings.h"

using namespace simt;

namespace {

/// Calls `body` with the stream of a handle.
template <class Body>
cudaError_t with_stream(cudaStream_t handle, Body&& body) {
  return api_call([&] {
    Stream* stream = find_stream(handle);
    return stream == nullptr ? cudaErrorInvalidResourceHandle : body(*stream);
  });
}

template <class Body>
cudaError_t with_event(cudaEvent_t handle, Body&& body) {
  return api_call([&] {
    Event* event = find_event(handle);
    return event == nullptr ? cudaErrorInvalidResourceHandle : body(*event);
  });
}

cudaError_t make_stream(cudaStream_t* handle, unsigned flags, int priority) {
  return api_call([&] {
    if ((flags & ~static_cast<unsigned>(cudaStreamNonBlocking)) != 0) return cudaErrorInvalidValue;
    *handle = handle_of(create_stream(current_device(), flags, priority));
    return cudaSuccess;
  });
}

cudaError_t record(Event& event, Stream& stream) {
  if (event.device != stream.device) return cudaErrorInvalidResourceHandle;
  if (stream.capture) return capture_record(event, stream);
  if (is_implicit_in_capture(stream)) return cudaErrorStreamCaptureImplicit;
  event.capture = nullptr;
  event.latest = std::make_shared<EventRecord>();
  event.latest->stream = &stream;
  Operation operation;
  operation.record = event.latest;
  push(stream, std::move(operation));
  return cudaSuccess;
}

cudaError_t wait(Stream& stream, const Event& event) {
  if (stream.capture || event.capture) return capture_wait(stream, event);
  if (is_implicit_in_capture(stream)) return cudaErrorStreamCaptureImplicit;
  if (!event.latest) return cudaSuccess;
  Operation operation;
  operation.wait = event.latest;
  push(stream, std::move(operation));
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return make_stream(stream, cudaStreamDefault, 0); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return make_stream(stream, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return make_stream(stream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return with_stream(handle, [](Stream& stream) {
    if (stream.is_legacy) return cudaErrorInvalidResourceHandle;
    if (stream.capture) invalidate(stream);
    destroy_stream(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return with_stream(handle, [](Stream& stream) {
    if (stream.capture) return invalidate(stream);
    if (is_implicit_in_capture(stream)) return cudaErrorStreamCaptureImplicit;
    ++counters().synchronizations;
    synchronize(stream);
    return sticky_error();
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return with_stream(handle, [](Stream& stream) {
    if (stream.capture) return invalidate(stream);
    if (is_implicit_in_capture(stream)) return cudaErrorStreamCaptureImplicit;
    if (!is_idle(stream)) return cudaErrorNotReady;
    return sticky_error();
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned) {
  return with_stream(handle, [&](Stream& stream) {
    const Event* event = find_event(event_handle);
    return event == nullptr ? cudaErrorInvalidResourceHandle : wait(stream, *event);
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return api_call([&] { return enqueue(stream, [=] { function(data); }); });
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  return with_stream(handle, [&](const Stream& stream) {
    *flags = stream.flags;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return with_stream(handle, [&](const Stream& stream) {
    *priority = stream.priority;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return with_stream(handle, [&](const Stream& stream) {
    *device = stream.device;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return with_stream(handle, [&](const Stream& stream) {
    *id = stream.id;
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags) {
  return api_call([&] {
    *handle = reinterpret_cast<cudaEvent_t>(&create_event(flags));
    return cudaSuccess;
  });
}
cudaError_t cudaEventCreate(cudaEvent_t* handle) {
  return cudaEventCreateWithFlags(handle, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return with_event(handle, [](Event& event) {
    destroy_event(event);
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle) {
  return with_stream(stream_handle, [&](Stream& stream) {
    Event* event = find_event(handle);
    return event == nullptr ? cudaErrorInvalidResourceHandle : record(*event, stream);
  });
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t stream, unsigned flags) {
  return flags == cudaEventRecordDefault ? cudaEventRecord(handle, stream) : remember(cudaErrorNotSupported);
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return with_event(handle, [](const Event& event) {
    if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
    if (event.capture) return cudaErrorCapturedEvent;
    if (event.latest && !is_done(*event.latest)) return cudaErrorNotReady;
    return sticky_error();
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return with_event(handle, [](const Event& event) {
    if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
    if (event.capture) return cudaErrorCapturedEvent;
    ++counters().synchronizations;
    if (event.latest) synchronize(*event.latest);
    return sticky_error();
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin_handle, cudaEvent_t end_handle) {
  return api_call([&] {
    const Event* begin = find_event(begin_handle);
    const Event* end = find_event(end_handle);
    if (begin == nullptr || end == nullptr || !begin->latest || !end->latest)
      return cudaErrorInvalidResourceHandle;
    if (((begin->flags | end->flags) & cudaEventDisableTiming) != 0) return cudaErrorInvalidResourceHandle;
    if (!begin->latest->done || !end->latest->done) return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(end->latest->time - begin->latest->time).count();
    return cudaSuccess;
  });
}

}  // extern "C"
