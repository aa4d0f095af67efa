#include "halftone/tests/simt/engine.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "halftone/tests/simt/report.h"
#include "halftone/tests/simt/sanitizer.h"
#include "halftone/tests/simt/settings.h"

thread_local constinit uint3 threadIdx{};
thread_local constinit uint3 blockIdx{};
thread_local constinit dim3 blockDim{};
thread_local constinit dim3 gridDim{};

namespace simt {

using control::Order;

thread_local constinit void* dynamic_shared = nullptr;

thread_local constinit Engine* running_engine = nullptr;

namespace {

/// Fibers for which room is reserved, so that no container grows while kernels run.
constexpr std::size_t kMaxFibers = 2 * kMaxBlockThreads;

}  // namespace

Engine& Engine::current() {
  static thread_local const std::unique_ptr<Engine> engine = std::make_unique<Engine>();
  return *engine;
}

Engine::Engine() : own_fibers_(sanitizer::is_thread_sanitizer()) {
  fibers_.reserve(kMaxFibers);
  idle_.reserve(kMaxFibers);
  for (int i = 0; i < kMaxBlockThreads; ++i) order_[i] = static_cast<std::uint16_t>(i);
}

std::uint64_t Engine::random(std::uint64_t limit) { return random_() % limit; }

/// The places of the threads, which depend on the block's shape only.
void Engine::prepare_threads(const Grid& grid) {
  const dim3 block = grid.block;
  if (block.x == prepared_block_.x && block.y == prepared_block_.y && block.z == prepared_block_.z) return;
  prepared_block_ = block;
  count_ = static_cast<int>(block.x * block.y * block.z);
  warp_count_ = (count_ + kWarpThreads - 1) / kWarpThreads;
  int number = 0;
  for (unsigned z = 0; z < block.z; ++z) {
    for (unsigned y = 0; y < block.y; ++y) {
      for (unsigned x = 0; x < block.x; ++x, ++number) {
        indices_[number] = {x, y, z};
        threads_[number].number = static_cast<std::uint16_t>(number);
      }
    }
  }
  for (int warp = 0; warp < warp_count_; ++warp) {
    const int lanes = std::min(kWarpThreads, count_ - warp * kWarpThreads);
    warps_[warp].present = lanes == kWarpThreads ? 0xffffffffu : (1u << lanes) - 1;
  }
}

bool Engine::run(const Grid& grid) {
  if (running_engine != nullptr) std::abort();  // a kernel cannot launch
  grid_ = &grid;
  prepare_threads(grid);
  order_mode_ = settings().order;
  random_.seed(static_cast<std::minstd_rand::result_type>(settings().next_seed()));
  shared_.begin_grid(grid.dynamic_shared, grid.static_shared_limit);
  gridDim = grid.grid;
  blockDim = grid.block;
  fiber_ = &host_;
  running_engine = this;
  sanitizer::release(&begin_tag_);

  const std::uint64_t blocks = std::uint64_t{grid.grid.x} * grid.grid.y * grid.grid.z;
  const Order order = order_mode_;
  // Random: multiples of a number that shares no factor with the count visit every block once.
  std::uint64_t step = 1;
  std::uint64_t offset = 0;
  if (order == Order::kRandom && blocks > 1) {
    offset = random(blocks);
    do step = 1 + random(blocks);
    while (std::gcd(step, blocks) != 1);
  }
  failed_ = false;
  for (std::uint64_t i = 0; i < blocks && !failed_; ++i) {
    std::uint64_t block = i;
    if (order == Order::kReverse) block = blocks - 1 - i;
    if (order == Order::kRandom) block = (offset + i % blocks * step) % blocks;
    const std::uint64_t row = block / grid.grid.x;
    const dim3 index(static_cast<unsigned>(block % grid.grid.x), static_cast<unsigned>(row % grid.grid.y),
                     static_cast<unsigned>(row / grid.grid.y));
    run_block(index);
  }

  sanitizer::acquire(&end_tag_);
  running_engine = nullptr;
  if (failed_) report(failure_);
  return !failed_;
}

void Engine::shuffle_order() {
  for (int i = 0; i < count_; ++i) {
    order_[i] = static_cast<std::uint16_t>(order_mode_ == Order::kReverse ? count_ - 1 - i : i);
  }
  if (order_mode_ != Order::kRandom) return;
  for (int i = count_ - 1; i > 0; --i) {
    std::swap(order_[i], order_[random(static_cast<std::uint64_t>(i) + 1)]);
  }
}

void Engine::run_block(dim3 index) {
  blockIdx = {index.x, index.y, index.z};
  dynamic_shared = shared_.begin_block();
  shuffle_order();
  for (int i = 0; i < count_; ++i) states_[i] = State::kUnstarted;
  for (int i = 0; i < warp_count_; ++i) {
    Warp& warp = warps_[i];
    warp.waiting = warp.wanted = warp.exited = 0;
  }
  ready_begin_ = ready_end_ = 0;
  next_ = exited_ = at_barrier_ = 0;
  fiber_set_ ^= 1;
  // Made by the host, as a new fiber comes after what its maker did.
  while (own_fibers_ && fibers_.size() < static_cast<std::size_t>(2 * count_)) add_fiber();

  host_switch_to(fiber_for_next());
  if (!failed_ && exited_ != count_) {
    std::snprintf(failure_, sizeof(failure_), "deadlock in %s", describe_deadlock().c_str());
    failed_ = true;
  }
  if (!failed_) return;
  // The threads that still wait are dropped where they are.
  idle_.clear();
  for (const auto& fiber : fibers_) {
    fiber->reset();
    if (!own_fibers_) idle_.push_back(fiber.get());
  }
}

void Engine::host_switch_to(Fiber& fiber) {
  fiber_ = &fiber;
  host_.switch_to(fiber);
  fiber_ = &host_;
}

void Engine::add_fiber() { fibers_.push_back(std::make_unique<Fiber>(&Engine::fiber_main)); }

/// A fiber on which the next thread can start.
Fiber& Engine::fiber_for_next() {
  if (own_fibers_) return *fibers_[static_cast<std::size_t>(2 * order_[next_] + fiber_set_)];
  if (idle_.empty()) {
    add_fiber();
    return *fibers_.back();
  }
  Fiber* fiber = idle_.back();
  idle_.pop_back();
  return *fiber;
}

void Engine::fiber_main() { running_engine->work(); }

/// The loop of every fiber: runs threads from start to end while none that waited can go on.
void Engine::work() {
  for (;;) {
    while (next_ < count_ && prefers_unstarted()) {
      Thread& thread = threads_[order_[next_++]];
      start(thread);
      grid_->kernel.call(grid_->arguments);
      finish(thread);
      if (own_fibers_) break;
    }
    if (!own_fibers_) idle_.push_back(fiber_);
    give_way();
  }
}

void Engine::start(Thread& thread) {
  thread.fiber = fiber_;
  current_ = &thread;
  threadIdx = indices_[thread.number];
  states_[thread.number] = State::kRunning;
  sanitizer::acquire(&begin_tag_);
}

void Engine::finish(Thread& thread) {
  sanitizer::release(&end_tag_);
  states_[thread.number] = State::kExited;
  ++exited_;
  Warp& warp = warps_[thread.number / kWarpThreads];
  const unsigned lane = 1u << (thread.number % kWarpThreads);
  warp.exited |= lane;
  if ((warp.wanted & lane) != 0) fail_missing_lane(thread);
  if (at_barrier_ > 0) {
    fail("the thread ends while %d threads of its block wait at %s:%d (__syncthreads)", at_barrier_,
         barrier_where_.file, barrier_where_.line);
  }
}

int Engine::barrier(BlockVote vote, bool predicate, Location where) {
  if (exited_ > 0) {
    fail("%d threads of the block have ended before this thread came to %s:%d (__syncthreads)", exited_,
         where.file, where.line);
  }
  if (at_barrier_ == 0) {
    barrier_where_ = where;
    barrier_vote_ = vote;
    barrier_count_ = 0;
  } else if (!is_same(where, barrier_where_) || vote != barrier_vote_) {
    fail("divergent barrier: this thread is at %s:%d, %d others of its block wait at %s:%d", where.file,
         where.line, at_barrier_, barrier_where_.file, barrier_where_.line);
  }
  // Tags in turn: a thread that resumes late must not see what others did before the next barrier.
  void* const tag = &barrier_tags_[barrier_generation_ % 2];
  sanitizer::release(tag);
  barrier_count_ += predicate ? 1 : 0;
  states_[current_->number] = State::kAtBarrier;
  if (++at_barrier_ == count_) release_barrier();
  give_way();
  sanitizer::acquire(tag);
  return barrier_result_;
}

void Engine::release_barrier() {
  barrier_result_ = barrier_count_;
  if (barrier_vote_ == BlockVote::kAnd) barrier_result_ = barrier_count_ == count_ ? 1 : 0;
  if (barrier_vote_ == BlockVote::kOr) barrier_result_ = barrier_count_ > 0 ? 1 : 0;
  at_barrier_ = 0;
  ++barrier_generation_;
  if (order_mode_ == Order::kRandom) shuffle_order();
  for (int i = 0; i < count_; ++i) make_ready(order_[i]);
}

void Engine::fail(const char* format, ...) {
  // The text lies in the engine: this stack is dropped without running destructors.
  const int used = describe_thread(failure_, sizeof(failure_));
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(failure_ + used, sizeof(failure_) - static_cast<std::size_t>(used), format, arguments);
  va_end(arguments);
  failed_ = true;
  sanitizer::release(&end_tag_);
  Fiber* const left = fiber_;
  fiber_ = &host_;
  left->switch_to(host_);
  std::abort();  // never resumed
}

void* Engine::shared_slot(const void* site, std::size_t bytes, std::size_t alignment, const char* name) {
  void* data = shared_.slot(site, bytes, alignment);
  if (data == nullptr) {
    fail("shared memory for %s: %zu bytes declared so far are more than the %zu a block may have", name,
         shared_.static_bytes(), shared_.static_limit());
  }
  return data;
}

void Engine::trap(Location where) { fail("trap at %s:%d", where.file, where.line); }

bool Engine::is_stack_overflow(const void* address) const { return fiber_->is_in_guard(address); }
bool Engine::is_shared_overflow(const void* address) const { return shared_.is_in_guard(address); }

// What kernels call.

int block_barrier(BlockVote vote, bool predicate, Location where) {
  return running_engine->barrier(vote, predicate, where);
}
void* shared_slot(const void* site, std::size_t bytes, std::size_t alignment, const char* name) {
  return running_engine->shared_slot(site, bytes, alignment, name);
}
void trap(Location where) { running_engine->trap(where); }

}  // namespace simt
