// Optimizers against trajectories that PyTorch made (tests/recorded/record_optimizers.py), alone and under
// loss scaling, with half parameters and from a saved state.

#include <catch2/catch.hpp>
#include <cmath>
#include <memory>

#include "halftone/tests/support/recorded.h"
#include "halftone/tests/support/training.h"

using namespace halftone;
using namespace halftone::test;
using Json = nlohmann::json;

namespace {

const List kStart{1.0, -0.5, 2.25, 0.0, -3.0};

/// Gradients of step t (from 1), as record_optimizers.py forms them.
List gradient(int t) {
  List g;
  for (int i = 0; i < 5; ++i) g.push_back(std::sin(1.3 * i + 0.7 * t) * (i + 1));
  return g;
}

const Json& recorded() {
  static const Json values = read_recorded("optimizers.json");
  return values;
}

/// Sets options by PyTorch's names, through the fields by which they are saved.
void set_options(optim::OptimizerOptions& options, const Json& given) {
  StateDict state = options.state_dict();
  for (const auto& item : given.items()) {
    const Json& value = item.value();
    if (item.key() == "betas") {
      state.set("beta1", value[0].get<double>());
      state.set("beta2", value[1].get<double>());
    } else if (value.is_boolean()) {
      state.set(item.key(), value.get<bool>());
    } else if (value.is_string()) {
      state.set(item.key(), value.get<std::string>());
    } else if (value.is_number_integer() && item.key() != "lr") {
      state.set(item.key(), value.get<std::int64_t>());
    } else {
      state.set(item.key(), value.get<double>());
    }
  }
  options.load_state_dict(state);
}

template <class T, class Options>
std::unique_ptr<optim::Optimizer> build(const std::vector<Tensor>& parameters, const Json& given) {
  Options options = [] {
    if constexpr (std::is_default_constructible_v<Options>) {
      return Options();
    } else {
      return Options(1);
    }
  }();
  set_options(options, given);
  return std::make_unique<T>(parameters, options);
}

std::unique_ptr<optim::Optimizer> make(const Json& row, const std::vector<Tensor>& p) {
  const std::string name = row["name"];
  const Json& given = row["options"];
  if (name == "SGD") return build<optim::SGD, optim::SGDOptions>(p, given);
  if (name == "Adam") return build<optim::Adam, optim::AdamOptions>(p, given);
  if (name == "AdamW") return build<optim::AdamW, optim::AdamWOptions>(p, given);
  if (name == "RMSprop") return build<optim::RMSprop, optim::RMSpropOptions>(p, given);
  if (name == "Adagrad") return build<optim::Adagrad, optim::AdagradOptions>(p, given);
  if (name == "Adadelta") return build<optim::Adadelta, optim::AdadeltaOptions>(p, given);
  if (name == "Adamax") return build<optim::Adamax, optim::AdamaxOptions>(p, given);
  if (name == "NAdam") return build<optim::NAdam, optim::NAdamOptions>(p, given);
  if (name == "RAdam") return build<optim::RAdam, optim::RAdamOptions>(p, given);
  FAIL("no such optimizer: " << name);
  return nullptr;
}

void check_near(const Tensor& w, const Json& expected, double tolerance) {
  const List now = values(w);
  for (std::size_t i = 0; i < now.size(); ++i) {
    CHECK(now[i] == Approx(expected[i].get<double>()).epsilon(tolerance).margin(tolerance));
  }
}

Tensor rosenbrock(const Tensor& x) {
  const std::int64_t n = x.size(0);
  const Tensor head = x.narrow(0, 0, n - 1), tail = x.narrow(0, 1, n - 1);
  return (100 * (tail - head.pow(2)).pow(2) + (1 - head).pow(2)).sum();
}

std::unique_ptr<optim::LBFGS> make_lbfgs(const Tensor& x, const Json& given) {
  optim::LBFGSOptions options;
  set_options(options, given);
  return std::make_unique<optim::LBFGS>(std::vector<Tensor>{x}, options);
}

}  // namespace

TEST_CASE("every optimizer follows PyTorch's trajectory") {
  for (const Json& row : recorded()["optimizers"]) {
    INFO(row["name"] << " " << row["options"]);
    for (const ScalarType dtype : {kDouble, kFloat}) {
      Tensor w = parameter(kStart, dtype);
      const auto optimizer = make(row, {w});
      int t = 0;
      for (const Json& expected : row["weights"]) {
        inject(w, gradient(++t), dtype);
        optimizer->step();
        check_near(w, expected, dtype == kDouble ? 1e-12 : 5e-6);
      }
    }
  }
}

