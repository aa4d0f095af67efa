// The scale: how it moves, where it stops, and what is refused.

#include <catch2/catch.hpp>

#include "halftone/amp/autocast.h"
#include "halftone/engine/warning.h"
#include "halftone/tests/support/training.h"

using namespace halftone;
using namespace halftone::test;
using amp::GradScaler;
using amp::LossScaling;
using amp::LossScalingOptions;

namespace {

/// One parameter under a GradScaler; 'O' is an overflowing iteration, '.' a clean one.
struct Loop {
  explicit Loop(const LossScalingOptions& options) : scaler(options) {}

  optim::StepReport step(char kind) {
    inject(w, {kind == 'O' ? kInfinity : 1.0f});
    optim::StepReport report = scaler.step(optimizer);
    scaler.update();
    return report;
  }
  /// The scale after every iteration.
  std::vector<double> run(const std::string& pattern) {
    std::vector<double> scales;
    for (const char kind : pattern) {
      const double before = values(w)[0];
      const optim::StepReport report = step(kind);
      CHECK(report.skipped_nonfinite() == (kind == 'O'));
      CHECK((values(w)[0] == before) == (kind == 'O'));
      scales.push_back(scaler.get_scale());
    }
    return scales;
  }

  Tensor w = parameter({0});
  optim::SGD optimizer{{w}, 1e-3};
  GradScaler scaler;
};

using Scales = List;

}  // namespace

TEST_CASE("the scale is never infinite") {
  Loop loop(LossScalingOptions().init_scale(1e38).growth_factor(16).growth_interval(1));
  loop.step('.');
  CHECK(loop.scaler.get_scale() == static_cast<double>(1e38f));
  CHECK(loop.scaler.get_growth_tracker() == 0);

  Loop doubling(LossScalingOptions().growth_interval(1));
  for (int i = 0; i < 111; ++i) doubling.step('.');
  CHECK(doubling.scaler.get_scale() == 0x1p127);
  for (int i = 111; i < 300; ++i) doubling.step('.');
  CHECK(doubling.scaler.get_scale() == 0x1p127);
}

TEST_CASE("the scale grows exactly at the n-th clean step") {
  Loop loop(LossScalingOptions().init_scale(4).backoff_factor(0.25).growth_interval(2));
  const auto state = [&] { return std::pair(loop.scaler.get_scale(), loop.scaler.get_growth_tracker()); };
  loop.step('.');
  CHECK(state() == std::pair<double, std::int64_t>(4, 1));
  loop.step('.');
  CHECK(state() == std::pair<double, std::int64_t>(8, 0));
  loop.step('O');
  CHECK(state() == std::pair<double, std::int64_t>(2, 0));

  Loop slow(LossScalingOptions{});
  for (int i = 0; i < 1999; ++i) slow.step('.');
  CHECK(slow.scaler.get_scale() == 65536);
  slow.step('.');
  CHECK(slow.scaler.get_scale() == 131072);

  Loop changed(LossScalingOptions{});
  for (int i = 0; i < 5; ++i) changed.step('.');
  CHECK(changed.scaler.get_growth_tracker() == 5);
  changed.scaler.set_growth_interval(3);
  changed.step('.');
  CHECK(changed.scaler.get_scale() == 131072);
}

TEST_CASE("hysteresis absorbs overflows but not their skips") {
  CHECK(Loop(LossScalingOptions().hysteresis(2)).run("OOOO") == Scales{65536, 32768, 16384, 8192});
  CHECK(Loop(LossScalingOptions().hysteresis(2)).run("O.O.OO") ==
        Scales{65536, 65536, 32768, 32768, 16384, 8192});
  CHECK(Loop(LossScalingOptions().hysteresis(2).refill_hysteresis(true)).run("O.O.OO") ==
        Scales{65536, 65536, 65536, 65536, 65536, 32768});
  // A growth refills.
  CHECK(Loop(LossScalingOptions().hysteresis(2).growth_interval(2)).run("OO..O") ==
        Scales{65536, 32768, 32768, 65536, 65536});
}

