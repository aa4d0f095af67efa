#pragma once

#include <vector_types.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

// Built-in variables, barriers, fences and shared memory.

namespace simt {

/// Where a kernel calls a barrier or a collective; the default argument of those functions.
struct Location {
  const char* file;
  int line;
  static constexpr Location current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

inline bool is_same(Location a, Location b) {
  return a.line == b.line && (a.file == b.file || __builtin_strcmp(a.file, b.file) == 0);
}

/// How __syncthreads_count, _and and _or combine the predicates of a block.
enum class BlockVote { kNone, kCount, kAnd, kOr };

/// Waits until all threads of the block are here; returns the combined predicate.
int block_barrier(BlockVote vote, bool predicate, Location where);

/// Memory of the block for one HT_SHARED declaration, which `site` identifies.
void* shared_slot(const void* site, std::size_t bytes, std::size_t alignment, const char* name);

/// Ends the launch as a trap does on the device.
[[noreturn]] void trap(Location where);

/// Dynamic shared memory of the running block.
extern thread_local constinit void* dynamic_shared __attribute__((tls_model("initial-exec")));

}  // namespace simt

// Real objects rather than macros: the runtime's own structures have members of the same names.
extern thread_local constinit uint3 threadIdx __attribute__((tls_model("initial-exec")));
extern thread_local constinit uint3 blockIdx __attribute__((tls_model("initial-exec")));
extern thread_local constinit dim3 blockDim __attribute__((tls_model("initial-exec")));
extern thread_local constinit dim3 gridDim __attribute__((tls_model("initial-exec")));
inline constexpr int warpSize = 32;

inline void __syncthreads(simt::Location where = simt::Location::current()) {
  simt::block_barrier(simt::BlockVote::kNone, false, where);
}
inline int __syncthreads_count(int predicate, simt::Location where = simt::Location::current()) {
  return simt::block_barrier(simt::BlockVote::kCount, predicate != 0, where);
}
inline int __syncthreads_and(int predicate, simt::Location where = simt::Location::current()) {
  return simt::block_barrier(simt::BlockVote::kAnd, predicate != 0, where);
}
inline int __syncthreads_or(int predicate, simt::Location where = simt::Location::current()) {
  return simt::block_barrier(simt::BlockVote::kOr, predicate != 0, where);
}

inline void __threadfence_block() { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __trap(simt::Location where = simt::Location::current()) { simt::trap(where); }
