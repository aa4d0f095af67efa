#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace simt {

/// Shared memory of the running block: a slot per HT_SHARED declaration, and the dynamic part, which ends at
/// a guard page. Both are filled with NaN for every block.
class SharedMemory {
 public:
  SharedMemory() = default;
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// `dynamic_bytes` of every block of the grid to come; at most `static_limit` in declarations.
  void begin_grid(std::size_t dynamic_bytes, std::size_t static_limit);
  /// New contents; returns the dynamic part.
  void* begin_block();

  /// The memory of a declaration; null where the limit is passed.
  void* slot(const void* site, std::size_t bytes, std::size_t alignment);
  std::size_t static_bytes() const { return static_bytes_; }
  std::size_t static_limit() const { return static_limit_; }
  std::size_t dynamic_bytes() const { return dynamic_bytes_; }

  /// Whether `address` lies in the guard behind the dynamic part.
  bool is_in_guard(const void* address) const;

 private:
  struct Slot {
    const void* site;
    char* data;
    std::size_t bytes;
    unsigned block;  // whose contents it has
  };

  char* allocate(std::size_t bytes, std::size_t alignment);
  char* allocate_fresh(std::size_t bytes);
  void map_dynamic(std::size_t bytes);

  std::array<Slot, 64> slots_{};
  int slot_count_ = 0;
  std::size_t static_bytes_ = 0;
  std::size_t static_limit_ = 0;
  unsigned block_ = 0;
  std::unique_ptr<char[]> arena_;
  std::size_t arena_used_ = 0;

  void* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;  // without the guard
  std::size_t dynamic_bytes_ = 0;

  // ThreadSanitizer: memory of its own for every block of a grid, so that two blocks never look like a race.
  std::vector<char*> chunks_;
  std::size_t chunk_ = 0;
  std::size_t chunk_used_ = 0;
};

}  // namespace simt
