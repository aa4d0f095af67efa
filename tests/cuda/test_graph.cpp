// CUDA graphs: a captured training step replays what the step itself would do, bit for bit.

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <optional>

#include "halftone/amp/autocast.h"
#include "halftone/engine/cuda.h"
#include "halftone/engine/cuda_graph.h"
#include "halftone/nn/utils/clip_grad.h"
#include "halftone/tests/support/training.h"

using namespace halftone;
using namespace halftone::test;
using amp::GradScalerOptions;

namespace {

const Device kDevice(kCUDA);

/// A small network under fp16 autocast with dropout, and everything that trains it.
struct Trainer {
  Trainer()
      : x(randn({8, 16}, Generator(1)).to(kDevice)),
        y(randn({8, 4}, Generator(2)).to(kDevice)),
        factor(ones({}).to(kDevice)),
        w1((randn({24, 16}, Generator(3)) * 0.25).to(kDevice).requires_grad_()),
        b1(zeros({24}).to(kDevice).requires_grad_()),
        w2((randn({4, 24}, Generator(4)) * 0.2).to(kDevice).requires_grad_()),
        optimizer({{"w1", w1}, {"b1", b1}, {"w2", w2}}, optim::AdamWOptions(0.01)) {}

  Tensor make_loss() {
    amp::Autocast region(kCUDA, kHalf);
    const Tensor hidden = dropout(relu(linear(x, w1, b1)), 0.25, true);
    return mse_loss(linear(hidden, w2), y) * factor;
  }

  /// One step in either form of the workflow.
  void step_with_scaler() {
    optimizer.zero_grad();
    loss = make_loss();
    scaler.scale(loss).backward();
    scaler.unscale_(optimizer);
    nn::utils::clip_grad_norm_({w1, b1, w2}, 1.0);
    report = scaler.step(optimizer);
    scaler.update();
  }
  void step_built_in() {
    optimizer.zero_grad(false);
    loss = make_loss();
    optimizer.backward(loss);
    norm = optimizer.clip_grad_norm_(max_norm);
    report = optimizer.step();
  }

  void set_lr(double lr) { optimizer.param_groups()[0].options().set_lr(lr); }
  /// The next steps overflow, or do not.
  void overflow(bool on) { factor.fill_(on ? 1e30 : 1.0); }

  Tensor x, y, factor, w1, b1, w2, loss;
  optim::AdamW optimizer;
  amp::GradScaler scaler{GradScalerOptions().init_scale(1024).growth_interval(3)};
  double max_norm = 1;
  optim::StepReport report;
  optim::DeferredScalar norm;
};

void check_same(Trainer& eager, Trainer& graph) {
  CHECK(same_bits(eager.w1, graph.w1));
  CHECK(same_bits(eager.b1, graph.b1));
  CHECK(same_bits(eager.w2, graph.w2));
  CHECK(same_bits(eager.loss, graph.loss));
  CHECK(eager.optimizer.applied_steps() == graph.optimizer.applied_steps());
  CHECK(eager.optimizer.attempted_steps() == graph.optimizer.attempted_steps());
  const StateDict a = eager.optimizer.state_dict(), b = graph.optimizer.state_dict();
  for (const char* moment : {"state.0.exp_avg", "state.2.exp_avg_sq"})
    CHECK(same_bits(a.tensor(moment), b.tensor(moment)));
  CHECK(a.integer("state.1.step") == b.integer("state.1.step"));
}

}  // namespace

TEST_CASE("a captured step with GradScaler replays the eager step, bit for bit") {
  const CpuByDefault cpu;
  Trainer eager, replayed;
  std::vector<Tensor> losses;
  manual_seed(5);
  for (int i = 0; i < 9; ++i) {
    if (i == 3) eager.set_lr(0.1);
    eager.overflow(i == 5);
    eager.step_with_scaler();
    losses.push_back(eager.loss.detach().cpu().clone());
  }

  manual_seed(5);
  replayed.step_with_scaler();
  cuda::Graph graph;
  CHECK_FALSE(graph.is_captured());
  graph.capture([&] { replayed.step_with_scaler(); });
  CHECK(graph.is_captured());
  for (int i = 1; i < 9; ++i) {
    if (i == 3) replayed.set_lr(0.1);
    replayed.overflow(i == 5);
    graph.replay();
    INFO("replay " << i);
    CHECK(same_bits(replayed.loss, losses[static_cast<std::size_t>(i)]));
    CHECK(replayed.report.skipped_nonfinite() == (i == 5));
  }
  CHECK_FALSE(same_bits(losses[1], losses[2]));
  check_same(eager, replayed);
  CHECK(eager.scaler.get_scale() == replayed.scaler.get_scale());
  CHECK(eager.scaler.get_growth_tracker() == replayed.scaler.get_growth_tracker());
  CHECK(default_generator().state().offset > 0);
}

