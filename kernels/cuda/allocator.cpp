#include "halftone/kernels/cuda/allocator.h"

#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "halftone/engine/environment.h"
#include "halftone/engine/error.h"
#include "halftone/engine/memory_counter.h"
#include "halftone/engine/size_classes.h"
#include "halftone/kernels/cuda/runtime.h"

namespace halftone::cuda {
namespace {

using Classes = SizeClasses<512>;
constexpr int kNoPool = 0;

thread_local int active_pool = kNoPool;

/// While alive, cudaMalloc may be called although a graph is captured: the pool's blocks outlive the capture.
class RelaxedCapture {
 public:
  RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

struct Block {
  int size_class;
  int pool;
  cudaStream_t stream;
  std::set<cudaStream_t> other_uses;
};

/// A block that other streams still use.
struct Waiting {
  void* data;
  Block block;
  std::vector<cudaEvent_t> events;
};

class CachingAllocator final : public DeviceAllocator {
 public:
  CachingAllocator(int device, bool caching)
      : device_(kCUDA, static_cast<std::int8_t>(device)), caching_(caching) {}

  void* allocate(std::size_t bytes, MemoryCategory category) override {
    if (bytes == 0) return nullptr;
    if (bytes > Classes::kLargestRequest) fail_out_of_memory(device_, bytes, stats());
    const DeviceScope scope(device_);
    const cudaStream_t stream = current_stream();
    std::lock_guard lock(mutex_);
    if (active_pool == kNoPool) take_back_finished();
    Block block{Classes::of(bytes), active_pool, stream, {}};
    void* data = take_free(block);
    if (!data) data = from_runtime(block, bytes);
    live_.emplace(data, std::move(block));
    counter_.allocated(bytes, category);
    return data;
  }

  void free(void* data, std::size_t bytes, MemoryCategory category) noexcept override {
    if (!data) return;
    std::lock_guard lock(mutex_);
    counter_.freed(bytes, category);
    auto node = live_.extract(data);
    Block& block = node.mapped();
    if (active_pool != kNoPool && block.pool != active_pool) {
      kept_[active_pool].emplace_back(data, std::move(block));  // the graph may have recorded a use of it
    } else if (!block.other_uses.empty()) {
      wait_for_others(data, std::move(block));
    } else {
      give_back(data, block);
    }
  }

  void recategorise(std::size_t bytes, MemoryCategory from, MemoryCategory to) noexcept override {
    std::lock_guard lock(mutex_);
    counter_.recategorised(bytes, from, to);
  }
  MemoryStats stats() const override {
    std::lock_guard lock(mutex_);
    return counter_.stats();
  }
  void reset_peak() override {
    std::lock_guard lock(mutex_);
    counter_.reset_peak();
  }

  void empty_cache() override {
    const DeviceScope scope(device_);
    std::lock_guard lock(mutex_);
    release_cache();
  }

  void record_use(void* data, cudaStream_t stream) override {
    std::lock_guard lock(mutex_);
    const auto found = live_.find(data);
    if (found != live_.end() && found->second.stream != stream) found->second.other_uses.insert(stream);
  }

  int begin_pool() override {
    if (active_pool != kNoPool) fail("cuda::Graph", "this thread is capturing a graph already");
    std::lock_guard lock(mutex_);
    return active_pool = ++last_pool_;
  }
  void end_pool() noexcept override { active_pool = kNoPool; }

  void release_pool(int pool) noexcept override {
    const DeviceScope scope(device_);
    std::lock_guard lock(mutex_);
    for (auto& [key, list] : free_) {
      if (key.pool != pool || list.empty()) continue;
      auto& common = free_[{kNoPool, key.stream, key.size_class}];
      common.insert(common.end(), list.begin(), list.end());
      list.clear();
    }
    for (auto& [data, block] : live_) {
      if (block.pool == pool) block.pool = kNoPool;
    }
    for (auto& [data, block] : kept_[pool]) give_back(data, block);
    kept_.erase(pool);
  }

 private:
  struct Key {
    int pool;
    cudaStream_t stream;
    int size_class;
    friend bool operator<(const Key& a, const Key& b) {
      return std::tie(a.pool, a.stream, a.size_class) < std::tie(b.pool, b.stream, b.size_class);
    }
  };

  void* take_free(const Block& block) {
    const auto found = free_.find({block.pool, block.stream, block.size_class});
    if (found == free_.end() || found->second.empty()) return nullptr;
    void* data = found->second.back();
    found->second.pop_back();
    return data;
  }

  void* from_runtime(const Block& block, std::size_t bytes) {
    const std::size_t size = Classes::bytes(block.size_class);
    void* data = request(size, block);
    if (!data) {
      check(cudaStreamSynchronize(block.stream), "cudaStreamSynchronize");
      take_back_finished();
      release_cache();
      data = request(size, block);
    }
    if (!data) fail_out_of_memory(device_, bytes, counter_.stats());
    counter_.reserved(size);
    return data;
  }

  /// Null when there is no memory.
  void* request(std::size_t size, const Block& block) const {
    const RelaxedCapture relaxed;
    void* data = nullptr;
    const cudaError_t status = caching_ || block.pool != kNoPool ? cudaMalloc(&data, size)
                                                                 : cudaMallocAsync(&data, size, block.stream);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      return nullptr;
    }
    check(status, "cudaMalloc");
    return data;
  }

  void give_back(void* data, const Block& block) noexcept {
    if (caching_ || block.pool != kNoPool) {
      free_[{block.pool, block.stream, block.size_class}].push_back(data);
      return;
    }
    counter_.unreserved(Classes::bytes(block.size_class));
    cudaFreeAsync(data, block.stream);  // at exit the driver may be gone: nobody is left to be told
  }

  void wait_for_others(void* data, Block block) noexcept {
    Waiting waiting{data, std::move(block), {}};
    for (const cudaStream_t stream : waiting.block.other_uses) {
      cudaEvent_t event = nullptr;
      if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess) continue;
      cudaEventRecord(event, stream);
      waiting.events.push_back(event);
    }
    waiting.block.other_uses.clear();
    waiting_.push_back(std::move(waiting));
  }

  void take_back_finished() {
    std::erase_if(waiting_, [&](Waiting& waiting) {
      for (const cudaEvent_t event : waiting.events) {
        if (cudaEventQuery(event) == cudaErrorNotReady) return false;
      }
      for (const cudaEvent_t event : waiting.events) cudaEventDestroy(event);
      give_back(waiting.data, waiting.block);
      return true;
    });
  }

  /// Returns what is free, pools apart, to the runtime. cudaFree waits for the device.
  void release_cache() {
    if (active_pool != kNoPool) return;
    for (auto& [key, list] : free_) {
      if (key.pool != kNoPool) continue;
      for (void* data : list) check(cudaFree(data), "cudaFree");
      counter_.unreserved(list.size() * Classes::bytes(key.size_class));
      list.clear();
    }
  }

  const Device device_;
  const bool caching_;
  mutable std::mutex mutex_;
  MemoryCounter counter_;
  std::unordered_map<void*, Block> live_;
  std::map<Key, std::vector<void*>> free_;
  std::vector<Waiting> waiting_;
  std::map<int, std::vector<std::pair<void*, Block>>> kept_;
  int last_pool_ = kNoPool;
};

}  // namespace

std::unique_ptr<DeviceAllocator> make_device_allocator(int device) {
  const char* setting = kCudaCachingVariable.value();
  return std::make_unique<CachingAllocator>(device, !setting || std::strcmp(setting, "0") != 0);
}

}  // namespace halftone::cuda
