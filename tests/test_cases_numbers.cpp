// Small inputs from real users' trouble with clipping, autocast and half-precision arithmetic, each with the
// right value.

#include <cmath>
#include <limits>
#include <thread>

#include <catch2/catch.hpp>

#include "halftone/halftone.h"
#include "halftone/tests/support/device.h"

namespace torch = halftone;
using Catch::Matchers::Contains;
using torch::kBFloat16;
using torch::kDouble;
using torch::kFloat;
using torch::kHalf;
using torch::Tensor;
using torch::amp::Autocast;
using torch::amp::GradScaler;
using torch::amp::GradScalerOptions;
using torch::amp::PolicyOverride;
using torch::amp::Precision;
using torch::optim::StepReport;
using torch::test::device_type;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A product by hand that notes the dtypes it runs in.
struct NotedProduct : torch::autograd::Function<NotedProduct> {
  static inline torch::Dtype forward_dtype, backward_dtype;
  static Tensor forward(torch::autograd::AutogradContext* ctx, Tensor x, Tensor w) {
    ctx->save_for_backward({x, w});
    Tensor y = x.mm(w);
    forward_dtype = y.scalar_type();
    return y;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    Tensor grad_x = grads[0].mm(saved[1].t());
    backward_dtype = grad_x.scalar_type();
    return {grad_x, saved[0].t().mm(grads[0])};
  }
};

}  // namespace

TEST_CASE("case: clipping scaled gradients is refused; after unscale_ it is right") {
  Tensor w = torch::ones({2}).requires_grad_();
  torch::optim::SGD optimizer({w}, 0.1);
  GradScaler scaler(GradScalerOptions().init_scale(1024));
  scaler.scale((w * torch::tensor({3.f, 4.f})).sum()).backward();
  CHECK_THROWS_WITH(torch::nn::utils::clip_grad_norm_({w}, 1.0), Contains("unscale_"));
  CHECK_THROWS_WITH(torch::nn::utils::clip_grad_value_({w}, 1.0), Contains("unscale_"));
  CHECK_THROWS_AS(optimizer.step(), torch::Error);
  scaler.unscale_(optimizer);
  CHECK(double(torch::nn::utils::clip_grad_norm_({w}, 1.0)) == Approx(5));
  CHECK(torch::allclose(w.grad(), torch::tensor({0.6f, 0.8f})));
}

TEST_CASE("case: norms that overflow, and a clip factor that underflows, in the gradient's own type") {
  Tensor half = torch::ones({1}, kHalf).requires_grad_();
  half.mutable_grad() = torch::full({1}, 300.f, kHalf);
  CHECK(double(torch::nn::utils::clip_grad_norm_({half}, 1.0)) == 300);
  CHECK(half.grad().item<float>() == 1);

  Tensor single = torch::ones({4}).requires_grad_();
  single.mutable_grad() = torch::full({4}, 1e20f);
  CHECK(double(torch::nn::utils::clip_grad_norm_({single}, 1.0)) == Approx(2e20));

  half.mutable_grad() = torch::full({1}, 60000.f, kHalf);
  torch::nn::utils::clip_grad_norm_({half}, 1e-4);
  CHECK(half.grad().item<double>() == Approx(0.00010001659).epsilon(1e-6));
}

TEST_CASE("case: one NaN micro-batch in a window of 4") {
  const Tensor batches = torch::tensor({{1.f, 2.f}, {3.f, 4.f}, {static_cast<float>(kNan), 1.f}, {5.f, 6.f}});
  const auto train = [&](torch::amp::Accumulation policy, Tensor& w) {
    torch::optim::SGD optimizer({w}, 1.0);
    optimizer.use_loss_scaling(torch::amp::LossScalingOptions().accumulation(policy));
    for (int i = 0; i < 4; ++i) optimizer.backward((w * batches[i]).sum() / 4);
    return optimizer.step();
  };
  Tensor whole = torch::zeros({2}).requires_grad_();
  CHECK(train(torch::amp::kDropWindow, whole).skipped_nonfinite());
  CHECK(whole.equal(torch::zeros({2})));

  Tensor rest = torch::zeros({2}).requires_grad_();
  const StepReport report = train(torch::amp::kDropMicroBatch, rest);
  CHECK(report.applied());
  CHECK(report.dropped_micro_batches() == 1);
  CHECK(torch::allclose(rest, torch::tensor({-3.f, -4.f})));
}

