// Small inputs from real users' trouble with loss scaling and its protocol, each with the right value.

#include <cmath>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <thread>

#include <catch2/catch.hpp>

#include "halftone/halftone.h"

namespace torch = halftone;
using Catch::Matchers::Contains;
using torch::kBFloat16;
using torch::kFloat;
using torch::kHalf;
using torch::Tensor;
using torch::amp::GradScaler;
using torch::amp::GradScalerOptions;
using torch::optim::StepReport;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Writes a (scaled) gradient by hand.
void inject(const Tensor& weight, double gradient) {
  weight.mutable_grad() = torch::full(weight.sizes(), gradient, weight.options());
}

/// One weight, one optimizer, one scaler.
struct Rig {
  explicit Rig(const GradScalerOptions& options = {}) : scaler(options) {}

  StepReport clean() { return iterate(0); }
  StepReport overflow() { return iterate(kInf); }
  StepReport iterate(double gradient) {
    inject(weight, gradient);
    const StepReport report = scaler.step(optimizer);
    scaler.update();
    return report;
  }
  double scale() const { return scaler.get_scale(); }

  Tensor weight = torch::ones({1}).requires_grad_();
  torch::optim::SGD optimizer{{weight}, 0.1};
  GradScaler scaler;
};

double lr_of(torch::optim::Optimizer& optimizer) { return optimizer.param_groups()[0].options().get_lr(); }

}  // namespace

TEST_CASE("case: the scale is never infinite") {
  Rig huge(GradScalerOptions().init_scale(1e38).growth_factor(16).growth_interval(1));
  huge.clean();
  CHECK(huge.scale() == static_cast<double>(1e38f));
  CHECK(huge.scaler.get_growth_tracker() == 0);

  Rig rig(GradScalerOptions().growth_interval(1));
  for (int i = 0; i < 111; ++i) rig.clean();
  CHECK(rig.scale() == std::ldexp(1, 127));
  for (int i = 111; i < 300; ++i) rig.clean();
  CHECK(rig.scale() == std::ldexp(1, 127));
}

TEST_CASE("case: a gradient of 100000 in fp16 takes exactly 17 skips, then steps at 0.5") {
  Rig rig(GradScalerOptions().min_scale(std::ldexp(1, -10)));
  int skips = 0;
  for (;;) {
    rig.optimizer.zero_grad();
    Tensor y = rig.weight.to(kHalf) * 10 * 100 * 100;
    rig.scaler.scale(y.to(kFloat).sum()).backward();
    const StepReport report = rig.scaler.step(rig.optimizer);
    rig.scaler.update();
    if (report.applied()) break;
    REQUIRE(++skips < 50);
  }
  CHECK(skips == 17);
  CHECK(rig.scale() == 0.5);
}

TEST_CASE("case: at a floor of 1 the report says stalled, and kThrow throws at the 17th overflow") {
  Rig rig(GradScalerOptions().min_scale(1).stalled_after(5));
  for (int i = 0; i < 16; ++i) CHECK_FALSE(rig.overflow().stalled());
  for (int i = 0; i < 4; ++i) CHECK_FALSE(rig.overflow().stalled());
  const StepReport report = rig.overflow();
  CHECK(report.stalled());
  CHECK(report.skipped_nonfinite());

  Rig throwing(GradScalerOptions().min_scale(1).at_floor(torch::amp::kThrow));
  for (int i = 0; i < 16; ++i) throwing.overflow();
  CHECK(throwing.scale() == 1);
  CHECK_THROWS_WITH(throwing.overflow(), Contains("min_scale"));

  std::vector<double> told;
  Rig calling(GradScalerOptions()
                  .init_scale(2)
                  .min_scale(1)
                  .at_floor(torch::amp::kCallback)
                  .on_floor([&](double scale) { told.push_back(scale); }));
  for (int i = 0; i < 3; ++i) calling.overflow();
  CHECK(told == std::vector<double>{1, 1});
}

