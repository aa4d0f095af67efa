#include "halftone/tests/simt/host_memory.h"

#include <cstdlib>

#include "halftone/tests/simt/runtime.h"

namespace simt {

HostMemory& HostMemory::instance() {
  static auto* const memory = new HostMemory;
  return *memory;
}

void* HostMemory::allocate(std::size_t bytes, unsigned flags) {
  constexpr std::size_t kAlignment = 64;
  void* data = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (data != nullptr) blocks_[static_cast<const char*>(data)] = {bytes, false, flags};
  return data;
}

bool HostMemory::free(void* data) {
  const auto found = blocks_.find(static_cast<const char*>(data));
  if (found == blocks_.end() || found->second.is_registered) return false;
  blocks_.erase(found);
  std::free(data);
  return true;
}

bool HostMemory::register_block(void* data, std::size_t bytes, unsigned flags) {
  if (find_range(data, 1) != nullptr) return false;
  blocks_[static_cast<const char*>(data)] = {bytes, true, flags};
  return true;
}

bool HostMemory::unregister_block(void* data) {
  const auto found = blocks_.find(static_cast<const char*>(data));
  if (found == blocks_.end() || !found->second.is_registered) return false;
  blocks_.erase(found);
  return true;
}

const HostMemory::Block* HostMemory::find_range(const void* data, std::size_t bytes) const {
  const auto* byte = static_cast<const char*>(data);
  auto after = blocks_.upper_bound(byte);
  if (after == blocks_.begin()) return nullptr;
  const auto& [start, block] = *--after;
  const auto offset = static_cast<std::size_t>(byte - start);
  return offset <= block.bytes && bytes <= block.bytes - offset ? &block : nullptr;
}

bool is_pinned_range(const void* data, std::size_t bytes) {
  const std::lock_guard lock(runtime_lock());
  return HostMemory::instance().find_range(data, bytes) != nullptr;
}

}  // namespace simt