TEST_CASE("case: gradient penalty with the inner gradient unscaled differentiably") {
  for (double scale : {1.0, 1024.0, 65536.0}) {
    Tensor w = torch::full({}, 3.f).requires_grad_();
    torch::optim::SGD optimizer({w}, 0.1);
    GradScaler scaler(GradScalerOptions().init_scale(scale));
    Tensor loss = w * w;
    Tensor inner = torch::autograd::grad({scaler.scale(loss)}, {w}, {}, true, true)[0] / scaler.get_scale();
    scaler.scale(loss + inner * inner).backward();
    scaler.unscale_(optimizer);
    CHECK(w.grad().item<double>() == Approx(30).epsilon(1e-6));
  }
}

TEST_CASE("case: a forward without gradients does not spoil the weights that autocast cached") {
  torch::nn::Linear linear(4, 3);
  Tensor x = torch::randn({2, 4});
  linear(x).sum().backward();
  const Tensor expected = linear->weight.grad().clone();
  linear->zero_grad();
  {
    Autocast autocast(device_type(), kBFloat16);
    {
      torch::NoGradGuard no_grad;
      linear(x);
    }
    linear(x).sum().backward();
  }
  CHECK(torch::allclose(linear->weight.grad(), expected, 1e-2, 1e-2));
}

TEST_CASE("case: a weight changed inside a region is seen there") {
  Tensor w = torch::ones({1, 1}).requires_grad_();
  Tensor x = torch::ones({1, 1});
  torch::optim::SGD optimizer({w}, 1.0);
  Autocast autocast(device_type(), kBFloat16);
  CHECK(x.mm(w).item<float>() == 1);
  {
    torch::NoGradGuard no_grad;
    w.add_(1);
  }
  CHECK(x.mm(w).item<float>() == 2);
  x.mm(w).sum().backward();
  optimizer.step();
  CHECK(x.mm(w).item<float>() == 1);
}

TEST_CASE("case: the cast cache is bounded by the leaf weights and empty after the region") {
  Tensor w = torch::randn({64, 64}).requires_grad_();
  Tensor x = torch::ones({2, 64});
  {
    Autocast autocast(device_type(), kBFloat16);
    for (int i = 0; i < 1000; ++i) {
      torch::mm(x, i % 2 ? w : w.t());
      torch::linear(x, w.narrow(0, i % 32, 32));
    }
    CHECK(torch::amp::cast_cache_stats().entries == 1);
    CHECK(torch::amp::cast_cache_stats().bytes == 64 * 64 * 2);
    std::thread([&] {
      Autocast other(device_type(), kHalf);
      torch::mm(x, w);
    }).join();
    CHECK(torch::amp::cast_cache_stats().entries == 1);
  }
  CHECK(torch::amp::cast_cache_stats().entries == 0);
  CHECK(torch::amp::cast_cache_stats().bytes == 0);
}

TEST_CASE("case: backward on a worker thread runs in the dtypes of forward") {
  torch::nn::Linear linear(4, 4);
  torch::Dtype inner = kDouble;
  Tensor loss;
  {
    Autocast autocast(device_type(), kBFloat16);
    Tensor hidden = linear(torch::randn({2, 4}));
    hidden.register_hook([&](Tensor grad) { inner = grad.scalar_type(); });
    loss = linear(hidden).sum();
  }
  std::thread([&] { loss.backward(); }).join();
  CHECK(inner == kBFloat16);
  CHECK(linear->weight.grad().scalar_type() == kFloat);
}

TEST_CASE("case: checkpointing recomputes the same bits under bf16, dropout included") {
  torch::nn::Linear linear(8, 8);
  Tensor x = torch::randn({2, 8});
  const std::function<Tensor(const Tensor&)> block = [&](const Tensor& input) {
    return torch::dropout(torch::gelu(linear(input)), 0.5, true);
  };
  Autocast autocast(device_type(), kBFloat16);
  torch::manual_seed(1);
  Tensor plain = block(x);
  plain.sum().backward();
  const Tensor expected = linear->weight.grad().clone();
  linear->zero_grad();
  torch::manual_seed(1);
  Tensor kept = torch::autograd::checkpoint(block, x);
  CHECK(torch::equal(kept, plain));
  torch::manual_seed(3);
  kept.sum().backward();
  CHECK(torch::equal(linear->weight.grad(), expected));
}

