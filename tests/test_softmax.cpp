// softmax and log_softmax: closed forms, extreme rows, any dimension, half inputs without fp32 copies.

#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "halftone/amp/autocast.h"
#include "halftone/autograd/autograd.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/isa.h"
#include "halftone/tests/support/kernel_tensors.h"
#include "halftone/tests/support/samples.h"

using namespace halftone;
using namespace halftone::test;
using Catch::Matchers::Contains;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor vector(const std::vector<double>& values, ScalarType dtype = kFloat) { return tensor(values, dtype); }

}  // namespace

TEST_CASE("log_softmax of [0, 20] is -20 in every dtype", "[softmax]") {
  for (ScalarType dtype : {kFloat, kHalf, kBFloat16}) {
    CHECK(value_at(log_softmax(vector({0, 20}, dtype), 0), 0) == -20.0);
  }
  const Tensor exact = log_softmax(vector({0, 20}, kDouble), 0);
  CHECK(value_at(exact, 0) == Approx(-20.0000000020612).epsilon(1e-14));
  // The confident class's own logarithm is not lost: -log(1 + e^-20).
  CHECK(value_at(log_softmax(vector({0, 20}), 0), 1) == Approx(-2.0611536e-9).epsilon(1e-6));
}

TEST_CASE("softmax in closed form", "[softmax]") {
  const Tensor y = softmax(vector({0, std::log(2.0), std::log(5.0)}), 0);
  CHECK(value_at(y, 0) == Approx(0.125).epsilon(1e-6));
  CHECK(value_at(y, 1) == Approx(0.25).epsilon(1e-6));
  CHECK(value_at(y, 2) == Approx(0.625).epsilon(1e-6));
  CHECK(softmax(ones({}), 0).item<float>() == 1);
  // A shift changes nothing, however large.
  CHECK(same_bits(softmax(vector({1e30, 1e30}), 0), vector({0.5, 0.5})));
  CHECK(same_bits(softmax(vector({60000, 60000}, kHalf), 0), vector({0.5, 0.5}, kHalf)));
}

TEST_CASE("rows without a finite maximum give NaN, masked elements give 0", "[softmax]") {
  const Tensor masked = softmax(vector({-kInf, 0, 0}), 0);
  CHECK(value_at(masked, 0) == 0);
  CHECK(value_at(masked, 1) == 0.5);
  for (const std::vector<double>& row : {std::vector<double>{-kInf, -kInf}, {kInf, 0}, {std::nan(""), 0}}) {
    for (std::int64_t i = 0; i < 2; ++i) {
      CHECK(std::isnan(value_at(softmax(vector(row), 0), i)));
      CHECK(std::isnan(value_at(log_softmax(vector(row), 0), i)));
    }
  }
}

TEST_CASE("any dimension and any strides give the same bits", "[softmax]") {
  manual_seed(4);
  for (ScalarType dtype : {kFloat, kHalf, kBFloat16, kDouble}) {
    const Tensor x = randn({3, 37, 5}, kDouble).to(dtype);
    const Tensor moved = x.permute({0, 2, 1}).contiguous();
    CHECK(same_bits(softmax(x, 1).permute({0, 2, 1}), softmax(moved, -1)));
    CHECK(same_bits(log_softmax(x, 1).permute({0, 2, 1}), log_softmax(moved, -1)));
    // A row's place and its neighbours do not matter.
    CHECK(same_bits(softmax(moved[1][2], 0), softmax(moved, -1)[1][2]));
  }
}

TEST_CASE("softmax against float64 on every ISA, for rows of every length", "[softmax]") {
  manual_seed(5);
  for (const cpu::Isa isa : testing::isa_levels()) {
    const testing::IsaGuard guard(isa);
    for (std::int64_t n : {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 1000, 1025, 5000}) {
      INFO(cpu::isa_name(isa) << ", " << n << " elements");
      const Tensor x = randn({n}) * 4;
      double total = 0, largest = -kInf;
      for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, value_at(x, i));
      for (std::int64_t i = 0; i < n; ++i) total += std::exp(value_at(x, i) - largest);
      const Tensor y = softmax(x, 0), logs = log_softmax(x, 0);
      double worst = 0, worst_log = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const double shifted = value_at(x, i) - largest, p = std::exp(shifted) / total;
        worst = std::max(worst, std::abs(value_at(y, i) - p) / p);
        const double log_p = shifted - std::log(total);
        worst_log = std::max(worst_log, std::abs(value_at(logs, i) - log_p) / std::max(std::abs(log_p), 1.0));
      }
      CHECK(worst < 3e-6);  // x - max is rounded: up to 16 * 2^-24 in the exponent
      CHECK(worst_log < 5e-7);
    }
  }
}

TEST_CASE("the dtype argument names the result's dtype", "[softmax]") {
  CHECK(softmax(ones({2}, kHalf), 0, kFloat).scalar_type() == kFloat);
  CHECK(softmax(ones({2}, kLong), 0, kDouble).scalar_type() == kDouble);
  CHECK_THROWS_WITH(softmax(ones({2}, kLong), 0), Contains("floating"));
  CHECK_THROWS_WITH(softmax(ones({2}), 1), Contains("softmax"));
  const amp::Autocast autocast(device_type(), kBFloat16);
  CHECK(softmax(ones({2}, kBFloat16), 0).scalar_type() == kFloat);
  CHECK(softmax(ones({2}), 0, kBFloat16).scalar_type() == kBFloat16);
  const amp::PolicyOverride keep("softmax", amp::Precision::kLow);
  CHECK(softmax(ones({2}), 0).scalar_type() == kBFloat16);
}

TEST_CASE("half softmax under autocast keeps its result and no fp32 copy of its input", "[softmax]") {
  Tensor x = zeros({4, 8}, kBFloat16);
  x.requires_grad_();
  Tensor y;
  {
    const amp::Autocast autocast(device_type(), kBFloat16);
    y = log_softmax(x, 1);
  }
  const auto kept = autograd::saved_tensors(y);
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].dtype == kFloat);  // the result itself
  y.sum().backward();
  CHECK(x.grad().scalar_type() == kBFloat16);
}

TEST_CASE("gradients in closed form", "[softmax]") {
  // d softmax_0 / dx = (p0 p1, -p0 p1) for two classes.
  Tensor x = vector({0, std::log(3.0)}, kDouble);
  x.requires_grad_();
  softmax(x, 0)[0].backward();
  CHECK(value_at(x.grad(), 0) == Approx(0.1875).epsilon(1e-12));
  CHECK(value_at(x.grad(), 1) == Approx(-0.1875).epsilon(1e-12));
  x.mutable_grad() = Tensor();
  log_softmax(x, 0)[0].backward();
  CHECK(value_at(x.grad(), 0) == Approx(0.75).epsilon(1e-12));
  CHECK(value_at(x.grad(), 1) == Approx(-0.75).epsilon(1e-12));
}

TEST_CASE("softmax does not depend on the number of threads", "[softmax]") {
  manual_seed(6);
  const int threads = get_num_threads();
  const Tensor x = randn({300, 257});
  set_num_threads(1);
  const Tensor one = softmax(x, 1);
  for (int count : {2, 3}) {
    set_num_threads(count);
    CHECK(same_bits(softmax(x, 1), one));
  }
  set_num_threads(threads);
}
