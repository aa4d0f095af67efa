// Learning-rate schedules: sequences worked out by hand from PyTorch's definitions, several groups, changes
// from outside, skipped steps, saving and loading, bad arguments.

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

#include "halftone/engine/tensor_factory.h"
#include "halftone/optim/optim.h"

using namespace halftone;
using Catch::Matchers::Contains;

namespace {

using Lrs = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kPi = std::acos(-1.0);

/// SGD over one parameter for each learning rate, each in its own group.
std::unique_ptr<optim::SGD> sgd(const Lrs& lrs) {
  std::vector<optim::OptimizerParamGroup> groups;
  for (const double lr : lrs) {
    groups.emplace_back(std::vector<Tensor>{ones({1}).requires_grad_()},
                        std::make_unique<optim::SGDOptions>(lr));
  }
  return std::make_unique<optim::SGD>(groups, optim::SGDOptions(1));
}

double lr_of(optim::Optimizer& optimizer, std::size_t group = 0) {
  return optimizer.param_groups()[group].options().get_lr();
}

void set_lr(optim::Optimizer& optimizer, double lr, std::size_t group = 0) {
  optimizer.param_groups()[group].options().set_lr(lr);
}

/// The first group's learning rate now and after each of `steps` steps.
Lrs sequence(optim::LRScheduler& scheduler, int steps) {
  Lrs seen{scheduler.get_current_lrs()[0]};
  for (int i = 0; i < steps; ++i) {
    scheduler.step();
    seen.push_back(scheduler.get_current_lrs()[0]);
    CHECK(scheduler.get_last_lr() == scheduler.get_current_lrs());
  }
  return seen;
}

void check_close(const Lrs& got, const Lrs& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("step " << i);
    CHECK(got[i] == Approx(expected[i]).epsilon(1e-12).margin(1e-15));
  }
}

/// A step of the optimizer on a clean gradient, or on an infinite one.
optim::StepReport train(optim::Optimizer& optimizer, bool overflow) {
  optimizer.zero_grad();
  for (const Tensor& parameter : optimizer.parameters()) {
    parameter.mutable_grad() = full({1}, overflow ? kInf : 0.0, kFloat);
  }
  return optimizer.step();
}

}  // namespace

TEST_CASE("StepLR decays after step_size steps, not one call late", "[schedulers]") {
  auto optimizer = sgd({0.8});
  optim::StepLR scheduler(*optimizer, 2, 0.5);
  CHECK(sequence(scheduler, 6) == Lrs{0.8, 0.8, 0.4, 0.4, 0.2, 0.2, 0.1});
  CHECK(scheduler.step_count() == 6);
}

TEST_CASE("MultiStepLR decays at its milestones; one that stands twice counts twice", "[schedulers]") {
  auto optimizer = sgd({1.0});
  optim::MultiStepLR scheduler(*optimizer, {2, 3, 3}, 0.5);
  CHECK(sequence(scheduler, 4) == Lrs{1, 1, 0.5, 0.125, 0.125});
}

TEST_CASE("ExponentialLR is a power, not a product that drifts", "[schedulers]") {
  auto optimizer = sgd({1.0});
  optim::ExponentialLR scheduler(*optimizer, 0.9);
  check_close(sequence(scheduler, 3), {1, 0.9, 0.81, 0.729});
  for (int i = 3; i < 1000; ++i) scheduler.step();
  CHECK(lr_of(*optimizer) == std::pow(0.9, 1000));
}

TEST_CASE("LinearLR warms up in equal steps and stays", "[schedulers]") {
  auto optimizer = sgd({0.5});
  optim::LinearLR scheduler(*optimizer, 0.25, 1.0, 3);
  check_close(sequence(scheduler, 5), {0.125, 0.25, 0.375, 0.5, 0.5, 0.5});
  auto to_zero = sgd({1.0});
  optim::LinearLR decay(*to_zero, 1.0, 0.0, 4);
  CHECK(sequence(decay, 6) == Lrs{1, 0.75, 0.5, 0.25, 0, 0, 0});
}

TEST_CASE("ConstantLR gives the base back", "[schedulers]") {
  auto optimizer = sgd({0.5});
  optim::ConstantLR scheduler(*optimizer, 0.5, 3);
  CHECK(sequence(scheduler, 4) == Lrs{0.25, 0.25, 0.25, 0.5, 0.5});
}

