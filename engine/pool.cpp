#include <array>
#include <cstdlib>
#include <new>

#include "halftone/engine/refcounted.h"

namespace halftone::detail {
namespace {

// Blocks are kept per 32-byte size class up to 1 KiB; bigger ones go to malloc. A list longer than kMaxCached
// frees its surplus, so a thread that only frees (a data-loader's consumer) does not hoard.
constexpr std::size_t kStep = 32;
constexpr std::size_t kClasses = 32;
constexpr int kMaxCached = 4096;

struct FreeBlock {
  FreeBlock* next;
};

struct Pool {
  std::array<FreeBlock*, kClasses> heads{};
  std::array<int, kClasses> counts{};
  ~Pool();
};

// Objects with static storage may be freed after this thread's pool is gone.
thread_local bool pool_is_gone = false;
thread_local Pool pool;

Pool::~Pool() {
  pool_is_gone = true;
  for (FreeBlock* head : heads) {
    while (head) {
      FreeBlock* next = head->next;
      std::free(head);
      head = next;
    }
  }
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPooled = false;  // a free list would hide use-after-free from the sanitizer
#else
constexpr bool kPooled = true;
#endif

void* raw_allocate(std::size_t bytes) {
  void* block = std::malloc(bytes);
  if (!block) throw std::bad_alloc();
  return block;
}

}  // namespace

void* pool_allocate(std::size_t bytes) {
  const std::size_t cls = (bytes + kStep - 1) / kStep;
  if (!kPooled || cls >= kClasses) return raw_allocate(bytes);
  if (!pool_is_gone) {
    if (FreeBlock* block = pool.heads[cls]) {
      pool.heads[cls] = block->next;
      --pool.counts[cls];
      return block;
    }
  }
  return raw_allocate(cls * kStep);
}

void pool_free(void* block, std::size_t bytes) noexcept {
  const std::size_t cls = (bytes + kStep - 1) / kStep;
  if (!kPooled || cls >= kClasses || pool_is_gone || pool.counts[cls] >= kMaxCached) {
    std::free(block);
    return;
  }
  auto* free_block = static_cast<FreeBlock*>(block);
  free_block->next = pool.heads[cls];
  pool.heads[cls] = free_block;
  ++pool.counts[cls];
}

}  // namespace halftone::detail
