#include "halftone/engine/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "halftone/engine/error.h"

namespace halftone {
namespace {

thread_local bool single_thread = false;

std::atomic<int>& thread_count() {
#ifdef _OPENMP
  static std::atomic<int> count{omp_get_max_threads()};
#else
  static std::atomic<int> count{1};
#endif
  return count;
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
  if (n <= grain || single_thread || get_num_threads() == 1) return false;
#ifdef _OPENMP
  return !omp_in_parallel();
#else
  return false;
#endif
}

void parallel_ranges(std::int64_t n, std::int64_t grain, RangeFunction function, void* context) {
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t grains = (n + grain - 1) / grain;
  const int threads = static_cast<int>(std::min<std::int64_t>(get_num_threads(), grains));
  std::exception_ptr error;
  std::mutex error_mutex;
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static, 1)
#endif
  for (int t = 0; t < threads; ++t) {
    const std::int64_t begin = grains * t / threads * grain;
    const std::int64_t end = std::min(n, grains * (t + 1) / threads * grain);
    try {
      // A kernel called from here must not start a second team of threads.
      const SingleThreadGuard guard;
      function(context, begin, end);
    } catch (...) {
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace detail
}  // namespace halftone
