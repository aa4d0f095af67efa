// Average of the weights: the recurrence, fp32 averages of half weights, skipped steps, swapping in and out,
// saving.

#include <cmath>
#include <cstring>
#include <limits>

#include <catch2/catch.hpp>

#include "halftone/autograd/autograd.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/optim/optim.h"
#include "halftone/tests/support/device.h"

using namespace halftone;
using Catch::Matchers::Contains;
using optim::EmaOptions;
using optim::ExponentialMovingAverage;

namespace {

Tensor weight(double value, ScalarType dtype = kFloat, std::int64_t n = 3) {
  return full({n}, value, dtype).requires_grad_();
}

void write(const Tensor& parameter, double value) {
  const NoGradGuard no_grad;
  parameter.fill_(value);
}

double first(const Tensor& t) { return t.detach().to(kDouble)[0].item<double>(); }

}  // namespace

TEST_CASE("the average follows the weights by 1 - decay", "[ema]") {
  const Tensor w = weight(1);
  ExponentialMovingAverage ema({w}, 0.75);
  CHECK(first(ema.averages()[0]) == 1);
  write(w, 5);
  ema.update();
  CHECK(first(ema.averages()[0]) == 2);
  ema.update();
  CHECK(first(ema.averages()[0]) == 2.75);
  CHECK(first(w) == 5);
  CHECK(ema.update_count() == 2);
  CHECK_FALSE(ema.averages()[0].requires_grad());
}

TEST_CASE("a weight that stays is its own average, exactly", "[ema]") {
  for (ScalarType dtype : {kFloat, kHalf, kBFloat16, kDouble}) {
    const Tensor w = weight(0.1, dtype);
    ExponentialMovingAverage ema({w}, 0.9999);
    for (int i = 0; i < 1000; ++i) ema.update();
    CHECK(first(ema.averages()[0]) == first(w));
  }
}

TEST_CASE("averages of half weights are fp32: small steps are not lost", "[ema]") {
  for (ScalarType dtype : {kHalf, kBFloat16}) {
    const Tensor w = weight(1, dtype);
    ExponentialMovingAverage ema({w}, 0.999);
    CHECK(ema.averages()[0].scalar_type() == kFloat);
    write(w, 1.5);
    for (int i = 0; i < 100; ++i) ema.update();
    // Each step is 5e-4 or less: below half a unit in the last place of either half type at 1.
    CHECK(first(ema.averages()[0]) == Approx(1.5 - 0.5 * std::pow(0.999, 100)).epsilon(1e-5));
  }
  CHECK(ExponentialMovingAverage({weight(1, kDouble)}, 0.9).averages()[0].scalar_type() == kDouble);
}

TEST_CASE("warm-up forgets the first weights quickly", "[ema]") {
  const Tensor w = weight(0);
  ExponentialMovingAverage ema({w}, EmaOptions(0.25).warmup(true));
  write(w, 1);
  double expected = 0;
  for (int n = 1; n <= 5; ++n) {
    const double decay = std::min(0.25, (1.0 + n) / (10.0 + n));
    expected = decay * expected + (1 - decay);
    ema.update();
    CHECK(first(ema.averages()[0]) == Approx(expected).epsilon(1e-6));
  }
}

TEST_CASE("a skipped step does not move the average", "[ema]") {
  const Tensor w = weight(1);
  optim::SGD optimizer({w}, optim::SGDOptions(1));
  optimizer.use_loss_scaling();
  ExponentialMovingAverage ema({w}, 0.5);
  w.mutable_grad() = full({3}, std::numeric_limits<double>::infinity(), kFloat);
  ema.update(optimizer.step());
  CHECK(ema.update_count() == 0);
  w.mutable_grad() = full({3}, 65536.0 / 2, kFloat);
  const double scale = optimizer.loss_scale();
  ema.update(optimizer.step());
  CHECK(ema.update_count() == 1);
  CHECK(first(w) == 1 - 32768.0 / scale);
  CHECK(first(ema.averages()[0]) == 1 - 16384.0 / scale);
}