TEST_CASE("LambdaLR multiplies the base by a function of the step", "[schedulers]") {
  auto optimizer = sgd({0.5, 4.0});
  optim::LambdaLR scheduler(*optimizer, {[](std::int64_t t) { return 1.0 / static_cast<double>(1 + t); },
                                         [](std::int64_t t) { return t < 2 ? 1.0 : 0.5; }});
  CHECK(scheduler.get_current_lrs() == Lrs{0.5, 4});
  scheduler.step();
  CHECK(scheduler.get_current_lrs() == Lrs{0.25, 4});
  scheduler.step();
  check_close(scheduler.get_current_lrs(), {0.5 / 3, 2});
}

TEST_CASE("CosineAnnealingLR follows half a cosine, ends exactly and climbs back", "[schedulers]") {
  auto optimizer = sgd({1.0});
  optim::CosineAnnealingLR scheduler(*optimizer, 4);
  const double high = (2 + std::sqrt(2.0)) / 4, low = (2 - std::sqrt(2.0)) / 4;
  check_close(sequence(scheduler, 9), {1, high, 0.5, low, 0, low, 0.5, high, 1, high});

  auto floored = sgd({1.0});
  optim::CosineAnnealingLR to_floor(*floored, 4, 0.2);
  check_close(sequence(to_floor, 4), {1, 0.2 + 0.8 * high, 0.6, 0.2 + 0.8 * low, 0.2});
  CHECK(lr_of(*floored) == 0.2);
  auto to_zero = sgd({3e-4});
  optim::CosineAnnealingLR long_run(*to_zero, 1407);
  for (int i = 0; i < 1407; ++i) long_run.step();
  CHECK(lr_of(*to_zero) == 0);
}

TEST_CASE("CosineAnnealingWarmRestarts starts again, in longer rounds", "[schedulers]") {
  auto optimizer = sgd({1.0});
  optim::CosineAnnealingWarmRestarts scheduler(*optimizer, 2, 2);
  const double high = (2 + std::sqrt(2.0)) / 4, low = (2 - std::sqrt(2.0)) / 4;
  check_close(sequence(scheduler, 7), {1, 0.5, 1, high, 0.5, low, 1, 0.5 * (1 + std::cos(kPi / 8))});
  auto even = sgd({1.0});
  optim::CosineAnnealingWarmRestarts rounds(*even, 2, 1, 0.5);
  check_close(sequence(rounds, 4), {1, 0.75, 1, 0.75, 1});
}

TEST_CASE("OneCycleLR climbs, descends, and moves momentum the other way", "[schedulers]") {
  auto optimizer = sgd({0.123});
  auto& options = static_cast<optim::SGDOptions&>(optimizer->param_groups()[0].options());
  optim::OneCycleLR scheduler(*optimizer, optim::OneCycleLROptions(1.0, 10)
                                              .pct_start(0.3)
                                              .anneal_strategy(optim::AnnealStrategy::kLinear)
                                              .div_factor(10)
                                              .final_div_factor(10));
  CHECK(options.momentum() == 0.95);
  // Up from 0.1 to 1 in steps 0..2, down to 0.01 in steps 2..9.
  const double fall = 0.99 / 7;
  check_close(sequence(scheduler, 5), {0.1, 0.55, 1, 1 - fall, 1 - 2 * fall, 1 - 3 * fall});
  CHECK(options.momentum() == Approx(0.85 + 0.1 * 3 / 7));
  for (int i = 5; i < 9; ++i) scheduler.step();
  CHECK(lr_of(*optimizer) == Approx(0.01).epsilon(1e-12));
  CHECK(options.momentum() == Approx(0.95));
  scheduler.step();  // after the tenth step of the optimizer
  CHECK(lr_of(*optimizer) == Approx(0.01).epsilon(1e-12));
  CHECK_THROWS_WITH(scheduler.step(), Contains("OneCycleLR") && Contains("total_steps = 10"));
}

