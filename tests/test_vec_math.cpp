#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "halftone/kernels/pointwise.h"
#include "halftone/tests/support/kernel_tensors.h"

using namespace halftone;
using namespace halftone::testing;

namespace {

/// |got - want| in units of the last place of the float nearest to `want`; huge when one is special and the
/// other is not, or when a zero has the wrong sign.
double ulp_error(float got, double want) {
  constexpr double kWrong = 1e9;
  const float rounded = static_cast<float>(want);
  if (std::isnan(rounded)) return std::isnan(got) ? 0 : kWrong;
  if (std::isnan(got)) return kWrong;
  if (std::isinf(rounded) && std::isinf(got)) return (got > 0) == (want > 0) ? 0 : kWrong;
  if (std::isinf(got) && std::fabs(want) < 3.402823e38) return kWrong;
  if (std::isinf(rounded)) return std::fabs(got) > 3.402822e38f ? 1 : kWrong;
  if (want == 0 && (got != 0 || std::signbit(got) != std::signbit(want))) return kWrong;
  int exponent = 0;
  std::frexp(want, &exponent);
  return std::fabs(got - want) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

const std::vector<float>& special_values() {
  static const std::vector<float> values = [] {
    const float inf = std::numeric_limits<float>::infinity();
    std::vector<float> all = {0.0f,      1.0f,          2.0f,    3.0f,       0.5f,           1.5f,   2.5f,
                              10.0f,     100.0f,        1e-45f,  1e-38f,     1.1754944e-38f, 20.f,   88.7f,
                              88.72284f, 89.0f,         103.97f, 104.0f,     128.0f,         149.0f, 1e10f,
                              1e38f,     3.4028235e38f, inf,     8388607.5f, 16777217.0f};
    const std::size_t n = all.size();
    for (std::size_t i = 0; i < n; ++i) all.push_back(-all[i]);
    all.push_back(std::numeric_limits<float>::quiet_NaN());
    return all;
  }();
  return values;
}

struct Bound {
  Fn fn;
  double with_fma, without;  // as declared in kernels/math/elementary*.h
  double (*reference)(double);
};

const Bound kBounds[] = {
    {Fn::kExp, 1, 1, [](double x) { return std::exp(x); }},
    {Fn::kExp2, 1, 1, [](double x) { return std::exp2(x); }},
    {Fn::kExpm1, 2, 2, [](double x) { return std::expm1(x); }},
    {Fn::kLog, 1, 1, [](double x) { return std::log(x); }},
    {Fn::kLog1p, 1.6, 1.6, [](double x) { return std::log1p(x); }},
    {Fn::kLog2, 2, 2, [](double x) { return std::log2(x); }},
    {Fn::kLog10, 2, 2, [](double x) { return std::log10(x); }},
    {Fn::kTanh, 2, 2, [](double x) { return std::tanh(x); }},
    {Fn::kSigmoid, 2.3, 2.3,
     [](double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }},
    {Fn::kSinh, 1.7, 1.7, [](double x) { return std::sinh(x); }},
    {Fn::kCosh, 1.7, 1.7, [](double x) { return std::cosh(x); }},
    {Fn::kErf, 1.1, 1.3, [](double x) { return std::erf(x); }},
    {Fn::kErfc, 3, 3.3, [](double x) { return std::erfc(x); }},
    {Fn::kSin, 1.5, 1.5, [](double x) { return std::sin(x); }},
    {Fn::kCos, 1.5, 1.5, [](double x) { return std::cos(x); }},
    {Fn::kTan, 3, 3.3, [](double x) { return std::tan(x); }},
    {Fn::kAsin, 2.4, 2.4, [](double x) { return std::asin(x); }},
    {Fn::kAcos, 2.4, 2.4, [](double x) { return std::acos(x); }},
    {Fn::kAtan, 1.7, 1.7, [](double x) { return std::atan(x); }},
    {Fn::kSqrt, 0.5, 0.5, [](double x) { return std::sqrt(x); }},
    {Fn::kRsqrt, 1.5, 1.5, [](double x) { return 1 / std::sqrt(x); }},
    {Fn::kReciprocal, 0.5, 0.5, [](double x) { return 1 / x; }},
    {Fn::kFloor, 0, 0, [](double x) { return std::floor(x); }},
    {Fn::kCeil, 0, 0, [](double x) { return std::ceil(x); }},
    {Fn::kTrunc, 0, 0, [](double x) { return std::trunc(x); }},
    {Fn::kRound, 0, 0, [](double x) { return std::nearbyint(x); }},
};

void run(Fn fn, const Tensor& out, const std::vector<Tensor>& in, const Params& params = {}) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& tensor : in) pointers.push_back(&tensor);
  cpu_kernels<PointwiseKernels>().run(fn, out, pointers, params);
}

}  // namespace

