// Optimizers against their formulas in fp64, their surface, and resuming.

#include <catch2/catch.hpp>
#include <cmath>

#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/isa.h"
#include "halftone/nn/ordered_dict.h"
#include "halftone/tests/support/training.h"

using namespace halftone;
using namespace halftone::test;
using optim::StepReport;

namespace {

const List kStart{1.0, -0.5, 2.25, 0.0, -3.0};

/// Gradients of step t (from 1).
List gradient(int t) {
  List g;
  for (int i = 0; i < 5; ++i) g.push_back(std::sin(1.3 * i + 0.7 * t) * (i + 1));
  return g;
}

/// Six steps of `make(parameters)` against `reference`, one element at a time: reference(w, g, t, memory).
template <class Make, class Reference>
void check_formula(Make make, Reference reference) {
  List expected = kStart;
  List memory(kStart.size() * 3, 0.0);
  for (const ScalarType dtype : {kFloat, kDouble}) {
    expected = kStart;
    std::fill(memory.begin(), memory.end(), 0.0);
    Tensor w = parameter(kStart, dtype);
    auto optimizer = make(std::vector<Tensor>{w});
    for (int t = 1; t <= 6; ++t) {
      inject(w, gradient(t), dtype);
      CHECK(optimizer.step().applied());
      // The kernel reads gradients in the parameter's dtype.
      const List g = values(w.grad());
      for (std::size_t i = 0; i < kStart.size(); ++i) {
        expected[i] = reference(expected[i], g[i], t, &memory[3 * i]);
        const double tolerance = dtype == kDouble ? 1e-13 : 2e-6;
        CHECK(values(w)[i] == Approx(expected[i]).epsilon(tolerance).margin(tolerance));
      }
    }
  }
}

}  // namespace

TEST_CASE("SGD") {
  const double lr = 0.1, wd = 0.05, mu = 0.9;
  check_formula([&](auto p) { return optim::SGD(p, lr); },
                [&](double w, double g, int, double*) { return w - lr * g; });
  check_formula([&](auto p) { return optim::SGD(p, optim::SGDOptions(lr).momentum(mu).weight_decay(wd)); },
                [&](double w, double g, int t, double* v) {
                  g += wd * w;
                  v[0] = t == 1 ? g : mu * v[0] + g;
                  return w - lr * v[0];
                });
  check_formula([&](auto p) { return optim::SGD(p, optim::SGDOptions(lr).momentum(mu).dampening(0.3)); },
                [&](double w, double g, int t, double* v) {
                  v[0] = t == 1 ? g : mu * v[0] + 0.7 * g;
                  return w - lr * v[0];
                });
  check_formula([&](auto p) { return optim::SGD(p, optim::SGDOptions(lr).momentum(mu).nesterov(true)); },
                [&](double w, double g, int t, double* v) {
                  v[0] = t == 1 ? g : mu * v[0] + g;
                  return w - lr * (g + mu * v[0]);
                });
}

TEST_CASE("Adam and AdamW, with and without amsgrad") {
  const double lr = 0.05, wd = 0.1, b1 = 0.8, b2 = 0.95, eps = 1e-6;
  for (const bool decoupled : {false, true}) {
    for (const bool amsgrad : {false, true}) {
      const auto reference = [&](double w, double g, int t, double* s) {
        if (decoupled) {
          w *= 1 - lr * wd;
        } else {
          g += wd * w;
        }
        s[0] = b1 * s[0] + (1 - b1) * g;
        s[1] = b2 * s[1] + (1 - b2) * g * g;
        s[2] = std::max(s[2], s[1]);
        const double v = (amsgrad ? s[2] : s[1]) / (1 - std::pow(b2, t));
        return w - lr * (s[0] / (1 - std::pow(b1, t))) / (std::sqrt(v) + eps);
      };
      if (decoupled) {
        const auto o = optim::AdamWOptions(lr).betas({b1, b2}).eps(eps).weight_decay(wd).amsgrad(amsgrad);
        check_formula([&](auto p) { return optim::AdamW(p, o); }, reference);
      } else {
        const auto o = optim::AdamOptions(lr).betas({b1, b2}).eps(eps).weight_decay(wd).amsgrad(amsgrad);
        check_formula([&](auto p) { return optim::Adam(p, o); }, reference);
      }
    }
  }
}