TEST_CASE("applied averages give way to the weights, bit for bit", "[ema]") {
  manual_seed(3);
  const Tensor w = randn({257}).requires_grad_(), h = randn({257}).to(kHalf).requires_grad_();
  ExponentialMovingAverage ema({w, h}, 0.9);
  {
    const NoGradGuard no_grad;
    w.mul_(3);
    h.mul_(3);
  }
  ema.update();
  const Tensor w_before = w.detach().clone(), h_before = h.detach().clone();
  {
    auto applied = ema.apply();
    CHECK(equal(w.detach(), ema.averages()[0]));
    CHECK(equal(h.detach(), ema.averages()[1].to(kHalf)));
    CHECK(w.requires_grad());
    CHECK_THROWS_WITH(ema.update(), Contains("restore"));
    CHECK_THROWS_WITH(ema.apply(), Contains("already"));
  }
  CHECK(equal(w.detach(), w_before));
  CHECK(equal(h.detach(), h_before));
  auto applied = ema.apply();
  applied.restore();
  CHECK(equal(w.detach(), w_before));
  applied.restore();  // once is enough
  ema.update();
  try {
    auto unwinding = ema.apply();
    fail("test", "thrown inside");
  } catch (const Error&) {
    CHECK(equal(w.detach(), w_before));
  }
}

TEST_CASE("evaluating with the averages leaves an optimizer's masters alone", "[ema]") {
  const Tensor w = weight(1, kBFloat16), twin = weight(1, kBFloat16);
  optim::SGD optimizer({w}, optim::SGDOptions(1)), plain({twin}, optim::SGDOptions(1));
  ExponentialMovingAverage ema({w}, 0.5);
  for (int i = 0; i < 20; ++i) {
    w.mutable_grad() = full({3}, 6e-4, kFloat);
    twin.mutable_grad() = full({3}, 6e-4, kFloat);
    ema.update(optimizer.step());
    plain.step();
    auto applied = ema.apply();
  }
  CHECK(first(w) == first(twin));
  CHECK(first(w) < 1);
}

TEST_CASE("averages are saved and loaded, all or nothing", "[ema]") {
  const Tensor w = weight(1), v = weight(2, kHalf);
  ExponentialMovingAverage ema({w, v}, 0.5);
  write(w, 3);
  write(v, 4);
  ema.update();
  const StateDict saved = ema.state_dict();

  ExponentialMovingAverage resumed({weight(0), weight(0, kHalf)}, EmaOptions(0.9).warmup(true));
  resumed.load_state_dict(saved);
  CHECK(first(resumed.averages()[0]) == 2);
  CHECK(first(resumed.averages()[1]) == 3);
  CHECK(resumed.decay() == 0.5);
  CHECK(resumed.update_count() == 1);
  ema.update();  // what was saved does not follow
  CHECK(first(saved.tensor("averages.0")) == 2);

  ExponentialMovingAverage shorter({weight(7)}, 0.9), other_shape({weight(7), weight(7, kHalf, 4)}, 0.9);
  CHECK_THROWS_WITH(shorter.load_state_dict(saved), Contains("expected 1 averages"));
  CHECK_THROWS_WITH(other_shape.load_state_dict(saved), Contains("averages.1") && Contains("[4]"));
  CHECK(first(other_shape.averages()[0]) == 7);
  StateDict broken = saved;
  broken.set("decay", 2.0);
  CHECK_THROWS_WITH(resumed.load_state_dict(broken), Contains("decay"));
  CHECK_THROWS_AS(resumed.load_state_dict(StateDict()), Error);
  CHECK(resumed.decay() == 0.5);
}

TEST_CASE("bad arguments of the average are named", "[ema]") {
  CHECK_THROWS_WITH(ExponentialMovingAverage({weight(1)}, 1.0), Contains("decay"));
  CHECK_THROWS_WITH(ExponentialMovingAverage({weight(1)}, std::nan("")), Contains("decay"));
  CHECK_THROWS_WITH(ExponentialMovingAverage({weight(1), ones({2}, kLong)}, 0.5), Contains("number 1"));
  CHECK_THROWS_WITH(ExponentialMovingAverage({Tensor()}, 0.5), Contains("number 0"));
}

TEST_CASE("averages count as optimizer memory", "[ema]") {
  const Tensor w = weight(1, kHalf, 1 << 16);
  const std::size_t before = memory_stats(test::device_type()).allocated_of(MemoryCategory::kOptimizer);
  const ExponentialMovingAverage ema({w}, 0.5);
  CHECK(memory_stats(test::device_type()).allocated_of(MemoryCategory::kOptimizer) - before ==
        (1 << 16) * sizeof(float));
}
