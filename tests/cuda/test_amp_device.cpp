// The AMP step on a CUDA device: the host reads nothing that nobody asks for, and everything is what it is on
// the CPU.

#include <catch2/catch.hpp>
#include <functional>

#include "halftone/amp/autocast.h"
#include "halftone/engine/cuda.h"
#include "halftone/nn/utils/clip_grad.h"
#include "halftone/tests/support/training.h"

using namespace halftone;
using namespace halftone::test;
using amp::GradScaler;
using amp::GradScalerOptions;
using amp::LossScaling;
using optim::StepReport;

namespace {

const Device kDevice(kCUDA);

/// Copies to the host that `f` makes.
template <class F>
std::uint64_t reads_of(F f) {
  const std::uint64_t before = cuda::host_reads();
  f();
  return cuda::host_reads() - before;
}

Tensor on(Device device, const std::vector<double>& values, ScalarType dtype = kFloat) {
  return tensor(values, kDouble).to(dtype).to(device);
}
Tensor parameter_on(Device device, const std::vector<double>& values, ScalarType dtype = kFloat) {
  return on(device, values, dtype).requires_grad_();
}

/// Two layers, and data to fit them to.
struct Net {
  explicit Net(Device device)
      : x(randn({8, 16}, Generator(1)).to(device)),
        y(randn({8, 4}, Generator(2)).to(device)),
        w1((randn({24, 16}, Generator(3)) * 0.25).to(device).requires_grad_()),
        b1(zeros({24}).to(device).requires_grad_()),
        w2((randn({4, 24}, Generator(4)) * 0.2).to(device).requires_grad_()) {}

  std::vector<Tensor> parameters() const { return {w1, b1, w2}; }
  Tensor loss() const {
    amp::Autocast region(x.device().type(), kHalf);
    return mse_loss(linear(relu(linear(x, w1, b1)), w2), y);
  }

  Tensor x, y, w1, b1, w2;
};

/// A training loop over one parameter; 'O' is an overflow, 'N' a loss that is not finite, '.' a clean step.
struct Loop {
  Loop(Device device, const GradScalerOptions& options)
      : w(parameter_on(device, {1, -2, 3})), scaler(options) {}

  StepReport step(char kind) {
    optimizer.zero_grad();
    // The gradient is x: 1e38 times any scale from 4 overflows.
    const double x = kind == 'O' ? 1e38 : kind == 'N' ? static_cast<double>(kNan) : 0.5;
    scaler.scale((w * x).sum()).backward();
    StepReport report = scaler.step(optimizer);
    scaler.update();
    return report;
  }

  Tensor w;
  optim::AdamW optimizer{{{"w", w}}, optim::AdamWOptions(0.01)};
  GradScaler scaler;
};

}  // namespace

TEST_CASE("a hundred steps with GradScaler read nothing from the device") {
  const CpuByDefault cpu;
  Net net(kDevice);
  optim::AdamW optimizer(net.parameters(), optim::AdamWOptions(0.01));
  GradScaler scaler(GradScalerOptions().growth_interval(7));
  const double first = net.loss().item<double>();
  const std::uint64_t reads = reads_of([&] {
    for (int i = 0; i < 100; ++i) {
      optimizer.zero_grad();
      scaler.scale(net.loss()).backward();
      scaler.unscale_(optimizer);
      nn::utils::clip_grad_norm_(net.parameters(), 1.0);
      scaler.step(optimizer);
      scaler.update();
    }
  });
  CHECK(reads == 0);
  CHECK(net.loss().item<double>() < 0.2 * first);
  CHECK(optimizer.attempted_steps() == 100);
  CHECK(optimizer.applied_steps() >= 90);
  CHECK(reads_of([&] { scaler.get_scale(); }) == 1);
}

