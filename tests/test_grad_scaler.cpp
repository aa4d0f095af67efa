// The protocol between scaler and optimizer.

#include <catch2/catch.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "halftone/nn/utils/clip_grad.h"
#include "halftone/tests/support/training.h"

using namespace halftone;
using namespace halftone::test;
using amp::GradScaler;
using amp::GradScalerOptions;
using nn::utils::clip_grad_norm_;
using optim::StepReport;

namespace {

GradScalerOptions at_scale(double scale) { return GradScalerOptions().init_scale(scale); }

}  // namespace

TEST_CASE("every gradient is None") {
  Tensor a = parameter({1}), b = parameter({2});
  optim::SGD optimizer({a, b}, 0.1);
  GradScaler scaler;
  const StepReport report = scaler.step(optimizer);
  scaler.update();
  CHECK(report.no_gradients());
  CHECK_FALSE(report.applied());
  CHECK(report.parameter_count() == 2);
  CHECK(scaler.get_scale() == 65536);
  CHECK(scaler.get_growth_tracker() == 0);
  optimizer.use_loss_scaling();
  CHECK(optimizer.step().no_gradients());
  CHECK(optimizer.attempted_steps() == 2);
}

TEST_CASE("two optimizers, one without gradients: one clean iteration") {
  Tensor a = parameter({1}), b = parameter({2});
  optim::SGD first({a}, 0.1), second({b}, 0.1);
  GradScaler scaler;
  inject(a, {1});
  CHECK(scaler.step(first).applied());
  CHECK(scaler.step(second).no_gradients());
  scaler.update();
  CHECK(scaler.get_growth_tracker() == 1);
}

TEST_CASE("wrong orders say what to call") {
  Tensor w = parameter({0});
  optim::SGD optimizer({w}, 1.0);
  GradScaler scaler(at_scale(1024));

  SECTION("unscale_ twice, and the gradient was divided once") {
    inject(w, {2048});
    scaler.unscale_(optimizer);
    CHECK(contains(error_of([&] { scaler.unscale_(optimizer); }), "step(optimizer)"));
    CHECK(values(w.grad()) == List{2});
  }
  SECTION("unscale_ after step") {
    inject(w, {1024});
    scaler.step(optimizer);
    CHECK(contains(error_of([&] { scaler.unscale_(optimizer); }), "update()"));
  }
  SECTION("step twice") {
    inject(w, {1024});
    scaler.step(optimizer);
    CHECK(contains(error_of([&] { scaler.step(optimizer); }), "update()"));
    CHECK(values(w) == List{-1});
  }
  SECTION("update without step") {
    CHECK(contains(error_of([&] { scaler.update(); }), "step(optimizer)"));
    inject(w, {1024});
    scaler.unscale_(optimizer);
    CHECK(contains(error_of([&] { scaler.update(); }), "abandon(optimizer)"));
  }
  SECTION("a plain step on scaled gradients") {
    scaler.scale(w.sum()).backward();
    CHECK(contains(error_of([&] { optimizer.step(); }), "scaler.step(optimizer)"));
    CHECK(values(w) == List{0});
    scaler.unscale_(optimizer);
    optimizer.step();
    CHECK(values(w) == List{-1});
  }
  SECTION("clipping scaled gradients") {
    scaler.scale(w.sum()).backward();
    CHECK(contains(error_of([&] { clip_grad_norm_({w}, 1.0); }), "unscale_"));
    CHECK(contains(error_of([&] { nn::utils::clip_grad_value_({w}, 1.0); }), "unscale_"));
    CHECK(contains(error_of([&] { optimizer.clip_grad_norm_(1.0); }), "unscale_"));
  }
  SECTION("a facade over an optimizer that scales by itself") {
    optimizer.use_loss_scaling();
    CHECK(contains(error_of([&] { scaler.step(optimizer); }), "optimizer.backward(loss)"));
  }
  SECTION("a closure") {
    CHECK(contains(error_of([&] { scaler.step(optimizer, [] { return Tensor(); }); }), "closure"));
  }
}

