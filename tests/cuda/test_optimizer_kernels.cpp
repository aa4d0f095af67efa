// The optimizers' kernels on a CUDA device against those of the CPU: every rule and dtype, many parameters of
// all sizes in few launches, norms, skips, masters, shadows and random rounding.

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <memory>

#include "halftone/engine/cuda.h"
#include "halftone/kernels/record.h"
#include "halftone/nn/utils/clip_grad.h"
#include "halftone/optim/stochastic_rounding.h"
#include "halftone/tests/support/training.h"

using namespace halftone;
using namespace halftone::test;

namespace {

using i64 = std::int64_t;
const Device kDevice(kCUDA);

/// Normal numbers that depend on `seed` and the position only.
Tensor numbers(i64 n, ScalarType dtype, std::uint64_t seed) {
  return randn({n}, Generator(seed), TensorOptions(kFloat)).to(dtype);
}

/// The same parameters on both devices, with gradients drawn anew for every step.
struct Pair {
  Pair(const std::vector<i64>& sizes, ScalarType dtype) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      host.push_back(numbers(sizes[i], dtype, i).requires_grad_());
      device.push_back(host.back().detach().to(kDevice).requires_grad_());
    }
  }
  void set_gradients(std::uint64_t seed, ScalarType dtype, double scale = 1) {
    for (std::size_t i = 0; i < host.size(); ++i) {
      const Tensor gradient = (numbers(host[i].numel(), kFloat, 1000 * seed + i) * scale).to(dtype);
      host[i].mutable_grad() = gradient;
      device[i].mutable_grad() = gradient.to(kDevice);
    }
  }
  std::vector<Tensor> host, device;
};

/// Equal but for what one rounding may change: the device's pow has other last bits.
bool is_near(const Tensor& host, const Tensor& device, ScalarType dtype) {
  const double tolerance = dtype == kDouble  ? 1e-13
                           : dtype == kFloat ? 1e-6
                           : dtype == kHalf  ? 0x1p-10
                                             : 0x1p-7;
  const Tensor x = host.detach().to(kDouble), y = device.detach().cpu().to(kDouble);
  return allclose(y, x, tolerance, tolerance);
}

void check_equal(const Pair& pair) {
  for (std::size_t i = 0; i < pair.host.size(); ++i) {
    INFO("parameter " << i << " of " << pair.host[i].numel() << " elements");
    CHECK(is_near(pair.host[i], pair.device[i], pair.host[i].scalar_type()));
  }
}

/// `make(parameters)` gives an optimizer.
template <class Make>
void compare_steps(ScalarType dtype, ScalarType gradient_dtype, Make make, double clip = 0,
                   std::int64_t steps = 3) {
  Pair pair({1, 3, 4, 64, 1000, 2047, 2048, 8193, 0}, dtype);
  auto host = make(pair.host), device = make(pair.device);
  for (std::int64_t step = 1; step <= steps; ++step) {
    pair.set_gradients(static_cast<std::uint64_t>(step), gradient_dtype);
    if (clip > 0) {
      const double expected = host.clip_grad_norm_(clip);
      CHECK(device.clip_grad_norm_(clip).item() == Approx(expected).epsilon(1e-12));
    }
    host.step();
    device.step();
  }
  CHECK(device.applied_steps() == steps);
  check_equal(pair);
}

}  // namespace