TEST_CASE("case: a custom function's backward runs as its forward did") {
  Tensor x = torch::randn({2, 3}).requires_grad_(), w = torch::randn({3, 2}).requires_grad_();
  Tensor y;
  {
    Autocast autocast(device_type(), kBFloat16);
    y = NotedProduct::apply(x, w);
  }
  y.sum().backward();
  CHECK(NotedProduct::forward_dtype == kBFloat16);
  CHECK(NotedProduct::backward_dtype == kBFloat16);
  CHECK(x.grad().scalar_type() == kFloat);

  y = NotedProduct::apply(x, w);
  Autocast autocast(device_type(), kBFloat16);
  y.sum().backward();
  CHECK(NotedProduct::forward_dtype == kFloat);
  CHECK(NotedProduct::backward_dtype == kFloat);
}

TEST_CASE("case: overrides hold in their scope and restore") {
  Tensor a = torch::ones({2, 2});
  Autocast autocast(device_type(), kBFloat16);
  {
    PolicyOverride outer("matmul", Precision::kFp32);
    CHECK(torch::matmul(a, a).scalar_type() == kFloat);
    {
      PolicyOverride inner("matmul", Precision::kLow);
      CHECK(torch::matmul(a, a).scalar_type() == kBFloat16);
    }
    CHECK(torch::matmul(a, a).scalar_type() == kFloat);
  }
  CHECK(torch::matmul(a, a).scalar_type() == kBFloat16);
  CHECK_THROWS_AS(PolicyOverride("no_such_operator", Precision::kLow), torch::Error);
}

TEST_CASE("case: a whole loop inside the region gives the same weights as outside") {
  const auto train = [](bool inside) {
    torch::manual_seed(2);
    torch::nn::Linear linear(4, 4);
    torch::optim::AdamW optimizer(linear->parameters(), 1e-2);
    for (int i = 0; i < 5; ++i) {
      Tensor x = torch::randn({3, 4});
      optimizer.zero_grad();
      Autocast outer(device_type(), kBFloat16, inside);
      Tensor loss;
      {
        Autocast autocast(device_type(), kBFloat16);
        loss = linear(x).square().mean();
      }
      loss.backward();
      optimizer.step();
    }
    return linear->weight.detach().clone();
  };
  CHECK(torch::equal(train(true), train(false)));
}

TEST_CASE("case: a disabled region inside, and an exception, restore what was") {
  Tensor a = torch::ones({2, 2}), h = torch::ones({2, 2}, kHalf);
  Autocast autocast(device_type(), kHalf);
  CHECK(a.mm(a).scalar_type() == kHalf);
  {
    Autocast off(device_type(), false);
    CHECK_THROWS_WITH(torch::mm(a, h), Contains("float32") && Contains("float16"));
    CHECK(a.mm(a).scalar_type() == kFloat);
  }
  CHECK(a.mm(a).scalar_type() == kHalf);
  try {
    Autocast inner(device_type(), kBFloat16);
    torch::mm(a, torch::ones({3, 3}));
  } catch (const torch::Error&) {
  }
  CHECK(a.mm(a).scalar_type() == kHalf);
}

TEST_CASE("case: an MLP's saved activations in bf16 are at most 0.52 of fp32's") {
  const auto saved = [](bool amp) {
    torch::nn::Sequential model(torch::nn::Linear(64, 64), torch::nn::ReLU(), torch::nn::Linear(64, 64),
                                torch::nn::ReLU(), torch::nn::Linear(64, 64), torch::nn::ReLU(),
                                torch::nn::Linear(64, 10));
    Tensor x = torch::randn({2048, 64}), y = torch::randint(0, 10, {2048});
    Autocast autocast(device_type(), kBFloat16, amp);
    return torch::autograd::saved_bytes(torch::nn::functional::cross_entropy(model->forward(x), y));
  };
  CHECK(static_cast<double>(saved(true)) <= 0.52 * static_cast<double>(saved(false)));
}