TEST_CASE("case: growth exactly at the n-th clean step since the last overflow or growth") {
  Rig rig(GradScalerOptions().init_scale(4).growth_factor(2).backoff_factor(0.25).growth_interval(2));
  const auto is = [&](double scale, int64_t tracker) {
    return rig.scale() == scale && rig.scaler.get_growth_tracker() == tracker;
  };
  rig.clean();
  CHECK(is(4, 1));
  rig.clean();
  CHECK(is(8, 0));
  rig.overflow();
  CHECK(is(2, 0));

  Rig usual;
  for (int i = 0; i < 1999; ++i) usual.clean();
  CHECK(usual.scale() == 65536);
  usual.clean();
  CHECK(usual.scale() == 131072);

  Rig changed;
  for (int i = 0; i < 5; ++i) changed.clean();
  CHECK(changed.scaler.get_growth_tracker() == 5);
  changed.scaler.set_growth_interval(3);
  changed.clean();
  CHECK(changed.scale() == 131072);
}

TEST_CASE("case: scale() returns fp32 for halves and fp32, fp64 for fp64, in any shape") {
  GradScaler scaler;
  const Tensor scaled = scaler.scale(torch::tensor({1.f, 2.f}, kHalf));
  CHECK(scaled.scalar_type() == kFloat);
  CHECK(scaled.equal(torch::tensor({65536.f, 131072.f})));
  CHECK(scaler.scale(torch::ones({2, 2}, kBFloat16)).scalar_type() == kFloat);
  CHECK(scaler.scale(torch::ones({}, torch::kDouble)).scalar_type() == torch::kDouble);
  CHECK_THROWS_AS(scaler.scale(torch::tensor({1})), torch::Error);
}

TEST_CASE("case: settings are validated by name") {
  for (double value : {0.0, -1.0, kNan, kInf})
    CHECK_THROWS_WITH(GradScaler(GradScalerOptions().init_scale(value)), Contains("init_scale"));
  for (double value : {1.0, 0.5, kNan})
    CHECK_THROWS_WITH(GradScaler(GradScalerOptions().growth_factor(value)), Contains("growth_factor"));
  for (double value : {0.0, 1.0, -1.0, kNan})
    CHECK_THROWS_WITH(GradScaler(GradScalerOptions().backoff_factor(value)), Contains("backoff_factor"));
  for (int64_t value : {0, -1})
    CHECK_THROWS_WITH(GradScaler(GradScalerOptions().growth_interval(value)), Contains("growth_interval"));
  CHECK_THROWS_WITH(GradScaler(GradScalerOptions().hysteresis(0)), Contains("hysteresis"));
  CHECK_THROWS_WITH(GradScaler(GradScalerOptions().init_scale(2).max_scale(1)), Contains("max_scale"));
  GradScaler scaler;
  CHECK_THROWS_WITH(scaler.set_growth_factor(1), Contains("growth_factor"));
}

TEST_CASE("case: hysteresis 2 absorbs one overflow, and every overflow still skips") {
  const auto run = [](const std::string& pattern, bool refill) {
    Rig rig(GradScalerOptions().hysteresis(2).refill_hysteresis(refill));
    std::vector<double> scales;
    for (char step : pattern) {
      CHECK((step == 'O' ? rig.overflow() : rig.clean()).skipped_nonfinite() == (step == 'O'));
      scales.push_back(rig.scale());
    }
    return scales;
  };
  CHECK(run("OOOO", false) == std::vector<double>{65536, 32768, 16384, 8192});
  CHECK(run("O.O.OO", false) == std::vector<double>{65536, 65536, 32768, 32768, 16384, 8192});
  CHECK(run("O.O.OO", true) == std::vector<double>{65536, 65536, 65536, 65536, 65536, 32768});
}

