#include "halftone/engine/allocator.h"

#include <bit>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "halftone/engine/error.h"

namespace halftone {
namespace {

thread_local MemoryCategory thread_category = MemoryCategory::kTemporary;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCaching = false;  // a cache would hide use-after-free from the sanitizer
#else
constexpr bool kCaching = true;
#endif

// Four size classes per power of two (at most 25 % is wasted), from 64 bytes up.
constexpr std::size_t kAlignment = 64;
constexpr int kClasses = 4 * 48;

int size_class(std::size_t bytes) {
  const std::size_t units = (bytes + kAlignment - 1) / kAlignment;
  if (units <= 4) return static_cast<int>(units - 1);
  const int top = std::bit_width(units - 1) - 1;  // units - 1 = 1xx...b, at least 4
  return 4 * (top - 1) + static_cast<int>((units - 1) >> (top - 2) & 3);
}

std::size_t class_bytes(int cls) {
  if (cls < 4) return kAlignment * static_cast<std::size_t>(cls + 1);
  const int top = cls / 4 + 1;
  return kAlignment * ((static_cast<std::size_t>(4 + cls % 4 + 1)) << (top - 2));
}

class CpuAllocator final : public Allocator {
 public:
  void* allocate(std::size_t bytes, MemoryCategory category) override {
    if (bytes == 0) return nullptr;
    if (bytes > (std::size_t{1} << 46)) out_of_memory(bytes);
    const int cls = size_class(bytes);
    {
      std::lock_guard lock(mutex_);
      auto& list = free_[cls];
      if (!list.empty()) {
        void* block = list.back();
        list.pop_back();
        count(bytes, category);
        return block;
      }
    }
    void* block = std::aligned_alloc(kAlignment, class_bytes(cls));
    if (!block) {
      empty_cache();
      block = std::aligned_alloc(kAlignment, class_bytes(cls));
      if (!block) out_of_memory(bytes);
    }
    std::lock_guard lock(mutex_);
    stats_.reserved += class_bytes(cls);
    count(bytes, category);
    return block;
  }

  void free(void* block, std::size_t bytes, MemoryCategory category) noexcept override {
    if (!block) return;
    const int cls = size_class(bytes);
    {
      std::lock_guard lock(mutex_);
      stats_.allocated -= bytes;
      stats_.allocated_by[static_cast<int>(category)] -= bytes;
      if (kCaching) {
        free_[cls].push_back(block);
        return;
      }
      stats_.reserved -= class_bytes(cls);
    }
    std::free(block);
  }

  void recategorise(std::size_t bytes, MemoryCategory from, MemoryCategory to) noexcept override {
    std::lock_guard lock(mutex_);
    stats_.allocated_by[static_cast<int>(from)] -= bytes;
    raise(bytes, to);
  }

  MemoryStats stats() const override {
    std::lock_guard lock(mutex_);
    return stats_;
  }

  void reset_peak() override {
    std::lock_guard lock(mutex_);
    stats_.peak = stats_.allocated;
    stats_.peak_by = stats_.allocated_by;
  }

  void empty_cache() override {
    std::lock_guard lock(mutex_);
    for (int cls = 0; cls < kClasses; ++cls) {
      for (void* block : free_[cls]) std::free(block);
      stats_.reserved -= free_[cls].size() * class_bytes(cls);
      free_[cls].clear();
    }
  }

 private:
  void count(std::size_t bytes, MemoryCategory category) {
    stats_.allocated += bytes;
    stats_.peak = std::max(stats_.peak, stats_.allocated);
    raise(bytes, category);
  }

  void raise(std::size_t bytes, MemoryCategory category) noexcept {
    const int i = static_cast<int>(category);
    stats_.allocated_by[i] += bytes;
    stats_.peak_by[i] = std::max(stats_.peak_by[i], stats_.allocated_by[i]);
  }

  [[noreturn]] void out_of_memory(std::size_t bytes) const {
    const MemoryStats now = stats();
    std::string by;
    for (int i = 0; i < kMemoryCategories; ++i) {
      by += concat(i ? ", " : "", memory_category_name(static_cast<MemoryCategory>(i)), " ",
                   now.allocated_by[i]);
    }
    fail("allocate", "out of memory on cpu: asked for ", bytes, " bytes, ", now.allocated, " in use (", by,
         "), ", now.reserved - now.allocated, " cached");
  }

  mutable std::mutex mutex_;
  std::array<std::vector<void*>, kClasses> free_;
  MemoryStats stats_;
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
  if (!device.is_cpu()) {
    fail("device", device, " is not available: this halftone was built without its CUDA backend; use kCPU");
  }
  return *cpu;
}

}  // namespace halftone
