#pragma once

#include <cstdint>
#include <type_traits>

namespace halftone {

/// Threads that kernels may use. Defaults to the processors available (OMP_NUM_THREADS wins).
/// Results do not depend on it. On Linux the pool's own threads keep off the processor of their caller, if
/// the caller may use more processors than there are such threads.
int get_num_threads();
/// Throws Error for count < 1.
void set_num_threads(int count);

/// While alive, kernels called by this thread run on it alone: for data-loader workers.
class SingleThreadGuard {
 public:
  SingleThreadGuard();
  ~SingleThreadGuard();
  SingleThreadGuard(const SingleThreadGuard&) = delete;
  SingleThreadGuard& operator=(const SingleThreadGuard&) = delete;

 private:
  bool previous_;
};

namespace detail {
using RangeFunction = void (*)(void* context, std::int64_t begin, std::int64_t end);
void parallel_ranges(std::int64_t n, std::int64_t grain, RangeFunction function, void* context);
bool runs_parallel(std::int64_t n, std::int64_t grain);
}  // namespace detail

/// Calls `f(begin, end)` on pieces that together cover 0 .. n, on several threads when n > grain. Every piece
/// boundary is a multiple of `grain`. The first exception thrown by a piece is rethrown here.
template <class F>
void parallel_for(std::int64_t n, std::int64_t grain, F&& f) {
  if (n <= 0) return;
  if (!detail::runs_parallel(n, grain)) {
    f(std::int64_t{0}, n);
    return;
  }
  using Function = std::remove_reference_t<F>;
  const auto call = [](void* context, std::int64_t begin, std::int64_t end) {
    (*static_cast<Function*>(context))(begin, end);
  };
  detail::parallel_ranges(n, grain, call, const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace halftone
