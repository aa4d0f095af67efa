#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "halftone/engine/allocator.h"
#include "halftone/engine/refcounted.h"

namespace halftone {

/// A block of memory shared by a tensor and all its views. It carries the version counter, so that every
/// alias sees that one of them was written.
class Storage final : public RefCounted {
 public:
  /// Allocates `bytes` (uninitialised) on `device`.
  Storage(std::size_t bytes, Device device);
  /// Wraps foreign memory; `deleter` runs when the last tensor goes.
  Storage(void* data, std::size_t bytes, Device device, std::function<void(void*)> deleter);
  ~Storage() override;

  /// The first byte, in the device's memory; null when there are none.
  void* data() const { return data_; }
  /// Its size, as asked for.
  std::size_t bytes() const { return bytes_; }
  /// Where the memory is.
  Device device() const { return device_; }

  /// How often it was written in place.
  std::uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  /// Notes a write in place by `op`.
  void bump_version(const char* op) {
    version_.fetch_add(1, std::memory_order_relaxed);
    last_write_ = op;
  }
  /// The operator that last wrote in place, or null.
  const char* last_write() const { return last_write_; }

  /// What it counts as.
  MemoryCategory category() const { return category_; }
  /// Counts it as something else.
  void set_category(MemoryCategory category);

  /// Counts graph nodes that hold this storage for backward; while any does, a temporary counts as saved.
  /// @{
  void add_saved();
  void remove_saved();
  /// @}

 private:
  void* data_;
  std::size_t bytes_;
  Device device_;
  MemoryCategory category_;
  bool owned_;
  std::atomic<std::uint32_t> version_{0};
  std::atomic<std::int32_t> saved_{0};
  const char* last_write_ = nullptr;
  std::function<void(void*)> deleter_;
};

}  // namespace halftone