TEST_CASE("a captured step with the controller in the optimizer") {
  const CpuByDefault cpu;
  Trainer eager, replayed;
  for (Trainer* trainer : {&eager, &replayed}) {
    trainer->optimizer.use_loss_scaling(GradScalerOptions().init_scale(1024).growth_interval(2));
    trainer->optimizer.use_half_shadow(kHalf);
  }
  const auto prepare = [](Trainer& trainer, int i) {
    trainer.max_norm = i < 4 ? 1.0 : 0.25;
    trainer.overflow(i == 2 || i == 3);
  };
  manual_seed(6);
  for (int i = 0; i < 8; ++i) {
    prepare(eager, i);
    eager.step_built_in();
  }
  manual_seed(6);
  prepare(replayed, 0);
  replayed.step_built_in();
  cuda::Graph graph;
  graph.capture([&] { replayed.step_built_in(); });
  for (int i = 1; i < 8; ++i) {
    prepare(replayed, i);
    if (i == 4) {
      // A step of its own between replays, with another threshold, which the replays after it take over.
      const Tensor loss = replayed.loss;
      const optim::DeferredScalar norm = replayed.norm;
      replayed.step_built_in();
      replayed.loss = loss;
      replayed.norm = norm;
      continue;
    }
    graph.replay();
  }
  check_same(eager, replayed);
  CHECK(replayed.norm.item() == eager.norm.item());
  CHECK(eager.optimizer.loss_scale() == replayed.optimizer.loss_scale());
}

TEST_CASE("reports, norms and the last report tell of the last replay") {
  const CpuByDefault cpu;
  Trainer trainer;
  trainer.optimizer.use_loss_scaling(GradScalerOptions().init_scale(64).growth_interval(100));
  trainer.step_built_in();
  cuda::Graph graph;
  graph.capture([&] { trainer.step_built_in(); });
  graph.replay();
  CHECK(trainer.report.applied());
  const double first = trainer.norm.item();
  trainer.overflow(true);
  graph.replay();
  CHECK(trainer.report.skipped_nonfinite());
  CHECK(trainer.optimizer.last_report().skipped_nonfinite());
  CHECK(trainer.report.scale_after() == 32);
  trainer.overflow(false);
  graph.replay();
  CHECK(trainer.report.applied());
  CHECK(trainer.report.scale_before() == 32);
  CHECK(trainer.norm.item() != first);
}

TEST_CASE("every random stream goes on from replay to replay") {
  const CpuByDefault cpu;
  Tensor eager = zeros({64}).to(kDevice), replayed = zeros({64}).to(kDevice);
  manual_seed(9);
  Generator own(11);
  const Tensor ones_there = ones({64}).to(kDevice);
  const auto step = [&](Tensor& out) {
    uniform_(out, 0, 1, own);
    out.add_(dropout(ones_there, 0.5, true));
  };
  std::vector<Tensor> expected;
  for (int i = 0; i < 4; ++i) {
    step(eager);
    expected.push_back(eager.cpu().clone());
  }
  manual_seed(9);
  own.set_current_seed(11);
  cuda::Graph graph;
  graph.capture([&] { step(replayed); });
  CHECK(own.state().offset == 0);
  for (int i = 0; i < 4; ++i) {
    if (i == 2) {
      step(replayed);  // not replayed: the same stream
    } else {
      graph.replay();
    }
    INFO("step " << i);
    CHECK(same_bits(replayed, expected[static_cast<std::size_t>(i)]));
  }
  own.set_current_seed(12);
  CHECK(contains(error_of([&] { graph.replay(); }), "capture again"));
}

