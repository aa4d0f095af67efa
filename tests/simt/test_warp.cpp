// Collectives of a warp: results, and every way to call them wrongly.

#include <cmath>

#include "halftone/tests/simt/sanitizer.h"
#include "halftone/tests/simt/test_device.h"

using namespace simt_test;

namespace {

std::string at(int line) { return "test_warp.cpp:" + std::to_string(line); }
constexpr unsigned kFull = 0xffffffffu;

/// What lane `lane` gets, by the definition in the programming guide.
template <class T>
struct Shuffles {
  T index, up, down, exchange;
};

template <class T>
void shuffle_kernel(Shuffles<T>* out, int argument, int width) {
  const T own = static_cast<T>(static_cast<float>(threadIdx.x) + 0.5f);
  Shuffles<T>& mine = out[threadIdx.x];
  mine.index = __shfl_sync(kFull, own, argument, width);
  mine.up = __shfl_up_sync(kFull, own, static_cast<unsigned>(argument), width);
  mine.down = __shfl_down_sync(kFull, own, static_cast<unsigned>(argument), width);
  mine.exchange = __shfl_xor_sync(kFull, own, argument, width);
}

struct Votes {
  unsigned ballot, match, match_all, sum, bits;
  int any, all, equal, low, high;
};
void vote_kernel(Votes* out, unsigned mask) {
  const unsigned t = threadIdx.x;
  if ((mask >> t & 1u) == 0) return;
  Votes& mine = out[t];
  const int value = static_cast<int>(t) - 10;
  mine.ballot = __ballot_sync(mask, t % 4 == 1);
  mine.any = __any_sync(mask, t == 9);
  mine.all = __all_sync(mask, t % 2 == 1);
  mine.match = __match_any_sync(mask, t % 5);
  mine.match_all = __match_all_sync(mask, 3.5f, &mine.equal);
  mine.sum = __reduce_add_sync(mask, t);
  mine.low = __reduce_min_sync(mask, value);
  mine.high = __reduce_max_sync(mask, value);
  mine.bits = __reduce_or_sync(mask, 1u << t % 8);
}

/// Two halves of a warp, each with a mask of its own, an unequal number of times.
void halves_kernel(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  const unsigned mask = t < 16 ? 0xffffu : 0xffff0000u;
  int sum = t;
  for (int turn = 0; turn < (t < 16 ? 1 : 3); ++turn) {
    for (int step = 8; step > 0; step /= 2) sum += __shfl_xor_sync(mask, sum, step);
  }
  out[t] = sum;
}

struct Product {
  int factor;
  int result;
};
/// An instruction of the warp: every lane gets the product of all factors modulo 1009.
void product_kernel(int* out) {
  Product mine{static_cast<int>(threadIdx.x) + 1, 0};
  simt::warp_custom(
      kFull,
      [](void* const payload[32], unsigned mask) {
        int product = 1;
        for (int lane = 0; lane < 32; ++lane) {
          if ((mask >> lane & 1u) != 0)
            product = product * static_cast<Product*>(payload[lane])->factor % 1009;
        }
        for (int lane = 0; lane < 32; ++lane) static_cast<Product*>(payload[lane])->result = product + lane;
      },
      &mine);
  out[threadIdx.x] = mine.result;
}

constexpr int kNotInMask = __LINE__ + 1;
void not_in_mask_kernel() { __syncwarp(0x0000ffffu); }

constexpr int kBeyondBlock = __LINE__ + 1;
void beyond_block_kernel() { __ballot_sync(kFull, 1); }

constexpr int kExited = __LINE__ + 3;
void exited_kernel(int leaves) {
  if (static_cast<int>(threadIdx.x) == leaves) return;
  __syncwarp();
}

constexpr int kOneShuffle = __LINE__ + 4;
void two_places_kernel(int* out) {
  int value = 0;
  if (threadIdx.x < 16) {
    value = __shfl_sync(kFull, 1, 0);
  } else {
    value = __shfl_sync(kFull, 2, 0);
  }
  out[threadIdx.x] = value;
}
constexpr int kOtherShuffle = kOneShuffle + 2;

void bad_width_kernel(int* out) { out[threadIdx.x] = __shfl_sync(kFull, 1, 0, 12); }

void outside_mask_kernel(float* out) {
  if (threadIdx.x < 4) out[threadIdx.x] = __shfl_sync(0xfu, 1.0f, 9);
}

/// Lanes assume that the others have written already.
void warp_synchronous_kernel(float* out, bool is_right) {
  HT_SHARED(float, slot, [32]);
  slot[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (is_right) __syncwarp();
  out[threadIdx.x] = slot[threadIdx.x ^ 1u];
}

template <class T>
void check_shuffles(int argument, int width) {
  const Array<Shuffles<T>> out(32);
  REQUIRE(launch<shuffle_kernel<T>>({1, 32}, out.data(), argument, width) == cudaSuccess);
  const std::vector<Shuffles<T>> values = out.values();
  const auto of = [](int lane) {
    return static_cast<float>(static_cast<T>(static_cast<float>(lane) + 0.5f));
  };
  for (int lane = 0; lane < 32; ++lane) {
    const int first = lane / width * width;
    const int up = lane - argument >= first ? lane - argument : lane;
    const int down = lane + argument < first + width ? lane + argument : lane;
    const int exchange = (lane ^ argument) < first + width ? lane ^ argument : lane;
    const Shuffles<T>& got = values[static_cast<std::size_t>(lane)];
    CHECK(static_cast<float>(got.index) == of(first + argument % width));
    CHECK(static_cast<float>(got.up) == of(up));
    CHECK(static_cast<float>(got.down) == of(down));
    CHECK(static_cast<float>(got.exchange) == of(exchange));
  }
}

}  // namespace

TEST_CASE("shuffles move values of every type and width as documented", "[simt]") {
  const CleanDevice clean;
  using simt::control::Order;
  for (const Order order : {Order::kForward, Order::kReverse, Order::kRandom}) {
    simt::control::set_order(order);
    for (const int width : {32, 16, 8, 2}) {
      for (const int argument : {0, 1, 5, 16}) check_shuffles<float>(argument, width);
    }
    check_shuffles<int>(3, 32);
    check_shuffles<double>(7, 32);
    check_shuffles<long long>(30, 32);
    check_shuffles<__half>(2, 16);
    check_shuffles<__nv_bfloat16>(2, 16);
  }
}

TEST_CASE("votes, matches and reductions see the lanes of the mask only", "[simt]") {
  const CleanDevice clean;
  const Array<Votes> out(32);
  constexpr unsigned kOdd = 0xaaaaaaaau;
  REQUIRE(launch<vote_kernel>({1, 32}, out.data(), kOdd) == cudaSuccess);
  const std::vector<Votes> values = out.values();
  for (unsigned t = 1; t < 32; t += 2) {
    const Votes& got = values[t];
    CHECK(got.ballot == 0x22222222u);
    CHECK(got.any == 1);
    CHECK(got.all == 1);
    unsigned same = 0;
    for (unsigned other = 1; other < 32; other += 2) same |= other % 5 == t % 5 ? 1u << other : 0u;
    CHECK(got.match == same);
    CHECK(got.match_all == kOdd);
    CHECK(got.equal == 1);
    CHECK(got.sum == 256);
    CHECK(got.low == -9);
    CHECK(got.high == 21);
    CHECK(got.bits == 0xaau);
  }
}

TEST_CASE("disjoint masks of one warp go their own ways", "[simt]") {
  const CleanDevice clean;
  const Array<int> out(32);
  REQUIRE(launch<halves_kernel>({1, 32}, out.data()) == cudaSuccess);
  const std::vector<int> values = out.values();
  for (int t = 0; t < 32; ++t) CHECK(values[static_cast<std::size_t>(t)] == (t < 16 ? 120 : 376 * 256));
}

TEST_CASE("a warp instruction is played once, with the payloads of all lanes", "[simt]") {
  const CleanDevice clean;
  const Array<int> out(32);
  REQUIRE(launch<product_kernel>({1, 32}, out.data()) == cudaSuccess);
  int product = 1;
  for (int i = 1; i <= 32; ++i) product = product * i % 1009;
  const std::vector<int> values = out.values();
  for (int t = 0; t < 32; ++t) CHECK(values[static_cast<std::size_t>(t)] == product + t);
}

TEST_CASE("masks that cannot be right are reported", "[simt]") {
  const CleanDevice clean;
  CHECK(launch<not_in_mask_kernel>({1, 32}) == cudaSuccess);
  CHECK(reports("__syncwarp", "does not have the caller, lane 16", at(kNotInMask), "thread (16,0,0)"));
  simt::control::clear_errors();
  CHECK(launch<beyond_block_kernel>({1, 48}) == cudaSuccess);
  CHECK(reports("__ballot_sync", "names lanes beyond the block (its warp has 0x0000ffff)", at(kBeyondBlock)));
  simt::control::clear_errors();
  CHECK(launch<exited_kernel>({1, 32}, 0) == cudaSuccess);
  CHECK(reports("__syncwarp", "names lanes 0x00000001, which have ended", at(kExited)));
  simt::control::clear_errors();
  CHECK(launch<exited_kernel>({1, 32}, 31) == cudaSuccess);
  CHECK(reports("lane 31, ends while lane 0 waits for it in __syncwarp", at(kExited)));
}

TEST_CASE("lanes of one mask at two places are reported with both", "[simt]") {
  const CleanDevice clean;
  const Array<int> out(32);
  CHECK(launch<two_places_kernel>({1, 32}, out.data()) == cudaSuccess);
  CHECK(reports("__shfl_sync", at(kOneShuffle), at(kOtherShuffle), "by lane 16, but lane 0 waits"));
}

TEST_CASE("a width that is no power of two is reported", "[simt]") {
  const CleanDevice clean;
  const Array<int> out(32);
  CHECK(launch<bad_width_kernel>({1, 32}, out.data()) == cudaSuccess);
  CHECK(reports("width 12 is not a power of two"));
}

TEST_CASE("a value from outside the mask is NaN", "[simt]") {
  const CleanDevice clean;
  const Array<float> out(4);
  REQUIRE(launch<outside_mask_kernel>({1, 32}, out.data()) == cudaSuccess);
  for (const float value : out.values()) CHECK(std::isnan(value));
}

TEST_CASE("lanes do not run in step: a missing __syncwarp shows", "[simt]") {
  const CleanDevice clean;
  if (simt::sanitizer::is_thread_sanitizer()) return;  // it reports the race itself
  const Array<float> out(32);
  const auto wrong = [&](bool is_right) {
    REQUIRE(launch<warp_synchronous_kernel>({1, 32}, out.data(), is_right) == cudaSuccess);
    int count = 0;
    const std::vector<float> values = out.values();
    for (unsigned t = 0; t < 32; ++t) count += values[t] == static_cast<float>(t ^ 1u) ? 0 : 1;
    return count;
  };
  CHECK(wrong(false) > 0);
  CHECK(wrong(true) == 0);
}
