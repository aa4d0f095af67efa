// Barriers of a block: what they do, and every way to use them wrongly.

#include <cmath>

#include "halftone/tests/simt/sanitizer.h"
#include "halftone/tests/simt/test_device.h"

using namespace simt_test;

namespace {

constexpr const char* kFile = "test_barriers.cpp:";
std::string at(int line) { return kFile + std::to_string(line); }

/// Every thread passes its number to the next one, through shared memory.
void rotate_kernel(int* out) {
  HT_SHARED(int, slot, [256]);
  const unsigned n = blockDim.x;
  slot[threadIdx.x] = static_cast<int>(blockIdx.x * n + threadIdx.x);
  __syncthreads();
  const int next = slot[(threadIdx.x + 1) % n];
  __syncthreads();
  slot[threadIdx.x] = next;
  __syncthreads();
  out[blockIdx.x * n + threadIdx.x] = slot[(threadIdx.x + 1) % n];
}

void vote_kernel(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  const int count = __syncthreads_count(t % 3 == 0);
  const int all = __syncthreads_and(t >= 0);
  const int none = __syncthreads_and(t != 5);
  const int any = __syncthreads_or(t == 63);
  if (t == 17) {
    out[0] = count;
    out[1] = all;
    out[2] = none;
    out[3] = any;
  }
}

constexpr int kFirstSite = __LINE__ + 3;
void divergent_kernel() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
constexpr int kSecondSite = kFirstSite + 2;

constexpr int kEarlyReturn = __LINE__ + 3;
void early_return_kernel(int n) {
  if (static_cast<int>(threadIdx.x) >= n) return;
  __syncthreads();
}

constexpr int kHalfWarp = __LINE__ + 3;
void half_at_barrier_kernel(float* out) {
  if (threadIdx.x < 16) {
    out[0] = __shfl_sync(0xffffffffu, 1.0f, 0);
  }
  __syncthreads();
}
constexpr int kHalfBarrier = kHalfWarp + 2;

void missing_barrier_kernel(float* out) {
  HT_SHARED(float, slot, [64]);
  slot[threadIdx.x] = 1.0f;
  out[threadIdx.x] = slot[(threadIdx.x + 32) % 64];
}

}  // namespace

TEST_CASE("barriers order the threads of a block, in every order of execution", "[simt]") {
  const CleanDevice clean;
  using simt::control::Order;
  for (const Order order : {Order::kForward, Order::kReverse, Order::kRandom}) {
    simt::control::set_order(order, 7);
    for (const unsigned threads : {1u, 31u, 64u, 250u}) {
      const Array<int> out(3 * threads);
      REQUIRE(launch<rotate_kernel>({3, threads}, out.data()) == cudaSuccess);
      const std::vector<int> values = out.values();
      for (unsigned i = 0; i < 3 * threads; ++i) {
        REQUIRE(values[i] == static_cast<int>(i / threads * threads + (i % threads + 2) % threads));
      }
    }
  }
}

TEST_CASE("barriers count and combine predicates", "[simt]") {
  const CleanDevice clean;
  const Array<int> out(4);
  REQUIRE(launch<vote_kernel>({1, 64}, out.data()) == cudaSuccess);
  CHECK(out.values() == std::vector<int>{22, 1, 0, 1});
}

TEST_CASE("barriers at two places are reported with both", "[simt]") {
  const CleanDevice clean;
  CHECK(launch<divergent_kernel>({1, 64}) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  CHECK(reports("divergent_kernel", "divergent barrier", at(kFirstSite), at(kSecondSite), "block (0,0,0)",
                "thread (32,0,0)"));
}

TEST_CASE("a thread that ends before a barrier is reported, whoever comes first", "[simt]") {
  const CleanDevice clean;
  CHECK(launch<early_return_kernel>({1, 40}, 39) == cudaSuccess);
  CHECK(reports("early_return_kernel", "ends while 39 threads", at(kEarlyReturn), "thread (39,0,0)"));
  simt::control::clear_errors();
  simt::control::set_order(simt::control::Order::kReverse);
  CHECK(launch<early_return_kernel>({1, 40}, 39) == cudaSuccess);
  CHECK(reports("1 threads of the block have ended", at(kEarlyReturn), "thread (38,0,0)"));
}

TEST_CASE("half a warp at a shuffle and half at a barrier is a deadlock", "[simt]") {
  const CleanDevice clean;
  const Array<float> out(1);
  CHECK(launch<half_at_barrier_kernel>({1, 32}, out.data()) == cudaSuccess);
  CHECK(reports("deadlock", "half_at_barrier_kernel", "warp 0 lanes 0x0000ffff wait in __shfl_sync",
                at(kHalfWarp), "warp 0 lanes 0xffff0000 wait in __syncthreads", at(kHalfBarrier)));
}

TEST_CASE("a missing barrier gives NaN, in at least one order", "[simt]") {
  const CleanDevice clean;
  if (simt::sanitizer::is_thread_sanitizer()) return;  // it reports the race itself
  const Array<float> out(64);
  int wrong = 0;
  using simt::control::Order;
  for (const Order order : {Order::kForward, Order::kReverse}) {
    simt::control::set_order(order);
    REQUIRE(launch<missing_barrier_kernel>({1, 64}, out.data()) == cudaSuccess);
    for (const float value : out.values()) wrong += std::isnan(value) ? 1 : 0;
  }
  CHECK(wrong == 64);
}

TEST_CASE("after a failed kernel every call fails until the errors are cleared", "[simt]") {
  const CleanDevice clean;
  void* data = nullptr;
  CHECK(launch<divergent_kernel>({1, 64}) == cudaSuccess);
  CHECK(cudaMalloc(&data, 16) == cudaErrorLaunchFailure);
  CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  simt::control::clear_errors();
  CHECK(cudaGetLastError() == cudaSuccess);
  const Array<int> out(32);
  REQUIRE(launch<rotate_kernel>({1, 32}, out.data()) == cudaSuccess);
  CHECK(out.values()[0] == 2);
}

TEST_CASE("a process that overlooked a report fails at its end", "[simt]") {
  const CleanDevice clean;
  const ChildResult overlooked = run_in_child([] { launch<divergent_kernel>({1, 64}); });
  CHECK(overlooked.status == simt::control::kOverlookedReportExit);
  CHECK(overlooked.says("divergent barrier"));
  const ChildResult seen = run_in_child([] {
    launch<divergent_kernel>({1, 64});
    simt::control::last_report();
  });
  CHECK(seen.status == 0);
}