TEST_CASE("a loss that was not scaled is not unscaled") {
  const auto backward = [](const Tensor& p) { (p * 2).sum().backward(); };
  const auto refused = Catch::Contains("was not scaled");
  Tensor p = parameter({1});
  const Tensor before = p.detach().clone();
  optim::SGD optimizer({p}, 1.0);
  GradScaler scaler(at_scale(1024));
  backward(p);
  CHECK_THROWS_WITH(scaler.unscale_(optimizer), refused);
  CHECK_THROWS_WITH(scaler.step(optimizer), refused);
  CHECK(equal(p.detach(), before));

  // Zeros are zeros, and what was put there by hand counts as scaled.
  optimizer.zero_grad(/*set_to_none=*/false);
  scaler.step(optimizer);
  scaler.update();
  p.mutable_grad() = autograd::grad({scaler.scale((p * 2).sum())}, {p})[0];
  scaler.step(optimizer);
  scaler.update();
  CHECK(equal(p.detach(), before - 2));

  Tensor q = parameter({1});
  optim::SGD built_in({q}, 1.0);
  built_in.use_loss_scaling();
  backward(q);
  CHECK_THROWS_WITH(built_in.step(), refused);
}

TEST_CASE("abandon ends an iteration, and update is then optional and neutral") {
  Tensor w = parameter({0});
  optim::SGD optimizer({w}, 1.0);
  GradScaler scaler(at_scale(1024));
  for (const bool update : {false, true}) {
    inject(w, {kInfinity});
    scaler.unscale_(optimizer);
    scaler.abandon(optimizer);
    if (update) scaler.update();
    CHECK(scaler.get_scale() == 1024);
  }
  inject(w, {1024});
  CHECK(scaler.step(optimizer).applied());
  CHECK(error_of([&] { scaler.abandon(optimizer); }) != "");
  scaler.update();
  CHECK(values(w) == List{-1});
}

TEST_CASE("two backward passes per step: SAM equals fp32") {
  const double rho = 0.05, lr = 0.1;
  const auto loss_of = [](const Tensor& w) { return (w * w * w).sum(); };
  const List start{1, -2, 0.5};

  Tensor plain = parameter(start);
  loss_of(plain).backward();
  const auto perturbation = [&](const Tensor& w) {
    return w.grad() * (rho / w.grad().norm().item<double>());
  };
  {
    const Tensor e = perturbation(plain);
    NoGradGuard no_grad;
    plain.add_(e);
    autograd::clear_gradient(plain);
    AutoGradMode grad_mode(true);
    loss_of(plain).backward();
    AutoGradMode off(false);
    plain.sub_(e);
    plain.sub_(plain.grad() * lr);
  }

  Tensor w = parameter(start);
  optim::SGD optimizer({w}, lr);
  GradScaler scaler(at_scale(1024));
  scaler.scale(loss_of(w)).backward();
  scaler.unscale_(optimizer);
  const Tensor e = perturbation(w);
  {
    NoGradGuard no_grad;
    w.add_(e);
  }
  scaler.rearm(optimizer);
  optimizer.zero_grad();
  scaler.scale(loss_of(w)).backward();
  scaler.unscale_(optimizer);
  {
    NoGradGuard no_grad;
    w.sub_(e);
  }
  CHECK(scaler.step(optimizer).applied());
  scaler.update();
  CHECK(allclose(w.detach(), plain.detach(), 1e-6, 1e-6));
  CHECK(scaler.get_growth_tracker() == 1);
}

TEST_CASE("a gradient poisoned between unscale_ and step") {
  for (const bool strict : {false, true}) {
    Tensor w = parameter({1});
    optim::SGD optimizer({w}, 1.0);
    GradScaler scaler(at_scale(1024).strict(strict));
    scaler.scale(w.sum()).backward();
    CHECK(scaler.unscale_(optimizer));
    w.mutable_grad().fill_(kNan);
    const StepReport report = scaler.step(optimizer);
    CHECK(report.rechecked() == strict);
    CHECK(report.skipped_nonfinite() == strict);
    if (!strict) CHECK(contains(report.str(), "not re-checked"));
    scaler.update();
    CHECK(scaler.get_scale() == (strict ? 512 : 1024));
  }
}