TEST_CASE("what cannot be captured is refused by name, and the device is usable afterwards") {
  const CpuByDefault cpu;
  Tensor w = ones({4}).to(kDevice);
  cuda::Graph graph;
  const auto error_in_capture = [&](const std::function<void()>& f) {
    const std::string error = error_of([&] { graph.capture(f); });
    CHECK_FALSE(graph.is_captured());
    CHECK(values(w + 1) == List{2, 2, 2, 2});
    return error;
  };
  CHECK(contains(error_in_capture([&] { w.sum().item<float>(); }), "reading"));
  CHECK(contains(error_in_capture([&] { w.cpu(); }), "captur"));
  CHECK(contains(error_in_capture([&] { cuda::synchronize(); }), "synchronize"));
  CHECK(contains(error_in_capture([&] { manual_seed(1); }), "seed"));
  CHECK(contains(error_in_capture([&] { graph.capture([] {}); }), "already"));
  CHECK(contains(error_in_capture([&] { fail("own", "error of the function"); }), "error of the function"));

  Tensor leaf_of = ones({4}).to(kDevice).requires_grad_();
  optim::AdamW optimizer({leaf_of}, optim::AdamWOptions(0.1));
  CHECK(contains(error_in_capture([&] {
                   leaf_of.sum().backward();
                   optimizer.step();
                 }),
                 "before the capture"));
  CHECK(contains(error_of([&] { graph.replay(); }), "nothing is captured"));
  CHECK(contains(error_of([&] { graph.capture(nullptr); }), "empty"));
}

TEST_CASE("values are checked in a captured step as well, and told of where the device is waited for") {
  const CpuByDefault cpu;
  const Tensor p = full({6}, 0.5).to(kDevice), target = ones({6}).to(kDevice),
               labels = full({6}, 7, kLong).to(kDevice), divisor = full({6}, 2, kLong).to(kDevice);
  Tensor loss, quotient, drawn;
  cuda::Graph graph;
  graph.capture([&] {
    loss = binary_cross_entropy(p, target);
    quotient = floor_divide(labels, divisor) + remainder(labels, divisor) + fmod(labels, divisor);
    drawn = bernoulli(p);
  });
  graph.replay();
  CHECK(loss.item<float>() == Approx(std::log(2)));
  CHECK(values(quotient) == List{5, 5, 5, 5, 5, 5});

  p.select(0, 3).fill_(1.5);
  graph.replay();
  CHECK(contains(error_of([&] { cuda::synchronize(); }), "probabilities in [0, 1], found 1.5"));
  p.fill_(0.25);
  divisor.select(0, 5).fill_(0);
  graph.replay();
  CHECK(contains(error_of([&] { cuda::synchronize(); }), "integer division by zero"));
  divisor.fill_(1);
  graph.replay();
  CHECK_NOTHROW(cuda::synchronize());
  CHECK(values(quotient) == List{7, 7, 7, 7, 7, 7});
}

TEST_CASE("checks of values on the device read nothing back") {
  const CpuByDefault cpu;
  const Tensor p = full({6}, 0.5).to(kDevice), n = full({6}, 3, kLong).to(kDevice);
  const std::uint64_t before = cuda::host_reads();
  binary_cross_entropy(p, p);
  floor_divide(n, n), remainder(n, n), fmod(n, n), bernoulli(p);
  CHECK(cuda::host_reads() == before);
}

TEST_CASE("memory of a graph comes back") {
  const CpuByDefault cpu;
  const Tensor x = ones({1000}).to(kDevice);
  Tensor kept;
  {
    std::optional<cuda::Graph> graph(std::in_place);
    graph->capture([&] { kept = (x + 1.0) * 2.0; });
    graph->replay();
    CHECK(kept.sum().item<double>() == 4000);
    x.fill_(2);
    graph->replay();
    CHECK(kept.sum().item<double>() == 6000);
    cuda::Graph moved = std::move(*graph);
    moved.replay();
    CHECK_FALSE(graph->is_captured());
  }
  CHECK(kept.sum().item<double>() == 6000);  // outlives the graph
  const std::size_t used = memory_stats(kDevice).allocated;
  for (int i = 0; i < 3; ++i) {
    cuda::Graph graph;
    graph.capture([&] { (x * 3.0).sum(); });
    graph.replay();
  }
  CHECK(memory_stats(kDevice).allocated == used);
}