TEST_CASE("RMSprop") {
  const double lr = 0.02, alpha = 0.9, eps = 1e-5, wd = 0.1;
  for (const bool centered : {false, true}) {
    for (const double mu : {0.0, 0.8}) {
      const auto o =
          optim::RMSpropOptions(lr).alpha(alpha).eps(eps).weight_decay(wd).momentum(mu).centered(centered);
      check_formula([&](auto p) { return optim::RMSprop(p, o); },
                    [&](double w, double g, int, double* s) {
                      g += wd * w;
                      s[0] = alpha * s[0] + (1 - alpha) * g * g;
                      s[2] = alpha * s[2] + (1 - alpha) * g;
                      const double step = g / (std::sqrt(centered ? s[0] - s[2] * s[2] : s[0]) + eps);
                      s[1] = mu * s[1] + step;
                      return w - lr * s[1];
                    });
    }
  }
}

TEST_CASE("Adagrad") {
  const double lr = 0.1, decay = 0.01, wd = 0.1, start = 0.5, eps = 1e-8;
  const auto o =
      optim::AdagradOptions(lr).lr_decay(decay).weight_decay(wd).initial_accumulator_value(start).eps(eps);
  check_formula([&](auto p) { return optim::Adagrad(p, o); },
                [&](double w, double g, int t, double* s) {
                  g += wd * w;
                  if (t == 1) s[0] = start;
                  s[0] += g * g;
                  return w - lr / (1 + (t - 1) * decay) * g / (std::sqrt(s[0]) + eps);
                });
}

TEST_CASE("values PyTorch's documentation fixes") {
  // The first Adam step is lr times the gradient's sign, whatever its size.
  Tensor w = parameter({1, 1});
  optim::Adam adam({w});
  inject(w, {1e-3, -1e3});
  adam.step();
  CHECK(values(w)[0] == Approx(0.999).epsilon(1e-5));
  CHECK(values(w)[1] == Approx(1.001).epsilon(1e-5));
  CHECK(adam.defaults().get_lr() == 1e-3);
  CHECK(optim::AdamWOptions().weight_decay() == 1e-2);
  CHECK(optim::RMSpropOptions().lr() == 1e-2);
  CHECK(optim::AdagradOptions().eps() == 1e-10);
}

TEST_CASE("eps that vanishes in fp16") {
  for (const bool masters : {true, false}) {
    Tensor w = parameter({0.5, -2}, kHalf);
    optim::Adam optimizer({w}, optim::AdamOptions().eps(1e-8).master_weights(masters));
    for (int i = 0; i < 3; ++i) {
      inject(w, {0, 0}, kHalf);
      optimizer.step();
    }
    CHECK(values(w) == List{0.5, -2});
  }
}

TEST_CASE("parameter groups") {
  Tensor a = parameter({1}), b = parameter({1}), c = parameter({1});
  optim::SGD optimizer({optim::OptimizerParamGroup({a}),
                        optim::OptimizerParamGroup({b}, std::make_unique<optim::SGDOptions>(0.5))},
                       optim::SGDOptions(0.25));
  optimizer.add_param_group(std::vector<Tensor>{c});
  CHECK(optimizer.param_groups().size() == 3);
  for (const Tensor& w : optimizer.parameters()) inject(w, {1});
  optimizer.step();
  CHECK(values(a) == List{0.75});
  CHECK(values(b) == List{0.5});
  CHECK(values(c) == List{0.75});
  static_cast<optim::SGDOptions&>(optimizer.param_groups()[0].options()).lr(0);
  optimizer.param_groups()[2].options().set_lr(1);
  for (const Tensor& w : optimizer.parameters()) inject(w, {1});
  optimizer.step();
  CHECK(values(a) == List{0.75});
  CHECK(values(c) == List{-0.25});

  CHECK(error_of([&] { optimizer.add_param_group(std::vector<Tensor>{a}); }).find("twice") !=
        std::string::npos);
  CHECK(optimizer.param_groups().size() == 3);
  CHECK(error_of([&] { optim::SGD({a * 2}, 0.1); }).find("leaves") != std::string::npos);
  CHECK(error_of([&] { optim::SGD({tensor({1})}, 0.1); }).find("int64") != std::string::npos);
  CHECK(error_of([&] { optim::SGD({Tensor()}, 0.1); }) != "");
  CHECK(error_of([&] { optim::SGD({a}, -0.1); }).find("lr") != std::string::npos);
  CHECK(error_of([&] { optim::SGD({a}, optim::SGDOptions(1).nesterov(true)); }).find("nesterov") !=
        std::string::npos);
  CHECK(error_of([&] {
          optim::Adam({a}, optim::AdamOptions().betas({1.0, 0.9}));
        }).find("betas") != std::string::npos);
}

