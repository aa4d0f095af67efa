#pragma once

#include <cstddef>
#include <map>

namespace simt {

/// Pinned host memory: allocated by the runtime or registered. Callers hold the lock of runtime.h.
class HostMemory {
 public:
  static HostMemory& instance();

  struct Block {
    std::size_t bytes = 0;
    bool is_registered = false;  // belongs to the program
    unsigned flags = 0;
  };

  void* allocate(std::size_t bytes, unsigned flags);
  /// False unless `data` came from allocate().
  bool free(void* data);
  bool register_block(void* data, std::size_t bytes, unsigned flags);
  bool unregister_block(void* data);

  /// The block that has all of these bytes, or null.
  const Block* find_range(const void* data, std::size_t bytes) const;

 private:
  std::map<const char*, Block> blocks_;
};

}  // namespace simt