TEST_CASE("every tensor is checked to its last element") {
  for (const float poison : {kInfinity, -kInfinity, kNan}) {
    for (const bool strided : {false, true}) {
      std::vector<std::pair<std::string, Tensor>> named;
      for (int i = 0; i < 10; ++i) {
        Tensor w = zeros({10, 100}).requires_grad_();
        w.mutable_grad() = ones({10, 100});
        named.emplace_back(concat("layer", i), w);
      }
      Tensor last = strided ? ones({100, 10}).t() : ones({10, 100});
      last[9][99] = poison;
      named.back().second.mutable_grad() = last;
      optim::SGD optimizer(named, 0.1);
      GradScaler scaler;
      const StepReport report = scaler.step(optimizer);
      CHECK(report.skipped_nonfinite());
      CHECK(report.overflowed_parameters() == std::vector<std::int64_t>{9});
      CHECK(report.overflowed_names() == std::vector<std::string>{"layer9"});
      for (const auto& entry : named) CHECK(values(entry.second) == List(1000, 0.0));
      scaler.update();
      CHECK(scaler.get_scale() == 32768);
    }
  }
}

TEST_CASE("NaN gradients that nobody clears") {
  const auto run = [](bool clear) {
    Tensor w = parameter({0});
    optim::SGD optimizer({w}, 1.0);
    optimizer.use_loss_scaling(GradScalerOptions().clear_on_skip(clear));
    std::vector<StepReport> reports;
    for (int i = 0; i < 4; ++i) {
      optimizer.backward(i == 0 ? (w * kNan).sum() : w.sum());
      reports.push_back(optimizer.step());
      if (reports.back().applied()) optimizer.zero_grad();
    }
    return reports;
  };
  const auto cleared = run(true);
  CHECK(cleared[0].skipped_nonfinite());
  CHECK(cleared[1].applied());
  const auto kept = run(false);
  CHECK(kept[1].skipped_nonfinite());
  CHECK_FALSE(kept[1].persistent_nonfinite());
  CHECK(kept[2].persistent_nonfinite());
  CHECK(contains(kept[2].str(), "zero_grad"));
}

TEST_CASE("NaN in the loss is another trouble than an overflow of the scale") {
  Tensor w = parameter({2});
  optim::SGD optimizer({w}, 1.0);
  GradScaler scaler;
  StepReport report;
  for (int i = 0; i < 20; ++i) {
    optimizer.zero_grad();
    scaler.scale((w * kNan).sum()).backward();
    report = scaler.step(optimizer);
    scaler.update();
    if (i == 0) CHECK(scaler.get_scale() == 32768);
  }
  CHECK(report.loss_was_nonfinite());
  CHECK(values(w) == List{2});
  optimizer.zero_grad();
  scaler.scale((w * 1e38).sum()).backward();  // the loss is finite, its scaled gradient may be
  inject(w, {kInfinity});
  CHECK_FALSE(scaler.step(optimizer).loss_was_nonfinite());
}

TEST_CASE("bf16 gradients [1, inf] are an overflow") {
  Tensor w = parameter({0, 0}, kBFloat16);
  optim::SGD optimizer({w}, 1.0);
  GradScaler scaler;
  inject(w, {1, kInfinity}, kBFloat16);
  CHECK(scaler.step(optimizer).skipped_nonfinite());
  CHECK(values(w) == List{0, 0});
}

TEST_CASE("saving between unscale_ and update is refused") {
  Tensor w = parameter({0});
  optim::SGD optimizer({w}, 1.0);
  GradScaler scaler;
  inject(w, {kInfinity});
  scaler.unscale_(optimizer);
  CHECK(contains(error_of([&] { scaler.state_dict(); }), "update()"));
  scaler.step(optimizer);
  CHECK(contains(error_of([&] { scaler.state_dict(); }), "update()"));
  scaler.update();
  CHECK(scaler.state_dict().number("scale") == 32768);
}