TEST_CASE("under loss scaling and with masters the trajectory is the same") {
  for (const Json& row : recorded()["optimizers"]) {
    INFO(row["name"] << " " << row["options"]);
    for (const ScalarType dtype : {kFloat, kBFloat16, kHalf}) {
      Tensor w = parameter(kStart, dtype);
      const auto optimizer = make(row, {w});
      optimizer->use_loss_scaling(amp::LossScaling::fixed(1024));
      int t = 0;
      for (const Json& expected : row["weights"]) {
        ++t;
        List scaled = gradient(t);
        for (double& g : scaled) g *= 1024;
        if (t == 4) {  // an overflow changes nothing
          const Tensor before = w.detach().clone();
          inject(w, {1, 2, 3, kInfinity, 5});
          CHECK(optimizer->step().skipped_nonfinite());
          CHECK(same_bits(w, before));
        }
        inject(w, scaled);
        CHECK(optimizer->step().applied());
        const Tensor weight = dtype == kFloat ? w.detach() : optimizer->state_dict().tensor("state.0.master");
        check_near(weight, expected, 5e-6);
        if (dtype != kFloat) CHECK(same_bits(w, weight.to(dtype)));
      }
    }
  }
}

TEST_CASE("a saved state goes on bit for bit") {
  for (const Json& row : recorded()["optimizers"]) {
    INFO(row["name"] << " " << row["options"]);
    Tensor w = parameter(kStart);
    const auto optimizer = make(row, {w});
    for (int t = 1; t <= 4; ++t) {
      inject(w, gradient(t));
      optimizer->step();
    }
    Tensor copy = w.detach().clone().requires_grad_();
    const auto resumed = make(row, {copy});
    resumed->load_state_dict(optimizer->state_dict());
    for (int t = 5; t <= 8; ++t) {
      inject(w, gradient(t));
      inject(copy, gradient(t));
      optimizer->step();
      resumed->step();
      CHECK(same_bits(w, copy));
    }
  }
}

TEST_CASE("Lion against its formula") {
  const double lr = 0.01, b1 = 0.9, b2 = 0.99, wd = 0.1;
  Tensor w = parameter(kStart, kDouble);
  optim::Lion optimizer({w}, optim::LionOptions(lr).weight_decay(wd));
  List expected = kStart, m(kStart.size(), 0.0);
  for (int t = 1; t <= 8; ++t) {
    List g = gradient(t);
    if (t == 1) g[2] = 0;  // moves by weight decay alone
    inject(w, g, kDouble);
    optimizer.step();
    for (std::size_t i = 0; i < g.size(); ++i) {
      const double c = b1 * m[i] + (1 - b1) * g[i];
      expected[i] = expected[i] * (1 - lr * wd) - lr * (c > 0 ? 1 : c < 0 ? -1 : 0);
      m[i] = b2 * m[i] + (1 - b2) * g[i];
      CHECK(values(w)[i] == Approx(expected[i]).epsilon(1e-13));
    }
  }
  CHECK(error_of([&] {
          optim::Lion({w}, optim::LionOptions().betas({0.9, 1.0}));
        }).find("betas") != std::string::npos);
}

TEST_CASE("L-BFGS follows PyTorch's trajectory") {
  for (const Json& row : recorded()["lbfgs"]) {
    INFO(row["options"]);
    Tensor x = parameter({-1.2, 1.0, 0.5, -0.3}, kDouble);
    const auto optimizer = make_lbfgs(x, row["options"]);
    for (std::size_t step = 0; step < row["weights"].size(); ++step) {
      const Tensor loss = optimizer->step([&] {
        optimizer->zero_grad();
        Tensor value = rosenbrock(x);
        value.backward();
        return value;
      });
      CHECK(loss.item<double>() == Approx(row["losses"][step].get<double>()).epsilon(1e-9));
      CHECK(optimizer->func_evals() == row["evaluations"][step].get<std::int64_t>());
      check_near(x, row["weights"][step], 1e-8);
    }
  }
}

