// Half parameters: fp32 masters, gradients in fp32, stochastic rounding, and the half shadow of fp32
// parameters.

#include <catch2/catch.hpp>
#include <cmath>

#include "halftone/amp/autocast.h"
#include "halftone/engine/threads.h"
#include "halftone/optim/stochastic_rounding.h"
#include "halftone/tests/support/training.h"

using namespace halftone;
using namespace halftone::test;

namespace {

/// The weight after `steps` updates of exactly `update`.
Tensor after(ScalarType dtype, int steps, double update, bool masters, UpdateMeter* meter = nullptr) {
  Tensor w = parameter({1}, dtype);
  optim::SGD optimizer({w}, optim::SGDOptions(1.0).master_weights(masters));
  for (int i = 0; i < steps; ++i) {
    inject(w, {-update});
    optimizer.step();
  }
  if (meter) *meter = optimizer.update_meter();
  if (masters) return optimizer.state_dict().tensor("state.0.master");
  return w;
}

}  // namespace

TEST_CASE("weights that stop moving move with a master") {
  UpdateMeter meter;
  CHECK(values(after(kBFloat16, 100, -6e-4, false, &meter)) == List{1});
  CHECK(meter.changed == 100);
  CHECK(meter.lost == 100);
  const Tensor master = after(kBFloat16, 100, -6e-4, true);
  CHECK(master.item<double>() == Approx(0.940002).epsilon(1e-6));
  CHECK(values(master.to(kBFloat16)) == List{0.94140625});
  CHECK(values(after(kHalf, 1000, -1e-4, false)) == List{1});
  CHECK(after(kHalf, 1000, -1e-4, true).item<double>() == Approx(0.899983).epsilon(1e-6));
}

TEST_CASE("gradients of half parameters accumulate in fp32 while an optimizer holds them") {
  Tensor w = parameter({1}, kHalf);
  (w * 1.0).sum().backward();
  CHECK(w.grad().scalar_type() == kHalf);
  {
    optim::SGD optimizer({w}, 0.1);
    CHECK(w.grad().scalar_type() == kFloat);  // the one that was there is converted
    for (int i = 0; i < 4096; ++i) (w * 1.0).sum().backward();
    CHECK(w.grad().scalar_type() == kFloat);
    CHECK(values(w.grad()) == List{4097});  // 4097 is no fp16 number
    CHECK(optimizer.step().applied());
  }
  CHECK(w.grad().scalar_type() == kHalf);
  (w * 1.0).sum().backward();
  CHECK(w.grad().scalar_type() == kHalf);
}

TEST_CASE("fp16 parameters without master are refused under scaling, by name") {
  Tensor w = parameter({1}, kHalf);
  optim::SGD alone({{"fc.weight", w}}, optim::SGDOptions(0.1).master_weights(false));
  amp::GradScaler scaler(amp::GradScalerOptions().init_scale(1024));  // 65536 is no fp16 number
  inject(w, {1024});
  for (const std::string& error :
       {error_of([&] { scaler.unscale_(alone); }), error_of([&] { scaler.step(alone); })}) {
    CHECK(contains(error, "'fc.weight'"));
    CHECK(contains(error, "master_weights(true)"));
  }
  Tensor with = parameter({1}, kHalf);
  optim::SGD optimizer({with}, 0.5);
  scaler.scale(with.to(kFloat).sum()).backward();
  scaler.unscale_(optimizer);
  CHECK(with.grad().scalar_type() == kFloat);
  scaler.step(optimizer);
  CHECK(values(with) == List{0.5});
}

TEST_CASE("a skipped step leaves weight, master, moments and shadow as they were, bit for bit") {
  Tensor half = parameter({1, 2}, kHalf), full = parameter({1, 2});
  optim::AdamW optimizer({half, full}, optim::AdamWOptions(0.1).half_shadow(kBFloat16));
  optimizer.use_loss_scaling();
  const auto inject_both = [&](double g) {
    inject(half, {g, 65536});
    inject(full, {65536, 65536});
  };
  inject_both(65536);
  optimizer.step();
  const StateDict before = optimizer.state_dict();
  const Tensor weight = half.detach().clone(), shadow = autograd::meta_of(full).shadow.clone();
  const std::uint32_t version = full._version();
  inject_both(static_cast<double>(kNan));
  CHECK(optimizer.step().skipped_nonfinite());
  CHECK(same_bits(half, weight));
  CHECK(same_bits(autograd::meta_of(full).shadow, shadow));
  if (on_cpu())
    CHECK(full._version() == version);  // elsewhere the host does not know that nothing was written
  const StateDict after = optimizer.state_dict();
  for (const auto& [name, value] : before) {
    if (std::holds_alternative<Tensor>(value)) CHECK(same_bits(std::get<Tensor>(value), after.tensor(name)));
  }
  CHECK(after.integer("state.0.step") == 1);
}

TEST_CASE("what is written to a parameter from outside reaches its master") {
  Tensor w = parameter({1, 2}, kBFloat16);
  optim::SGD optimizer({w}, 1.0);
  inject(w, {1e-4, 1e-4});
  optimizer.step();
  {
    NoGradGuard no_grad;
    w[1].fill_(8);
  }
  inject(w, {1e-4, 0});
  optimizer.step();
  const Tensor master = optimizer.state_dict().tensor("state.0.master");
  CHECK(values(master)[0] == Approx(0.9998).epsilon(1e-7));
  CHECK(values(master)[1] == 8);
}

