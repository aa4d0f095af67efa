#include "halftone/engine/allocator.h"

#include <cstdlib>
#include <mutex>
#include <vector>

#include "halftone/engine/cuda_backend.h"
#include "halftone/engine/memory_counter.h"
#include "halftone/engine/size_classes.h"

namespace halftone {
namespace {

thread_local MemoryCategory thread_category = MemoryCategory::kTemporary;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCaching = false;  // a cache would hide use-after-free from the sanitizer
#else
constexpr bool kCaching = true;
#endif

constexpr std::size_t kAlignment = 64;
using Classes = SizeClasses<kAlignment>;

class CpuAllocator final : public Allocator {
 public:
  void* allocate(std::size_t bytes, MemoryCategory category) override {
    if (bytes == 0) return nullptr;
    if (bytes > Classes::kLargestRequest) fail_out_of_memory(kCPU, bytes, stats());
    const int cls = Classes::of(bytes);
    {
      std::lock_guard lock(mutex_);
      auto& list = free_[cls];
      if (!list.empty()) {
        void* block = list.back();
        list.pop_back();
        counter_.allocated(bytes, category);
        return block;
      }
    }
    void* block = std::aligned_alloc(kAlignment, Classes::bytes(cls));
    if (!block) {
      empty_cache();
      block = std::aligned_alloc(kAlignment, Classes::bytes(cls));
      if (!block) fail_out_of_memory(kCPU, bytes, stats());
    }
    std::lock_guard lock(mutex_);
    counter_.reserved(Classes::bytes(cls));
    counter_.allocated(bytes, category);
    return block;
  }

  void free(void* block, std::size_t bytes, MemoryCategory category) noexcept override {
    if (!block) return;
    const int cls = Classes::of(bytes);
    {
      std::lock_guard lock(mutex_);
      counter_.freed(bytes, category);
      if (kCaching) {
        free_[cls].push_back(block);
        return;
      }
      counter_.unreserved(Classes::bytes(cls));
    }
    std::free(block);
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
    std::lock_guard lock(mutex_);
    for (int cls = 0; cls < Classes::kCount; ++cls) {
      for (void* block : free_[cls]) std::free(block);
      counter_.unreserved(free_[cls].size() * Classes::bytes(cls));
      free_[cls].clear();
    }
  }

 private:
  mutable std::mutex mutex_;
  std::array<std::vector<void*>, Classes::kCount> free_;
  MemoryCounter counter_;
};

}  // namespace

const char* memory_category_name(MemoryCategory category) {
  constexpr const char* names[] = {"parameters", "gradients", "optimizer state", "saved activations",
                                   "temporaries"};
  return names[static_cast<int>(category)];
}

MemoryStats memory_stats(Device device) { return allocator_for(device).stats(); }
void reset_peak_memory_stats(Device device) { allocator_for(device).reset_peak(); }
void empty_cache(Device device) { allocator_for(device).empty_cache(); }

MemoryCategory current_memory_category() { return thread_category; }

MemoryCategoryGuard::MemoryCategoryGuard(MemoryCategory category) : previous_(thread_category) {
  thread_category = category;
}
MemoryCategoryGuard::~MemoryCategoryGuard() { thread_category = previous_; }

Allocator& allocator_for(Device device) {
  // Never destroyed: tensors with static storage are freed after main.
  static CpuAllocator* cpu = new CpuAllocator;
  if (device.is_cpu()) [[likely]]
    return *cpu;
  const Device resolved = cuda::resolve(device);
  return cuda::backend()->allocator(resolved.index());
}

}  // namespace halftone