TEST_CASE("nor do a hundred steps with the controller in the optimizer") {
  const CpuByDefault cpu;
  Net net(kDevice);
  optim::AdamW optimizer(net.parameters(), optim::AdamWOptions(0.01));
  optimizer.use_half_shadow(kHalf);
  optimizer.use_loss_scaling(GradScalerOptions().growth_interval(7));
  const double first = net.loss().item<double>();
  StepReport report;
  const std::uint64_t reads = reads_of([&] {
    for (int i = 0; i < 100; ++i) {
      optimizer.zero_grad(i % 2 == 0);
      optimizer.backward(net.loss());
      optimizer.clip_grad_norm_(1.0);
      report = optimizer.step();
    }
  });
  CHECK(reads == 0);
  CHECK(net.loss().item<double>() < 0.2 * first);
  CHECK(reads_of([&] { CHECK(report.applied()); }) == 1);
  CHECK(reads_of([&] { CHECK(report.grad_norm() > 0); }) == 0);  // the report is read as a whole, once
  CHECK(reads_of([&] { CHECK(optimizer.last_report().scale_after() >= report.scale_before()); }) == 0);
}

TEST_CASE("scale, counters, moments and weights go the way they go on the CPU") {
  const CpuByDefault cpu;
  const auto options =
      GradScalerOptions().init_scale(16).growth_interval(3).hysteresis(2).min_scale(4).stalled_after(2);
  Loop host(kCPU, options), device(kDevice, options);
  for (const char kind : std::string("....O.OO..NOOOO...........")) {
    const StepReport expected = host.step(kind), report = device.step(kind);
    INFO(kind);
    CHECK(report.str() == expected.str());
    CHECK(report.applied() == expected.applied());
    CHECK(report.stalled() == expected.stalled());
    CHECK(report.loss_was_nonfinite() == expected.loss_was_nonfinite());
    CHECK(report.overflowed_parameters() == expected.overflowed_parameters());
    CHECK(report.overflowed_names() == expected.overflowed_names());
    CHECK(device.scaler.get_scale() == host.scaler.get_scale());
    CHECK(device.scaler.get_growth_tracker() == host.scaler.get_growth_tracker());
    CHECK(allclose(device.w.detach().cpu(), host.w.detach(), 1e-6, 1e-6));
  }
  const StateDict expected = host.scaler.state_dict(), state = device.scaler.state_dict();
  for (const char* counter : {"_growth_tracker", "hysteresis_left", "floor_skips"}) {
    CHECK(state.integer(counter) == expected.integer(counter));
  }
  CHECK(device.optimizer.applied_steps() == host.optimizer.applied_steps());
  CHECK(device.optimizer.attempted_steps() == host.optimizer.attempted_steps());
}

TEST_CASE("reports of earlier steps keep what they said") {
  const CpuByDefault cpu;
  Loop loop(kDevice, GradScalerOptions().init_scale(16).growth_interval(2));
  std::vector<StepReport> reports;
  for (const char kind : std::string("..O..")) reports.push_back(loop.step(kind));
  CHECK(reports[0].scale_before() == 16);
  CHECK(reports[2].skipped_nonfinite());
  CHECK(reports[2].scale_before() == 32);
  CHECK(reports[3].applied());
  CHECK(reports[4].scale_before() == 16);
}

TEST_CASE("a skipped step changes nothing, bit for bit") {
  const CpuByDefault cpu;
  for (const ScalarType dtype : {kFloat, kHalf}) {
    Tensor w = parameter_on(kDevice, {1, -2, 3}, dtype);
    optim::AdamW optimizer({w}, optim::AdamWOptions(0.1).amsgrad(true));
    optimizer.use_loss_scaling(LossScaling::fixed(4));
    const auto step = [&](const std::vector<double>& gradient) {
      w.mutable_grad() = on(kDevice, gradient);
      optimizer.clip_grad_norm_(1);
      return optimizer.step();
    };
    step({kInfinity, 0, 0});  // the very first
    CHECK_FALSE(optimizer.state_dict().contains("state.0.exp_avg"));
    CHECK_FALSE(optimizer.state_dict().contains("state.0.step"));
    step({1, 2, 3});
    const Tensor weights = w.detach().cpu().clone();
    const StateDict before = optimizer.state_dict();
    CHECK(step({1, kNan, 3}).skipped_nonfinite());
    const StateDict after = optimizer.state_dict();
    CHECK(same_bits(weights, w.detach().cpu()));
    for (const char* moment : {"state.0.exp_avg", "state.0.exp_avg_sq", "state.0.max_exp_avg_sq"}) {
      CHECK(same_bits(before.tensor(moment), after.tensor(moment)));
    }
    CHECK(after.integer("state.0.step") == 1);
    CHECK(optimizer.applied_steps() == 1);
    CHECK(optimizer.attempted_steps() == 3);
  }
}