TEST_CASE("OneCycleLR by cosines, in three phases, with Adam's beta1", "[schedulers]") {
  optim::AdamW optimizer({ones({1}).requires_grad_()}, optim::AdamWOptions(1));
  auto& options = static_cast<optim::AdamWOptions&>(optimizer.param_groups()[0].options());
  optim::OneCycleLR scheduler(
      optimizer,
      optim::OneCycleLROptions(1.0, 10).pct_start(0.3).three_phase(true).div_factor(4).final_div_factor(100));
  // Phases end at steps 2, 4 and 9: 0.25 to 1, 1 to 0.25, 0.25 to 0.0025.
  const double half = 0.625;
  const auto last = [](int i) { return 0.0025 + (0.25 - 0.0025) * (1 + std::cos(kPi * i / 5)) / 2; };
  check_close(sequence(scheduler, 9),
              {0.25, half, 1, half, 0.25, last(1), last(2), last(3), last(4), 0.0025});
  CHECK(std::get<0>(options.betas()) == Approx(0.95));
  CHECK(std::get<1>(options.betas()) == 0.999);

  optim::Adagrad without(std::vector<Tensor>{ones({1}).requires_grad_()}, optim::AdagradOptions(1));
  optim::OneCycleLR no_momentum(without, 1.0, 100);
  CHECK(lr_of(without) == Approx(1.0 / 25));
}

TEST_CASE("ReduceLROnPlateau waits for patience, then cools down", "[schedulers]") {
  auto optimizer = sgd({1.0, 0.5});
  using Plateau = optim::ReduceLROnPlateau;
  Plateau scheduler(*optimizer, Plateau::min, 0.5, /*patience=*/1, 0.1, Plateau::rel, /*cooldown=*/2, {0.2});
  const auto after = [&](double metric) {
    scheduler.step(metric);
    return scheduler.get_last_lr();
  };
  CHECK(after(10) == Lrs{1, 0.5});
  CHECK(after(9.5) == Lrs{1, 0.5});     // not better by 10 %
  CHECK(after(9.5) == Lrs{0.5, 0.25});  // the second in a row: reduced
  CHECK(after(9.5) == Lrs{0.5, 0.25});  // cooling down
  CHECK(after(9.5) == Lrs{0.5, 0.25});  // cooling down
  CHECK(after(9.5) == Lrs{0.5, 0.25});  // one bad call
  CHECK(after(8.0) == Lrs{0.5, 0.25});  // better
  CHECK(after(std::nan("")) == Lrs{0.5, 0.25});
  CHECK(after(8.0) == Lrs{0.25, 0.2});  // no lower than min_lr
  for (int i = 0; i < 10; ++i) scheduler.step(8.0);
  CHECK(scheduler.get_last_lr() == Lrs{0.2, 0.2});
}

TEST_CASE("ReduceLROnPlateau: larger is better, absolute threshold, eps", "[schedulers]") {
  auto optimizer = sgd({1.0});
  using Plateau = optim::ReduceLROnPlateauScheduler;
  Plateau scheduler(*optimizer, Plateau::max, 0.1, 0, 0.5, Plateau::abs, 0, {}, /*eps=*/0.05);
  scheduler.step(-kInf);  // no better than nothing seen yet: a bad call
  CHECK(lr_of(*optimizer) == Approx(0.1));
  scheduler.step(1);
  scheduler.step(1.6);
  CHECK(lr_of(*optimizer) == Approx(0.1));
  scheduler.step(2.0);  // a gain of 0.4 < 0.5
  CHECK(lr_of(*optimizer) == Approx(0.01));
  scheduler.step(2.0);  // 0.01 - 0.001 <= eps: not made
  CHECK(lr_of(*optimizer) == Approx(0.01));
}

TEST_CASE("every group decays from its own base", "[schedulers]") {
  auto optimizer = sgd({1.0, 0.1});
  optim::StepLR scheduler(*optimizer, 1, 0.5);
  scheduler.step();
  CHECK(scheduler.get_current_lrs() == Lrs{0.5, 0.05});
  CHECK(scheduler.base_lrs() == Lrs{1.0, 0.1});
  // A group added later decays from then on.
  optimizer->add_param_group(
      {std::vector<Tensor>{ones({1}).requires_grad_()}, std::make_unique<optim::SGDOptions>(8.0)});
  scheduler.step();
  CHECK(scheduler.get_current_lrs() == Lrs{0.25, 0.025, 4.0});

  optim::OneCycleLR cycle(*optimizer, {{1.0, 2.0, 3.0}, 100});
  check_close(cycle.get_current_lrs(), {1.0 / 25, 2.0 / 25, 3.0 / 25});
}

