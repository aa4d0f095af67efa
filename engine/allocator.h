#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "halftone/engine/device.h"

namespace halftone {

/// What a block of memory is used for; memory statistics are kept per category.
enum class MemoryCategory : std::uint8_t { kParameter, kGradient, kOptimizer, kSaved, kTemporary };

/// Number of categories; their values are 0 .. kMemoryCategories - 1.
inline constexpr int kMemoryCategories = 5;

/// "parameters", "gradients", ...
const char* memory_category_name(MemoryCategory category);

/// Bytes in use on one device, as asked for (without rounding up).
struct MemoryStats {
  std::size_t allocated = 0;  ///< in use now
  std::size_t peak = 0;       ///< most in use since the last reset
  std::size_t reserved = 0;   ///< held by the caching allocator, in use or free
  std::array<std::size_t, kMemoryCategories> allocated_by{};  ///< in use now, by category
  std::array<std::size_t, kMemoryCategories> peak_by{};       ///< each category's own peak

  /// In use now for one category.
  std::size_t allocated_of(MemoryCategory category) const { return allocated_by[static_cast<int>(category)]; }
  /// Most in use for one category since the last reset.
  std::size_t peak_of(MemoryCategory category) const { return peak_by[static_cast<int>(category)]; }
};

/// What is in use now. Throws Error when there is no such device.
MemoryStats memory_stats(Device device = kCPU);
/// Sets every peak to what is in use now.
void reset_peak_memory_stats(Device device = kCPU);
/// Gives cached free blocks back to the system.
void empty_cache(Device device = kCPU);

/// While alive, memory allocated by this thread counts as `category`.
class MemoryCategoryGuard {
 public:
  explicit MemoryCategoryGuard(MemoryCategory category);
  ~MemoryCategoryGuard();
  MemoryCategoryGuard(const MemoryCategoryGuard&) = delete;
  MemoryCategoryGuard& operator=(const MemoryCategoryGuard&) = delete;

 private:
  MemoryCategory previous_;
};

/// What memory allocated by this thread counts as now.
MemoryCategory current_memory_category();

/// Source of device memory. One per device type; the CPU's keeps freed blocks in size-class lists.
class Allocator {
 public:
  virtual ~Allocator() = default;
  /// At least `bytes` bytes aligned to 64; never null for bytes > 0. Throws Error naming the request and what
  /// is in use by category when memory runs out.
  virtual void* allocate(std::size_t bytes, MemoryCategory category) = 0;
  /// Takes back what allocate() gave for the same number of bytes; `category` is the present one.
  virtual void free(void* block, std::size_t bytes, MemoryCategory category) noexcept = 0;
  /// Moves `bytes` from one category's count to another's.
  virtual void recategorise(std::size_t bytes, MemoryCategory from, MemoryCategory to) noexcept = 0;
  /// What is in use now.
  virtual MemoryStats stats() const = 0;
  /// Sets every peak to what is in use now.
  virtual void reset_peak() = 0;
  /// Gives cached free blocks back to the system.
  virtual void empty_cache() = 0;
};

/// The allocator of a device. Throws Error when the device is not available.
Allocator& allocator_for(Device device);

}  // namespace halftone
