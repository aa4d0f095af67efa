// A pool of threads for parallel_for. The caller works too and never waits for a thread that has not begun:
// on a busy machine, where helpers wake up late, the caller simply does their pieces. (OpenMP's barriers wait
// for the whole team; with other programs on the machine that cost up to a hundred times the work itself.)

#include "halftone/engine/threads.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "halftone/engine/environment.h"
#include "halftone/engine/error.h"

namespace halftone {
namespace {

thread_local bool single_thread = false;

int default_thread_count() {
  if (const char* text = kThreadsVariable.value()) {
    int count = 0;
    std::from_chars(text, text + std::strlen(text), count);
    if (count >= 1) return count;
  }
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::atomic<int>& thread_count() {
  static std::atomic<int> count{default_thread_count()};
  return count;
}

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

/// One parallel_for under way.
struct Job {
  detail::RangeFunction function = nullptr;
  void* context = nullptr;
  std::int64_t n = 0, grain = 1, grains = 0, pieces = 0;
  std::atomic<std::int64_t> next{0};
  std::mutex error_mutex;
  std::exception_ptr error;

  /// Takes pieces until there are none left.
  void work() {
    for (std::int64_t piece; (piece = next.fetch_add(1, std::memory_order_relaxed)) < pieces;) {
      const std::int64_t begin = grains * piece / pieces * grain;
      const std::int64_t end = std::min(n, grains * (piece + 1) / pieces * grain);
      try {
        function(context, begin, end);
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
      }
    }
  }
};

class Pool {
 public:
  /// Runs the job with up to `threads` threads, this one included. False when another thread's job is
  /// running.
  bool run(Job& job, int threads) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    while (static_cast<int>(helpers_.size()) < threads - 1) {
      std::thread helper([this] { help(); });
      helpers_.push_back(helper.native_handle());
      helper.detach();
    }
    if (asleep_.load(std::memory_order_relaxed) > 0 || helpers_.size() != placed_)
      keep_helpers_off_this_processor();
    job_ = &job;
    // From here helpers may enter: the low half counts places left, the high half those inside.
    places_.store(static_cast<std::uint64_t>(threads - 1), std::memory_order_release);
    call_.fetch_add(1, std::memory_order_release);
    call_.notify_all();
    job.work();
    // Closed: who has not entered by now never will. Wait for those inside to finish their last piece.
    std::uint64_t places = places_.fetch_and(kInside, std::memory_order_acq_rel) & kInside;
    while (places != 0) {
      relax();
      places = places_.load(std::memory_order_acquire) & kInside;
    }
    return true;
  }

 private:
  static constexpr std::uint64_t kOneInside = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kInside = ~std::uint64_t{0} << 32;
  static constexpr int kSpins =
      2000;  // some tens of microseconds: the gap between two kernels of a training step

  bool enter() {
    std::uint64_t places = places_.load(std::memory_order_acquire);
    while ((places & ~kInside) != 0) {
      if (places_.compare_exchange_weak(places, places - 1 + kOneInside, std::memory_order_acq_rel))
        return true;
    }
    return false;
  }

  void help() {
    single_thread = true;  // a kernel called from here must not ask for the pool again
    std::uint32_t seen = 0;
    for (;;) {
      for (int spin = 0; spin < kSpins && call_.load(std::memory_order_acquire) == seen; ++spin) relax();
      if (call_.load(std::memory_order_acquire) == seen) {
        asleep_.fetch_add(1, std::memory_order_relaxed);
        call_.wait(seen, std::memory_order_acquire);
        asleep_.fetch_sub(1, std::memory_order_relaxed);
      }
      seen = call_.load(std::memory_order_acquire);
      if (!enter()) continue;
      job_->work();
      places_.fetch_sub(kOneInside, std::memory_order_acq_rel);
    }
  }

  /// Linux may wake a helper up on the processor that the caller keeps busy, and leave it waiting there for
  /// milliseconds beside an idle one. Where there are enough others, helpers do without the caller's.
  void keep_helpers_off_this_processor() {
#if defined(__linux__)
    const int here = sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE || (here == avoided_ && helpers_.size() == placed_)) return;
    avoided_ = here;
    placed_ = helpers_.size();
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    if (CPU_COUNT(&allowed) <= static_cast<int>(helpers_.size())) return;
    CPU_CLR(here, &allowed);
    for (const auto helper : helpers_) pthread_setaffinity_np(helper, sizeof allowed, &allowed);
#endif
  }

  std::mutex mutex_;  // held by the thread whose job is running
  std::vector<std::thread::native_handle_type> helpers_;
  int avoided_ = -1;        // the processor the helpers were kept off last
  std::size_t placed_ = 0;  // how many they were
  std::atomic<int> asleep_{0};
  Job* job_ = nullptr;
  std::atomic<std::uint64_t> places_{0};
  std::atomic<std::uint32_t> call_{0};
};

// Never destroyed: its threads end with the process.
Pool& pool() {
  static Pool* instance = new Pool;
  return *instance;
}

}  // namespace

int get_num_threads() { return thread_count().load(std::memory_order_relaxed); }

void set_num_threads(int count) {
  if (count < 1) fail("set_num_threads", "expected at least 1 thread, got ", count);
  thread_count().store(count, std::memory_order_relaxed);
}

SingleThreadGuard::SingleThreadGuard() : previous_(single_thread) { single_thread = true; }
SingleThreadGuard::~SingleThreadGuard() { single_thread = previous_; }

namespace detail {

bool runs_parallel(std::int64_t n, std::int64_t grain) {
  return n > grain && !single_thread && get_num_threads() > 1;
}

void parallel_ranges(std::int64_t n, std::int64_t grain, RangeFunction function, void* context) {
  constexpr std::int64_t kPiecesPerThread = 4;  // so that a thread that comes late or is slow holds up little
  Job job;
  job.function = function;
  job.context = context;
  job.n = n;
  job.grain = std::max<std::int64_t>(grain, 1);
  job.grains = (n + job.grain - 1) / job.grain;
  const int threads = static_cast<int>(std::min<std::int64_t>(get_num_threads(), job.grains));
  job.pieces = std::min<std::int64_t>(kPiecesPerThread * threads, job.grains);
  const SingleThreadGuard guard;
  if (!pool().run(job, threads)) job.work();
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace detail
}  // namespace halftone