TEST_CASE("case: layer norm of halves") {
  CHECK(torch::layer_norm(torch::zeros({10}, kHalf), {10}, {}, {}, 1e-12).equal(torch::zeros({10}, kHalf)));
  const Tensor expected = torch::tensor({-1.341635f, -0.447212f, 0.447212f, 1.341635f});
  const Tensor x = torch::tensor({1999.f, 2000.f, 2001.f, 2002.f});
  CHECK(torch::allclose(torch::layer_norm(x, {4}), expected, 0, 2e-6));
  CHECK(torch::equal(torch::layer_norm(x.to(kHalf), {4}), torch::layer_norm(x, {4}).to(kHalf)));
}

TEST_CASE("case: sums and means of halves") {
  Tensor x = torch::cat({torch::full({4}, 32000.f, kHalf), torch::full({4}, -32000.f, kHalf)});
  CHECK(x.sum().item<float>() == 0);
  CHECK(x.view({8, 1}).sum(0).item<float>() == 0);
  CHECK(x.view({1, 8}).sum(1).item<float>() == 0);
  CHECK(x.view({2, 4}).sum({0, 1}).item<float>() == 0);
  CHECK(torch::ones({4096}, kHalf).sum().item<float>() == 4096);
  CHECK(torch::full({3}, 40000.f, kHalf).mean().item<float>() == 40000);
  CHECK(torch::full({70000}, 0.5f, kHalf).mean().item<float>() == 0.5);
}

TEST_CASE("case: log_softmax of [0, 20]") {
  for (torch::Dtype dtype : {kFloat, kHalf, kBFloat16}) {
    Tensor x = torch::tensor({0.f, 20.f}, dtype);
    CHECK(torch::log_softmax(x, 0)[0].item<float>() == -20);
    CHECK(torch::cross_entropy_loss(x.unsqueeze(0), torch::tensor({0})).item<float>() == 20);
  }
  CHECK(torch::log_softmax(torch::tensor({0., 20.}, kDouble), 0)[0].item<double>() ==
        Approx(-20.0000000020612).epsilon(1e-14));
}

TEST_CASE("case: masks of -1e9 on halves, and an attention row that is masked whole") {
  Tensor x = torch::zeros({2}, kHalf).requires_grad_();
  Tensor y = x.masked_fill(torch::tensor({true, false}), -1e9);
  CHECK(y[0].item<float>() == -std::numeric_limits<float>::infinity());
  y.backward(torch::ones({2}, kHalf));
  CHECK(x.grad().equal(torch::tensor({0.f, 1.f}, kHalf)));

  Tensor q = torch::randn({1, 2, 4});
  Tensor mask = torch::tensor({{true, true}, {false, false}});
  CHECK(torch::scaled_dot_product_attention(q, q, q, mask)[0][1].equal(torch::zeros({4})));
}

TEST_CASE("case: an eps that vanishes in fp16 makes no NaN") {
  Tensor w = torch::ones({2}, kHalf).requires_grad_();
  torch::optim::Adam optimizer({w}, torch::optim::AdamOptions(1e-3).master_weights(false));
  for (int i = 0; i < 3; ++i) {
    w.mutable_grad() = torch::zeros({2}, kHalf);
    optimizer.step();
  }
  CHECK(w.equal(torch::ones({2}, kHalf)));
}

TEST_CASE("case: weights that stop moving, and masters that do not") {
  const auto train = [](torch::Dtype dtype, double lr, int steps, bool master) {
    Tensor w = torch::ones({1}, dtype).requires_grad_();
    torch::optim::SGD optimizer({w}, torch::optim::SGDOptions(lr).master_weights(master));
    for (int i = 0; i < steps; ++i) {
      w.mutable_grad() = torch::ones({1}, master ? kFloat : dtype);
      optimizer.step();
    }
    return w.item<double>();
  };
  CHECK(train(kBFloat16, 6e-4, 100, false) == 1);
  CHECK(train(kBFloat16, 6e-4, 100, true) == 0.94140625);
  CHECK(train(kHalf, 1e-4, 1000, false) == 1);
  CHECK(train(kHalf, 1e-4, 1000, true) == Approx(0.899983).margin(3e-4));  // rounded to fp16
}

TEST_CASE("case: the slope of gelu at +-300 in fp16 is 1 and 0") {
  for (const char* approximate : {"none", "tanh"}) {
    Tensor x = torch::tensor({300.f, -300.f}, kHalf).requires_grad_();
    torch::gelu(x, approximate).sum().backward();
    CHECK(x.grad().equal(torch::tensor({1.f, 0.f}, kHalf)));
  }
}
