// Regions, overrides, captured state, and the cache of weight casts.

#include <catch2/catch.hpp>
#include <cmath>

#include <thread>

#include "halftone/amp/autocast.h"
#include "halftone/autograd/checkpoint.h"
#include "halftone/autograd/function.h"
#include "halftone/engine/out_functions.h"
#include "halftone/ops/registry.h"
#include "halftone/tests/support/device.h"
#include "halftone/tests/support/training.h"

using namespace halftone;
using namespace halftone::test;
using amp::Autocast;
using amp::AutocastState;
using amp::PolicyOverride;
using amp::Precision;

namespace {

ScalarType mm_dtype() { return mm(ones({2, 2}), ones({2, 2})).scalar_type(); }

}  // namespace

TEST_CASE("regions nest and restore, also by an exception") {
  const DeviceType other_device = by_device(kCUDA, kCPU);
  const ScalarType low = by_device(kBFloat16, kHalf), other = by_device(kHalf, kBFloat16);
  CHECK_FALSE(amp::is_autocast_enabled(device_type()));
  CHECK(mm_dtype() == kFloat);
  {
    Autocast outer(device_type());
    CHECK(amp::is_autocast_enabled(device_type()));
    CHECK_FALSE(amp::is_autocast_enabled(other_device));
    CHECK(mm_dtype() == low);
    {
      Autocast inner(device_type(), other);
      CHECK(mm_dtype() == other);
      {
        Autocast off(device_type(), false);
        CHECK(mm_dtype() == kFloat);
        const std::string error = error_of([] { mm(ones({2, 2}), ones({2, 2}).to(kHalf)); });
        CHECK(contains(error, "float32"));
        CHECK(contains(error, "float16"));
      }
      CHECK(mm_dtype() == other);
    }
    CHECK(mm_dtype() == low);
    error_of([] {
      Autocast off(device_type(), kFloat32);
      CHECK_FALSE(amp::is_autocast_enabled(device_type()));
      fail("test", "thrown inside");
    });
    CHECK(mm_dtype() == low);
    Autocast switched_off(device_type(), kHalf, false);
    CHECK(mm_dtype() == kFloat);
  }
  CHECK(mm_dtype() == kFloat);
  CHECK(contains(error_of([] { Autocast(device_type(), kDouble); }), "float64"));
  CHECK(contains(error_of([] { Autocast(device_type(), kLong); }), "int64"));
  {
    Autocast elsewhere(other_device);
    CHECK(amp::get_autocast_dtype(other_device) == other);
    CHECK(mm_dtype() == kFloat);
  }
}

TEST_CASE("fp64 and integers are never cast, and an explicit dtype wins") {
  Autocast region(device_type(), kBFloat16);
  CHECK(mm(ones({2, 2}, kDouble), ones({2, 2}, kDouble)).scalar_type() == kDouble);
  CHECK((tensor({1, 2}) + tensor({3, 4})).scalar_type() == kLong);
  const Tensor low = ones({4}).to(kBFloat16);
  CHECK(low.sum().scalar_type() == kFloat);
  CHECK(low.sum(kBFloat16).scalar_type() == kBFloat16);
  CHECK(softmax(low, 0).scalar_type() == kFloat);
  CHECK(relu(low).scalar_type() == kBFloat16);
  CHECK((low + ones({4})).scalar_type() == kFloat);
  CHECK((low + ones({4}).to(kHalf)).scalar_type() == kFloat);
  Tensor sum = ones({2, 2});
  sum.add_(ones({2, 2}).to(kBFloat16));
  CHECK(sum.scalar_type() == kFloat);
}

TEST_CASE("a low operator is bitwise its casts made by hand") {
  manual_seed(1);
  const Tensor x = randn({5, 7}), w = randn({3, 7}), b = randn({3});
  Tensor inside;
  {
    Autocast region(device_type(), kBFloat16);
    inside = linear(x, w, b);
  }
  CHECK(same_bits(inside, linear(x.to(kBFloat16), w.to(kBFloat16), b.to(kBFloat16))));
}