TEST_CASE("a scaler's state") {
  Tensor w = parameter({0});
  optim::SGD optimizer({w}, 1.0);
  GradScaler scaler(GradScalerOptions().growth_interval(3).hysteresis(2));
  for (const float g : {1.0f, kInfinity, 1.0f}) {
    inject(w, {g});
    scaler.step(optimizer);
    scaler.update();
  }
  GradScaler other;
  other.load_state_dict(scaler.state_dict());
  CHECK(other.get_growth_interval() == 3);
  CHECK(other.get_growth_tracker() == 1);
  inject(w, {kInfinity});
  other.step(optimizer);
  other.update();
  CHECK(other.get_scale() == 32768);  // the hysteresis was used up before saving

  StateDict broken = scaler.state_dict();
  broken.set("scale", -1.0);
  CHECK(error_of([&] { other.load_state_dict(broken); }) != "");
  CHECK(other.get_scale() == 32768);
  CHECK(error_of([&] { other.load_state_dict(StateDict()); }) != "");
}

TEST_CASE("not enabled, the scaler is not there") {
  Tensor a = parameter({1, 2}), b = parameter({1, 2});
  optim::AdamW with({a}, optim::AdamWOptions(0.1)), without({b}, optim::AdamWOptions(0.1));
  GradScaler scaler(GradScalerOptions().enabled(false));
  CHECK_FALSE(scaler.is_enabled());
  CHECK(scaler.get_scale() == 1);
  CHECK(scaler.state_dict().empty());
  for (int i = 0; i < 3; ++i) {
    with.zero_grad();
    without.zero_grad();
    const Tensor loss = (a * a).sum();
    CHECK(scaler.scale(loss).is_same(loss));
    scaler.scale(loss).backward();
    scaler.unscale_(with);
    scaler.step(with);
    scaler.update();
    (b * b).sum().backward();
    without.step();
  }
  CHECK(same_bits(a, b));
}

TEST_CASE("ranks decide together") {
  constexpr int kRanks = 3;
  std::mutex mutex;
  std::condition_variable arrived;
  int waiting = 0, generation = 0;
  bool any = false, decision = false;
  const auto agree = [&](bool mine) {
    std::unique_lock lock(mutex);
    any = any || mine;
    const int now = generation;
    if (++waiting == kRanks) {
      decision = any;
      any = false;
      waiting = 0;
      ++generation;
      arrived.notify_all();
    } else {
      arrived.wait(lock, [&] { return generation != now; });
    }
    return decision;
  };
  std::vector<List> scales(kRanks), weights(kRanks);
  std::vector<std::thread> ranks;
  for (int r = 0; r < kRanks; ++r) {
    ranks.emplace_back([&, r] {
      Tensor w = parameter({0});
      optim::SGD optimizer({w}, 1.0);
      optimizer.use_loss_scaling();
      optimizer.agree(agree);
      for (int i = 0; i < 4; ++i) {
        inject(w, {r == 1 && i == 2 ? kInfinity : 65536.0f});
        optimizer.step();
        scales[r].push_back(optimizer.loss_scale());
        weights[r].push_back(w.item<double>());
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (int r = 0; r < kRanks; ++r) {
    CHECK(scales[r] == List{65536, 65536, 32768, 32768});
    CHECK(weights[r] == List{-1, -2, -2, -4});
  }
}

TEST_CASE("a gradient without elements is a gradient") {
  Tensor w = zeros({0, 3}).requires_grad_();
  w.mutable_grad() = zeros({0, 3});
  optim::SGD optimizer({w}, 1.0);
  GradScaler scaler;
  CHECK(scaler.step(optimizer).applied());
}

TEST_CASE("a new scale can be set at update") {
  Tensor w = parameter({0});
  optim::SGD optimizer({w}, 1.0);
  GradScaler scaler;
  CHECK(error_of([&] { scaler.update(8.0); }) != "");
  CHECK(scaler.get_scale() == 65536);
  inject(w, {1});
  scaler.step(optimizer);
  CHECK(error_of([&] { scaler.update(-1.0); }) != "");
  scaler.update(8.0);
  CHECK(scaler.get_scale() == 8);
}