TEST_CASE("an fp16 overflow inside the graph backs off until the gradient fits") {
  // The gradient of 100000 S passes through fp16 on its way to the fp32 leaf.
  const auto loss_of = [](const Tensor& w) { return (w.to(kHalf).to(kFloat) * 100000.0).sum(); };
  Tensor w = parameter({0});
  optim::SGD optimizer({w}, 1e-6);
  GradScaler scaler(LossScalingOptions().min_scale(0x1p-10));
  int skips = 0;
  while (skips < 100) {
    optimizer.zero_grad();
    scaler.scale(loss_of(w)).backward();
    const optim::StepReport report = scaler.step(optimizer);
    scaler.update();
    if (report.applied()) break;
    ++skips;
  }
  CHECK(skips == 17);
  CHECK(scaler.get_scale() == 0.5);
  CHECK(optimizer.applied_steps() == 1);
}

TEST_CASE("the floor: stalled, callback, throw") {
  SECTION("stalled after so many skips at the floor") {
    Loop loop(LossScalingOptions().min_scale(1).stalled_after(5));
    loop.run("OOOOOOOOOOOOOOOO");
    CHECK(loop.scaler.get_scale() == 1);
    for (int i = 0; i < 4; ++i) CHECK_FALSE(loop.step('O').stalled());
    const optim::StepReport report = loop.step('O');
    CHECK(report.stalled());
    CHECK(report.skipped_nonfinite());
    CHECK(loop.scaler.get_scale() == 1);
    CHECK(loop.optimizer.applied_steps() == 0);
  }
  SECTION("throw at the first overflow that finds the scale there") {
    Loop loop(LossScalingOptions().min_scale(1).at_floor(amp::AtFloor::kThrow));
    for (int i = 0; i < 16; ++i) loop.step('O');
    inject(loop.w, {kInfinity});
    const std::string error = error_of([&] { loop.scaler.step(loop.optimizer); });
    CHECK(contains(error, "floor"));
  }
  SECTION("throw, with the controller in the optimizer") {
    Tensor w = parameter({0});
    optim::SGD optimizer({w}, 0.1);
    optimizer.use_loss_scaling(LossScalingOptions().min_scale(1).at_floor(amp::AtFloor::kThrow));
    int steps = 0;
    const std::string error = error_of([&] {
      for (; steps < 100; ++steps) {
        inject(w, {kInfinity});
        optimizer.step();
      }
    });
    CHECK(steps == 16);
    CHECK(contains(error, "floor"));
    CHECK(values(w)[0] == 0);
  }
  SECTION("callback") {
    std::vector<double> calls;
    Loop loop(LossScalingOptions()
                  .init_scale(2)
                  .min_scale(1)
                  .at_floor(amp::AtFloor::kCallback)
                  .on_floor([&](double s) { calls.push_back(s); }));
    loop.run("O");
    CHECK(calls.empty());
    loop.run("OO");
    CHECK(calls == Scales{1, 1});
  }
}

TEST_CASE("a fixed scale stays, and an overflow still skips") {
  Tensor w = parameter({1});
  optim::SGD optimizer({w}, 1.0);
  optimizer.use_loss_scaling(LossScaling::fixed(128));
  inject(w, {kNan});
  CHECK(optimizer.step().skipped_nonfinite());
  inject(w, {128});
  const optim::StepReport report = optimizer.step();
  CHECK(report.applied());
  CHECK(report.scale_after() == 128);
  CHECK(values(w)[0] == 0);
}

TEST_CASE("a scale that is no power of two") {
  Tensor w = parameter({0});
  optim::SGD optimizer({w}, 1.0);
  optimizer.use_loss_scaling(LossScaling::fixed(3));
  inject(w, {9});
  optimizer.step();
  CHECK(w.item<float>() == -(9.0f * static_cast<float>(1.0 / 3.0)));
}

TEST_CASE("scale() gives fp32, or fp64 for fp64, in any shape") {
  GradScaler scaler;
  const Tensor half = scaler.scale(tensor({1.0, 2.0}).to(kHalf));
  CHECK(half.scalar_type() == kFloat);
  CHECK(values(half) == Scales{65536, 131072});
  CHECK(scaler.scale(tensor({1.0}).to(kBFloat16)).scalar_type() == kFloat);
  CHECK(scaler.scale(tensor(1.0, kDouble)).scalar_type() == kDouble);
  CHECK(scaler.scale(tensor(1.0)).dim() == 0);
  CHECK(scaler.scale(zeros({0, 3})).sizes() == IntArrayRef({0, 3}));
  CHECK(scaler.scale(std::vector<Tensor>{tensor(1.0), tensor(2.0)})[1].item<double>() == 131072);
  {
    amp::Autocast region(device_type(), kBFloat16);
    CHECK(scaler.scale(tensor({1.0}).to(kBFloat16)).scalar_type() == kFloat);
  }
  CHECK(contains(error_of([&] { scaler.scale(tensor(1)); }), "int64"));
  Tensor w = parameter({1});
  CHECK(contains(error_of([&] { scaler.scale(scaler.scale(w.sum())); }), "already"));
}