TEST_CASE("policies are overridden in scope") {
  Autocast region(device_type(), kBFloat16);
  {
    PolicyOverride keep("mm", Precision::kFp32);
    CHECK(mm_dtype() == kFloat);
    {
      PolicyOverride inner("mm", Precision::kLow);
      CHECK(mm_dtype() == kBFloat16);
      PolicyOverride other("softmax", Precision::kLow);
      CHECK(softmax(ones({3}), 0).scalar_type() == kBFloat16);
    }
    CHECK(mm_dtype() == kFloat);
  }
  CHECK(mm_dtype() == kBFloat16);
  CHECK(contains(error_of([] { PolicyOverride("no_such_op", Precision::kLow); }), "no_such_op"));
  std::thread([] {
    Autocast own(device_type(), kBFloat16);
    CHECK(mm_dtype() == kBFloat16);  // an override is this thread's
  }).join();
}

TEST_CASE("a banned operator is refused on half inputs, and an override lifts the ban") {
  Autocast region(device_type(), kBFloat16);
  const Tensor p = full({3}, 0.5, kFloat), t = ones({3});
  CHECK(binary_cross_entropy(p, t, {}).scalar_type() == kFloat);
  const std::string error = error_of([&] { binary_cross_entropy(p.to(kBFloat16), t.to(kBFloat16), {}); });
  CHECK(contains(error, "binary_cross_entropy_with_logits"));
  PolicyOverride lifted("binary_cross_entropy", Precision::kFp32);
  CHECK(binary_cross_entropy(p.to(kBFloat16), t.to(kBFloat16), {}).item<double>() == Approx(std::log(2.0)));
}

TEST_CASE("autocast is the thread's own, and its state can be taken along") {
  Autocast region(device_type(), kHalf);
  PolicyOverride keep("bmm", Precision::kFp32);
  const AutocastState state = AutocastState::capture();
  std::thread([&] {
    CHECK(mm_dtype() == kFloat);
    {
      AutocastState::Guard guard(state);
      CHECK(amp::is_autocast_enabled(device_type()));
      CHECK(mm_dtype() == kHalf);
      CHECK(bmm(ones({1, 2, 2}), ones({1, 2, 2})).scalar_type() == kFloat);
      Tensor w = ones({2, 2}).requires_grad_();
      mm(w, w);
      CHECK(amp::cast_cache_stats().entries == 1);
    }
    CHECK(amp::cast_cache_stats().entries == 0);
    CHECK(mm_dtype() == kFloat);
  }).join();
  CHECK(mm_dtype() == kHalf);
}

TEST_CASE("no_grad forward, then grad forward, in one region") {
  Tensor w = parameter({2, 3}).detach().view({1, 2}).clone().requires_grad_();
  const Tensor x = tensor({{1.0, 2.0}});
  {
    Autocast region(device_type(), kBFloat16);
    {
      NoGradGuard no_grad;
      linear(x, w);
    }
    linear(x, w).sum().backward();
  }
  CHECK(values(w.grad()) == List{1, 2});
  CHECK(w.grad().scalar_type() == kFloat);
}

TEST_CASE("a weight changed inside a region is cast again") {
  Tensor w = ones({1, 1}).requires_grad_();
  const Tensor x = ones({1, 1});
  Autocast region(device_type(), kBFloat16);
  CHECK(linear(x, w).item<float>() == 1);
  {
    NoGradGuard no_grad;
    w.add_(1);
  }
  CHECK(linear(x, w).item<float>() == 2);
  optim::SGD optimizer({w}, 1.0);
  linear(x, w).sum().backward();
  optimizer.step();
  CHECK(linear(x, w).item<float>() == 1);
  CHECK(amp::cast_cache_stats().entries == 1);
}

TEST_CASE("the cast cache is bounded by the leaf weights and empty after the region") {
  Tensor w = ones({4, 4}).requires_grad_(), v = ones({4, 4}).requires_grad_();
  const Tensor x = ones({2, 4});
  {
    Autocast region(device_type(), kBFloat16);
    for (int i = 0; i < 1000; ++i) {
      linear(x, w);
      linear(x, w.t());
      linear(x, w.slice(0, i % 3, 4));
      linear(x, v);
    }
    CHECK(amp::cast_cache_stats().entries <= 2);
    CHECK(amp::cast_cache_stats().bytes == amp::cast_cache_stats().entries * 32);
    std::thread([&] {
      Autocast own(device_type(), kBFloat16);
      linear(x, w);
      CHECK(amp::cast_cache_stats().entries == 1);
    }).join();
    {
      Autocast nested(device_type(), kHalf);
      linear(x, w);
    }
    CHECK(amp::cast_cache_stats().entries > 0);
  }
  CHECK(amp::cast_cache_stats().entries == 0);
  CHECK(amp::cast_cache_stats().bytes == 0);
}

