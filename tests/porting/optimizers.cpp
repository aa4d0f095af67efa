// Optimizers: options, parameter groups, closures, what they compute.

#include <cmath>
#include <memory>
#include <vector>

#include "halftone/tests/porting/check.h"

namespace {

torch::Tensor weight(const std::vector<double>& values) {
  return torch::tensor(values, torch::kDouble).set_requires_grad(true);
}

torch::Tensor numbers(const std::vector<double>& values) { return torch::tensor(values, torch::kDouble); }

/// Three steps on the gradient (1, -2, 0.5).
torch::Tensor three_steps(torch::optim::Optimizer& optimizer, torch::Tensor w) {
  for (int step = 0; step < 3; ++step) {
    w.mutable_grad() = numbers({1, -2, 0.5});
    optimizer.step();
  }
  return w.detach();
}

void rules() {
  auto w = weight({1, 2, 3});
  torch::optim::SGD plain({w}, torch::optim::SGDOptions(0.1));
  PORTING_CLOSE(three_steps(plain, w), numbers({0.7, 2.6, 2.85}), 1e-12);

  w = weight({1, 2, 3});
  torch::optim::SGD momentum({w}, torch::optim::SGDOptions(0.1).momentum(0.9).dampening(0.5));
  PORTING_CLOSE(three_steps(momentum, w), numbers({0.584, 2.832, 2.792}), 1e-12);

  w = weight({1, 2, 3});
  torch::optim::SGD nesterov({w}, torch::optim::SGDOptions(0.1).momentum(0.9).nesterov(true));
  PORTING_CLOSE(three_steps(nesterov, w), numbers({0.1951, 3.6098, 2.59755}), 1e-10);

  w = weight({1, 2, 3});
  torch::optim::SGD decay({w}, torch::optim::SGDOptions(0.1).weight_decay(0.1));
  PORTING_CLOSE(three_steps(decay, w), numbers({0.673289, 2.534618, 2.762392}), 1e-9);

  w = weight({1, 2, 3});
  torch::optim::Adam adam({w}, torch::optim::AdamOptions(0.1));
  PORTING_CLOSE(three_steps(adam, w), numbers({0.7, 2.3, 2.7}), 1e-6);

  w = weight({1, 2, 3});
  torch::optim::AdamW adamw({w}, torch::optim::AdamWOptions(0.1).weight_decay(0.5));
  PORTING_CLOSE(three_steps(adamw, w), numbers({0.572125, 2.0, 2.286875}), 1e-6);

  w = weight({1, 2, 3});
  torch::optim::Adagrad adagrad({w}, torch::optim::AdagradOptions(0.1));
  const double steps = 0.1 * (1 + 1 / std::sqrt(2.0) + 1 / std::sqrt(3.0));
  PORTING_CLOSE(three_steps(adagrad, w), numbers({1 - steps, 2 + steps, 3 - steps}), 1e-8);

  w = weight({1, 2, 3});
  torch::optim::RMSprop rmsprop({w}, torch::optim::RMSpropOptions(0.01).alpha(0.5));
  const double moves = 0.01 * (1 / std::sqrt(0.5) + 1 / std::sqrt(0.75) + 1 / std::sqrt(0.875));
  PORTING_CLOSE(three_steps(rmsprop, w), numbers({1 - moves, 2 + moves, 3 - moves}), 1e-7);
}

void defaults() {
  PORTING_CHECK(torch::optim::AdamOptions().lr() == 1e-3);
  PORTING_CHECK(torch::optim::AdamOptions().betas() == std::make_tuple(0.9, 0.999));
  PORTING_CHECK(torch::optim::AdamOptions().eps() == 1e-8);
  PORTING_CHECK(torch::optim::AdamOptions().weight_decay() == 0 && !torch::optim::AdamOptions().amsgrad());
  PORTING_CHECK(torch::optim::AdamWOptions().weight_decay() == 1e-2);
  PORTING_CHECK(torch::optim::RMSpropOptions().lr() == 1e-2 &&
                torch::optim::RMSpropOptions().alpha() == 0.99);
  PORTING_CHECK(torch::optim::AdagradOptions().lr() == 1e-2 && torch::optim::AdagradOptions().eps() == 1e-10);
  PORTING_CHECK(torch::optim::SGDOptions(0.5).momentum() == 0 && !torch::optim::SGDOptions(0.5).nesterov());
  const torch::optim::LBFGSOptions lbfgs;
  PORTING_CHECK(lbfgs.lr() == 1 && lbfgs.max_iter() == 20 && lbfgs.history_size() == 100);
  PORTING_CHECK(lbfgs.tolerance_grad() == 1e-7 && lbfgs.tolerance_change() == 1e-9);
  PORTING_CHECK(!lbfgs.max_eval().has_value() && !lbfgs.line_search_fn().has_value());
}

void groups() {
  auto a = weight({1}), b = weight({1});
  std::vector<torch::optim::OptimizerParamGroup> list;
  list.emplace_back(std::vector<torch::Tensor>{a});
  list.emplace_back(std::vector<torch::Tensor>{b}, std::make_unique<torch::optim::SGDOptions>(0.5));
  torch::optim::SGD optimizer(list, torch::optim::SGDOptions(0.1));
  PORTING_CHECK(optimizer.param_groups().size() == 2);
  PORTING_CHECK(optimizer.param_groups()[0].options().get_lr() == 0.1);
  PORTING_CHECK(optimizer.param_groups()[1].options().get_lr() == 0.5);
  (a + b).sum().backward();
  optimizer.step();
  PORTING_CLOSE(a.detach(), numbers({0.9}), 1e-12);
  PORTING_CLOSE(b.detach(), numbers({0.5}), 1e-12);
  optimizer.zero_grad();
  PORTING_CHECK(!a.grad().defined() || a.grad().item<double>() == 0);

  for (auto& group : optimizer.param_groups()) {
    static_cast<torch::optim::SGDOptions&>(group.options()).lr(0.25).momentum(0.5);
  }
  optimizer.param_groups()[1].options().set_lr(1.0);
  auto c = weight({1});
  optimizer.add_param_group(torch::optim::OptimizerParamGroup({c}));
  PORTING_CHECK(optimizer.param_groups().size() == 3);
  PORTING_CHECK(optimizer.param_groups()[2].params().size() == 1);
  (a + b + c).sum().backward();
  optimizer.step();
  PORTING_CLOSE(a.detach(), numbers({0.65}), 1e-12);
  PORTING_CLOSE(b.detach(), numbers({-0.5}), 1e-12);
  PORTING_CLOSE(c.detach(), numbers({0.9}), 1e-12);
  const auto& options = static_cast<const torch::optim::SGDOptions&>(optimizer.defaults());
  PORTING_CHECK(options.lr() == 0.1);
}

void refusals() {
  auto w = weight({1});
  PORTING_THROWS(torch::optim::SGD({w}, torch::optim::SGDOptions(-1)));
  PORTING_THROWS(torch::optim::SGD({w}, torch::optim::SGDOptions(0.1).nesterov(true)));
  PORTING_THROWS(torch::optim::Adam({w}, torch::optim::AdamOptions().betas(std::make_tuple(1.0, 0.9))));
  PORTING_THROWS(torch::optim::Adam({w * 2}, torch::optim::AdamOptions()));
}

void closures() {
  auto w = weight({3});
  torch::optim::SGD optimizer({w}, torch::optim::SGDOptions(0.25));
  auto closure = [&]() -> torch::Tensor {
    optimizer.zero_grad();
    auto loss = (w * w).sum();
    loss.backward();
    return loss;
  };
  const auto loss = optimizer.step(closure);
  PORTING_CHECK(loss.item<double>() == 9);
  PORTING_CLOSE(w.detach(), numbers({1.5}), 1e-12);
}

void quasi_newton() {
  for (const bool search : {false, true}) {
    auto w = weight({-1.5, 2.0});
    auto options = torch::optim::LBFGSOptions(search ? 1.0 : 0.1).max_iter(60).max_eval(200);
    if (search) options.line_search_fn("strong_wolfe");
    torch::optim::LBFGS optimizer({w}, options);
    const auto scale = numbers({1.0, 50.0});
    auto closure = [&]() -> torch::Tensor {
      optimizer.zero_grad();
      auto loss = ((w - 1).pow(2) * scale).sum();
      loss.backward();
      return loss;
    };
    const double first = optimizer.step(closure).item<double>();
    PORTING_CHECK(std::abs(first - 56.25) < 1e-9);
    for (int step = 0; step < 3; ++step) optimizer.step(closure);
    PORTING_CLOSE(w.detach(), numbers({1, 1}), search ? 1e-5 : 1e-2);
  }
}

void training() {
  torch::manual_seed(1);
  torch::nn::Sequential model(torch::nn::Linear(2, 16), torch::nn::Tanh(), torch::nn::Linear(16, 1));
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(0.03));
  const auto x = torch::tensor({{0.0, 0.0}, {0.0, 1.0}, {1.0, 0.0}, {1.0, 1.0}}).to(torch::kFloat);
  const auto y = torch::tensor({{0.0}, {1.0}, {1.0}, {0.0}}).to(torch::kFloat);
  double loss_value = 1;
  for (int step = 0; step < 400; ++step) {
    optimizer.zero_grad();
    auto loss = torch::mse_loss(model->forward(x), y);
    loss.backward();
    optimizer.step();
    loss_value = loss.item<double>();
  }
  PORTING_CHECK(loss_value < 1e-3);
}

}  // namespace

int main() {
  rules();
  defaults();
  groups();
  refusals();
  closures();
  quasi_newton();
  training();
  return porting::result("optimizers");
}
