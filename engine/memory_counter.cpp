#include "halftone/engine/memory_counter.h"

#include <algorithm>

#include "halftone/engine/error.h"

namespace halftone {

void MemoryCounter::allocated(std::size_t bytes, MemoryCategory category) {
  stats_.allocated += bytes;
  stats_.peak = std::max(stats_.peak, stats_.allocated);
  raise(bytes, category);
}

void MemoryCounter::freed(std::size_t bytes, MemoryCategory category) {
  stats_.allocated -= bytes;
  stats_.allocated_by[static_cast<int>(category)] -= bytes;
}

void MemoryCounter::recategorised(std::size_t bytes, MemoryCategory from, MemoryCategory to) {
  stats_.allocated_by[static_cast<int>(from)] -= bytes;
  raise(bytes, to);
}

void MemoryCounter::reset_peak() {
  stats_.peak = stats_.allocated;
  stats_.peak_by = stats_.allocated_by;
}

void MemoryCounter::raise(std::size_t bytes, MemoryCategory category) {
  const int i = static_cast<int>(category);
  stats_.allocated_by[i] += bytes;
  stats_.peak_by[i] = std::max(stats_.peak_by[i], stats_.allocated_by[i]);
}

void fail_out_of_memory(Device device, std::size_t bytes, const MemoryStats& now) {
  std::string by;
  for (int i = 0; i < kMemoryCategories; ++i) {
    by +=
        concat(i ? ", " : "", memory_category_name(static_cast<MemoryCategory>(i)), " ", now.allocated_by[i]);
  }
  fail("allocate", "out of memory on ", device, ": asked for ", bytes, " bytes, ", now.allocated, " in use (",
       by, "), ", now.reserved - now.allocated, " cached");
}

}  // namespace halftone
