// Every pointwise formula on the device: against the CPU's kernels in fp64, for the values that need care,
// for integers bit for bit; and results that depend on an element's value alone.

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "halftone/kernels/math/special_scalar.h"
#include "halftone/kernels/pointwise.h"
#include "halftone/tests/cuda/parity.h"
#include "halftone/tests/support/pointwise_inputs.h"

using namespace halftone;
using namespace halftone::testing;

namespace {

constexpr double kHuge = 1e18;  // squared it is still in the range of float32

namespace formulas {

#define HALFTONE_FUNCTOR_BODIES
#define HALFTONE_SCALAR_FUNCTORS
#include "halftone/kernels/math/pointwise_functors.h"
#undef HALFTONE_SCALAR_FUNCTORS
#undef HALFTONE_FUNCTOR_BODIES

template <class F>
constexpr bool has_integers() {
  return requires { F::kIntegers; };
}

}  // namespace formulas

constexpr bool kIntegerForms[] = {
#define HALFTONE_FORM(name) formulas::has_integers<formulas::name>(),
    HALFTONE_POINTWISE_FUNCTORS(HALFTONE_FORM)
#undef HALFTONE_FORM
};

const PointwiseKernels& host() { return cpu_kernels<PointwiseKernels>(); }
const PointwiseKernels& device() { return kernels_for<PointwiseKernels>(kCUDA); }

void run(const PointwiseKernels& kernels, Fn fn, const Tensor& out, const std::vector<Tensor>& in,
         const Params& params = {}) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& tensor : in) pointers.push_back(&tensor);
  kernels.run(fn, out, pointers, params);
}

std::vector<Tensor> on_device(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> all;
  for (const Tensor& t : tensors) all.push_back(halftone::testing::on_device(t));
  return all;
}

Tensor new_on_device(ScalarType dtype, const Dims& sizes) {
  return halftone::empty(sizes, TensorOptions(dtype).device(kCUDA));
}

/// The bits, or NaN of any kind.
bool same(const Tensor& a, std::int64_t i, const Tensor& b, std::int64_t j) {
  return same_bits(a, i, b, j) || (std::isnan(get(a, i)) && std::isnan(get(b, j)));
}

/// Largest values that intermediates of a formula of these operands can have, roughly.
double magnitude(const std::vector<Tensor>& in, std::int64_t i) {
  double product = 1;
  for (const Tensor& t : in) product *= 1 + std::fabs(get(t, i));
  return product;
}

}  // namespace

