// Device functions that the host's libraries do not have.

#include <cmath>
#include <limits>

#include "halftone/tests/simt/test_device.h"

using namespace simt_test;

namespace {

void atomics_kernel(int* ints, unsigned* unsigneds, unsigned long long* longs, float* floats,
                    double* doubles) {
  const int t = static_cast<int>(threadIdx.x);
  atomicAdd(&ints[0], t);
  atomicMax(&ints[1], t);
  atomicMin(&ints[2], -t);
  atomicSub(&ints[3], 1);
  atomicOr(&unsigneds[0], 1u << (t % 32));
  atomicAnd(&unsigneds[1], ~(1u << (t % 8)));
  atomicXor(&unsigneds[2], 3u);
  atomicInc(&unsigneds[3], 9u);
  atomicAdd(&longs[0], 1ull << 40);
  if (atomicCAS(&longs[1], 0ull, static_cast<unsigned long long>(t) + 1) == 0)
    longs[2] = static_cast<unsigned>(t) + 1;
  atomicAdd(&floats[0], 0.5f);
  atomicExch(&floats[1], 2.0f);
  atomicAdd(&doubles[0], 0.25);
}

void pair_kernel(__half2* halves, __nv_bfloat162* brains) {
  atomicAdd(&halves[0], __floats2half2_rn(1.0f, 2.0f));
  atomicAdd(&brains[0], __floats2bfloat162_rn(1.0f, 0.5f));
}

}  // namespace

TEST_CASE("atomics of all threads add up", "[simt]") {
  const CleanDevice clean;
  const Array<int> ints(std::vector<int>{0, 0, 0, 0});
  const Array<unsigned> unsigneds(std::vector<unsigned>{0, 0xffffffffu, 0, 0});
  const Array<unsigned long long> longs(std::vector<unsigned long long>{0, 0, 0});
  const Array<float> floats(std::vector<float>{0, 0});
  const Array<double> doubles(std::vector<double>{0});
  REQUIRE(launch<atomics_kernel>({2, 96}, ints.data(), unsigneds.data(), longs.data(), floats.data(),
                                 doubles.data()) == cudaSuccess);
  CHECK(ints.values() == std::vector<int>{9120, 95, -95, -192});
  CHECK(unsigneds.values() == std::vector<unsigned>{0xffffffffu, 0xffffff00u, 0, 2});
  CHECK(longs.values()[0] == 192ull << 40);
  CHECK(longs.values()[1] == longs.values()[2]);
  CHECK(floats.values() == std::vector<float>{96, 2});
  CHECK(doubles.values()[0] == 48);
}

TEST_CASE("atomics on pairs of halves add both", "[simt]") {
  const CleanDevice clean;
  const Array<unsigned> words(std::vector<unsigned>{0, 0});
  REQUIRE(launch<pair_kernel>({1, 10}, reinterpret_cast<__half2*>(words.data()),
                              reinterpret_cast<__nv_bfloat162*>(words.data() + 1)) == cudaSuccess);
  const std::vector<unsigned> values = words.values();
  const auto half_of = [](unsigned bits) {
    return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
  };
  const auto brain_of = [](unsigned bits) {
    return __bfloat162float(__ushort_as_bfloat16(static_cast<unsigned short>(bits)));
  };
  CHECK(half_of(values[0] & 0xffffu) == 10);
  CHECK(half_of(values[0] >> 16) == 20);
  CHECK(brain_of(values[1] & 0xffffu) == 10);
  CHECK(brain_of(values[1] >> 16) == 5);
}

TEST_CASE("bits are counted, turned and chosen as on the device", "[simt]") {
  CHECK(__popc(0xf0f0u) == 8);
  CHECK(__popcll(~0ull) == 64);
  CHECK(__clz(1) == 31);
  CHECK(__clz(0) == 32);
  CHECK(__clzll(1) == 63);
  CHECK(__ffs(0) == 0);
  CHECK(__ffs(8) == 4);
  CHECK(__ffsll(1ll << 40) == 41);
  CHECK(__brev(1u) == 0x80000000u);
  CHECK(__brevll(2ull) == 1ull << 62);
  CHECK(__umulhi(0x80000000u, 6u) == 3u);
  CHECK(__mulhi(-(1 << 30), 8) == -2);
  CHECK(__umul64hi(1ull << 63, 6ull) == 3ull);
  CHECK(__funnelshift_l(0x80000000u, 1u, 1) == 3u);
  CHECK(__funnelshift_r(2u, 1u, 1) == 0x80000001u);
  CHECK(__byte_perm(0x33221100u, 0x77665544u, 0x7052u) == 0x77005522u);
  CHECK(__byte_perm(0x00000080u, 0, 0x8888u) == 0xffffffffu);
}

TEST_CASE("conversions round as their names say, clamp, and turn NaN into 0", "[simt]") {
  CHECK(__float2int_rn(2.5f) == 2);
  CHECK(__float2int_rn(-3.5f) == -4);
  CHECK(__float2int_rz(-2.9f) == -2);
  CHECK(__float2int_rd(-2.1f) == -3);
  CHECK(__float2int_ru(2.1f) == 3);
  CHECK(__float2int_rn(1e20f) == std::numeric_limits<int>::max());
  CHECK(__float2uint_rz(-5.0f) == 0u);
  CHECK(__float2int_rn(std::nanf("")) == 0);
  CHECK(__double2ll_rn(1e300) == std::numeric_limits<long long>::max());
  CHECK(__int_as_float(0x3f800000) == 1.0f);
  CHECK(__float_as_uint(-0.0f) == 0x80000000u);
  CHECK(__longlong_as_double(__double_as_longlong(3.25)) == 3.25);
}

TEST_CASE("minima and maxima take mixed types and prefer numbers to NaN", "[simt]") {
  CHECK(min(2, 3u) == 2u);
  CHECK(max(2.0f, 3) == 3.0f);
  CHECK(min(1ll, 5) == 1);
  CHECK(max(std::nanf(""), 3.0f) == 3.0f);
  CHECK(min(1.0, std::nan("")) == 1.0);
}

TEST_CASE("fused multiply-adds of halves round once", "[simt]") {
  // 1 + 2^-10 squared is 1 + 2^-9 + 2^-20; minus (1 + 2^-9) only the last part remains, which two roundings
  // lose.
  const __half a = __float2half_rn(1.0f + 1.0f / 1024);
  const __half c = __float2half_rn(-(1.0f + 1.0f / 512));
  CHECK(__half2float(__hfma(a, a, c)) == 1.0f / (1 << 20));
  const __nv_bfloat16 b = __float2bfloat16_rn(1.0f + 1.0f / 128);
  const __nv_bfloat16 d = __float2bfloat16_rn(-(1.0f + 1.0f / 64));
  CHECK(__bfloat162float(__hfma(b, b, d)) == 1.0f / (1 << 14));
  CHECK(rsqrtf(4.0f) == 0.5f);
  CHECK(__saturatef(std::nanf("")) == 0.0f);
  CHECK(normcdff(0.0f) == 0.5f);
}
