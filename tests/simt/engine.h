#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "halftone/tests/simt/control.h"
#include "halftone/tests/simt/fiber.h"
#include "halftone/tests/simt/kernel_info.h"
#include "halftone/tests/simt/shared_memory.h"
#include "halftone/tests/simt/warp.h"

namespace simt {

constexpr int kMaxBlockThreads = 1024;
constexpr int kWarpThreads = 32;

/// A grid to run: the launch's own copy of everything.
struct Grid {
  KernelInfo kernel;
  dim3 grid;
  dim3 block;
  std::size_t dynamic_shared = 0;
  std::size_t static_shared_limit = 0;  // bytes the block may declare
  void* const* arguments = nullptr;
};

/// Runs grids on the calling host thread: blocks one after another, the threads of a block as fibers that
/// give way at barriers and warp collectives. A thread that never waits costs no switch: one fiber runs such
/// threads in turn.
class Engine;
extern thread_local constinit Engine* running_engine __attribute__((tls_model("initial-exec")));

class Engine {
 public:
  /// The engine of this host thread.
  static Engine& current();
  /// The engine whose kernel this host thread runs, or null.
  static Engine* running() { return running_engine; }

  Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// False where a kernel bug was found; the grid is then given up and the bug reported.
  bool run(const Grid& grid);

  // Called by kernels.
  int barrier(BlockVote vote, bool predicate, Location where);
  std::uint64_t collective(WarpOp op, unsigned mask, std::uint64_t value, unsigned argument, Location where);
  void* shared_slot(const void* site, std::size_t bytes, std::size_t alignment, const char* name);
  [[noreturn]] void trap(Location where);

  /// "kernel K block (x,y,z) thread (x,y,z)", of the running thread.
  std::string describe_thread() const;
  /// Whether `address` lies in the guard of the running thread's stack, or behind dynamic shared memory.
  bool is_stack_overflow(const void* address) const;
  bool is_shared_overflow(const void* address) const;

 private:
  enum class State : std::uint8_t { kUnstarted, kRunning, kReady, kAtBarrier, kInWarp, kExited };

  /// What a thread waits for. One cache line: it is touched at every wait.
  struct alignas(64) Thread {
    Fiber* fiber;
    std::uint64_t value;
    std::uint64_t result;
    const char* file;  // where it waits
    int line;
    unsigned mask;
    unsigned argument;
    WarpOp op;
    std::uint16_t number;

    Location where() const { return {file, line}; }
    const WarpCall& call() const { return *reinterpret_cast<const WarpCall*>(value); }
  };

  /// Lanes as bits.
  struct Warp {
    unsigned present;  // belong to the block
    unsigned waiting;  // in a collective
    unsigned wanted;   // named by the masks of the waiting ones
    unsigned exited;
    char tags[2];  // ThreadSanitizer's: collectives in turn
    unsigned generation;
  };

  // Order of execution.
  void prepare_threads(const Grid& grid);
  void run_block(dim3 index);
  void shuffle_order();
  void host_switch_to(Fiber& fiber);
  Fiber& fiber_for_next();
  void add_fiber();
  static void fiber_main();
  [[noreturn]] void work();
  bool prefers_unstarted();
  void start(Thread& thread);
  void finish(Thread& thread);
  void give_way();
  void make_ready(int thread);
  void make_ready_first(int thread);
  void release_barrier();
  std::uint64_t random(std::uint64_t limit);

  // Collectives; `lanes` is lane 0 of the warp.
  bool is_sound(const Thread& thread, const Warp& warp) const;
  [[noreturn]] void fail_collective(const Thread& thread, const Warp& warp);
  void complete(const Thread& last, Warp& warp, void* tag);
  void compute_results(WarpOp op, unsigned mask, Thread* lanes);
  void compute_shuffle(WarpOp op, unsigned mask, Thread* lanes);
  const Thread* lanes_of(const Thread& thread) const {
    return &threads_[thread.number / kWarpThreads * kWarpThreads];
  }
  [[noreturn]] void fail_missing_lane(const Thread& leaving);

  /// Reports `format`, as printf, for the running thread, and gives up the grid.
  [[noreturn]] [[gnu::format(printf, 2, 3)]] void fail(const char* format, ...);
  int describe_thread(char* text, std::size_t size) const;
  std::string describe_deadlock() const;

  // The grid.
  const Grid* grid_ = nullptr;
  dim3 prepared_block_{0, 0, 0};
  int count_ = 0;  // threads of a block
  int warp_count_ = 0;

  // The block.
  uint3 indices_[kMaxBlockThreads];
  Thread threads_[kMaxBlockThreads];
  State states_[kMaxBlockThreads];
  std::uint16_t order_[kMaxBlockThreads];
  Warp warps_[kMaxBlockThreads / kWarpThreads];
  std::uint16_t ready_[kMaxBlockThreads];  // a ring
  unsigned ready_begin_ = 0;
  unsigned ready_end_ = 0;
  int next_ = 0;  // into order_: the first thread not started
  int exited_ = 0;
  int at_barrier_ = 0;
  Location barrier_where_{};
  BlockVote barrier_vote_ = BlockVote::kNone;
  int barrier_count_ = 0;  // threads whose predicate held
  int barrier_result_ = 0;
  char barrier_tags_[2] = {};
  unsigned barrier_generation_ = 0;
  char begin_tag_ = 0;
  char end_tag_ = 0;

  Thread* current_ = nullptr;
  Fiber* fiber_ = nullptr;  // the running one; host_ outside of kernels
  Fiber host_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  const bool own_fibers_;  // one per thread, two sets for blocks in turn
  int fiber_set_ = 0;

  SharedMemory shared_;
  bool failed_ = false;
  char failure_[2048] = {};
  control::Order order_mode_ = control::Order::kForward;
  std::minstd_rand random_;
};

inline bool Engine::prefers_unstarted() {
  if (ready_begin_ == ready_end_) return true;
  return order_mode_ == control::Order::kRandom && random(2) == 0;
}

/// Lets another thread run: one that can go on, or one not started, or, with none, the host. Inline, so that
/// a wait touches as little of the stack as possible.
inline void Engine::give_way() {
  Fiber* const left = fiber_;
  Fiber* next = nullptr;
  if (next_ < count_ && prefers_unstarted()) {
    next = &fiber_for_next();
  } else if (ready_begin_ != ready_end_) {
    Thread& thread = threads_[ready_[ready_begin_++ % kMaxBlockThreads]];
    states_[thread.number] = State::kRunning;
    next = thread.fiber;
    current_ = &thread;
    threadIdx = indices_[thread.number];
    if (ready_begin_ != ready_end_) threads_[ready_[ready_begin_ % kMaxBlockThreads]].fiber->prefetch();
  } else {
    next = &host_;
  }
  if (next == left) return;
  fiber_ = next;
  left->switch_to(*next);
}

inline void Engine::make_ready(int thread) {
  states_[thread] = State::kReady;
  ready_[ready_end_++ % kMaxBlockThreads] = static_cast<std::uint16_t>(thread);
}

/// Ahead of the others: the threads of one warp go on together, while their stacks are in the cache.
inline void Engine::make_ready_first(int thread) {
  states_[thread] = State::kReady;
  ready_[--ready_begin_ % kMaxBlockThreads] = static_cast<std::uint16_t>(thread);
}

}  // namespace simt