TEST_CASE("every rule gives on the device what it gives on the CPU") {
  const CpuByDefault cpu;
  const auto dtype = GENERATE(kFloat, kDouble, kHalf, kBFloat16);
  INFO("dtype " << dtype_name(dtype));
  const ScalarType gradient = is_low_precision(dtype) ? kFloat : dtype;
  compare_steps(dtype, gradient, [](const auto& p) { return optim::SGD(p, 0.1); });
  compare_steps(dtype, gradient, [](const auto& p) {
    return optim::SGD(p, optim::SGDOptions(0.1).momentum(0.9).dampening(0.1).weight_decay(0.01));
  });
  compare_steps(dtype, gradient, [](const auto& p) {
    return optim::SGD(p, optim::SGDOptions(0.1).momentum(0.9).nesterov(true));
  });
  compare_steps(dtype, gradient,
                [](const auto& p) { return optim::Adam(p, optim::AdamOptions(0.1).weight_decay(0.1)); });
  compare_steps(dtype, gradient,
                [](const auto& p) { return optim::AdamW(p, optim::AdamWOptions(0.1).amsgrad(true)); });
  compare_steps(
      dtype, gradient, [](const auto& p) { return optim::AdamW(p, optim::AdamWOptions(0.1)); }, 0.5);
  compare_steps(dtype, gradient, [](const auto& p) {
    return optim::RMSprop(p, optim::RMSpropOptions(0.1).momentum(0.9).centered(true));
  });
  compare_steps(dtype, gradient,
                [](const auto& p) { return optim::Adagrad(p, optim::AdagradOptions(0.1).lr_decay(0.1)); });
  compare_steps(dtype, gradient,
                [](const auto& p) { return optim::Adadelta(p, optim::AdadeltaOptions().weight_decay(0.1)); });
  compare_steps(dtype, gradient, [](const auto& p) { return optim::Adamax(p, optim::AdamaxOptions(0.1)); });
  compare_steps(dtype, gradient,
                [](const auto& p) { return optim::NAdam(p, optim::NAdamOptions(0.1).weight_decay(0.1)); });
  compare_steps(
      dtype, gradient,
      [](const auto& p) {
        return optim::RAdam(p, optim::RAdamOptions(0.1).decoupled_weight_decay(true).weight_decay(0.1));
      },
      0, 7);  // rectified from the sixth step on
  compare_steps(dtype, gradient,
                [](const auto& p) { return optim::Lion(p, optim::LionOptions(0.01).weight_decay(0.1)); });
}

TEST_CASE("gradients in another dtype than the parameter") {
  const CpuByDefault cpu;
  for (const ScalarType gradient : {kHalf, kBFloat16, kDouble}) {
    compare_steps(kFloat, gradient, [](const auto& p) { return optim::AdamW(p, optim::AdamWOptions(0.1)); });
  }
}

TEST_CASE("hundreds of parameters in groups of their own settings") {
  const CpuByDefault cpu;
  std::vector<i64> sizes;
  for (i64 i = 0; i < 300; ++i) sizes.push_back(i % 7 == 0 ? 2500 : i % 90);
  Pair pair(sizes, kFloat);
  const auto make = [](const std::vector<Tensor>& p) {
    std::vector<optim::OptimizerParamGroup> groups;
    groups.emplace_back(std::vector<Tensor>(p.begin(), p.begin() + 100));
    groups.emplace_back(std::vector<Tensor>(p.begin() + 100, p.end()),
                        std::make_unique<optim::AdamWOptions>(optim::AdamWOptions(0.5).weight_decay(0.3)));
    return optim::AdamW(std::move(groups), optim::AdamWOptions(0.01));
  };
  auto host = make(pair.host), device = make(pair.device);
  host.use_loss_scaling(amp::LossScaling::fixed(8));
  device.use_loss_scaling(amp::LossScaling::fixed(8));
  for (std::uint64_t step = 1; step <= 2; ++step) {
    pair.set_gradients(step, kFloat, 8);
    pair.host[step].mutable_grad() = pair.device[step].mutable_grad() = Tensor();  // has none this time
    host.clip_grad_norm_(10);
    device.clip_grad_norm_(10);
    const optim::StepReport expected = host.step(), report = device.step();
    CHECK(report.applied());
    CHECK(report.grad_norm() == Approx(expected.grad_norm()).epsilon(1e-12));
  }
  check_equal(pair);
  CHECK(device.state_dict().integer("state.0.step") == 2);
  CHECK(device.state_dict().integer("state.2.step") == 1);
}