TEST_CASE("a learning rate changed from outside is decayed from there", "[schedulers]") {
  auto optimizer = sgd({1.0});
  optim::StepLR scheduler(*optimizer, 2, 0.5);
  scheduler.step();
  set_lr(*optimizer, 0.3);
  CHECK(sequence(scheduler, 3) == Lrs{0.3, 0.15, 0.15, 0.075});

  // PyTorch's recursion for the cosine, through the bottom.
  auto other = sgd({1.0});
  optim::CosineAnnealingLR cosine(*other, 4, 0.1);
  cosine.step();
  double lr = 0.7;
  set_lr(*other, lr);
  for (int t = 2; t <= 7; ++t) {
    cosine.step();
    lr = t == 5 ? lr + 0.9 * (1 - std::cos(kPi / 4)) / 2
                : (1 + std::cos(kPi * t / 4)) / (1 + std::cos(kPi * (t - 1) / 4)) * (lr - 0.1) + 0.1;
    CHECK(lr_of(*other) == Approx(lr));
  }
}

TEST_CASE("two schedulers on one optimizer multiply", "[schedulers]") {
  auto optimizer = sgd({1.0});
  optim::ConstantLR warm_up(*optimizer, 0.1, 2);
  optim::ExponentialLR decay(*optimizer, 0.5);
  CHECK(decay.base_lrs() == Lrs{1.0});  // what was there before any scheduler
  Lrs seen{lr_of(*optimizer)};
  for (int i = 0; i < 4; ++i) {
    warm_up.step();
    decay.step();
    seen.push_back(lr_of(*optimizer));
  }
  check_close(seen, {0.1, 0.05, 0.25, 0.125, 0.0625});
}

TEST_CASE("SequentialLR hands over at its milestones, from the base", "[schedulers]") {
  auto optimizer = sgd({1.0, 0.1});
  auto warm_up = std::make_shared<optim::LinearLR>(*optimizer, 0.5, 1.0, 2);
  auto decay = std::make_shared<optim::ExponentialLR>(*optimizer, 0.5);
  optim::SequentialLR scheduler(*optimizer, {warm_up, decay}, {3});
  check_close(sequence(scheduler, 5), {0.5, 0.75, 1, 1, 0.5, 0.25});
  check_close(scheduler.get_last_lr(), {0.25, 0.025});
}

TEST_CASE("a schedule of steps is bound to applied steps", "[schedulers]") {
  auto optimizer = sgd({1.0});
  optimizer->use_loss_scaling();
  optim::StepLR scheduler(*optimizer, 1, 0.5);
  for (const bool overflow : {true, true, false, false, false}) scheduler.step(train(*optimizer, overflow));
  CHECK(lr_of(*optimizer) == 0.125);
  CHECK(optimizer->applied_steps() == 3);
  CHECK(optimizer->attempted_steps() == 5);
  optimizer->zero_grad();
  scheduler.step(optimizer->step());  // no gradients: no step
  CHECK(lr_of(*optimizer) == 0.125);
}

TEST_CASE("a schedule continues where it was saved", "[schedulers]") {
  using Make = std::function<std::unique_ptr<optim::LRScheduler>(optim::Optimizer&)>;
  const std::vector<Make> makers{
      [](auto& o) { return std::make_unique<optim::StepLR>(o, 3, 0.7); },
      [](auto& o) {
        return std::make_unique<optim::MultiStepLR>(o, std::vector<std::int64_t>{4, 7}, 0.3);
      },
      [](auto& o) { return std::make_unique<optim::ExponentialLR>(o, 0.93); },
      [](auto& o) { return std::make_unique<optim::LinearLR>(o, 0.1, 0.9, 8); },
      [](auto& o) { return std::make_unique<optim::ConstantLR>(o, 0.1, 6); },
      [](auto& o) {
        return std::make_unique<optim::LambdaLR>(o, [](std::int64_t t) { return 1.0 / (1.0 + t); });
      },
      [](auto& o) { return std::make_unique<optim::CosineAnnealingLR>(o, 9, 0.01); },
      [](auto& o) { return std::make_unique<optim::CosineAnnealingWarmRestarts>(o, 3, 2); },
      [](auto& o) { return std::make_unique<optim::OneCycleLR>(o, 1.0, 11); },
      [](auto& o) {
        return std::make_unique<optim::SequentialLR>(o,
                                                     std::vector<std::shared_ptr<optim::LRScheduler>>{
                                                         std::make_shared<optim::LinearLR>(o, 0.1, 1.0, 6),
                                                         std::make_shared<optim::CosineAnnealingLR>(o, 6)},
                                                     std::vector<std::int64_t>{6});
      },
  };
  for (std::size_t kind = 0; kind < makers.size(); ++kind) {
    INFO("scheduler " << kind);
    for (const bool foreign_change : {false, true}) {
      auto straight = sgd({1.0, 0.1});
      const auto scheduler = makers[kind](*straight);
      for (int i = 0; i < 5; ++i) scheduler->step();
      if (foreign_change) set_lr(*straight, 0.33, 1);
      const StateDict saved = scheduler->state_dict(), saved_optimizer = straight->state_dict();

      auto resumed = sgd({5.0, 5.0});
      const auto continued = makers[kind](*resumed);
      // In either order.
      if (foreign_change) resumed->load_state_dict(saved_optimizer);
      continued->load_state_dict(saved);
      if (!foreign_change) resumed->load_state_dict(saved_optimizer);
      CHECK(continued->get_current_lrs() == scheduler->get_current_lrs());
      for (int i = 0; i < 6; ++i) {
        scheduler->step();
        continued->step();
        CHECK(continued->get_current_lrs() == scheduler->get_current_lrs());
        CHECK(continued->step_count() == scheduler->step_count());
      }
    }
  }
}

