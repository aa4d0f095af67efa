#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "halftone/engine/threads.h"
#include "halftone/kernels/pointwise.h"
#include "halftone/tests/support/kernel_tensors.h"
#include "halftone/tests/support/pointwise_inputs.h"

using namespace halftone;
using namespace halftone::testing;

namespace {

const PointwiseKernels& kernels() { return cpu_kernels<PointwiseKernels>(); }

void run(Fn fn, const Tensor& out, const std::vector<Tensor>& in, const Params& params = {}) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& tensor : in) pointers.push_back(&tensor);
  kernels().run(fn, out, pointers, params);
}

}  // namespace

TEST_CASE("an element's result depends on its value alone: not on place, alignment, stride or neighbours",
          "[pointwise]") {
  constexpr std::int64_t n = 1203;
  for (const cpu::Isa isa : isa_levels()) {
    const IsaGuard guard(isa);
    for (const ScalarType dtype : {kFloat, kHalf, kBFloat16, kDouble}) {
      for (const Fn fn : floating_fns()) {
        INFO(fn_name(fn) << " " << dtype_name(dtype) << " " << cpu::isa_name(isa));
        const std::vector<Tensor> in = pointwise_inputs(dtype, kernels().operands(fn), n, true, 7);
        const Tensor whole = empty(dtype, {n});
        run(fn, whole, in, kParams);
        // Every third element, from an odd address on.
        std::vector<Tensor> spread;
        for (const Tensor& t : in) spread.push_back(window(t, {400}, {3}, 1));
        const Tensor part = strided(dtype, {400}, {2}, 1, 801);
        run(fn, part, spread, kParams);
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < 400; ++i) wrong += !same_bits(part, i, whole, 1 + 3 * i);
        CHECK(wrong == 0);
        for (std::int64_t i = 0; i < n; i += 41) {  // alone
          std::vector<Tensor> single;
          for (const Tensor& t : in) single.push_back(window(t, {}, {}, i));
          const Tensor one = empty(dtype, {});
          run(fn, one, single, kParams);
          wrong += !same_bits(one, 0, whole, i);
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("16-bit results are the double result rounded once", "[pointwise]") {
  constexpr std::int64_t n = 2000;
  for (const cpu::Isa isa : isa_levels()) {
    const IsaGuard guard(isa);
    for (const ScalarType dtype : {kHalf, kBFloat16}) {
      for (const Fn fn : floating_fns()) {
        const int count = kernels().operands(fn);
        const std::vector<Tensor> in = pointwise_inputs(dtype, count, n, false, 11);
        std::vector<Tensor> wide;
        for (const Tensor& t : in) {
          wide.push_back(empty(kDouble, {n}));
          for (std::int64_t i = 0; i < n; ++i) put(wide.back(), i, get(t, i));
        }
        const Tensor out = empty(dtype, {n}), exact = empty(kDouble, {n});
        run(fn, out, in, kParams);
        run(fn, exact, wide, kParams);
        for (std::int64_t i = 0; i < n; ++i) {
          const double want = get(exact, i), got = get(out, i);
          if (std::isnan(want)) {
            REQUIRE(std::isnan(got));
            continue;
          }
          // One rounding, plus float's own error: relative, and absolute where terms of the size of the
          // inputs cancel (the largest intermediate of these formulas stays below 64 for these inputs).
          const double magnitude =
              1 + std::fabs(get(in[0], i)) * (count > 1 ? 1 + std::fabs(get(in[1], i)) : 1);
          const double smallest = dtype == kHalf ? 0x1p-25 : 0;
          const double bound =
              unit_roundoff(dtype) * 1.001 * std::fabs(want) + smallest + 0x1p-21 * magnitude;
          if (std::fabs(want) > max_value(dtype) * 0.99) continue;
          INFO(fn_name(fn) << " " << dtype_name(dtype) << " " << cpu::isa_name(isa) << " element " << i
                           << " of " << get(in[0], i) << ", "
                           << get(in[static_cast<std::size_t>(count - 1)], i) << ": " << got << " for "
                           << want);
          REQUIRE(std::fabs(got - want) <= bound);
        }
      }
    }
  }
}

TEST_CASE("pointwise kernels broadcast, permute, alias and mix dtypes", "[pointwise]") {
  const Tensor a = empty(kFloat, {3, 5, 7});
  for (std::int64_t i = 0; i < a.numel(); ++i) put(a, i, 0.25 * static_cast<double>(i) - 3);
  const Tensor row = from(kHalf, {1, 2, 3, 4, 5, 6, 7});
  const Tensor column = window(from(kInt, {10, 20, 30, 40, 50}), {5, 1}, {1, 1}, 0);
  const Tensor out = strided(kBFloat16, {3, 5, 7}, {1, 3, 15}, 0, 105);
  const Params one{{1}};
  run(Fn::kAdd, out, {a, row}, one);
  run(Fn::kAdd, out, {out, column}, one);  // in place
  for (std::int64_t i = 0; i < 105; ++i) {
    const float first = static_cast<float>(get(a, i) + get(row, i % 7));
    const float sum = static_cast<float>(BFloat16(first)) + static_cast<float>(get(column, i / 7 % 5));
    REQUIRE(get(out, i) == static_cast<float>(BFloat16(sum)));
  }
  const Tensor mask = empty(kBool, {3, 5, 7});
  run(Fn::kLt, mask, {a, row});
  for (std::int64_t i = 0; i < 105; ++i) REQUIRE(get(mask, i) == (get(a, i) < get(row, i % 7) ? 1 : 0));

  const Tensor none = empty(kFloat, {0, 7});
  run(Fn::kAdd, none, {none, row}, one);
  REQUIRE_THROWS_WITH(run(Fn::kAdd, a, {a, from(kFloat, {1, 2, 3})}, one),
                      Catch::Contains("cannot broadcast"));
  REQUIRE_THROWS_WITH(run(Fn::kAdd, from(kFloat, {1}), {a, a}, one), Catch::Contains("cannot broadcast"));
  REQUIRE_THROWS_WITH(run(Fn::kAdd, a, {a}, one), Catch::Contains("takes 2 tensors"));
  REQUIRE_THROWS_WITH(run(Fn::kBitwiseAnd, a, {a, a}), Catch::Contains("integers"));
  REQUIRE_THROWS_WITH(run(Fn::kExp, window(a, {4}, {0}, 0), {a}), Catch::Contains("cannot broadcast"));
  REQUIRE_THROWS_WITH(run(Fn::kExp, window(a, {4}, {0}, 0), {row.dim() == 1 ? from(kFloat, {1}) : row}),
                      Catch::Contains("expanded"));
}

TEST_CASE("integer formulas are exact beyond 2^53 and never undefined", "[pointwise]") {
  const std::int64_t big = (std::int64_t{1} << 53) + 1, least = std::numeric_limits<std::int64_t>::min();
  const Tensor a = empty(kLong, {6}), b = empty(kLong, {6}), out = empty(kLong, {6});
  const std::int64_t left[] = {big, least, -7, 7, -7, 5}, right[] = {1, -1, 2, -2, -2, 0};
  for (int i = 0; i < 6; ++i) {
    put(a, i, left[i]);
    put(b, i, right[i]);
  }
  const auto check = [&](Fn fn, std::vector<std::int64_t> want) {
    INFO(fn_name(fn));
    run(fn, out, {a, b}, Params{{1}});
    REQUIRE(std::vector<std::int64_t>(out.data_ptr<std::int64_t>(), out.data_ptr<std::int64_t>() + 6) ==
            want);
  };
  check(Fn::kAdd, {big + 1, std::numeric_limits<std::int64_t>::max(), -5, 5, -9, 5});
  check(Fn::kMul, {big, least, -14, -14, 14, 0});
  check(Fn::kFloorDivide, {big, least, -4, -4, 3, 0});
  check(Fn::kRemainder, {0, 0, 1, -1, -1, 0});
  check(Fn::kFmod, {0, 0, -1, 1, -1, 0});
  check(Fn::kPow, {big, 0, 49, 0, 0, 1});
  check(Fn::kBitwiseXor, {big ^ 1, least ^ -1, -7 ^ 2, 7 ^ -2, -7 ^ -2, 5});
  check(Fn::kMaximum, {big, -1, 2, 7, -2, 5});
}

TEST_CASE("division of floats rounds toward minus infinity as Python does", "[pointwise]") {
  const Tensor a = from(kFloat, {7, -7, 7, -7, 1, 0.3, -0.0}), b = from(kFloat, {2, 2, -2, -2, 0, 0.1, 3});
  const Tensor out = empty(kFloat, {7});
  run(Fn::kFloorDivide, out, {a, b});
  const float floors[] = {3, -4, -4, 3, std::numeric_limits<float>::infinity(), 3, -0.0f};
  for (int i = 0; i < 7; ++i) {
    CHECK(get(out, i) == floors[i]);
    CHECK(std::signbit(get(out, i)) == std::signbit(floors[i]));
  }
  run(Fn::kRemainder, out, {a, b});
  const float rests[] = {1, 1, -1, -1};
  for (int i = 0; i < 4; ++i) CHECK(get(out, i) == rests[i]);
  CHECK(std::isnan(get(out, 4)));
}

TEST_CASE("pointwise results are the same for any number of threads", "[pointwise]") {
  constexpr std::int64_t n = 200003;
  const std::vector<Tensor> in = pointwise_inputs(kHalf, 2, n, true, 3);
  const Tensor one = empty(kFloat, {n}), many = empty(kFloat, {n});
  const int before = get_num_threads();
  set_num_threads(1);
  run(Fn::kSiluBackward, one, in);
  set_num_threads(5);
  run(Fn::kSiluBackward, many, in);
  set_num_threads(before);
  REQUIRE(std::equal(element(one, 0), element(one, 0) + n * 4, element(many, 0)));
}