TEST_CASE("named parameters name overflows") {
  OrderedDict<std::string, Tensor> named;
  named.insert("fc.weight", parameter({1}));
  named.insert("fc.bias", parameter({1}));
  optim::SGD optimizer(named, 0.1);
  optimizer.use_loss_scaling();
  inject(named["fc.bias"], {kNan});
  inject(named["fc.weight"], {1});
  CHECK(optimizer.step().overflowed_names() == std::vector<std::string>{"fc.bias"});
}

TEST_CASE("zero_grad, closures and counters") {
  Tensor w = parameter({2}), unused = parameter({5});
  optim::SGD optimizer({w, unused}, 0.25);
  (w * w).sum().backward();
  optimizer.zero_grad(false);
  CHECK(values(w.grad()) == List{0});
  optimizer.zero_grad();
  CHECK_FALSE(w.grad().defined());
  Tensor loss;
  {
    NoGradGuard no_grad;
    loss = optimizer.step([&] {
      optimizer.zero_grad();
      Tensor value = (w * w).sum();
      value.backward();
      return value;
    });
  }
  CHECK(loss.item<double>() == 4);
  CHECK(values(w) == List{1});
  CHECK(values(unused) == List{5});
  CHECK(optimizer.last_report().applied());
  CHECK(optimizer.applied_steps() == 1);
  w.mutable_grad() = ones({3});
  CHECK(error_of([&] { optimizer.step(); }).find("does not fit") != std::string::npos);
  CHECK(values(w) == List{1});
}

TEST_CASE("a step is a write in place: a graph that needs the old weight says so") {
  Tensor w = parameter({2});
  optim::SGD optimizer({w}, 0.25);
  const Tensor loss = (w * w).sum();
  loss.backward({}, true);
  optimizer.step();
  CHECK(error_of([&] { loss.backward(); }).find("optimizer step") != std::string::npos);
}

TEST_CASE("parameters of any layout") {
  Tensor w = (arange(6).to(kFloat)).view({2, 3}).t().detach().requires_grad_();
  optim::SGD optimizer({w}, optim::SGDOptions(0.5).momentum(0.9));
  w.mutable_grad() = arange(6).to(kFloat).view({3, 2});
  optimizer.step();
  CHECK(values(w) == List{0, 2.5, 0, 2.5, 0, 2.5});
}

TEST_CASE("the same bits on one thread and on two, and with every instruction set") {
  const auto run = [] {
    manual_seed(3);
    Tensor w = randn({300001}).requires_grad_();
    optim::AdamW optimizer({w}, optim::AdamWOptions(0.01).amsgrad(true));
    optimizer.use_loss_scaling();
    List norms;
    for (int i = 0; i < 3; ++i) {
      optimizer.zero_grad();
      optimizer.backward((w * w).sum());
      optimizer.clip_grad_norm_(10.0);
      norms.push_back(optimizer.step().grad_norm());
    }
    return std::pair(w, norms);
  };
  const int threads = get_num_threads();
  set_num_threads(1);
  const auto one = run();
  set_num_threads(2);
  const auto two = run();
  CHECK(same_bits(one.first, two.first));
  CHECK(one.second == two.second);
  const cpu::Isa isa = cpu::current_isa();
  cpu::set_isa_for_testing(cpu::Isa::kBaseline);
  const auto baseline = run();
  cpu::set_isa_for_testing(isa);
  set_num_threads(threads);
  CHECK(same_bits(one.first, baseline.first));
  CHECK(one.second == baseline.second);
}