TEST_CASE("settings are part of a scheduler's state", "[schedulers]") {
  auto optimizer = sgd({1.0});
  optim::StepLR saved(*optimizer, 2, 0.5);
  auto other = sgd({1.0});
  optim::StepLR loaded(*other, 7, 0.9);
  loaded.load_state_dict(saved.state_dict());
  CHECK(sequence(loaded, 2) == Lrs{1, 1, 0.5});
}

TEST_CASE("ReduceLROnPlateau continues where it was saved", "[schedulers]") {
  using Plateau = optim::ReduceLROnPlateau;
  auto straight = sgd({1.0}), resumed = sgd({7.0});
  Plateau scheduler(*straight, Plateau::min, 0.5, 2), continued(*resumed);
  for (const double metric : {3.0, 2.0, 2.5}) scheduler.step(metric);
  continued.load_state_dict(scheduler.state_dict());
  CHECK(lr_of(*resumed) == 1.0);
  for (const double metric : {2.5, 2.5, 1.0, 1.1, 1.1, 1.1, 1.1}) {
    scheduler.step(metric);
    continued.step(metric);
    CHECK(lr_of(*resumed) == lr_of(*straight));
  }
  CHECK(lr_of(*straight) == 0.25);
}

TEST_CASE("a state that does not fit is refused and changes nothing", "[schedulers]") {
  auto optimizer = sgd({1.0}), two_groups = sgd({1.0, 2.0});
  optim::StepLR scheduler(*optimizer, 2, 0.5), wider(*two_groups, 2, 0.5);
  optim::ExponentialLR exponential(*two_groups, 0.5);
  scheduler.step();
  const auto unchanged = [&] {
    CHECK(scheduler.step_count() == 1);
    CHECK(lr_of(*optimizer) == 1);
  };
  CHECK_THROWS_WITH(scheduler.load_state_dict(exponential.state_dict()),
                    Contains("StepLR") && Contains("ExponentialLR"));
  unchanged();
  CHECK_THROWS_WITH(scheduler.load_state_dict(wider.state_dict()),
                    Contains("1 param groups") && Contains("2"));
  unchanged();
  StateDict broken = scheduler.state_dict();
  broken.set("step_size", std::int64_t{0});
  broken.set("step_count", std::int64_t{5});
  CHECK_THROWS_WITH(scheduler.load_state_dict(broken), Contains("step_size"));
  unchanged();
  StateDict wrong_kind = scheduler.state_dict();
  wrong_kind.set("last_lrs", 0.5);
  CHECK_THROWS_AS(scheduler.load_state_dict(wrong_kind), Error);
  unchanged();
  CHECK_THROWS_AS(scheduler.load_state_dict(StateDict()), Error);
  unchanged();
  CHECK(sequence(scheduler, 1) == Lrs{1, 0.5});
}

