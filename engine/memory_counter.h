#pragma once

#include <string>

#include "halftone/engine/allocator.h"

namespace halftone {

/// The bookkeeping behind MemoryStats. Not synchronised: allocators call it under their own lock.
class MemoryCounter {
 public:
  void allocated(std::size_t bytes, MemoryCategory category);
  void freed(std::size_t bytes, MemoryCategory category);
  void recategorised(std::size_t bytes, MemoryCategory from, MemoryCategory to);
  void reserved(std::size_t bytes) { stats_.reserved += bytes; }
  void unreserved(std::size_t bytes) { stats_.reserved -= bytes; }
  void reset_peak();
  const MemoryStats& stats() const { return stats_; }

 private:
  void raise(std::size_t bytes, MemoryCategory category);
  MemoryStats stats_;
};

/// Throws the Error of an allocator that has no memory left: the request, and what is in use by category.
[[noreturn]] void fail_out_of_memory(Device device, std::size_t bytes, const MemoryStats& now);

}  // namespace halftone