namespace {

/// A quadratic in ten weights with eigenvalues from 1 to 1000, and its minimum.
struct Quadratic {
  Tensor scale = linspace(0, 3, 10).exp2().pow(3.32193);
  Tensor minimum = linspace(-2, 2, 10);
  Tensor operator()(const Tensor& w) const { return ((w - minimum).pow(2) * scale).sum() / 2; }
};

/// Three steps; `scale_loss(optimizer)` puts the optimizer under loss scaling or not.
template <class Setup>
Tensor minimise(const optim::LBFGSOptions& options, ScalarType dtype, Setup setup) {
  const Quadratic quadratic;
  Tensor w = zeros({10}, TensorOptions(kFloat)).to(dtype).requires_grad_();
  optim::LBFGS optimizer({w}, options);
  setup(optimizer);
  for (int step = 0; step < 3; ++step) {
    optimizer.step([&] {
      optimizer.zero_grad();
      Tensor loss = quadratic(w.to(kFloat));
      optimizer.backward(loss);
      return loss;
    });
    CHECK(optimizer.last_report().applied());
  }
  return w.detach();
}

}  // namespace

TEST_CASE("L-BFGS under loss scaling ends where fp32 L-BFGS ends") {
  for (const auto& options :
       {optim::LBFGSOptions(1).line_search_fn("strong_wolfe"), optim::LBFGSOptions(0.5)}) {
    const Tensor plain = minimise(options, kFloat, [](auto&) {});
    const Tensor scaled = minimise(options, kFloat, [](auto& optimizer) { optimizer.use_loss_scaling(); });
    CHECK(allclose(plain, scaled, 0, 1e-5));
    const Tensor fixed = minimise(options, kFloat, [](auto& optimizer) {
      optimizer.use_loss_scaling(amp::LossScaling::fixed(1000));  // not a power of two
    });
    CHECK(allclose(plain, fixed, 0, 1e-5));
  }
  CHECK(allclose(minimise(optim::LBFGSOptions(1).line_search_fn("strong_wolfe"), kFloat, [](auto&) {}),
                 Quadratic().minimum, 0, 1e-4));
  // A half parameter: the masters find the minimum, and the weight is the master rounded.
  const Tensor half =
      minimise(optim::LBFGSOptions(1).line_search_fn("strong_wolfe"), kBFloat16, [](auto&) {});
  CHECK(allclose(half.to(kFloat), Quadratic().minimum, 0.02, 0.02));
}

TEST_CASE("an overflow within an L-BFGS step restores everything") {
  const Quadratic quadratic;
  for (const bool has_facade : {false, true}) {
    for (const int bad_evaluation : {1, 3}) {
      INFO("facade " << has_facade << ", overflow in evaluation " << bad_evaluation);
      Tensor w = zeros({10}).requires_grad_();
      optim::LBFGS optimizer({w}, optim::LBFGSOptions(1).line_search_fn("strong_wolfe").max_iter(4));
      amp::GradScaler scaler(amp::GradScalerOptions().init_scale(1024));
      if (!has_facade) optimizer.use_loss_scaling(amp::LossScalingOptions().init_scale(1024));
      int evaluation = 0, bad = 0;
      const auto closure = [&] {
        optimizer.zero_grad();
        Tensor loss = quadratic(w);
        if (++evaluation == bad) loss = loss + (w * kInfinity).sum() * 0;
        has_facade ? scaler.scale(loss).backward() : optimizer.backward(loss);
        return loss;
      };
      const auto step = [&] {
        evaluation = 0;
        const Tensor loss = has_facade ? scaler.step(optimizer, closure) : optimizer.step(closure);
        if (has_facade) scaler.update();
        return loss;
      };
      const auto scale = [&] { return has_facade ? scaler.get_scale() : optimizer.loss_scale(); };
      step();
      REQUIRE(optimizer.last_report().applied());
      const Tensor before = w.detach().clone();
      const StateDict state = optimizer.state_dict();
      bad = bad_evaluation;
      step();
      CHECK(evaluation == bad_evaluation);  // given up at once
      CHECK(optimizer.last_report().skipped_nonfinite());
      CHECK(scale() == 512);
      CHECK(same_bits(w, before));
      CHECK(optimizer.applied_steps() == 1);
      CHECK(same_bits(optimizer.state_dict().tensor("own.d"), state.tensor("own.d")));
      CHECK(optimizer.n_iter() == state.integer("own.n_iter"));
      bad = 0;
      step();
      CHECK(optimizer.last_report().applied());
    }
  }
}