TEST_CASE("case: every gradient is None, in one optimizer or in one of two") {
  Tensor a = torch::ones({1}).requires_grad_(), b = torch::ones({1}).requires_grad_();
  GradScaler scaler;
  torch::optim::SGD both({a, b}, 0.1);
  const StepReport none = scaler.step(both);
  CHECK(none.no_gradients());
  CHECK(none.parameter_count() == 2);
  scaler.update();
  CHECK(scaler.get_scale() == 65536);
  CHECK(scaler.get_growth_tracker() == 0);

  Tensor c = torch::ones({1}).requires_grad_(), d = torch::ones({1}).requires_grad_();
  torch::optim::SGD with({c}, 0.1), without({d}, 0.1);
  scaler.scale(c.sum()).backward();
  CHECK(scaler.step(with).applied());
  CHECK(scaler.step(without).no_gradients());
  scaler.update();
  CHECK(scaler.get_growth_tracker() == 1);
}

TEST_CASE("case: unscale_ twice throws and divided once") {
  Rig rig(GradScalerOptions().init_scale(1024));
  inject(rig.weight, 2048);
  rig.scaler.unscale_(rig.optimizer);
  CHECK_THROWS_WITH(rig.scaler.unscale_(rig.optimizer), Contains("unscale_"));
  CHECK(rig.weight.grad().item<float>() == 2);
  rig.scaler.step(rig.optimizer);
  CHECK_THROWS_WITH(rig.scaler.step(rig.optimizer), Contains("update"));
  CHECK_THROWS_WITH(rig.scaler.unscale_(rig.optimizer), Contains("update"));
  rig.scaler.update();
  CHECK_THROWS_AS(rig.scaler.update(), torch::Error);
}

TEST_CASE("case: SAM with two backward passes per step equals fp32") {
  const auto train = [](bool scaled) {
    Tensor w = torch::tensor({1.f, 2.f}).requires_grad_();
    torch::optim::SGD optimizer({w}, 0.1);
    GradScaler scaler(GradScalerOptions().init_scale(1024).enabled(scaled));
    const auto backward = [&] { scaler.scale((w * w * w).sum()).backward(); };
    for (int i = 0; i < 3; ++i) {
      optimizer.zero_grad();
      backward();
      scaler.unscale_(optimizer);
      Tensor shift;
      {
        torch::NoGradGuard no_grad;
        shift = w.grad() * (0.05 / w.grad().norm().item<double>());
        w.add_(shift);
      }
      scaler.rearm(optimizer);
      optimizer.zero_grad();
      backward();
      scaler.unscale_(optimizer);
      {
        torch::NoGradGuard no_grad;
        w.sub_(shift);
      }
      scaler.step(optimizer);
      scaler.update();
    }
    return w.detach();
  };
  CHECK(torch::allclose(train(true), train(false), 1e-6, 1e-6));
}

TEST_CASE("case: a learning-rate schedule bound to applied steps") {
  Rig rig;
  rig.optimizer.param_groups()[0].options().set_lr(1);
  torch::optim::StepLR schedule(rig.optimizer, 1, 0.5);
  for (bool overflows : {true, true, false, false, false})
    schedule.step(overflows ? rig.overflow() : rig.clean());
  CHECK(lr_of(rig.optimizer) == 0.125);
  CHECK(rig.optimizer.applied_steps() == 3);
  CHECK(rig.optimizer.attempted_steps() == 5);
}

TEST_CASE("case: a gradient poisoned between unscale_ and step") {
  for (bool strict : {true, false}) {
    Rig rig(GradScalerOptions().strict(strict));
    rig.scaler.scale(rig.weight.sum()).backward();
    rig.scaler.unscale_(rig.optimizer);
    {
      torch::NoGradGuard no_grad;
      rig.weight.mutable_grad().fill_(kInf);
    }
    const StepReport report = rig.scaler.step(rig.optimizer);
    CHECK(report.skipped_nonfinite() == strict);
    CHECK(report.rechecked() == strict);
  }
}

