// The tape: graph shapes, hooks, retain_graph, deep chains, custom functions, checkpointing, anomaly mode.

#include <thread>

#include <catch2/catch.hpp>

#include "halftone/autograd/autograd.h"
#include "halftone/autograd/checkpoint.h"
#include "halftone/autograd/function.h"
#include "halftone/autograd/gradcheck.h"
#include "halftone/tests/support/device.h"

using namespace halftone;
using Catch::Matchers::Contains;

namespace {

Tensor leaf(double value, ScalarType dtype = kFloat) { return full({}, value, dtype).requires_grad_(); }

double grad_of(const Tensor& tensor) { return tensor.grad().item<double>(); }

}  // namespace

TEST_CASE("nodes shared by several paths add their gradients") {
  Tensor x = leaf(2);
  Tensor y = x * 3;
  Tensor c = y * 2 + y * 5;
  c.backward();
  CHECK(grad_of(x) == 21);

  Tensor a = leaf(1);
  Tensor b = a + a;
  (b + b).backward();
  CHECK(grad_of(a) == 4);
}

TEST_CASE("backward twice needs retain_graph and then exactly doubles leaf gradients") {
  Tensor x = leaf(3);
  Tensor inner = x * x;
  Tensor y = inner * inner;
  inner.retain_grad();
  y.backward({}, /*retain_graph=*/true);
  const double once = grad_of(x);
  CHECK(once == 108);
  CHECK(grad_of(inner) == 18);
  y.backward({}, true);
  CHECK(grad_of(x) == 2 * once);
  y.backward();
  CHECK_THROWS_WITH(y.backward(), Contains("retain_graph"));
}

TEST_CASE("backward refuses what has no gradient, by name") {
  CHECK_THROWS_WITH(ones({2}).sum().backward(), Contains("does not require grad"));
  Tensor x = ones({2, 3}).requires_grad_();
  CHECK_THROWS_WITH((x * 2).backward(), Contains("float32[2, 3]"));
  CHECK_THROWS_WITH((x * 2).backward(ones({3})), Contains("shape"));
  CHECK_THROWS_AS(ones({2}, kLong).requires_grad_(), Error);
  CHECK_THROWS_AS(Tensor().backward(), Error);
}

TEST_CASE("a chain of a million nodes runs and is freed without recursion") {
  const int nodes =
      test::by_device(1000000, 10000);  // an emulated device takes its time and two mappings per tensor
  Tensor x = leaf(1);
  Tensor y = x;
  for (int i = 0; i < nodes; ++i) y = y + 0.0;
  y.backward();
  CHECK(grad_of(x) == 1);
  // Freed without having been run.
  Tensor z = x;
  for (int i = 0; i < nodes; ++i) z = z * 1.0;
}

TEST_CASE("hooks see the whole gradient and may replace it") {
  Tensor x = leaf(2);
  int calls = 0;
  const unsigned leaf_hook = x.register_hook([&](Tensor grad) {
    ++calls;
    CHECK(grad.item<double>() == 30);
    return grad;
  });
  Tensor y = x * 3;
  y.register_hook([](Tensor grad) { return grad * 2; });
  (y * 4 + y).backward();
  CHECK(calls == 1);
  CHECK(grad_of(x) == 30);
  x.remove_hook(leaf_hook);
  x.mutable_grad().reset();
  (x * 7).backward();
  CHECK(calls == 1);
  CHECK_THROWS_AS(ones({1}).register_hook([](Tensor grad) { return grad; }), Error);
}

TEST_CASE("autograd::grad touches no leaf and differentiates again") {
  Tensor x = leaf(3, kDouble);
  const Tensor y = x * x * x;
  const Tensor first = autograd::grad({y}, {x}, {}, std::nullopt, /*create_graph=*/true)[0];
  CHECK(first.item<double>() == 27);
  CHECK_FALSE(x.grad().defined());
  const Tensor second = autograd::grad({first}, {x})[0];
  CHECK(second.item<double>() == 18);

  Tensor other = leaf(1);
  CHECK_THROWS_WITH(autograd::grad({x * 2}, {other}), Contains("allow_unused"));
  CHECK_FALSE(autograd::grad({x * 2}, {other}, {}, std::nullopt, false, true)[0].defined());
}

TEST_CASE("a gradient penalty differentiates through the gradient") {
  Tensor w = leaf(3, kDouble);
  const Tensor loss = w * w;
  const Tensor g = autograd::grad({loss}, {w}, {}, true, true)[0];
  (loss + g * g).backward();  // 5 w^2
  CHECK(grad_of(w) == Approx(30).epsilon(1e-12));
}

TEST_CASE("nothing is recorded under NoGradGuard, and detach leaves the graph") {
  Tensor x = leaf(2);
  {
    NoGradGuard no_grad;
    CHECK_FALSE((x * 2).requires_grad());
  }
  CHECK((x * 2).requires_grad());
  CHECK_FALSE((x * 2).detach().requires_grad());
  Tensor y = x * 2;
  CHECK_FALSE(y.is_leaf());
  CHECK(x.is_leaf());
}

TEST_CASE("graphs are built and run on several threads at once") {
  Tensor w = full({8}, 2.0).requires_grad_();
  std::vector<std::thread> threads;
  std::vector<Tensor> grads(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) grads[t] = autograd::grad({(w * w).sum()}, {w})[0];
    });
  }
  for (auto& thread : threads) thread.join();
  for (const Tensor& g : grads) CHECK(equal(g, full({8}, 4.0)));
}