TEST_CASE("SGD's velocity starts with the first applied step") {
  const CpuByDefault cpu;
  const auto run = [](Device device) {
    Tensor w = parameter_on(device, {1});
    optim::SGD optimizer({w}, optim::SGDOptions(0.1).momentum(0.9).dampening(0.5));
    optimizer.use_loss_scaling(LossScaling::fixed(1));
    for (const double gradient : {static_cast<double>(kNan), 1.0, 2.0}) {
      w.mutable_grad() = on(device, {gradient});
      optimizer.step();
    }
    return w.item<float>();
  };
  CHECK(run(kDevice) == run(kCPU));
}

TEST_CASE("misuse is found without reading the device") {
  const CpuByDefault cpu;
  Net net(kDevice);
  optim::SGD optimizer(net.parameters(), 0.1);
  GradScaler scaler(GradScalerOptions().init_scale(8)), other;
  scaler.scale(net.loss()).backward();
  const auto refuses = [](const char* part, const std::function<void()>& f) {
    std::string error;
    CHECK(reads_of([&] { error = error_of(f); }) == 0);
    INFO(error);
    CHECK(contains(error, part));
  };
  refuses("another scaler", [&] { other.unscale_(optimizer); });
  refuses("call step(optimizer) first", [&] { scaler.update(); });
  scaler.unscale_(optimizer);
  refuses("called already", [&] { scaler.unscale_(optimizer); });
  scaler.step(optimizer);
  refuses("called already", [&] { scaler.step(optimizer); });
  refuses("after step", [&] { scaler.unscale_(optimizer); });
  scaler.update();
  refuses("no optimizer has stepped", [&] { scaler.update(); });
  // The messages that name the scale read it, and only then.
  optimizer.zero_grad();
  scaler.scale(net.loss()).backward();
  CHECK(contains(error_of([&] { optimizer.step(); }), "still scaled by 8"));
  CHECK(contains(error_of([&] { nn::utils::clip_grad_norm_(net.parameters(), 1.0); }), "still scaled by 8"));
  CHECK(contains(error_of([&] { net.loss().backward(); }), "scale(loss)"));
}

TEST_CASE("losses scaled before and after the scale moved are added in one unit") {
  const CpuByDefault cpu;
  Tensor w = parameter_on(kDevice, {1});
  optim::SGD optimizer({w}, 1.0);
  GradScaler scaler(GradScalerOptions().init_scale(1024));
  scaler.scale(w.sum()).backward();
  scaler.loss_scaling().set_scale(512);
  CHECK(reads_of([&] { scaler.scale(w.sum()).backward(); }) == 0);
  scaler.unscale_(optimizer);
  CHECK(values(w.grad()) == List{2});
}

TEST_CASE("gradients of an iteration that update() has closed") {
  const CpuByDefault cpu;
  for (const bool unscale_first : {false, true}) {
    Tensor a = parameter_on(kDevice, {0}), b = parameter_on(kDevice, {0});
    optim::SGD first({a}, 1.0), second({b}, 1.0);
    GradScaler scaler(GradScalerOptions().init_scale(1024).growth_interval(1));
    scaler.scale((a + b).sum()).backward();
    if (unscale_first) {
      scaler.unscale_(first);
      scaler.unscale_(second);
    }
    scaler.step(first);
    scaler.update();
    CHECK(scaler.get_scale() == 2048);
    scaler.step(second);
    scaler.update();
    CHECK(values(b) == List{-1});
    CHECK(scaler.get_scale() == 2048);
  }
}

TEST_CASE("an overflow seen through one of two optimizers") {
  const CpuByDefault cpu;
  Tensor a = parameter_on(kDevice, {0}), b = parameter_on(kDevice, {0});
  optim::SGD first({a}, 1.0), second({b}, 1.0);
  GradScaler scaler(GradScalerOptions().init_scale(1024));
  scaler.scale((a + b * kInfinity).sum()).backward();
  CHECK(scaler.unscale_(first));
  CHECK_FALSE(scaler.unscale_(second));
  CHECK(scaler.step(first).applied());
  CHECK(scaler.step(second).skipped_nonfinite());
  scaler.update();
  CHECK(scaler.get_scale() == 512);
}