TEST_CASE("L-BFGS: what it refuses, and resuming") {
  Tensor a = parameter({1, 2}), b = parameter({3});
  optim::LBFGS optimizer({a, b}, optim::LBFGSOptions(1));
  CHECK(contains(error_of([&] { optimizer.step(); }), "closure"));
  CHECK(contains(error_of([&] { optimizer.step(nullptr); }), "closure"));
  CHECK(contains(error_of([&] { optimizer.step([] { return Tensor(); }); }), "return the loss"));
  CHECK(contains(error_of([&] { optim::LBFGS({a}, optim::LBFGSOptions(1).line_search_fn("armijo")); }),
                 "strong_wolfe"));
  CHECK(contains(error_of([&] { optim::LBFGS({a}, optim::LBFGSOptions(1).stochastic_rounding(true)); }),
                 "stochastic_rounding"));
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{a});
  groups.emplace_back(std::vector<Tensor>{b});
  CHECK(contains(error_of([&] { optim::LBFGS(groups, optim::LBFGSOptions(1)); }), "one group"));
  CHECK(contains(error_of([&] {
                   optimizer.step([&]() -> Tensor {
                     if (optimizer.func_evals() > 2) throw Error("loss", "stop");
                     optimizer.zero_grad();
                     Tensor loss = rosenbrock(a) + b.pow(2).sum();
                     loss.backward();
                     return loss;
                   });
                 }),
                 "stop"));
  CHECK(values(a) == List{1, 2});  // as before the step that failed
  CHECK(optimizer.func_evals() == 0);

  const auto run = [](optim::LBFGS& optimizer, const Tensor& x) {
    optimizer.step([&] {
      optimizer.zero_grad();
      Tensor loss = rosenbrock(x);
      loss.backward();
      return loss;
    });
  };
  Tensor x = parameter({-1.2, 1.0}), copy = parameter({0, 0});
  const auto options = optim::LBFGSOptions(1).line_search_fn("strong_wolfe").max_iter(3);
  optim::LBFGS first({x}, options), second({copy}, options);
  run(first, x);
  {
    NoGradGuard no_grad;
    copy.copy_(x);
  }
  second.load_state_dict(first.state_dict());
  run(first, x);
  run(second, copy);
  CHECK(same_bits(x, copy));
}

TEST_CASE("libtorch's view of an optimizer's state") {
  Tensor w = parameter({1, 2}), idle = parameter({3});
  optim::Adam optimizer({w, idle}, optim::AdamOptions(0.1).amsgrad(true));
  CHECK(optimizer.size() == 2);
  CHECK(optimizer.state().empty());
  inject(w, {1, -1});
  optimizer.step();
  inject(w, {1, -1});
  optimizer.step();
  auto& all = optimizer.state();
  REQUIRE(all.size() == 1);
  auto& state = static_cast<optim::AdamParamState&>(*all.at(w.unsafe_impl()));
  CHECK(state.step() == 2);
  CHECK(values(state.exp_avg())[0] == Approx(0.19));
  CHECK(values(state.max_exp_avg_sq())[1] == Approx(0.001999));
  state.step(5);
  state.exp_avg().zero_();
  CHECK(optimizer.state_dict().integer("state.0.step") == 5);
  CHECK(values(optimizer.state_dict().tensor("state.0.exp_avg")) == List{0, 0});
  static_cast<optim::AdamOptions&>(optimizer.param_groups()[0].options()).lr(0.5);
  CHECK(optimizer.param_groups()[0].options().get_lr() == 0.5);
  optimizer.add_parameters({parameter({4})});
  CHECK(optimizer.param_groups()[0].params().size() == 3);
  CHECK(contains(error_of([&] { optimizer.add_parameters({w}); }), "already"));
}

namespace {

/// An optimizer written against libtorch's base class.
struct SignOptions : public optim::OptimizerCloneableOptions<SignOptions> {
  HALFTONE_ARG(double, lr) = 0.5;
};

class SignDescent : public optim::Optimizer {
 public:
  SignDescent(std::vector<Tensor> params, SignOptions defaults)
      : Optimizer({optim::OptimizerParamGroup(std::move(params))}, std::make_unique<SignOptions>(defaults)) {}
  using Optimizer::step;
  Tensor step(LossClosure closure) override {
    Tensor loss = closure ? closure() : Tensor();
    NoGradGuard no_grad;
    for (auto& group : param_groups()) {
      for (auto& parameter : group.params()) {
        if (parameter.grad().defined()) parameter.sub_(parameter.grad().sign(), group.options().get_lr());
      }
    }
    return loss;
  }
};

}  // namespace

TEST_CASE("an optimizer of one's own derives from Optimizer as in libtorch") {
  Tensor w = parameter({1, -2});
  SignDescent optimizer({w}, SignOptions());
  optimizer.step([&] {
    Tensor loss = w.pow(2).sum();
    loss.backward();
    return loss;
  });
  CHECK(values(w) == List{0.5, -1.5});
  inject(w, {1, 1});
  CHECK(contains(error_of([&] { static_cast<optim::Optimizer&>(optimizer).step(); }),
                 "override step(closure)"));
}