TEST_CASE("case: update() once per optimizer instead of once per iteration") {
  Tensor a = torch::ones({1}).requires_grad_(), b = torch::ones({1}).requires_grad_();
  torch::optim::SGD first({a}, 0.1), second({b}, 0.1);
  GradScaler scaler(GradScalerOptions().init_scale(4).growth_interval(1));
  scaler.scale((a * 3 + b * 5).sum()).backward();
  scaler.step(first);
  scaler.update();
  scaler.step(second);
  scaler.update();
  CHECK(scaler.get_scale() == 8);
  CHECK(a.item<float>() == Approx(0.7));
  CHECK(b.item<float>() == Approx(0.5));
}

TEST_CASE("case: the last element of the last of many gradients is looked at, strided or not") {
  for (double poison : {kInf, kNan}) {
    for (bool strided : {false, true}) {
      std::vector<Tensor> weights;
      for (int i = 0; i < 10; ++i) weights.push_back(torch::zeros({10, 100}).requires_grad_());
      torch::optim::SGD optimizer(weights, 0.1);
      GradScaler scaler;
      for (Tensor& weight : weights) inject(weight, 1);
      Tensor last = torch::ones({100, 10});
      last.index_put_({99, 9}, poison);
      weights[9].mutable_grad() = strided ? last.t() : last.t().contiguous();
      const StepReport report = scaler.step(optimizer);
      CHECK(report.skipped_nonfinite());
      CHECK(report.overflowed_parameters() == std::vector<int64_t>{9});
    }
  }
}

TEST_CASE("case: NaN gradients that nobody clears") {
  const auto iterate = [](Rig& rig, double factor) {
    rig.scaler.scale((rig.weight * factor).sum()).backward();
    const StepReport report = rig.scaler.step(rig.optimizer);
    rig.scaler.update();
    return report;
  };
  Rig clearing(GradScalerOptions().clear_on_skip(true));
  CHECK(iterate(clearing, kInf).skipped_nonfinite());
  CHECK(iterate(clearing, 1).applied());

  Rig keeping;
  CHECK_FALSE(iterate(keeping, kInf).persistent_nonfinite());
  CHECK_FALSE(iterate(keeping, 1).persistent_nonfinite());
  CHECK(iterate(keeping, 1).persistent_nonfinite());
}

TEST_CASE("case: a NaN loss is told apart from an overflow of the scale") {
  Rig rig;
  StepReport report;
  for (int i = 0; i < 20; ++i) {
    rig.optimizer.zero_grad();
    rig.scaler.scale((rig.weight * kNan).sum()).backward();
    report = rig.scaler.step(rig.optimizer);
    rig.scaler.update();
    CHECK(report.skipped_nonfinite());
    if (i == 0) CHECK(rig.scale() == 32768);
  }
  CHECK(report.loss_was_nonfinite());
  CHECK(rig.weight.item<float>() == 1);
  CHECK_FALSE(Rig().overflow().loss_was_nonfinite());
}

TEST_CASE("case: fp16 parameters need master weights, and the message says which and how") {
  Tensor lone = torch::ones({1}, kHalf).requires_grad_();
  std::vector<std::pair<std::string, Tensor>> named{{"fc.weight", lone}};
  torch::optim::SGD without(named, torch::optim::SGDOptions(0.1).master_weights(false));
  GradScaler scaler(GradScalerOptions().init_scale(1024));
  scaler.scale(lone.sum()).backward();
  CHECK_THROWS_WITH(scaler.step(without), Contains("fc.weight") && Contains("master"));

  Tensor weight = torch::ones({1}, kHalf).requires_grad_();
  torch::optim::SGD with({weight}, 0.1);
  GradScaler other(GradScalerOptions().init_scale(1024));
  other.scale(weight.sum()).backward();
  CHECK(other.step(with).applied());
  CHECK(weight.item<float>() == Approx(0.9).margin(5e-4));
}