// --- Custom functions ---

namespace {

struct Cube : autograd::Function<Cube> {
  static Tensor forward(autograd::AutogradContext* ctx, Tensor x, double factor) {
    ctx->save_for_backward({x});
    ctx->saved_data["factor"] = factor;
    return x * x * x * factor;
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
    const Tensor x = ctx->get_saved_variables()[0];
    return {grads[0] * 3 * x * x * ctx->saved_data["factor"].toDouble(), Tensor()};
  }
};

struct TwoOutputs : autograd::Function<TwoOutputs> {
  static autograd::variable_list forward(autograd::AutogradContext*, Tensor x) { return {x * 2, x * 3}; }
  static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list grads) {
    return {grads[0] * 2 + grads[1] * 3};
  }
};

struct WrongCount : autograd::Function<WrongCount> {
  static Tensor forward(autograd::AutogradContext*, Tensor x, Tensor y) { return x * y; }
  static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list grads) {
    return {grads[0]};
  }
};

}  // namespace

TEST_CASE("a custom function has the gradient it states, twice") {
  Tensor x = rand({4}, kDouble).requires_grad_();
  const autograd::TensorFunction f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{Cube::apply(in[0], 2.0)};
  };
  CHECK(autograd::gradcheck(f, {x}));
  CHECK(autograd::gradgradcheck(f, {x}));
}

TEST_CASE("a custom function with two outputs, one unused") {
  Tensor x = leaf(1);
  const auto outputs = TwoOutputs::apply(x);
  outputs[1].backward();
  CHECK(grad_of(x) == 3);
}

TEST_CASE("a custom function that returns too few gradients is told so") {
  Tensor x = leaf(1), y = leaf(2);
  CHECK_THROWS_WITH(WrongCount::apply(x, y).backward(), Contains("expected 2"));
}

// --- Checkpointing ---

TEST_CASE("checkpointing gives the same gradients and keeps only the input") {
  manual_seed(5);
  Tensor w = randn({8, 8}, kDouble).requires_grad_();
  Tensor x = randn({4, 8}, kDouble).requires_grad_();
  const auto part = [&](const Tensor& in) { return (in.matmul(w).tanh().matmul(w)).tanh(); };

  part(x).sum().backward();
  const Tensor expected_w = w.grad().clone(), expected_x = x.grad().clone();
  w.mutable_grad().reset();
  x.mutable_grad().reset();

  const Tensor y = autograd::checkpoint(part, x);
  CHECK(autograd::saved_bytes(y) < autograd::saved_bytes(part(x)));
  y.sum().backward();
  CHECK(equal(w.grad(), expected_w));
  CHECK(equal(x.grad(), expected_x));
}

TEST_CASE("a checkpointed dropout draws the same mask again") {
  Tensor x = ones({1000}).requires_grad_();
  manual_seed(1);
  const Tensor y = autograd::checkpoint([](const Tensor& in) { return dropout(in, 0.5, true); }, x);
  rand({10});  // the stream moves on in between
  const PhiloxState before = default_generator().state();
  y.sum().backward();
  CHECK(equal(x.grad(), y.detach()));
  CHECK(default_generator().state().offset == before.offset);
}

TEST_CASE("checkpointing states what it cannot do") {
  Tensor x = leaf(2, kDouble);
  const auto square = [](const Tensor& in) { return in * in; };
  CHECK_THROWS_WITH(autograd::grad({autograd::checkpoint(square, x)}, {x}), Contains("autograd::grad"));
}

// --- Anomaly mode and reports ---

TEST_CASE("anomaly mode names the operator whose backward made NaN") {
  Tensor x = zeros({2}).requires_grad_();
  Tensor y = (x.sqrt() * 0.0).sum();  // 0 * inf in the backward of sqrt
  CHECK_NOTHROW(y.backward({}, true));
  const autograd::DetectAnomalyGuard guard;
  CHECK_THROWS_WITH(y.backward(), Contains("sqrt") && Contains("NaN"));
}

TEST_CASE("saved bytes count distinct storages and leave parameters out") {
  Tensor w = randn({16, 16}).requires_grad_();
  Tensor x = randn({4, 16});
  const Tensor h = x.matmul(w);  // keeps x; w is a parameter
  CHECK(autograd::saved_bytes(h) == 4 * 16 * 4);
  const Tensor y = h.relu();  // keeps its result
  CHECK(autograd::saved_bytes(y) == 2 * 4 * 16 * 4);
  const Tensor z = y.matmul(w);  // keeps y again: the same storage
  CHECK(autograd::saved_bytes(z) == 2 * 4 * 16 * 4);
  const auto before = memory_stats(test::device_type()).allocated_of(MemoryCategory::kSaved);
  CHECK(before >= 2 * 4 * 16 * 4);
}

TEST_CASE("saved tensors are released as backward goes") {
  Tensor w = randn({16, 16}).requires_grad_();
  const auto before = memory_stats(test::device_type()).allocated_of(MemoryCategory::kSaved);
  Tensor y = (randn({4, 16}).matmul(w)).relu().sum();
  CHECK(memory_stats(test::device_type()).allocated_of(MemoryCategory::kSaved) > before);
  y.backward();
  CHECK(memory_stats(test::device_type()).allocated_of(MemoryCategory::kSaved) == before);
}