TEST_CASE("settings are validated by name") {
  for (const double bad : {0.0, -1.0, static_cast<double>(kNan), static_cast<double>(kInfinity), 1e300}) {
    CHECK(contains(error_of([&] { LossScalingOptions().init_scale(bad); }), "init_scale"));
    CHECK(contains(error_of([&] { LossScalingOptions().min_scale(bad); }), "min_scale"));
    CHECK(contains(error_of([&] { LossScalingOptions().max_scale(bad); }), "max_scale"));
  }
  CHECK(contains(error_of([] { LossScalingOptions().growth_factor(1); }), "growth_factor"));
  CHECK(contains(error_of([] { LossScalingOptions().growth_factor(kNan); }), "growth_factor"));
  CHECK(contains(error_of([] { LossScalingOptions().backoff_factor(1); }), "backoff_factor"));
  CHECK(contains(error_of([] { LossScalingOptions().backoff_factor(0); }), "backoff_factor"));
  CHECK(contains(error_of([] { LossScalingOptions().growth_interval(0); }), "growth_interval"));
  CHECK(contains(error_of([] { LossScalingOptions().hysteresis(0); }), "hysteresis"));
  CHECK(contains(error_of([] { LossScalingOptions().stalled_after(0); }), "stalled_after"));
  CHECK(contains(error_of([] { GradScaler(LossScalingOptions().init_scale(1).min_scale(2)); }), "min_scale"));
  CHECK(contains(error_of([] { GradScaler(LossScalingOptions().init_scale(4).max_scale(2)); }), "max_scale"));
  CHECK(contains(error_of([] { GradScaler(LossScalingOptions().at_floor(amp::kCallback)); }), "on_floor"));
  GradScaler scaler;
  CHECK(contains(error_of([&] { scaler.set_growth_factor(0.5); }), "growth_factor"));
  CHECK(contains(error_of([&] { scaler.set_growth_interval(-1); }), "growth_interval"));
  CHECK(scaler.get_growth_factor() == 2);
}

TEST_CASE("gradient penalty: the inner gradient is unscaled differentiably") {
  for (const double scale : {1.0, 1024.0, 65536.0}) {
    Tensor w = parameter({3});
    GradScaler scaler(LossScalingOptions().init_scale(scale));
    const Tensor loss = (w * w).sum();
    const Tensor inner =
        autograd::grad({scaler.scale(loss)}, {w}, {}, true, true)[0] * (1 / scaler.get_scale());
    scaler.scale(loss + (inner * inner).sum()).backward();
    optim::SGD optimizer({w}, 1.0);
    scaler.unscale_(optimizer);
    CHECK(w.grad().item<double>() == Approx(30).epsilon(1e-6));
  }
}

TEST_CASE("bfloat16 works with a scaler, which says once that it is unnecessary") {
  std::vector<std::string> warnings;
  WarningHandler before = set_warning_handler([&](const std::string& text) { warnings.push_back(text); });
  GradScaler scaler;
  Tensor w = parameter({1});
  optim::SGD optimizer({w}, 0.5);
  for (int i = 0; i < 3; ++i) {
    optimizer.zero_grad();
    Tensor loss;
    {
      amp::Autocast region(device_type(), kBFloat16);
      loss = linear(ones({1, 1}), w.view({1, 1})).sum();
    }
    scaler.scale(loss).backward();
    CHECK(scaler.step(optimizer).applied());
    scaler.update();
  }
  set_warning_handler(std::move(before));
  REQUIRE(warnings.size() == 1);
  CHECK(contains(warnings[0], "bfloat16"));
  CHECK(values(w)[0] == -0.5);
}