TEST_CASE("the same non-finite gradient again and again") {
  const CpuByDefault cpu;
  Tensor w = parameter_on(kDevice, {0});
  optim::SGD optimizer({w}, 1.0);
  optimizer.use_loss_scaling(LossScaling::fixed(2));
  w.mutable_grad() = on(kDevice, {kInfinity});
  CHECK_FALSE(optimizer.step().persistent_nonfinite());
  CHECK_FALSE(optimizer.step().persistent_nonfinite());
  CHECK(optimizer.step().persistent_nonfinite());
  for (int i = 0; i < 4; ++i) {
    w.mutable_grad() = on(kDevice, {kInfinity});  // another one every time
    CHECK_FALSE(optimizer.step().persistent_nonfinite());
  }
  for (int i = 0; i < 4; ++i) {
    optimizer.zero_grad(false);
    w.mutable_grad().fill_(kInfinity);
    CHECK_FALSE(optimizer.step().persistent_nonfinite());
  }
}

TEST_CASE("what the host decides") {
  const CpuByDefault cpu;
  Tensor w = parameter_on(kDevice, {0});
  optim::SGD optimizer({w}, 1.0);
  const auto step = [&](double gradient) {
    w.mutable_grad() = on(kDevice, {gradient});
    return optimizer.step();
  };
  SECTION("at the floor: throw") {
    optimizer.use_loss_scaling(GradScalerOptions().min_scale(1).at_floor(amp::kThrow));
    int steps = 0;
    CHECK(contains(error_of([&] {
                     for (; steps < 100; ++steps) step(kInfinity);
                   }),
                   "floor"));
    CHECK(steps == 16);
  }
  SECTION("at the floor: callback") {
    List calls;
    optimizer.use_loss_scaling(
        GradScalerOptions().init_scale(2).min_scale(1).at_floor(amp::kCallback).on_floor([&](double scale) {
          calls.push_back(scale);
        }));
    for (int i = 0; i < 3; ++i) step(kInfinity);
    CHECK(calls == List{1, 1});
  }
  SECTION("several ranks") {
    optimizer.use_loss_scaling(LossScaling::fixed(4));
    bool other = true, heard = false;
    optimizer.agree([&](bool own) {
      heard = own;
      return own || other;
    });
    CHECK(step(4).skipped_nonfinite());
    CHECK_FALSE(heard);
    other = false;
    CHECK(step(4).applied());
    CHECK(step(kNan).skipped_nonfinite());
    CHECK(heard);
    CHECK(values(w) == List{-1});
  }
  SECTION("a micro-batch is left out") {
    optimizer.use_loss_scaling(GradScalerOptions().accumulation(amp::kDropMicroBatch));
    for (int i = 0; i < 4; ++i) {
      optimizer.backward((w * (i == 2 ? static_cast<double>(kNan) : i + 1.0)).sum() * 0.25);
    }
    const StepReport report = optimizer.step();
    CHECK(report.applied());
    CHECK(report.dropped_micro_batches() == 1);
    CHECK(values(w)[0] == Approx(-(1.0 + 2.0 + 4.0) / 3).epsilon(1e-6));
    CHECK(optimizer.loss_scale() == 32768);
  }
  SECTION("clear after a skip") {
    optimizer.use_loss_scaling(GradScalerOptions().clear_on_skip(true));
    step(kNan);
    CHECK_FALSE(w.grad().defined());
  }
}

TEST_CASE("set_scale, update(new_scale), abandon and rearm") {
  const CpuByDefault cpu;
  Tensor w = parameter_on(kDevice, {0});
  optim::SGD optimizer({w}, 1.0);
  GradScaler scaler(GradScalerOptions().init_scale(1024));
  scaler.scale(w.sum()).backward();
  scaler.unscale_(optimizer);
  optimizer.zero_grad();
  scaler.rearm(optimizer);
  scaler.scale((w * kInfinity).sum()).backward();
  CHECK_FALSE(scaler.unscale_(optimizer));
  optimizer.zero_grad();
  scaler.rearm(optimizer);
  scaler.scale(w.sum()).backward();
  CHECK(scaler.unscale_(optimizer));
  CHECK(scaler.step(optimizer).skipped_nonfinite());  // what was found stays found
  scaler.update(64);
  CHECK(scaler.get_scale() == 64);
  optimizer.zero_grad();
  scaler.scale((w * kInfinity).sum()).backward();
  scaler.abandon(optimizer);
  scaler.update();
  CHECK(scaler.get_scale() == 64);
  optimizer.zero_grad();
  scaler.scale(w.sum()).backward();
  CHECK(scaler.step(optimizer).applied());
  CHECK(values(w) == List{-1});
}