TEST_CASE("norms") {
  const CpuByDefault cpu;
  const double infinite = std::numeric_limits<double>::infinity();
  Pair pair({1, 2000, 5000, 40000, 100001, 0}, kFloat);
  for (const ScalarType dtype : {kFloat, kHalf, kBFloat16, kDouble}) {
    for (const double p : {2.0, 1.0, 3.0, 0.5, infinite}) {
      pair.set_gradients(1, dtype);
      const double expected = nn::utils::clip_grad_norm_(pair.host, 1e30, p);
      INFO("dtype " << dtype_name(dtype) << ", p " << p);
      CHECK(nn::utils::clip_grad_norm_(pair.device, 1e30, p).item() == Approx(expected).epsilon(1e-11));
    }
  }
  pair.set_gradients(2, kHalf);
  nn::utils::clip_grad_norm_(pair.host, 0.5);
  nn::utils::clip_grad_norm_(pair.device, 0.5);
  for (std::size_t i = 0; i < pair.host.size(); ++i) {
    CHECK(is_near(pair.host[i].grad(), pair.device[i].grad(), kHalf));
  }
}

TEST_CASE("norms do not overflow") {
  const CpuByDefault cpu;
  Tensor w = parameter({0, 0}).detach().to(kDevice).requires_grad_();
  Tensor wide = w.detach().to(kDouble).requires_grad_();
  const auto norm = [](const Tensor& leaf, const Tensor& gradient) {
    leaf.mutable_grad() = gradient.to(kDevice);
    return nn::utils::clip_grad_norm_({leaf}, 1e308).item();
  };
  CHECK(norm(w, tensor({3e20f, 4e20f})) == Approx(5e20));
  CHECK(norm(wide, tensor({3e200, 4e200}, kDouble)) == Approx(5e200));
  CHECK(norm(wide, tensor({3e-200, 4e-200}, kDouble)) == Approx(5e-200));
  CHECK(norm(wide, tensor({0.0, 4e-310}, kDouble)) == Approx(4e-310));
  CHECK(norm(wide, tensor({3.0, 4e-200}, kDouble)) == 3);
  CHECK(std::isinf(norm(w, tensor({1.0f, kInfinity}))));
  CHECK(std::isnan(norm(w, tensor({1.0f, kNan}))));
  CHECK(std::isnan(norm(wide, tensor({kNan, 1.0f}).to(kDouble))));
  CHECK(norm(w, tensor({0.0f, 0.0f})) == 0);
}

TEST_CASE("one device per optimizer") {
  const CpuByDefault cpu;
  const Tensor here = parameter({1}), there = parameter({1}).detach().to(kDevice).requires_grad_();
  CHECK(contains(error_of([&] { optim::SGD({here, there}, 0.1); }), "one device"));
  here.mutable_grad() = tensor({1.0f});
  there.mutable_grad() = tensor({1.0f}).to(kDevice);
  CHECK(contains(error_of([&] { nn::utils::clip_grad_norm_({here, there}, 1.0); }), "one device"));
}

TEST_CASE("strided parameters and gradients") {
  const CpuByDefault cpu;
  const auto run = [](Device device) {
    Tensor w = arange(6).to(kFloat).view({3, 2}).to(device).t().requires_grad_();
    w.mutable_grad() = (arange(6).to(kFloat) * 1024).view({3, 2}).to(device).t();
    optim::SGD optimizer({w}, optim::SGDOptions(0.5).momentum(0.9));
    amp::GradScaler scaler(amp::GradScalerOptions().init_scale(1024));
    CHECK(scaler.unscale_(optimizer));
    scaler.step(optimizer);
    scaler.update();
    return std::pair(w.detach().cpu().contiguous(), w.grad().cpu().contiguous());
  };
  const auto host = run(kCPU), device = run(kDevice);
  CHECK(same_bits(host.first, device.first));
  CHECK(same_bits(host.second, device.second));
}