TEST_CASE("masters and moments count as optimizer memory") {
  Tensor w = zeros({1024}, kHalf).requires_grad_();
  const std::size_t before = memory_stats(get_default_device()).allocated_of(MemoryCategory::kOptimizer);
  optim::Adam optimizer({w});
  w.mutable_grad() = ones({1024});
  optimizer.step();
  CHECK(memory_stats(get_default_device()).allocated_of(MemoryCategory::kOptimizer) - before == 3 * 4096);
}

TEST_CASE("stochastic rounding") {
  SECTION("keeps the mean, and the stream is the seed's") {
    const Tensor x = full({100000}, 0.9994, kFloat);
    const Tensor rounded = optim::stochastic_round(x, kBFloat16, Generator(7));
    int low = 0;
    for (const double value : values(rounded)) {
      REQUIRE((value == 1.0 || value == 0.99609375));
      low += value < 1;
    }
    CHECK(low / 1e5 == Approx(0.1536).margin(0.01));
    CHECK(same_bits(rounded, optim::stochastic_round(x, kBFloat16, Generator(7))));
    CHECK_FALSE(same_bits(rounded, optim::stochastic_round(x, kBFloat16, Generator(8))));
    set_num_threads(1);
    CHECK(same_bits(rounded, optim::stochastic_round(x, kBFloat16, Generator(7))));
    set_num_threads(2);
  }
  SECTION("never changes what is representable") {
    for (const ScalarType dtype : {kHalf, kBFloat16}) {
      Tensor patterns = empty({65536}, TensorOptions(dtype).device(kCPU));
      auto* bits = static_cast<std::uint16_t*>(patterns.data_ptr());
      for (int i = 0; i < 65536; ++i) bits[i] = static_cast<std::uint16_t>(i);
      const Tensor all = patterns.to(get_default_device());
      const Tensor again = optim::stochastic_round(all.to(kFloat), dtype, Generator(1));
      CHECK(same_bits(again, all.to(kFloat).to(dtype)));
    }
  }
  SECTION("rounds to a neighbour, at zero and at the largest value too") {
    const Tensor x = tensor({2e-8, -2e-8, 65519.0, 65530.0, 1e-7, -70000.0});
    const List rounded = values(optim::stochastic_round(x, kHalf, Generator(1)));
    CHECK((rounded[0] == 0 || rounded[0] == 0x1p-24));
    CHECK((rounded[1] == 0 || rounded[1] == -0x1p-24));
    CHECK(rounded[2] == 65504);
    CHECK(std::isinf(rounded[3]));
    CHECK((rounded[4] == 0x1p-24 || rounded[4] == 0x1p-23));
    CHECK(rounded[5] == -static_cast<double>(kInfinity));
  }
  SECTION("moves weights that would stand still") {
    Tensor w = ones({2000}, kBFloat16).requires_grad_();
    optim::SGD optimizer({w}, optim::SGDOptions(1.0).stochastic_rounding(true));
    for (int i = 0; i < 100; ++i) {
      w.mutable_grad() = full({2000}, 6e-4, kFloat);
      optimizer.step();
    }
    CHECK(w.detach().to(kFloat).mean().item<double>() == Approx(0.94).margin(0.003));
    CHECK(optimizer.update_meter().lost > 0);
    CHECK_FALSE(optimizer.state_dict().contains("state.0.master"));
  }
  SECTION("works under loss scaling, and resumes bit for bit") {
    const auto run = [](Tensor& w, optim::SGD& optimizer, int steps) {
      for (int i = 0; i < steps; ++i) {
        optimizer.zero_grad();
        optimizer.backward((w.to(kFloat) * 1e-3).sum());
        CHECK(optimizer.step().applied());
      }
    };
    const auto options = optim::SGDOptions(1.0).stochastic_rounding(true);
    Tensor a = ones({100}, kHalf).requires_grad_(), b = ones({100}, kHalf).requires_grad_();
    optim::SGD straight({a}, options), first({b}, options);
    straight.use_loss_scaling();
    first.use_loss_scaling();
    run(a, straight, 6);
    run(b, first, 3);
    Tensor c = b.detach().clone().requires_grad_();
    optim::SGD second({c}, options);
    second.use_loss_scaling();
    second.load_state_dict(first.state_dict());
    run(c, second, 3);
    CHECK(same_bits(a, c));
  }
}

TEST_CASE("half shadow: autocast uses the optimizer's copy without casting") {
  const Tensor x = ones({1, 2});
  Tensor matrix = ones({2, 2}).requires_grad_();
  optim::SGD owner({matrix}, 0.3);
  owner.use_half_shadow(kBFloat16);
  const auto loss = [&](std::size_t entries) {
    amp::Autocast region(device_type(), kBFloat16);
    const Tensor y = linear(x, matrix).sum();
    CHECK(amp::cast_cache_stats().entries == entries);
    return y;
  };
  loss(0).backward();
  CHECK(values(matrix.grad()) == List{1, 1, 1, 1});
  owner.step();
  CHECK(same_bits(autograd::meta_of(matrix).shadow, matrix.detach().to(kBFloat16)));
  CHECK(loss(0).item<double>() == Approx(2.8).epsilon(0.01));
  {
    NoGradGuard no_grad;
    matrix.fill_(3);
  }
  CHECK(loss(1).item<double>() == 12);  // the copy is out of date, so it is not used
  owner.zero_grad();
  loss(1).backward();
  owner.step();
  CHECK(loss(0).item<double>() == Approx(10.8).epsilon(0.01));
  CHECK(error_of([&] { owner.use_half_shadow(kFloat); }) != "");
}
