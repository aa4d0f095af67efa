#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "halftone/kernels/copy.h"
#include "halftone/tests/support/kernel_tensors.h"

using namespace halftone;
using namespace halftone::testing;

namespace {

const CopyKernels& kernels() { return cpu_kernels<CopyKernels>(); }

}  // namespace

TEST_CASE("copy converts every dtype to every dtype, in every layout, as convert_value does", "[copy]") {
  const Dims sizes{3, 40, 50};
  const Dims layouts[] = {{2000, 50, 1}, {2000, 1, 40}, {1, 3, 120}, {50, 150, 1}};
  const double special[] = {0,
                            -0.0,
                            1,
                            -1,
                            255,
                            256,
                            3e9,
                            -3e9,
                            1e30,
                            -1e30,
                            std::nan(""),
                            65519,
                            65520,
                            0.5,
                            -2.5,
                            1e-8,
                            std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity()};
  std::mt19937 random(1);
  for (int f = 0; f < kDtypeCount; ++f) {
    for (int t = 0; t < kDtypeCount; ++t) {
      const ScalarType from_dtype = static_cast<ScalarType>(f), to_dtype = static_cast<ScalarType>(t);
      INFO(dtype_name(from_dtype) << " to " << dtype_name(to_dtype));
      for (const Dims& from_layout : layouts) {
        for (const Dims& to_layout : layouts) {
          const Tensor src = strided(from_dtype, sizes, from_layout, 0, 6000);
          const Tensor dst = strided(to_dtype, sizes, to_layout, 0, 6000);
          for (std::int64_t i = 0; i < 6000; ++i)
            put(src, i, i % 3 == 0 ? special[random() % 18] : static_cast<double>(random() % 1000) / 8 - 60);
          kernels().copy(dst, src);
          const Tensor want = empty(to_dtype, {1});
          std::int64_t wrong = 0;
          for (std::int64_t i = 0; i < 6000; ++i) {
            dispatch_all(from_dtype,
                         [&]<class S>() { put(want, 0, *reinterpret_cast<const S*>(element(src, i))); });
            wrong += !same_bits(dst, i, want, 0);
          }
          CHECK(wrong == 0);
        }
      }
    }
  }
}

TEST_CASE("copy broadcasts and fill fills", "[copy]") {
  const Tensor dst = strided(kFloat, {4, 3}, {1, 8}, 0, 24);
  kernels().copy(dst, from(kHalf, {1, 2, 3}));
  for (std::int64_t i = 0; i < 12; ++i) CHECK(get(dst, i) == static_cast<double>(i % 3 + 1));
  kernels().copy(dst, dst);
  CHECK(get(dst, 5) == 3);
  kernels().fill(dst, 0.3, 0);
  for (std::int64_t i = 0; i < 12; ++i) CHECK(get(dst, i) == static_cast<double>(0.3f));
  const Tensor whole = empty(kLong, {100000});
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  kernels().fill(whole, static_cast<double>(big), big);
  CHECK(whole.data_ptr<std::int64_t>()[99999] == big);
  const Tensor flags = empty(kBool, {7});
  kernels().fill(flags, 0, 12);
  CHECK(get(flags, 6) == 1);
  const Tensor half = empty(kBFloat16, {7});
  kernels().fill(half, 1.0 + 0x1p-8 + 0x1p-40, 0);  // one rounding: above the tie
  CHECK(get(half, 6) == 1.0 + 0x1p-7);
  REQUIRE_THROWS_WITH(kernels().copy(dst, from(kFloat, {1, 2})), Catch::Contains("cannot broadcast"));
}
