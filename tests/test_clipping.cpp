// Clipping in true units, accumulation of several losses, and the two forms of the workflow side by side.

#include <catch2/catch.hpp>

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

TEST_CASE("both forms of the workflow give the same bits, and unscaled fp32 too") {
  const auto loss_of = [](const Tensor& w) { return ((w - 3.0) * (w - 3.0) * w).sum(); };
  const List start{0.3, -1.7, 2.9, 11, 0.001};
  Tensor facade = parameter(start), built_in = parameter(start), plain = parameter(start);
  const optim::AdamWOptions options(0.05);
  optim::AdamW a({facade}, options), b({built_in}, options), c({plain}, options);
  GradScaler scaler;
  b.use_loss_scaling();
  for (int i = 0; i < 5; ++i) {
    a.zero_grad();
    b.zero_grad();
    c.zero_grad();
    scaler.scale(loss_of(facade)).backward();
    scaler.unscale_(a);
    clip_grad_norm_({facade}, 1.0);
    scaler.step(a);
    scaler.update();

    b.backward(loss_of(built_in));
    const double norm = b.clip_grad_norm_(1.0);
    const StepReport report = b.step();
    CHECK(report.grad_norm() == norm);

    loss_of(plain).backward();
    CHECK(c.clip_grad_norm_(1.0) == norm);
    c.step();
    CHECK(same_bits(facade, built_in));
    CHECK(same_bits(plain, built_in));
  }
}

TEST_CASE("clipping after unscale_") {
  Tensor w = parameter({0, 0});
  optim::SGD optimizer({w}, 1.0);
  GradScaler scaler(at_scale(1024));
  scaler.scale((w * tensor({3.0, 4.0})).sum()).backward();
  scaler.unscale_(optimizer);
  CHECK(clip_grad_norm_({w}, 1.0) == 5);
  CHECK(allclose(w.grad(), tensor({0.6, 0.8})));
}

TEST_CASE("norms do not overflow, nor do clip factors vanish") {
  Tensor half = parameter({0}, kHalf);
  inject(half, {300}, kHalf);
  CHECK(clip_grad_norm_({half}, 1.0) == 300);
  CHECK(values(half.grad()) == List{1});
  inject(half, {60000}, kHalf);
  clip_grad_norm_({half}, 1e-4);
  CHECK(half.grad().scalar_type() == kHalf);
  CHECK(values(half.grad())[0] == Approx(0.00010001659).epsilon(1e-7));

  Tensor w = parameter({0, 0, 0, 0});
  inject(w, {1e20, 1e20, 1e20, 1e20});
  CHECK(clip_grad_norm_({w}, 1e30).item() == Approx(2e20));
  Tensor wide = parameter({0, 0}, kDouble);
  inject(wide, {3e200, 4e200}, kDouble);
  CHECK(clip_grad_norm_({wide}, 1e300).item() == Approx(5e200));
  inject(wide, {3e-200, 4e-200}, kDouble);
  CHECK(clip_grad_norm_({wide}, 1.0).item() == Approx(5e-200));

  inject(w, {1, -2, 3, -4});
  CHECK(clip_grad_norm_({w}, 100.0, INFINITY) == 4);
  CHECK(clip_grad_norm_({w}, 100.0, 1.0).item() == Approx(10));
  nn::utils::clip_grad_value_({w}, 2.5);
  CHECK(values(w.grad()) == List{1, -2, 2.5, -2.5});
  inject(w, {1, kNan, 3, -4});
  CHECK(error_of([&] { clip_grad_norm_({w}, 1.0, 2.0, true); }) != "");
  CHECK(error_of([&] { clip_grad_norm_({w}, -1.0); }) != "");
}

TEST_CASE("one NaN micro-batch in a window of four") {
  const auto loss_of = [](const Tensor& w, int i) {
    return (w * (i == 2 ? static_cast<double>(kNan) : i + 1.0)).sum() * 0.25;
  };
  SECTION("drop the window") {
    Tensor w = parameter({0});
    optim::SGD optimizer({w}, 1.0);
    optimizer.use_loss_scaling();
    for (int i = 0; i < 4; ++i) optimizer.backward(loss_of(w, i));
    CHECK(optimizer.step().skipped_nonfinite());
    CHECK(values(w) == List{0});
    CHECK(optimizer.loss_scale() == 32768);
  }
  SECTION("drop the micro-batch") {
    Tensor w = parameter({0});
    optim::SGD optimizer({w}, 1.0);
    optimizer.use_loss_scaling(GradScalerOptions().accumulation(amp::Accumulation::kDropMicroBatch));
    for (int i = 0; i < 4; ++i) optimizer.backward(loss_of(w, i));
    const StepReport report = optimizer.step();
    CHECK(report.applied());
    CHECK(report.dropped_micro_batches() == 1);
    CHECK(values(w)[0] == Approx(-(1.0 + 2.0 + 4.0) / 3).epsilon(1e-6));
    CHECK(optimizer.loss_scale() == 32768);
    optimizer.zero_grad();
    for (int i = 0; i < 2; ++i) optimizer.backward((w * kNan).sum());
    CHECK(optimizer.step().skipped_nonfinite());
  }
  CHECK(error_of([] { GradScaler(GradScalerOptions().accumulation(amp::kDropMicroBatch)); }) != "");
}

TEST_CASE("clipping refuses an undefined parameter and says which") {
  const Tensor w = ones({2}).requires_grad_();
  CHECK_THROWS_WITH(nn::utils::clip_grad_norm_({w, Tensor()}, 1.0),
                    Catch::Matchers::Contains("parameter 1 is undefined"));
  CHECK_THROWS_WITH(nn::utils::clip_grad_value_({Tensor()}, 1.0),
                    Catch::Matchers::Contains("parameter 0 is undefined"));
}
