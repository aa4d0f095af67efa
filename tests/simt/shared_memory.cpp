#include "halftone/tests/simt/shared_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "halftone/tests/simt/sanitizer.h"

namespace simt {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kGuardBytes = std::size_t{64} << 10;
constexpr std::size_t kArenaBytes = std::size_t{256} << 10;
constexpr std::size_t kRedZoneBytes = 64;
constexpr std::size_t kChunkBytes = std::size_t{16} << 20;

std::size_t round_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

/// All ones: NaN in every floating-point type. Written word by word, as this also runs on kernel fibers,
/// where ThreadSanitizer must not see a call of memset.
void fill_with_nan(void* start, std::size_t bytes) {
  if (!sanitizer::is_thread_sanitizer()) {
    std::memset(start, 0xff, bytes);
    return;
  }
  auto* byte = static_cast<volatile unsigned char*>(start);
  for (std::size_t i = 0; i < bytes; ++i) byte[i] = 0xff;
}

}  // namespace

SharedMemory::~SharedMemory() {
  if (arena_) sanitizer::unpoison(arena_.get(), kArenaBytes);
  for (char* chunk : chunks_) munmap(chunk, kChunkBytes);
  if (mapping_ == nullptr) return;
  sanitizer::unpoison(mapping_, mapping_bytes_);
  munmap(mapping_, mapping_bytes_ + kGuardBytes);
}

void SharedMemory::map_dynamic(std::size_t bytes) {
  if (mapping_bytes_ >= bytes) return;
  if (mapping_ != nullptr) {
    sanitizer::unpoison(mapping_, mapping_bytes_);
    munmap(mapping_, mapping_bytes_ + kGuardBytes);
  }
  mapping_bytes_ = round_up(bytes, kPageBytes);
  mapping_ =
      mmap(nullptr, mapping_bytes_ + kGuardBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED ||
      mprotect(static_cast<char*>(mapping_) + mapping_bytes_, kGuardBytes, PROT_NONE) != 0) {
    std::abort();
  }
}

void SharedMemory::begin_grid(std::size_t dynamic_bytes, std::size_t static_limit) {
  if (!arena_) arena_ = std::make_unique_for_overwrite<char[]>(kArenaBytes);
  slot_count_ = 0;
  static_bytes_ = 0;
  static_limit_ = static_limit;
  arena_used_ = 0;
  chunks_.reserve(1024);
  chunk_ = 0;
  chunk_used_ = 0;
  sanitizer::poison(arena_.get(), kArenaBytes);
  dynamic_bytes_ = dynamic_bytes;
  map_dynamic(dynamic_bytes);
}

void* SharedMemory::begin_block() {
  ++block_;
  if (sanitizer::is_thread_sanitizer()) {
    slot_count_ = 0;
    static_bytes_ = 0;
    if (dynamic_bytes_ == 0) return nullptr;
    char* start = allocate_fresh(dynamic_bytes_);
    fill_with_nan(start, dynamic_bytes_);
    return start;
  }
  if (dynamic_bytes_ == 0) return nullptr;
  sanitizer::unpoison(mapping_, mapping_bytes_);
  char* start = static_cast<char*>(mapping_) + mapping_bytes_ - round_up(dynamic_bytes_, 16);
  sanitizer::poison(mapping_, static_cast<std::size_t>(start - static_cast<char*>(mapping_)));
  fill_with_nan(start, dynamic_bytes_);
  const std::size_t slack = round_up(dynamic_bytes_, 16) - dynamic_bytes_;
  if (slack > 0) sanitizer::poison(start + dynamic_bytes_, slack);
  return start;
}

char* SharedMemory::allocate_fresh(std::size_t bytes) {
  bytes = round_up(bytes, 64);
  if (chunks_.empty() || chunk_used_ + bytes > kChunkBytes) {
    if (!chunks_.empty()) ++chunk_;
    chunk_used_ = 0;
    if (chunk_ == chunks_.size()) {
      // By the system call itself: ThreadSanitizer would take the function for a write by this CUDA thread.
      const long chunk = syscall(SYS_mmap, nullptr, kChunkBytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (chunk == -1 || chunks_.size() == chunks_.capacity()) std::abort();
      chunks_.push_back(reinterpret_cast<char*>(chunk));
    }
  }
  char* start = chunks_[chunk_] + chunk_used_;
  chunk_used_ += bytes;
  return start;
}

char* SharedMemory::allocate(std::size_t bytes, std::size_t alignment) {
  if (sanitizer::is_thread_sanitizer()) return allocate_fresh(bytes);
  const auto base = reinterpret_cast<std::uintptr_t>(arena_.get());
  const std::size_t start = round_up(base + arena_used_, alignment) - base;
  if (start + bytes + kRedZoneBytes > kArenaBytes) return nullptr;
  arena_used_ = start + bytes + kRedZoneBytes;
  char* data = arena_.get() + start;
  sanitizer::unpoison(data, bytes);
  return data;
}

void* SharedMemory::slot(const void* site, std::size_t bytes, std::size_t alignment) {
  for (int i = 0; i < slot_count_; ++i) {
    Slot& slot = slots_[static_cast<std::size_t>(i)];
    if (slot.site != site) continue;
    if (slot.block != block_) {
      fill_with_nan(slot.data, bytes);
      slot.block = block_;
    }
    return slot.data;
  }
  static_bytes_ += bytes;
  if (static_bytes_ > static_limit_ || slot_count_ == static_cast<int>(slots_.size())) return nullptr;
  char* data = allocate(bytes, alignment < 16 ? 16 : alignment);
  if (data == nullptr) return nullptr;
  fill_with_nan(data, bytes);
  slots_[static_cast<std::size_t>(slot_count_++)] = {site, data, bytes, block_};
  return data;
}

bool SharedMemory::is_in_guard(const void* address) const {
  const auto* byte = static_cast<const char*>(address);
  const char* guard = static_cast<const char*>(mapping_) + mapping_bytes_;
  return mapping_ != nullptr && byte >= guard && byte < guard + kGuardBytes;
}

}  // namespace simt