TEST_CASE("arguments that make no sense are named", "[schedulers]") {
  auto owner = sgd({1.0, 2.0});
  optim::Optimizer& o = *owner;
  const double nan = std::nan("");
  CHECK_THROWS_WITH(optim::StepLR(o, 0), Contains("StepLR") && Contains("step_size"));
  CHECK_THROWS_WITH(optim::StepLR(o, 1, nan), Contains("gamma"));
  CHECK_THROWS_WITH(optim::ExponentialLR(o, -0.1), Contains("gamma"));
  CHECK_THROWS_WITH(optim::MultiStepLR(o, {3, 2}), Contains("milestones"));
  CHECK_THROWS_WITH(optim::MultiStepLR(o, {-1}), Contains("milestones"));
  CHECK_THROWS_WITH(optim::LinearLR(o, 0.0), Contains("start_factor"));
  CHECK_THROWS_WITH(optim::LinearLR(o, 0.5, 1.5), Contains("end_factor"));
  CHECK_THROWS_WITH(optim::LinearLR(o, 0.5, 1, 0), Contains("total_iters"));
  CHECK_THROWS_WITH(optim::ConstantLR(o, 1.1), Contains("factor"));
  CHECK_THROWS_WITH(optim::CosineAnnealingLR(o, 0), Contains("T_max"));
  CHECK_THROWS_WITH(optim::CosineAnnealingLR(o, 5, -1), Contains("eta_min"));
  CHECK_THROWS_WITH(optim::CosineAnnealingWarmRestarts(o, 0), Contains("T_0"));
  CHECK_THROWS_WITH(optim::CosineAnnealingWarmRestarts(o, 1, 0), Contains("T_mult"));
  CHECK_THROWS_WITH(optim::OneCycleLR(o, 0.0, 10), Contains("max_lr"));
  CHECK_THROWS_WITH(optim::OneCycleLR(o, {{1.0, 2.0, 3.0}, 10}), Contains("max_lr") && Contains("2 groups"));
  CHECK_THROWS_WITH(optim::OneCycleLR(o, 1.0, 0), Contains("total_steps"));
  CHECK_THROWS_WITH(optim::OneCycleLR(o, optim::OneCycleLROptions(1, 9).pct_start(1.5)),
                    Contains("pct_start"));
  CHECK_THROWS_WITH(optim::OneCycleLR(o, optim::OneCycleLROptions(1, 9).max_momentum(1)),
                    Contains("max_momentum"));
  CHECK_THROWS_WITH(optim::OneCycleLR(o, optim::OneCycleLROptions(1, 9).div_factor(0)),
                    Contains("div_factor"));
  CHECK_THROWS_WITH(optim::LambdaLR(o, optim::LambdaLR::Function()), Contains("lr_lambdas"));
  CHECK_THROWS_WITH(optim::LambdaLR(o, std::vector<optim::LambdaLR::Function>{}), Contains("2 groups"));
  using Plateau = optim::ReduceLROnPlateau;
  CHECK_THROWS_WITH(Plateau(o, Plateau::min, 1.0), Contains("factor"));
  CHECK_THROWS_WITH(Plateau(o, Plateau::min, 0.1, -1), Contains("patience"));
  CHECK_THROWS_WITH(Plateau(o, Plateau::min, 0.1, 1, nan), Contains("threshold"));
  CHECK_THROWS_WITH(Plateau(o, Plateau::min, 0.1, 1, 0, Plateau::rel, -1), Contains("cooldown"));
  CHECK_THROWS_WITH(Plateau(o, Plateau::min, 0.1, 1, 0, Plateau::rel, 0, {1, 2, 3}), Contains("min_lr"));
}

TEST_CASE("SequentialLR refuses schedulers that do not belong together", "[schedulers]") {
  auto a = sgd({1.0}), b = sgd({1.0});
  const auto of_a = std::make_shared<optim::ExponentialLR>(*a, 0.5);
  const auto of_b = std::make_shared<optim::ExponentialLR>(*b, 0.5);
  using Parts = std::vector<std::shared_ptr<optim::LRScheduler>>;
  CHECK_THROWS_WITH(optim::SequentialLR(*a, Parts{}, {}), Contains("schedulers"));
  CHECK_THROWS_WITH(optim::SequentialLR(*a, Parts{of_a, nullptr}, {1}), Contains("null"));
  CHECK_THROWS_WITH(optim::SequentialLR(*a, Parts{of_a, of_b}, {1}), Contains("another optimizer"));
  CHECK_THROWS_WITH(optim::SequentialLR(*a, Parts{of_a, of_a}, {}), Contains("milestones"));
  CHECK_THROWS_WITH(optim::SequentialLR(*a, Parts{of_a, of_a, of_a}, {2, 2}), Contains("milestones"));
}
