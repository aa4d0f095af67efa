#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "halftone/engine/allocator.h"
#include "halftone/engine/refcounted.h"

namespace halftone {

/// Memory for the work lists of kernels and of the engine: small blocks from the thread's free list, others
/// from the CPU's caching allocator, where they count as temporaries. A list that is made again costs no
/// malloc.
template <class T>
struct CachedAllocator {
  /// What a standard allocator has to say.
  using value_type = T;

  CachedAllocator() = default;
  template <class U>
  CachedAllocator(const CachedAllocator<U>&) {}

  /// Room for `count` elements. Throws Error when memory runs out.
  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (is_small(bytes)) return static_cast<T*>(detail::pool_allocate(bytes));
    return static_cast<T*>(allocator_for(kCPU).allocate(bytes, MemoryCategory::kTemporary));
  }
  /// Takes it back, on any thread.
  void deallocate(T* block, std::size_t count) noexcept {
    const std::size_t bytes = count * sizeof(T);
    if (is_small(bytes)) return detail::pool_free(block, bytes);
    allocator_for(kCPU).free(block, bytes, MemoryCategory::kTemporary);
  }

  /// All are alike: what one allocates, another frees.
  friend bool operator==(const CachedAllocator&, const CachedAllocator&) { return true; }

 private:
  static bool is_small(std::size_t bytes) { return bytes <= 512; }
};

/// A vector that is made and dropped in every step.
template <class T>
using CachedVector = std::vector<T, CachedAllocator<T>>;

/// A map whose entries come and go in every step.
template <class Key, class T>
using CachedMap = std::map<Key, T, std::less<Key>, CachedAllocator<std::pair<const Key, T>>>;

}  // namespace halftone