TEST_CASE("case: an infinite bf16 gradient is an overflow") {
  Tensor weight = torch::ones({2}, kBFloat16).requires_grad_();
  torch::optim::SGD optimizer({weight}, 0.1);
  GradScaler scaler;
  weight.mutable_grad() = torch::tensor({1.f, static_cast<float>(kInf)}, kBFloat16);
  CHECK(scaler.step(optimizer).skipped_nonfinite());
}

TEST_CASE("case: saving between unscale_ and update is refused") {
  Rig rig;
  rig.scaler.scale(rig.weight.sum()).backward();
  rig.scaler.unscale_(rig.optimizer);
  CHECK_THROWS_WITH(rig.scaler.state_dict(), Contains("update"));
  rig.scaler.step(rig.optimizer);
  CHECK_THROWS_WITH(rig.scaler.state_dict(), Contains("update"));
  rig.scaler.update();
  GradScaler loaded;
  loaded.load_state_dict(rig.scaler.state_dict());
  CHECK(loaded.get_growth_tracker() == 1);
}

TEST_CASE("case: 20 steps equal 10, save, load and 10 more, bit for bit") {
  const std::string path = "test_cases_resume.safetensors";
  const auto make = [](torch::nn::Linear& model) {
    model->to(kHalf);
    return torch::optim::AdamW(model->parameters(), torch::optim::AdamWOptions(1e-2));
  };
  const auto step = [](torch::nn::Linear& model, torch::optim::AdamW& optimizer, GradScaler& scaler, int i) {
    optimizer.zero_grad();
    Tensor loss = torch::dropout(model(torch::randn({4, 3}).to(kHalf)), 0.5, true).to(kFloat).square().mean();
    if (i == 9) loss = loss * kInf;
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
  };
  torch::manual_seed(5);
  torch::nn::Linear straight(3, 2), resumed(3, 2);
  torch::optim::AdamW optimizer = make(straight);
  GradScaler scaler(GradScalerOptions().init_scale(1024).growth_interval(2));
  for (int i = 0; i < 10; ++i) step(straight, optimizer, scaler, i);
  torch::io::save_checkpoint(path, {{"model", straight}, {"optimizer", optimizer}, {"scaler", scaler}});
  for (int i = 10; i < 20; ++i) step(straight, optimizer, scaler, i);

  torch::optim::AdamW second = make(resumed);
  GradScaler restored;
  torch::manual_seed(77);
  torch::io::load_checkpoint(path, {{"model", resumed}, {"optimizer", second}, {"scaler", restored}});
  for (int i = 10; i < 20; ++i) step(resumed, second, restored, i);
  CHECK(torch::equal(straight->weight, resumed->weight));
  CHECK(torch::equal(straight->bias, resumed->bias));
  CHECK(scaler.get_scale() == restored.get_scale());
  CHECK(scaler.get_growth_tracker() == restored.get_growth_tracker());
  CHECK(optimizer.applied_steps() == second.applied_steps());
  std::remove(path.c_str());
}

TEST_CASE("case: ranks that disagree all skip and keep one scale") {
  std::mutex mutex;
  std::condition_variable arrived;
  int waiting = 0;
  bool anyone = false;
  const auto agree = [&](bool mine) {  // one round, two ranks
    std::unique_lock lock(mutex);
    anyone = anyone || mine;
    if (++waiting == 2) arrived.notify_all();
    arrived.wait(lock, [&] { return waiting == 2; });
    return anyone;
  };
  bool skipped[2] = {};
  double scale[2] = {};
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      Rig rig;
      rig.scaler.agree(agree);
      skipped[rank] = rig.iterate(rank == 1 ? kInf : 1).skipped_nonfinite();
      scale[rank] = rig.scale();
    });
  }
  for (std::thread& rank : ranks) rank.join();
  CHECK((skipped[0] && skipped[1]));
  CHECK((scale[0] == 32768 && scale[1] == 32768));
}