TEST_CASE("state saved on one device resumes on the other") {
  const CpuByDefault cpu;
  const auto options = GradScalerOptions().init_scale(16).growth_interval(2);
  for (const Device from : {Device(kCPU), kDevice}) {
    const Device to = from == kDevice ? Device(kCPU) : kDevice;
    Loop first(from, options), second(to, options);
    for (const char kind : std::string("..O..")) first.step(kind);
    {
      NoGradGuard no_grad;
      second.w.copy_(first.w);
    }
    second.optimizer.load_state_dict(first.optimizer.state_dict());
    second.scaler.load_state_dict(first.scaler.state_dict());
    for (const char kind : std::string("..O...")) {
      first.step(kind);
      second.step(kind);
    }
    CHECK(second.scaler.get_scale() == first.scaler.get_scale());
    CHECK(second.optimizer.applied_steps() == first.optimizer.applied_steps());
    CHECK(allclose(second.w.detach().cpu(), first.w.detach().cpu(), 1e-6, 1e-6));
  }
}

TEST_CASE("a loss on the host, parameters on the device, and the other way round") {
  const CpuByDefault cpu;
  for (const Device loss_device : {Device(kCPU), kDevice}) {
    const Device device = loss_device == kDevice ? Device(kCPU) : kDevice;
    Tensor w = parameter_on(device, {1});
    optim::SGD optimizer({w}, 0.25);
    GradScaler scaler(GradScalerOptions().init_scale(4).growth_interval(2));
    for (int i = 0; i < 4; ++i) {
      optimizer.zero_grad();
      scaler.scale(w.to(loss_device).sum()).backward();
      CHECK(scaler.step(optimizer).applied());
      scaler.update();
    }
    CHECK(values(w) == List{0});
    CHECK(scaler.get_scale() == 16);
  }
}

TEST_CASE("switched off, everything is a plain step") {
  const CpuByDefault cpu;
  Net plain(kDevice), off(kDevice);
  optim::AdamW a(plain.parameters(), optim::AdamWOptions(0.01)),
      b(off.parameters(), optim::AdamWOptions(0.01));
  GradScaler scaler(GradScalerOptions().enabled(false));
  for (int i = 0; i < 3; ++i) {
    a.zero_grad();
    b.zero_grad();
    plain.loss().backward();
    nn::utils::clip_grad_norm_(plain.parameters(), 0.1);
    a.step();
    scaler.scale(off.loss()).backward();
    scaler.unscale_(b);
    nn::utils::clip_grad_norm_(off.parameters(), 0.1);
    scaler.step(b);
    scaler.update();
  }
  CHECK(same_bits(plain.w1, off.w1));
  CHECK(same_bits(plain.w2, off.w2));
}

TEST_CASE("both forms of the workflow give the same bits, and unscaled fp32 too") {
  const CpuByDefault cpu;
  const auto loss_of = [](const Tensor& w) { return ((w - 3.0) * (w - 3.0) * w).sum(); };
  const List start{0.3, -1.7, 2.9, 11, 0.001};
  Tensor facade = parameter_on(kDevice, start), built_in = parameter_on(kDevice, start);
  optim::AdamW a({facade}, optim::AdamWOptions(0.05)), b({built_in}, optim::AdamWOptions(0.05));
  GradScaler scaler;
  b.use_loss_scaling();
  for (int i = 0; i < 5; ++i) {
    a.zero_grad();
    b.zero_grad();
    scaler.scale(loss_of(facade)).backward();
    scaler.unscale_(a);
    nn::utils::clip_grad_norm_({facade}, 1.0);
    scaler.step(a);
    scaler.update();
    b.backward(loss_of(built_in));
    const optim::DeferredScalar norm = b.clip_grad_norm_(1.0);
    const StepReport report = b.step();
    CHECK(report.grad_norm() == norm);
    CHECK(same_bits(facade, built_in));
  }
}
