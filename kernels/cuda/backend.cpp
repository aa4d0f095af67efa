// The CUDA backend as the engine sees it (engine/cuda_backend.h).

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "halftone/engine/cuda_backend.h"
#include "halftone/engine/error.h"
#include "halftone/kernels/cuda/allocator.h"
#include "halftone/kernels/cuda/families.h"
#include "halftone/kernels/cuda/fault_record.h"
#include "halftone/kernels/cuda/graph.h"
#include "halftone/kernels/cuda/runtime.h"
#include "halftone/kernels/cuda/small_write.h"

namespace halftone::cuda {
namespace {

Device device_of(int index) { return {kCUDA, static_cast<std::int8_t>(index)}; }
cudaStream_t stream_of(StreamHandle handle) { return static_cast<cudaStream_t>(handle); }
cudaEvent_t event_of(EventHandle handle) { return static_cast<cudaEvent_t>(handle); }
cudaGraphExec_t graph_of(GraphHandle handle) { return static_cast<cudaGraphExec_t>(handle); }

class CudaBackend final : public Backend {
 public:
  int device_count() override { return count_devices().count; }
  std::string absence() override { return count_devices().absence; }

  std::string device_name(int device) override {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    return properties.name;
  }

  int current_device() override { return current_device_index(); }
  void set_current_device(int device) override { set_current_device_index(device); }

  Allocator& allocator(int device) override { return device_allocator(device); }

  void* allocate_pinned(std::size_t bytes) override {
    void* block = nullptr;
    check(cudaHostAlloc(&block, bytes, cudaHostAllocPortable), "cudaHostAlloc");
    return block;
  }
  void free_pinned(void* block) noexcept override { cudaFreeHost(block); }
  bool is_pinned(const void* block) override {
    cudaPointerAttributes attributes{};
    const bool known = cudaPointerGetAttributes(&attributes, block) == cudaSuccess;
    if (!known) cudaGetLastError();
    return known && attributes.type == cudaMemoryTypeHost;
  }

  void read(void* host, const void* data, std::size_t bytes, int device) override {
    const DeviceScope scope(device_of(device));
    refuse_while_capturing("reading device memory");
    const cudaStream_t stream = cuda::current_stream();
    if (bytes > 0)
      check(cudaMemcpyAsync(host, data, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    host_reads_.fetch_add(1, std::memory_order_relaxed);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    throw_fault(device);
  }

  void write(void* data, const void* host, std::size_t bytes, int device) override {
    if (bytes == 0) return;
    const DeviceScope scope(device_of(device));
    refuse_while_capturing("copying from host memory");
    if (bytes <= kSmallWrite)
      return write_small(data, host, bytes);  // random counters, learning rates, numbers
    check(cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, cuda::current_stream()),
          "cudaMemcpyAsync");
    // Pageable memory is read before the call returns; pinned memory later, and its owner does not know when.
    if (is_pinned(host)) check(cudaStreamSynchronize(cuda::current_stream()), "cudaStreamSynchronize");
  }

  void write_later(void* data, const void* pinned, std::size_t bytes, int device) override {
    const DeviceScope scope(device_of(device));
    check(cudaMemcpyAsync(data, pinned, bytes, cudaMemcpyHostToDevice, cuda::current_stream()),
          "cudaMemcpyAsync");
  }

  std::uint64_t host_reads() override { return host_reads_.load(std::memory_order_relaxed); }

  void synchronize(int device) override {
    const DeviceScope scope(device_of(device));
    refuse_while_capturing("synchronize");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    throw_fault(device);
  }

  StreamHandle current_stream(int device) override { return current_stream_of(device); }
  void set_current_stream(int device, StreamHandle stream) override {
    set_current_stream_of(device, stream_of(stream));
  }

  StreamHandle create_stream(int device, bool high_priority) override {
    const DeviceScope scope(device_of(device));
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, high_priority ? greatest : least),
          "cudaStreamCreateWithPriority");
    return stream;
  }
  void destroy_stream(StreamHandle stream) noexcept override { cudaStreamDestroy(stream_of(stream)); }
  void synchronize_stream(StreamHandle stream) override {
    refuse_while_capturing("synchronize");
    check(cudaStreamSynchronize(stream_of(stream)), "cudaStreamSynchronize");
    throw_fault(current_device_index());
  }
  bool is_idle(StreamHandle stream) override {
    return is_ready(cudaStreamQuery(stream_of(stream)), "cudaStreamQuery");
  }
  void record_use(void* block, int device, StreamHandle stream) override {
    device_allocator(device).record_use(block, stream_of(stream));
  }

  EventHandle create_event(bool timing) override {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, timing ? cudaEventDefault : cudaEventDisableTiming),
          "cudaEventCreateWithFlags");
    return event;
  }
  void destroy_event(EventHandle event) noexcept override { cudaEventDestroy(event_of(event)); }
  void record_event(EventHandle event, StreamHandle stream) override {
    check(cudaEventRecord(event_of(event), stream_of(stream)), "cudaEventRecord");
  }
  void wait_event(StreamHandle stream, EventHandle event) override {
    check(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0), "cudaStreamWaitEvent");
  }
  bool is_done(EventHandle event) override {
    return is_ready(cudaEventQuery(event_of(event)), "cudaEventQuery");
  }
  void synchronize_event(EventHandle event) override {
    refuse_while_capturing("synchronize");
    check(cudaEventSynchronize(event_of(event)), "cudaEventSynchronize");
  }
  float elapsed_milliseconds(EventHandle begin, EventHandle end) override {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, event_of(begin), event_of(end)), "cudaEventElapsedTime");
    return milliseconds;
  }

  int begin_pool(int device) override { return device_allocator(device).begin_pool(); }
  void end_pool(int device) noexcept override { device_allocator(device).end_pool(); }
  void release_pool(int device, int pool) noexcept override { device_allocator(device).release_pool(pool); }

  void begin_capture(StreamHandle stream) override { cuda::begin_capture(stream_of(stream)); }
  GraphHandle end_capture(StreamHandle stream) override { return cuda::end_capture(stream_of(stream)); }
  void abandon_capture(StreamHandle stream) noexcept override { cuda::abandon_capture(stream_of(stream)); }
  void launch_graph(GraphHandle graph, StreamHandle stream) override {
    cuda::launch_graph(graph_of(graph), stream_of(stream));
  }
  void destroy_graph(GraphHandle graph) noexcept override { cuda::destroy_graph(graph_of(graph)); }

 private:
  static bool is_ready(cudaError_t status, const char* call) {
    if (status == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    check(status, call);
    return true;
  }

  DeviceAllocator& device_allocator(int device) {
    auto& slot = allocators_[static_cast<std::size_t>(device)];
    DeviceAllocator* known = slot.load(std::memory_order_acquire);
    if (known) [[likely]]
      return *known;
    std::lock_guard lock(mutex_);
    if (!slot.load(std::memory_order_relaxed)) {
      slot.store(make_device_allocator(device).release(),
                 std::memory_order_release);  // never destroyed, as the CPU's
    }
    return *slot.load(std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> host_reads_{0};
  std::mutex mutex_;
  std::array<std::atomic<DeviceAllocator*>, kMaxDevices> allocators_{};
};

}  // namespace

void link_backend() {
  static CudaBackend* backend = new CudaBackend;  // never destroyed: tensors with static storage outlive main
  link_families();
  set_backend(backend);
}

}  // namespace halftone::cuda
