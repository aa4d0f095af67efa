#pragma once

#include <string>

#include "halftone/engine/allocator.h"

namespace halftone {

/// The bookkeeping behind MemoryStats. Not synchronised: allocators call it under their own lock.
class MemoryCounter {
 public:
  /// A block was given out.
  void allocated(std::size_t bytes, MemoryCategory category);
  /// A block came back.
  void freed(std::size_t bytes, MemoryCategory category);
  /// A block in use counts differently now.
  void recategorised(std::size_t bytes, MemoryCategory from, MemoryCategory to);
  /// The allocator took memory from the system.
  void reserved(std::size_t bytes) { stats_.reserved += bytes; }
  /// The allocator gave memory back to the system.
  void unreserved(std::size_t bytes) { stats_.reserved -= bytes; }
  /// Sets every peak to what is in use now.
  void reset_peak();
  /// The counts so far.
  const MemoryStats& stats() const { return stats_; }

 private:
  void raise(std::size_t bytes, MemoryCategory category);
  MemoryStats stats_;
};

/// Throws the Error of an allocator that has no memory left: the request, and what is in use by category.
[[noreturn]] void fail_out_of_memory(Device device, std::size_t bytes, const MemoryStats& now);

}  // namespace halftone
