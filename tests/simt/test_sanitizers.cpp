// What AddressSanitizer and ThreadSanitizer find in kernels, in builds that have them.

#include "halftone/tests/simt/sanitizer.h"
#include "halftone/tests/simt/test_device.h"

using namespace simt_test;

namespace {

void write_kernel(float* data, int i) { data[i] = 1.0f; }
void static_overflow_kernel(int n) {
  HT_SHARED(float, slot, [10]);
  HT_SHARED(float, next, [10]);
  float* data = slot;
  data[n] = 1.0f;
  next[0] = data[n];
}
void dynamic_overflow_kernel(int n) {
  HT_DYN_SHARED(float, slot);
  slot[n] = 1.0f;
}

/// Sums of a block by a tree in shared memory; each barrier may be left out.
void tree_kernel(float* out, const float* in, bool first, bool second, bool last) {
  HT_SHARED(float, part, [64]);
  const unsigned t = threadIdx.x;
  for (int turn = 0; turn < 2; ++turn) {
    part[t] = in[blockIdx.x * 64 + t];
    if (first) __syncthreads();
    for (unsigned step = 32; step > 0; step /= 2) {
      if (t < step) part[t] += part[t + step];
      if (second) __syncthreads();
    }
    if (t < 2) out[blockIdx.x * 2 + t] = part[0];
    if (last) __syncthreads();
  }
}

void warp_kernel(float* out, bool is_right) {
  HT_SHARED(float, slot, [32]);
  slot[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (is_right) __syncwarp();
  out[threadIdx.x] = slot[threadIdx.x ^ 1u];
}

void count_kernel(int* out, bool is_atomic) {
  if (is_atomic) {
    atomicAdd(&out[0], 1);
  } else {
    out[0] += 1;
  }
}
void block_count_kernel(int* out) {
  if (threadIdx.x == 0) out[0] += 1;
}
void neighbour_kernel(float* data) { data[threadIdx.x] = data[threadIdx.x + 1]; }

/// Correct, with everything that orders threads: barriers, shuffles, dynamic and static shared memory.
void correct_kernel(float* out, const float* in) {
  HT_SHARED(float, part, [2]);
  HT_DYN_SHARED(float, copy);
  const unsigned t = threadIdx.x;
  copy[t] = in[t];
  __syncthreads();
  float sum = copy[63 - t];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (t % 32 == 0) part[t / 32] = sum;
  __syncthreads();
  sum = part[0] + part[1];
  __syncthreads();
  if (t < 2) part[t] = 0.0f;
  out[blockIdx.x * 64 + t] = sum;
}

/// Runs `body` on its own and tells whether the sanitizer ended it, with `what` in its report.
template <class Body>
bool is_caught(const char* what, Body body) {
  const ChildResult result = run_in_child([&] {
    body();
    cudaDeviceSynchronize();
  });
  INFO(result.text);
  if (result.status == 0) return false;
  CHECK(result.says(what));
  return true;
}

}  // namespace

TEST_CASE("AddressSanitizer sees the last bytes of allocations and the ends of shared memory", "[simt]") {
  const CleanDevice clean;
  if (!simt::sanitizer::is_address_sanitizer()) return;
  const Array<float> data(11);
  const auto caught = [](auto body) { return is_caught("AddressSanitizer", body); };
  CHECK(caught([&] { launch<write_kernel>({1, 1}, data.data(), 11); }));
  CHECK(caught([&] { launch<write_kernel>({1, 1}, data.data(), -1); }));
  CHECK_FALSE(caught([&] { launch<write_kernel>({1, 1}, data.data(), 10); }));
  CHECK(caught([&] { launch<static_overflow_kernel>({1, 1}, 10); }));
  CHECK_FALSE(caught([&] { launch<static_overflow_kernel>({1, 1}, 9); }));
  CHECK(caught([&] { launch<dynamic_overflow_kernel>({1, 1, 44}, 11); }));
  CHECK_FALSE(caught([&] { launch<dynamic_overflow_kernel>({1, 1, 44}, 10); }));
}

TEST_CASE("ThreadSanitizer sees races within a block", "[simt]") {
  const CleanDevice clean;
  if (!simt::sanitizer::is_thread_sanitizer()) return;
  const Array<float> in(std::vector<float>(128, 1.0f));
  const Array<float> out(128);
  const Array<int> count(std::vector<int>{0});
  const auto caught = [](auto body) { return is_caught("data race", body); };
  const auto tree = [&](bool first, bool second, bool last) {
    return caught([&] {
      launch<tree_kernel>({1, 64}, out.data(), static_cast<const float*>(in.data()), first, second, last);
    });
  };
  using simt::control::Order;
  for (const Order order : {Order::kForward, Order::kReverse, Order::kRandom}) {
    simt::control::set_order(order, 3);
    CHECK_FALSE(tree(true, true, true));
    CHECK(tree(false, true, true));
    CHECK(tree(true, false, true));
    CHECK(tree(true, true, false));
    CHECK(caught([&] { launch<warp_kernel>({1, 32}, out.data(), false); }));
    CHECK_FALSE(caught([&] { launch<warp_kernel>({1, 32}, out.data(), true); }));
    CHECK(caught([&] { launch<count_kernel>({1, 32}, count.data(), false); }));
    CHECK_FALSE(caught([&] { launch<count_kernel>({2, 32}, count.data(), true); }));
    CHECK(caught([&] { launch<neighbour_kernel>({1, 64}, out.data()); }));
  }
}

TEST_CASE("ThreadSanitizer sees races between blocks, and none between grids", "[simt]") {
  const CleanDevice clean;
  if (!simt::sanitizer::is_thread_sanitizer()) return;
  const Array<float> in(std::vector<float>(64, 1.0f));
  const Array<float> out(256);
  const Array<int> count(std::vector<int>{0});
  const auto caught = [](auto body) { return is_caught("data race", body); };
  CHECK(caught([&] { launch<block_count_kernel>({2, 32}, count.data()); }));
  CHECK(caught([&] { launch<block_count_kernel>({5, 32}, count.data()); }));
  CHECK_FALSE(caught([&] {
    for (int turn = 0; turn < 3; ++turn) launch<block_count_kernel>({1, 32}, count.data());
  }));
  using simt::control::Order;
  for (const Order order : {Order::kForward, Order::kReverse, Order::kRandom}) {
    simt::control::set_order(order, 3);
    CHECK_FALSE(caught([&] {
      for (int turn = 0; turn < 3; ++turn) {
        launch<correct_kernel>({4, 64, 256}, out.data(), static_cast<const float*>(in.data()));
      }
    }));
  }
}