TEST_CASE("an element's step does not depend on where it stands") {
  const int n = 53;
  Tensor together = full({n}, 0.7, kFloat).requires_grad_();
  optim::RMSprop optimizer({together}, optim::RMSpropOptions(0.1).centered(true).momentum(0.5));
  for (int i = 0; i < 3; ++i) {
    together.mutable_grad() = full({n}, 0.3 + i, kFloat);
    optimizer.step();
  }
  const List all = values(together);
  CHECK(all == List(n, all[0]));
}

namespace {

/// Half weights, an overflow at step 9 and a growth at step 11; stops after `stop` steps.
struct Run {
  Tensor w = parameter({1, -2, 3}, kHalf), b = parameter({0.5});
  optim::AdamW optimizer{{w, b}, optim::AdamWOptions(0.01)};

  Run() { optimizer.use_loss_scaling(amp::LossScalingOptions().init_scale(1024).growth_interval(2)); }

  void steps(int first, int last) {
    for (int t = first; t <= last; ++t) {
      optimizer.zero_grad();
      const Tensor x = w.to(kFloat);
      Tensor loss = ((x - 0.1 * t) * (x - 0.1 * t)).sum() + (b * b * static_cast<double>(t)).sum();
      optimizer.backward(t == 9 ? loss * static_cast<double>(kInfinity) : loss);
      optimizer.step();
    }
  }
};

}  // namespace

TEST_CASE("resume bit for bit") {
  for (const bool model_first : {true, false}) {
    Run straight;
    straight.steps(1, 20);
    Run first;
    first.steps(1, 10);
    const StateDict saved = first.optimizer.state_dict();
    const double scale_at_10 = first.optimizer.loss_scale();

    Run second;
    second.steps(1, 3);  // whatever was there before
    const auto load_model = [&] {
      NoGradGuard no_grad;
      second.w.copy_(first.w);
      second.b.copy_(first.b);
    };
    if (model_first) load_model();
    second.optimizer.load_state_dict(saved);
    if (!model_first) load_model();
    CHECK(second.optimizer.loss_scale() == scale_at_10);
    CHECK(second.optimizer.applied_steps() == 9);
    second.steps(11, 20);
    CHECK(same_bits(second.w, straight.w));
    CHECK(same_bits(second.b, straight.b));
    CHECK(second.optimizer.loss_scale() == straight.optimizer.loss_scale());
    const StateDict a = second.optimizer.state_dict(), b = straight.optimizer.state_dict();
    REQUIRE(a.size() == b.size());
    for (const auto& [name, value] : a) {
      INFO(name);
      if (std::holds_alternative<Tensor>(value)) {
        CHECK(same_bits(std::get<Tensor>(value), b.tensor(name)));
      } else if (std::holds_alternative<double>(value)) {
        CHECK(std::get<double>(value) == b.number(name));
      } else if (std::holds_alternative<std::int64_t>(value)) {
        CHECK(std::get<std::int64_t>(value) == b.integer(name));
      }
    }
  }
}

TEST_CASE("a state that does not belong here changes nothing") {
  Run run;
  run.steps(1, 2);
  const StateDict good = run.optimizer.state_dict();
  const auto refused = [&](const StateDict& state, const std::string& part) {
    CHECK(contains(error_of([&] { run.optimizer.load_state_dict(state); }), part));
    const StateDict now = run.optimizer.state_dict();
    CHECK(now.size() == good.size());
    CHECK(same_bits(now.tensor("state.0.exp_avg"), good.tensor("state.0.exp_avg")));
    CHECK(now.integer("applied_steps") == 2);
  };
  StateDict bad = good;
  bad.set("state.0.exp_avg", zeros({7}));
  refused(bad, "exp_avg");
  bad = good;
  bad.set("param_groups.0.lr", -1.0);
  refused(bad, "lr");
  bad = good;
  bad.set("param_groups.0.lr", std::string("high"));
  refused(bad, "lr");
  bad = good;
  bad.set("groups", std::int64_t{2});
  refused(bad, "groups");
  bad = good;
  bad.set("loss_scaling.scale", 0.0);
  refused(bad, "scale");
  bad = good;
  bad.set("optimizer", std::string("SGD"));
  refused(bad, "SGD");
  refused(StateDict(), "optimizer");
  Tensor w = parameter({1, 2, 3}, kHalf), b = parameter({1});
  optim::AdamW without({w, b});
  CHECK(contains(error_of([&] { without.load_state_dict(good); }), "use_loss_scaling"));
}
