// Which units a gradient is in: stamps, and gradients of an iteration that update() has closed.

#include <catch2/catch.hpp>

#include "halftone/tests/support/training.h"

using namespace halftone;
using namespace halftone::test;
using amp::GradScaler;
using amp::GradScalerOptions;

namespace {

GradScalerOptions at_scale(double scale) { return GradScalerOptions().init_scale(scale); }

}  // namespace

TEST_CASE("stamps: what is scaled is known") {
  Tensor w = parameter({1});
  optim::SGD optimizer({w}, 1.0);
  GradScaler scaler(at_scale(1024)), other(at_scale(64));

  SECTION("scaled and true gradients do not mix") {
    scaler.scale(w.sum()).backward();
    CHECK(contains(error_of([&] { w.sum().backward(); }), "scale(loss)"));
    optimizer.zero_grad();
    w.sum().backward();
    CHECK(contains(error_of([&] { scaler.scale(w.sum()).backward(); }), "scale(loss)"));
  }
  SECTION("nor those of two scalers") {
    scaler.scale(w.sum()).backward();
    CHECK(contains(error_of([&] { other.scale(w.sum()).backward(); }), "another scaler"));
    CHECK(contains(error_of([&] { other.step(optimizer); }), "another scaler"));
    CHECK(contains(error_of([&] { other.unscale_(optimizer); }), "another scaler"));
  }
  SECTION("zeros are zero in any units") {
    w.sum().backward();
    optimizer.zero_grad(false);
    scaler.scale(w.sum()).backward();
    CHECK(values(w.grad()) == List{1024});
    optimizer.zero_grad(false);
    w.sum().backward();
    optimizer.step();
    CHECK(values(w) == List{0});
  }
  SECTION("a replaced gradient is in true units") {
    scaler.scale(w.sum()).backward();
    w.mutable_grad() = tensor({0.5});
    optimizer.step();
    CHECK(values(w) == List{0.5});
  }
  SECTION("a gradient changed in place stays scaled") {
    scaler.scale(w.sum()).backward();
    w.mutable_grad().mul_(2);
    CHECK(error_of([&] { optimizer.step(); }) != "");
    CHECK(scaler.step(optimizer).applied());
    CHECK(values(w) == List{-1});
  }
  SECTION("after step() without unscale_ the gradient is left as produced") {
    scaler.scale(w.sum()).backward();
    scaler.step(optimizer);
    CHECK(values(w.grad()) == List{1024});
    CHECK(error_of([&] { optimizer.step(); }) != "");
  }
  SECTION("losses scaled before and after the scale moved are added in one unit") {
    scaler.scale(w.sum()).backward();
    scaler.loss_scaling().set_scale(512);
    scaler.scale(w.sum()).backward();
    scaler.unscale_(optimizer);
    CHECK(values(w.grad()) == List{2});
  }
}

TEST_CASE("update() once per optimizer instead of once per iteration") {
  for (const bool unscale_first : {false, true}) {
    Tensor a = parameter({0}), b = parameter({0});
    optim::SGD first({a}, 1.0), second({b}, 1.0);
    GradScaler scaler(at_scale(1024).growth_interval(1));
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
    CHECK(scaler.get_scale() == 2048);  // not another clean iteration
  }
}

TEST_CASE("a late overflow still backs off") {
  Tensor a = parameter({0}), b = parameter({0});
  optim::SGD first({a}, 1.0), second({b}, 1.0);
  GradScaler scaler(at_scale(1024));
  scaler.scale((a + b * kInfinity).sum()).backward();
  CHECK(scaler.step(first).applied());
  scaler.update();
  CHECK(scaler.step(second).skipped_nonfinite());
  scaler.update();
  CHECK(scaler.get_scale() == 512);
}

TEST_CASE("a parameter of two optimizers is unscaled once") {
  Tensor w = parameter({0});
  optim::SGD first({{"shared", w}}, 1.0), second({w}, 1.0);
  GradScaler scaler(at_scale(1024));
  scaler.scale(w.sum()).backward();
  scaler.unscale_(first);
  CHECK(contains(error_of([&] { scaler.unscale_(second); }), "'shared'"));
  scaler.step(second);
  CHECK(values(w) == List{-1});
}

TEST_CASE("a strided gradient is unscaled in place") {
  Tensor w = zeros({2, 3}).requires_grad_();
  w.mutable_grad() = (arange(6).to(kFloat) * 1024).view({3, 2}).t();
  optim::SGD optimizer({w}, 1.0);
  GradScaler scaler(at_scale(1024));
  scaler.unscale_(optimizer);
  CHECK(values(w.grad()) == List{0, 2, 4, 1, 3, 5});
  scaler.step(optimizer);
  CHECK(values(w) == List{0, -2, -4, -1, -3, -5});
}

TEST_CASE("scalers move; the moved one keeps its gradients") {
  Tensor w = parameter({0});
  optim::SGD optimizer({w}, 1.0);
  GradScaler scaler;
  scaler.scale(w.sum()).backward();
  GradScaler moved = std::move(scaler);
  CHECK(moved.step(optimizer).applied());
  CHECK(values(w) == List{-1});
}