TEST_CASE("device: results of ordinary values are the double result rounded once", "[cuda]") {
  constexpr std::int64_t n = 517;
  for (const ScalarType dtype : kFloatTypes) {
    for (const Fn fn : floating_fns()) {
      INFO(fn_name(fn) << " " << dtype_name(dtype));
      REQUIRE(device().operands(fn) == host().operands(fn));
      const std::vector<Tensor> in = pointwise_inputs(dtype, host().operands(fn), n, false, 11, kHuge);
      std::vector<Tensor> wide;
      for (const Tensor& t : in) {
        wide.push_back(empty(kDouble, {n}));
        for (std::int64_t i = 0; i < n; ++i) put(wide.back(), i, get(t, i));
      }
      const Tensor exact = empty(kDouble, {n});
      run(host(), fn, exact, wide, kParams);
      const Tensor result = new_on_device(dtype, {n});
      run(device(), fn, result, on_device(in), kParams);
      const Tensor out = result.cpu();
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const double want = get(exact, i), got = get(out, i);
        if (std::isnan(want)) {
          wrong += !std::isnan(got);
          continue;
        }
        if (std::fabs(want) > max_value(dtype) * 0.99) continue;
        // One rounding, plus the error of a few operations in fp32 or fp64: relative, and absolute where
        // terms cancel.
        const double smallest = dtype == kHalf ? 0x1p-25 : dtype == kFloat ? 0x1p-150 : 0;
        const double computing = dtype == kDouble ? 0x1p-50 : 0x1p-21;
        const double rounding = unit_roundoff(dtype) * 1.001 * std::fabs(want) + smallest;
        wrong += !(std::fabs(got - want) <= rounding + computing * (std::fabs(want) + magnitude(in, i)));
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("device: NaN, infinities, zeros and subnormals as on the CPU", "[cuda]") {
  constexpr std::int64_t n = 611;
  for (const ScalarType dtype : kFloatTypes) {
    for (const Fn fn : floating_fns()) {
      const std::vector<Tensor> in = pointwise_inputs(dtype, host().operands(fn), n, true, 7, kHuge);
      const Tensor want = empty(dtype, {n});
      run(host(), fn, want, in, kParams);
      const Tensor result = new_on_device(dtype, {n});
      run(device(), fn, result, on_device(in), kParams);
      const Tensor got = result.cpu();
      for (std::int64_t i = 0; i < n; ++i) {
        const double w = get(want, i), g = get(got, i);
        const bool same_kind = std::isnan(w) ? std::isnan(g) : std::isinf(w) || std::isinf(g) ? w == g : true;
        // Each side rounds the result once, and a few operations before that in fp32 (or better).
        const double bound = 0x1p-20 * magnitude(in, i) + (2 * unit_roundoff(dtype) + 0x1p-22) * std::fabs(w);
        INFO(fn_name(fn) << " " << dtype_name(dtype) << " element " << i << " of " << get(in[0], i) << ", "
                         << get(in.back(), i) << ": " << g << " for " << w);
        REQUIRE((same_kind && (!std::isfinite(w) || !(std::fabs(g - w) > bound))));
        if (w == 0 && g == 0 && !std::signbit(get(in[0], i))) REQUIRE(std::signbit(w) == std::signbit(g));
      }
    }
  }
  const Tensor tiny = from(kFloat, {1e-40, -1e-45, 0x1p-126}), out = new_on_device(kFloat, {3});
  run(device(), Fn::kAdd, out, {halftone::testing::on_device(tiny), halftone::testing::on_device(tiny)},
      Params{{1}});
  const Tensor sums = out.cpu();
  for (std::int64_t i = 0; i < 3; ++i) CHECK(get(sums, i) == 2 * get(tiny, i));
}

TEST_CASE("device: an element's result depends on its value alone", "[cuda]") {
  constexpr std::int64_t n = 1203;
  for (const ScalarType dtype : kFloatTypes) {
    for (const Fn fn : floating_fns()) {
      INFO(fn_name(fn) << " " << dtype_name(dtype));
      const std::vector<Tensor> in =
          on_device(pointwise_inputs(dtype, host().operands(fn), n, true, 3, kHuge));
      const Tensor whole = new_on_device(dtype, {n});
      run(device(), fn, whole, in, kParams);
      const Tensor want = whole.cpu();
      // From an odd address on, and every third element into every second.
      std::vector<Tensor> shifted, spread;
      for (const Tensor& t : in) {
        shifted.push_back(window(t, {n - 1}, {1}, 1));
        spread.push_back(window(t, {400}, {3}, 1));
      }
      const Tensor one_off = new_on_device(dtype, {n - 1}), thirds = new_on_device(dtype, {801});
      run(device(), fn, one_off, shifted, kParams);
      run(device(), fn, window(thirds, {400}, {2}, 1), spread, kParams);
      const Tensor second = one_off.cpu(), third = thirds.cpu();
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i + 1 < n; ++i) wrong += !same(second, i, want, i + 1);
      for (std::int64_t i = 0; i < 400; ++i) wrong += !same(third, 1 + 2 * i, want, 1 + 3 * i);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("device: formulas of integers are the CPU's, bit for bit where they have an integer form",
          "[cuda]") {
  const std::int64_t extremes[] = {std::numeric_limits<std::int64_t>::min(),
                                   std::numeric_limits<std::int64_t>::max(),
                                   (std::int64_t{1} << 53) + 1,
                                   0,
                                   -1,
                                   1};
  std::mt19937_64 random(5);
  for (const ScalarType dtype : {kLong, kInt, kByte, kBool}) {
    for (int f = 0; f < kFnCount; ++f) {
      const Fn fn = static_cast<Fn>(f);
      const bool exact = kIntegerForms[f];
      std::vector<Tensor> in;
      for (int k = 0; k < host().operands(fn); ++k) {
        const Tensor t = empty(dtype, {301});
        for (std::int64_t i = 0; i < t.numel(); ++i) {
          const auto small = static_cast<std::int64_t>(random() % 41) - 20;
          put(t, i, exact && random() % 3 == 0 ? extremes[random() % 6] : small);
        }
        in.push_back(t);
      }
      INFO(fn_name(fn) << " " << dtype_name(dtype));
      const Tensor want = empty(dtype, {301}), got = new_on_device(dtype, {301});
      run(host(), fn, want, in, Params{{2, 7}});
      run(device(), fn, got, on_device(in), Params{{2, 7}});
      if (exact) {
        CHECK(same_memory(want, got));
        continue;
      }
      const Tensor result = got.cpu();  // of fp32, cut off to an integer
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < 301; ++i) {
        const double w = get(want, i);
        wrong += !(std::fabs(get(result, i) - w) <= 1 + 0x1p-20 * (std::fabs(w) + magnitude(in, i)));
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("device: pointwise kernels broadcast, permute, mix dtypes and take numbers from the host",
          "[cuda]") {
  const Params one{{1}};
  for (const ScalarType a_type : kAllTypes) {
    for (const ScalarType b_type : {kHalf, kFloat, kBool, kLong, kDouble}) {
      for (const ScalarType out_type : {kHalf, kFloat, kBool, kLong}) {
        for (const MemoryLayout layout : kLayouts) {
          const Dims sizes{3, 5, 16};
          const Tensor a = filled(a_type, sizes, layout, 1);
          const Tensor operands[] = {
              filled(b_type, {16}, MemoryLayout::kDense, 2), filled(b_type, {5, 1}, layout, 3),
              filled(b_type, {3, 1, 1}, MemoryLayout::kDense, 4), filled(b_type, {1}, layout, 5),
              filled(b_type, {3, 5, 16}, MemoryLayout::kReversed, 6)};
          for (const Tensor& b : operands) {
            INFO(dtype_name(a_type) << " " << dtype_name(b_type) << " to " << dtype_name(out_type) << " "
                                    << name_of(layout) << " " << b.dim());
            const Tensor out = filled(out_type, sizes, layout, 9), copy = halftone::testing::on_device(out);
            run(host(), Fn::kMaximum, out, {a, b}, one);
            run(device(), Fn::kMaximum, copy, on_device({a, b}), one);
            REQUIRE(same_memory(out, copy));
          }
        }
      }
    }
  }
  const Tensor a = filled(kHalf, {67}, MemoryLayout::kDense, 1), number = from(kDouble, {0.1});
  const Tensor scalar = window(number, {}, {}, 0);
  scalar.unsafe_impl()->is_wrapped_number = true;
  const Tensor out = empty(kHalf, {67}), copy = new_on_device(kHalf, {67});
  run(host(), Fn::kMul, out, {a, scalar});
  run(device(), Fn::kMul, copy, {halftone::testing::on_device(a), scalar});
  CHECK(same_memory(out, copy));

  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  const Tensor integer = empty(kLong, {});
  put(integer, 0, big);
  const Tensor zeros = halftone::zeros({5}, TensorOptions(kLong).device(kCUDA));
  run(device(), Fn::kAdd, zeros, {zeros, integer}, one);  // in place
  CHECK(zeros.cpu().data_ptr<std::int64_t>()[4] == big);
}

TEST_CASE("device: pointwise kernels of nothing, and their errors", "[cuda]") {
  const Params one{{1}};
  const Tensor none = new_on_device(kFloat, {0, 7}), row = new_on_device(kFloat, {7});
  run(device(), Fn::kAdd, none, {none, row}, one);
  const Tensor a = new_on_device(kFloat, {3, 5});
  REQUIRE_THROWS_WITH(run(device(), Fn::kAdd, a, {a, new_on_device(kFloat, {3})}, one),
                      Catch::Contains("cannot broadcast"));
  REQUIRE_THROWS_WITH(run(device(), Fn::kAdd, a, {a}, one), Catch::Contains("takes 2 tensors"));
  REQUIRE_THROWS_WITH(run(device(), Fn::kBitwiseAnd, a, {a, a}), Catch::Contains("integers"));
  REQUIRE_THROWS_WITH(run(device(), Fn::kExp, window(a, {4}, {0}, 0), {new_on_device(kFloat, {1})}),
                      Catch::Contains("expanded"));
  REQUIRE_THROWS_WITH(run(device(), Fn::kExp, a, {empty(kFloat, {3, 5})}),
                      Catch::Contains("expected tensors on"));
}