TEST_CASE("backward runs in the dtypes of forward, on any thread, and only leaves are fp32") {
  Tensor w = ones({3, 3}).requires_grad_();
  Tensor hidden;
  Tensor loss;
  {
    Autocast region(device_type(), kBFloat16);
    hidden = linear(ones({2, 3}), w);
    loss = linear(hidden, w).sum();
  }
  std::vector<ScalarType> seen;
  hidden.register_hook([&](Tensor gradient) { seen.push_back(gradient.scalar_type()); });
  std::thread([&] { loss.backward(); }).join();
  CHECK(seen == std::vector<ScalarType>{kBFloat16});
  CHECK(w.grad().scalar_type() == kFloat);
}

TEST_CASE("the whole loop inside the region gives the same weights") {
  const auto train = [](bool whole_loop) {
    manual_seed(5);
    Tensor w = randn({8, 4}).requires_grad_();
    const Tensor x = randn({16, 4});
    optim::AdamW optimizer({w}, optim::AdamWOptions(0.01));
    optimizer.use_loss_scaling();
    for (int i = 0; i < 5; ++i) {
      std::optional<Autocast> whole, part;
      optimizer.zero_grad();
      (whole_loop ? whole : part).emplace(device_type(), kHalf);
      const Tensor loss = mse_loss(linear(x, w), zeros({16, 8}));
      part.reset();
      optimizer.backward(loss);
      optimizer.clip_grad_norm_(0.5);
      CHECK(optimizer.step().applied());
    }
    return w;
  };
  CHECK(same_bits(train(false), train(true)));
}

TEST_CASE("checkpointing recomputes under the region it was recorded in") {
  manual_seed(2);
  Tensor w = randn({6, 6}).requires_grad_();
  const Tensor x = randn({4, 6}).requires_grad_();
  const auto block = [&](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{relu(linear(in[0], w))};
  };
  std::vector<Tensor> gradients;
  for (const bool checkpointed : {false, true}) {
    w.mutable_grad().reset();
    Tensor loss;
    {
      Autocast region(device_type(), kBFloat16);
      const Tensor y = checkpointed ? autograd::checkpoint(block, {x})[0] : block({x})[0];
      loss = y.sum();
    }
    loss.backward();
    gradients.push_back(w.grad().clone());
  }
  CHECK(same_bits(gradients[0], gradients[1]));
  CHECK(amp::cast_cache_stats().entries == 0);  // the second run's casts went with it
}

namespace {

struct LinearInBackward : autograd::Function<LinearInBackward> {
  static Tensor forward(autograd::AutogradContext* ctx, Tensor x, Tensor w) {
    ctx->save_for_backward({w});
    return x.matmul(w);
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
    CHECK(amp::is_autocast_enabled(device_type()));
    const Tensor w = ctx->get_saved_variables()[0];
    return {grads[0].matmul(w), Tensor()};  // w is the leaf, whose cast is kept for the region
  }
};

}  // namespace

TEST_CASE("a custom function's backward leaves no cast behind, and no region on") {
  Tensor w = randn({4, 4}).requires_grad_();
  const Tensor x = randn({2, 4}).requires_grad_();
  Tensor loss;
  {
    Autocast region(device_type(), kBFloat16);
    loss = LinearInBackward::apply(x, w).to(kFloat).sum();
  }
  loss.backward();
  CHECK(x.grad().defined());
  CHECK_FALSE(amp::is_autocast_enabled(device_type()));
  CHECK(amp::cast_cache_stats().entries == 0);
}

TEST_CASE("a function with out computes in its inputs' types, in a region too") {
  const NoGradGuard no_grad;
  const Tensor a = randn({3, 4}), b = randn({4, 5});
  const Tensor plain = matmul(a, b);
  Tensor out = empty({3, 5});
  const Autocast autocast(device_type(), kBFloat16);
  matmul_out(out, a, b);
  CHECK(equal(out, plain));
  CHECK(matmul(a, b).scalar_type() == kBFloat16);  // and the region goes on
}

TEST_CASE("every operator's policy has a name") {
  for (const ops::OpInfo* info : registry()) CHECK(std::string(amp::precision_name(info->precision)) != "");
}