TEST_CASE("half parameters: masters, gradients in half, weights written from outside") {
  const CpuByDefault cpu;
  for (const ScalarType dtype : {kHalf, kBFloat16}) {
    const auto run = [&](Device device) {
      Tensor w = tensor({1.0, 2.0, -3.0}).to(dtype).to(device).requires_grad_();
      optim::SGD optimizer({w}, 1e-4);
      for (int step = 0; step < 20; ++step) {
        w.mutable_grad() = tensor({1.0f, -1.0f, 0.5f}).to(device);
        if (step == 10) {
          NoGradGuard no_grad;
          w.select(0, 1).fill_(0.5);
        }
        optimizer.step();
      }
      return std::pair(w.detach().cpu(), optimizer.state_dict().tensor("state.0.master").cpu());
    };
    const auto host = run(kCPU), device = run(kDevice);
    CHECK(same_bits(host.first, device.first));
    CHECK(same_bits(host.second, device.second));
  }
}

TEST_CASE("the half shadow follows the weights") {
  const CpuByDefault cpu;
  Tensor w = numbers(1001, kFloat, 5).to(kDevice).requires_grad_();
  optim::AdamW optimizer({w}, optim::AdamWOptions(0.1));
  optimizer.use_half_shadow(kBFloat16);
  for (int step = 0; step < 3; ++step) {
    w.mutable_grad() = numbers(1001, kFloat, 6).to(kDevice);
    optimizer.step();
    CHECK(same_bits(autograd::meta_of(w).shadow.cpu(), w.detach().cpu().to(kBFloat16)));
  }
}

TEST_CASE("random rounding draws the CPU's numbers, and none for a skipped step") {
  const CpuByDefault cpu;
  for (const ScalarType dtype : {kHalf, kBFloat16}) {
    const auto run = [&](Device device) {
      Tensor a = numbers(1003, dtype, 1).to(device).requires_grad_(),
             b = numbers(50, dtype, 2).to(device).requires_grad_();
      optim::SGD optimizer({a, b}, optim::SGDOptions(1e-3).stochastic_rounding(true));
      optimizer.rounding_generator().set_current_seed(7);
      optimizer.use_loss_scaling(amp::LossScaling::fixed(4));
      for (std::uint64_t step = 0; step < 6; ++step) {
        a.mutable_grad() = numbers(1003, kFloat, 10 + step).to(device);
        b.mutable_grad() = (numbers(50, kFloat, 20 + step) * (step == 3 ? kInfinity : 1.0f)).to(device);
        optimizer.step();
      }
      const StateDict state = optimizer.state_dict();
      return std::tuple(a.detach().cpu(), b.detach().cpu(), state.integer("rounding_offset"),
                        state.integer("meter_changed"), state.integer("meter_lost"),
                        optimizer.rounding_generator().state().offset);
    };
    const auto host = run(kCPU), device = run(kDevice);
    CHECK(same_bits(std::get<0>(host), std::get<0>(device)));
    CHECK(same_bits(std::get<1>(host), std::get<1>(device)));
    CHECK(std::get<2>(host) == std::get<2>(device));
    CHECK(std::get<3>(host) == std::get<3>(device));
    CHECK(std::get<4>(host) == std::get<4>(device));
    CHECK(std::get<5>(host) == 5 * (251 + 13));
    CHECK(std::get<5>(device) == 5 * (251 + 13));
  }
  const Tensor x = numbers(5000, kFloat, 3);
  for (const ScalarType dtype : {kHalf, kBFloat16}) {
    CHECK(same_bits(optim::stochastic_round(x, dtype, Generator(7)),
                    optim::stochastic_round(x.to(kDevice), dtype, Generator(7)).cpu()));
  }
}