TEST_CASE("elementary functions stay within their declared error, on floats evenly spread in bit space",
          "[vec_math]") {
  std::vector<float> x = special_values();
  for (std::uint64_t u = 0; u < 0x100000000u; u += 12289) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(u)));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {  // where the functions bend
    x.push_back(static_cast<float>(static_cast<double>(random()) / 0x80000000u - 1) *
                (i % 2 == 0 ? 2.0f : 20.0f));
  }
  const std::int64_t n = static_cast<std::int64_t>(x.size());
  const Tensor in = empty(kFloat, {n}), out = empty(kFloat, {n});
  std::copy(x.begin(), x.end(), in.data_ptr<float>());
  for (const Bound& bound : kBounds) {
    std::vector<double> want(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) want[i] = bound.reference(x[i]);
    for (const cpu::Isa isa : isa_levels()) {
      const IsaGuard guard(isa);
      run(bound.fn, out, {in});
      double worst = 0;
      float where = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double error = ulp_error(out.data_ptr<float>()[i], want[i]);
        if (error > worst) {
          worst = error;
          where = x[i];
        }
      }
      INFO(fn_name(bound.fn) << " on " << cpu::isa_name(isa) << " at " << where);
      CHECK(worst <= (isa == cpu::Isa::kBaseline ? bound.without : bound.with_fma));
    }
  }
}

TEST_CASE("pow and atan2: error bounds, and the C library's special cases", "[vec_math]") {
  std::vector<float> a, b;
  for (const float x : special_values()) {
    for (const float y : special_values()) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  std::mt19937 random(2);
  for (int i = 0; i < 300000; ++i) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    const float y = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    a.push_back(i % 2 == 0 ? x
                           : std::ldexp(1 + static_cast<float>(random() >> 9) * 0x1p-23f,
                                        static_cast<int>(random() % 40) - 20));
    b.push_back(i % 3 == 0 ? y : i % 3 == 1 ? std::fmod(y, 40.0f) : std::trunc(std::fmod(y, 20.0f)));
  }
  const std::int64_t n = static_cast<std::int64_t>(a.size());
  const Tensor left = empty(kFloat, {n}), right = empty(kFloat, {n}), out = empty(kFloat, {n});
  std::copy(a.begin(), a.end(), left.data_ptr<float>());
  std::copy(b.begin(), b.end(), right.data_ptr<float>());
  for (const cpu::Isa isa : isa_levels()) {
    const IsaGuard guard(isa);
    for (const Fn fn : {Fn::kPow, Fn::kAtan2}) {
      run(fn, out, {left, right});
      double worst = 0;
      std::size_t where = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const double want = fn == Fn::kPow ? std::pow(static_cast<double>(a[i]), static_cast<double>(b[i]))
                                           : std::atan2(static_cast<double>(a[i]), static_cast<double>(b[i]));
        const double error = ulp_error(out.data_ptr<float>()[i], want);
        if (error > worst) {
          worst = error;
          where = i;
        }
      }
      INFO(fn_name(fn) << " on " << cpu::isa_name(isa) << " at " << a[where] << ", " << b[where]);
      CHECK(worst <= (fn == Fn::kPow ? 1 : 2));
    }
  }
}

TEST_CASE("GELU and its gradient far out, and infinities", "[vec_math]") {
  const float inf = std::numeric_limits<float>::infinity();
  for (const cpu::Isa isa : isa_levels()) {
    const IsaGuard guard(isa);
    const Tensor x = from(kFloat, {300, -300, inf, -inf, 0, std::nan("")}), one = from(kFloat, {1}),
                 out = empty(kFloat, {6});
    for (const Fn fn : {Fn::kGeluBackward, Fn::kGeluTanhBackward, Fn::kSiluBackward, Fn::kMishBackward}) {
      INFO(fn_name(fn));
      run(fn, out, {one, x});
      CHECK(get(out, 0) == 1);
      CHECK(get(out, 1) == 0);
      CHECK(get(out, 2) == 1);
      CHECK(get(out, 3) == 0);
      CHECK(std::isnan(get(out, 5)));
    }
    for (const Fn fn : {Fn::kGelu, Fn::kGeluTanh, Fn::kSilu, Fn::kMish}) {
      INFO(fn_name(fn));
      run(fn, out, {x});
      CHECK(get(out, 0) == 300);
      CHECK(get(out, 1) == 0);
      CHECK(get(out, 2) == inf);
      CHECK(get(out, 3) == 0);
      CHECK(get(out, 4) == 0);
      CHECK(std::isnan(get(out, 5)));
    }
  }
}
