// Programs as libtorch's users write them, unchanged but for the header: what compiles there compiles here,
// and gives the same numbers.

#include <cmath>
#include <sstream>
#include <thread>

#include <catch2/catch.hpp>

#include "halftone/compat/torch.h"

using namespace torch::indexing;
namespace F = torch::nn::functional;

namespace {

struct MlpImpl : torch::nn::Module {
  MlpImpl(int64_t in, int64_t hidden, int64_t out)
      : fc1(register_module("fc1", torch::nn::Linear(in, hidden))),
        fc2(register_module("fc2", torch::nn::Linear(hidden, out))) {
    scale = register_parameter("scale", torch::ones({1}));
    steps = register_buffer("steps", torch::zeros({1}, torch::kLong));
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(fc1(x));
    x = torch::dropout(x, 0.5, is_training());
    return fc2->forward(x) * scale;
  }
  torch::nn::Linear fc1, fc2;
  torch::Tensor scale, steps;
};
TORCH_MODULE(Mlp);

struct Mnist : torch::nn::Module {
  Mnist()
      : conv1(torch::nn::Conv2dOptions(1, 10, /*kernel_size=*/5)),
        conv2(torch::nn::Conv2dOptions(10, 20, /*kernel_size=*/5)),
        fc1(320, 50),
        fc2(50, 10) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("conv2_drop", conv2_drop);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torch::max_pool2d(conv1->forward(x), 2));
    x = torch::relu(torch::max_pool2d(conv2_drop->forward(conv2->forward(x)), 2));
    x = x.view({-1, 320});
    x = torch::relu(fc1->forward(x));
    x = torch::dropout(x, /*p=*/0.5, /*train=*/is_training());
    return torch::log_softmax(fc2->forward(x), /*dim=*/1);
  }
  torch::nn::Conv2d conv1, conv2;
  torch::nn::Dropout conv2_drop;
  torch::nn::Linear fc1, fc2;
};

/// The linear layer of libtorch's autograd tutorial: an argument left to its default, and a gradient for it.
struct LinearFunction : torch::autograd::Function<LinearFunction> {
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, torch::Tensor input,
                               torch::Tensor weight, torch::Tensor bias = torch::Tensor()) {
    ctx->save_for_backward({input, weight, bias});
    auto output = input.mm(weight.t());
    if (bias.defined()) output += bias.unsqueeze(0).expand_as(output);
    return output;
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                               torch::autograd::tensor_list grad_outputs) {
    auto saved = ctx->get_saved_variables();
    auto input = saved[0], weight = saved[1], bias = saved[2];
    auto grad_output = grad_outputs[0];
    auto grad_bias = torch::Tensor();
    if (bias.defined()) grad_bias = grad_output.sum(0);
    return {grad_output.mm(weight), grad_output.t().mm(input), grad_bias};
  }
};

struct MulConstant : torch::autograd::Function<MulConstant> {
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, torch::Tensor tensor, double constant) {
    ctx->saved_data["constant"] = constant;
    return tensor * constant;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list grad_outputs) {
    return {grad_outputs[0] * ctx->saved_data["constant"].toDouble(), torch::Tensor()};
  }
};

struct Numbers : torch::data::datasets::Dataset<Numbers> {
  explicit Numbers(size_t n) : n(n) {}
  torch::data::Example<> get(size_t i) override {
    if (i == 1000) throw std::runtime_error("no such example");
    return {torch::full({2}, static_cast<double>(i)), torch::tensor(static_cast<int64_t>(i))};
  }
  torch::optional<size_t> size() const override { return n; }
  size_t n;
};

}  // namespace

TEST_CASE("program: a module lists what it holds and moves between dtypes") {
  Mlp net(4, 8, 2);
  net->to(torch::Device(torch::kCPU));
  std::string names;
  for (const auto& pair : net->named_parameters()) names += pair.key() + " ";
  CHECK(names == "scale fc1.weight fc1.bias fc2.weight fc2.bias ");
  for (const auto& pair : net->named_buffers()) CHECK(pair.key() == "steps");

  net->apply([](torch::nn::Module& module) {
    if (auto* linear = module.as<torch::nn::Linear>()) torch::nn::init::constant_(linear->bias, 0.25);
  });
  CHECK(net->fc1->bias.eq(0.25).all().item<bool>());
  net->eval();
  CHECK_FALSE(net->fc1->is_training());
  net->to(torch::kFloat64);
  CHECK(net->fc1->weight.dtype() == torch::kDouble);
  CHECK(net->steps.dtype() == torch::kLong);

  std::ostringstream text;
  text << net;
  CHECK_THAT(text.str(), Catch::Matchers::EndsWith(
                             "MlpImpl(\n"
                             "  (fc1): torch::nn::Linear(in_features=4, out_features=8, bias=true)\n"
                             "  (fc2): torch::nn::Linear(in_features=8, out_features=2, bias=true)\n"
                             ")"));
}

TEST_CASE("program: libtorch's MNIST example trains and evaluates") {
  torch::manual_seed(1);
  Mnist model;
  torch::optim::SGD optimizer(model.parameters(), torch::optim::SGDOptions(0.01).momentum(0.5));
  auto data = torch::randn({8, 1, 28, 28});
  auto targets = torch::randint(0, 10, {8});
  model.train();
  float first = 0, last = 0;
  for (int i = 0; i < 30; ++i) {
    optimizer.zero_grad();
    auto loss = torch::nll_loss(model.forward(data), targets);
    loss.backward();
    optimizer.step();
    last = loss.item<float>();
    if (i == 0) first = last;
  }
  CHECK(last < first);

  torch::NoGradGuard no_grad;
  model.eval();
  auto output = model.forward(data);
  CHECK_FALSE(output.requires_grad());
  auto sum = torch::nll_loss(output, targets, /*weight=*/{}, torch::Reduction::Sum).item<float>();
  CHECK(sum == Approx(8 * torch::nll_loss(output, targets).item<float>()));
  CHECK(output.argmax(1).equal(std::get<1>(output.max(1))));
}

TEST_CASE("program: sequences of modules") {
  torch::nn::Sequential seq(torch::nn::Linear(10, 20), torch::nn::ReLU(), torch::nn::Dropout(0.2),
                            torch::nn::Linear(torch::nn::LinearOptions(20, 5).bias(false)),
                            torch::nn::Functional(torch::relu), torch::nn::LogSoftmax(1),
                            torch::nn::Flatten());
  CHECK(seq->forward(torch::randn({3, 10})).sizes() == torch::IntArrayRef({3, 5}));
  seq->push_back(torch::nn::Linear(5, 5));
  seq->push_back("named", torch::nn::Sigmoid());
  CHECK(seq->size() == 9);
  CHECK(seq[0]->as<torch::nn::Linear>()->weight.size(0) == 20);

  torch::nn::Sequential named({{"fc1", torch::nn::Linear(2, 3)}, {"act", torch::nn::ReLU()}});
  CHECK(named->named_parameters().contains("fc1.weight"));
  torch::nn::AnyModule any(torch::nn::Linear(2, 4));
  CHECK(any.forward(torch::ones({1, 2})).size(1) == 4);
  CHECK(any.get<torch::nn::Linear>()->weight.size(0) == 4);

  torch::nn::ModuleList list(torch::nn::Linear(3, 4), torch::nn::BatchNorm1d(4));
  auto x = torch::randn({5, 3});
  for (const auto& module : *list) {
    if (auto* linear = module->as<torch::nn::Linear>()) x = linear->forward(x);
  }
  CHECK(x.size(1) == 4);
}

TEST_CASE("program: indexing reads and writes") {
  auto x = torch::arange(24).reshape({2, 3, 4});
  CHECK(x.index({0, 1, 2}).item<int64_t>() == 6);
  CHECK(x.index({"...", 1}).sizes() == torch::IntArrayRef({2, 3}));
  CHECK(x.index({Ellipsis, Slice(1, 3)}).sizes() == torch::IntArrayRef({2, 3, 2}));
  CHECK(x.index({Slice(), None, Slice(None, None, 2)}).sizes() == torch::IntArrayRef({2, 1, 2, 4}));
  CHECK(x.index({Slice(None, -1)}).size(0) == 1);
  CHECK(x.index({torch::tensor({1, 0}), torch::tensor({2, 2})}).sum().item<int64_t>() == 124);
  CHECK(x.index({x > 12}).numel() == 11);
  x.index_put_({0, Slice(), 0}, -1);
  CHECK(x.index({0, 2, 0}).item<int>() == -1);
  x.index_put_({1, 1}, torch::tensor({7, 7, 7, 7}));
  CHECK(x[1][1].sum().item<int>() == 28);
  x[0][0][0] = 100;
  CHECK(x[0][0][0].item<int>() == 100);
  x[1] = torch::zeros({3, 4}, torch::kLong);
  CHECK(x[1].sum().item<int>() == 0);
  CHECK(x[-1].equal(x[1]));

  auto y = torch::arange(6, torch::device(torch::kCPU).dtype(torch::kFloat)).view({2, 3});
  auto cells = y.accessor<float, 2>();
  CHECK(cells[1][2] == 5);
  cells[0][0] = 8;
  CHECK(y[0][0].item<float>() == 8);
  auto z = y;
  z = z + 1;  // a named tensor is rebound
  CHECK(y[0][0].item<float>() == 8);
}

TEST_CASE("program: tensors from literals, vectors and memory") {
  CHECK(torch::tensor({{1, 2}, {3, 4}}).dtype() == torch::kInt64);
  CHECK(torch::tensor({1.0, 2.0}).dtype() == torch::kFloat32);
  CHECK(torch::tensor({1.5f}, torch::dtype(torch::kHalf)).dtype() == torch::kHalf);
  CHECK(torch::tensor({true, false}).dtype() == torch::kBool);
  CHECK(torch::tensor({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}).sizes() == torch::IntArrayRef({2, 2, 2}));
  CHECK(torch::tensor(std::vector<float>{1, 2, 3}).numel() == 3);
  auto scalar = torch::tensor(3.0, torch::requires_grad());
  CHECK((scalar.dim() == 0 && scalar.requires_grad()));
  float buffer[4] = {1, 2, 3, 4};
  auto blob = torch::from_blob(buffer, {2, 2});
  blob[0][0] = 9;
  CHECK(buffer[0] == 9);
  CHECK(torch::full({2, 3}, 7, torch::kFloat32).sum().item<float>() == 42);
}

TEST_CASE("program: libtorch's autograd tutorial") {
  auto x = torch::ones({2, 2}, torch::requires_grad());
  auto y = x + 2;
  CHECK(y.grad_fn() != nullptr);
  CHECK(std::string(y.grad_fn()->name()) == "add");
  CHECK(x.grad_fn() == nullptr);
  (y * y * 3).mean().backward();
  CHECK(x.grad().equal(torch::full({2, 2}, 4.5)));

  auto input = torch::randn({2, 3}).requires_grad_(), weight = torch::randn({4, 3}).requires_grad_();
  LinearFunction::apply(input, weight).sum().backward();
  CHECK(torch::allclose(input.grad(), weight.detach().sum(0).expand({2, 3})));
  auto bias = torch::randn(4).requires_grad_();
  LinearFunction::apply(input, weight, bias).sum().backward();
  CHECK(bias.grad().equal(torch::full({4}, 2.f)));
  auto tensor = torch::randn({2}).requires_grad_();
  MulConstant::apply(tensor, 5.5).sum().backward();
  CHECK(tensor.grad().equal(torch::full({2}, 5.5)));

  auto model = torch::nn::Linear(4, 3);
  auto in = torch::randn({3, 4}).requires_grad_(true);
  auto out = model(in);
  auto loss = torch::nn::MSELoss()(out, torch::randn({3, 3}));
  auto gradient = torch::autograd::grad({out}, {in}, /*grad_outputs=*/{torch::ones_like(out)},
                                        /*retain_graph=*/true, /*create_graph=*/true)[0];
  auto penalty = torch::pow((gradient.norm(2, /*dim=*/1) - 1), 2).mean();
  (loss + penalty).backward();
  CHECK(model->weight.grad().isfinite().all().item<bool>());
}

TEST_CASE("program: hooks, retained gradients, and writes in place") {
  auto a = torch::tensor({1., 2.}, torch::requires_grad());
  int seen = 0;
  auto handle = a.register_hook([](torch::Tensor grad) { return grad * 3; });
  a.register_hook([&](torch::Tensor) { ++seen; });
  (a * a).sum().backward();
  CHECK(seen == 1);
  CHECK(a.grad().equal(torch::tensor({6.f, 12.f})));
  a.remove_hook(handle);
  a.mutable_grad().zero_();
  auto b = a * 2;
  b.retain_grad();
  b.sum().backward();
  CHECK(b.grad().equal(torch::ones({2})));

  auto w = torch::ones({3}, torch::requires_grad());
  CHECK_THROWS_AS(w.add_(1), torch::Error);
  auto e = w.exp();
  e.mul_(2);
  CHECK_THROWS_AS(e.sum().backward(), torch::Error);
  auto written = w * 3;
  written[0] = 5;
  written.sum().backward();
  CHECK(w.grad().equal(torch::tensor({0.f, 3.f, 3.f})));
}

TEST_CASE("program: in-place forms give what the others give, with the same gradients") {
  using Form = torch::Tensor (*)(const torch::Tensor&);
  using InPlace = torch::Tensor& (*)(torch::Tensor&);
  const std::vector<std::pair<Form, InPlace>> forms = {
      {torch::expm1, torch::expm1_}, {torch::log1p, torch::log1p_}, {torch::log2, torch::log2_},
      {torch::log10, torch::log10_}, {torch::exp2, torch::exp2_},   {torch::tan, torch::tan_},
      {torch::asin, torch::asin_},   {torch::acos, torch::acos_},   {torch::atan, torch::atan_},
      {torch::sinh, torch::sinh_},   {torch::cosh, torch::cosh_},   {torch::erf, torch::erf_},
      {torch::erfc, torch::erfc_},   {torch::sign, torch::sign_},   {torch::trunc, torch::trunc_},
      {torch::frac, torch::frac_},   {torch::silu, torch::silu_}};
  for (const auto& [form, in_place] : forms) {
    auto x = torch::tensor({0.1f, 0.5f, 0.9f}).requires_grad_(), y = x.detach().clone().requires_grad_();
    auto expected = form(x * 1);
    auto z = y * 1;
    in_place(z);
    CHECK(torch::equal(z, expected));
    (expected * expected).sum().backward();
    (z * z).sum().backward();
    CHECK(torch::equal(x.grad(), y.grad()));
  }
  auto x = torch::ones({2, 1});
  CHECK(x.squeeze_(1).unsqueeze_(0).t_().transpose_(0, 1).sizes() == torch::IntArrayRef({1, 2}));
  CHECK_THROWS_AS((torch::ones({2}).requires_grad_() * 2).unsqueeze_(0), torch::Error);
  CHECK(torch::arange(6).view({1, 2, 3}).T().sizes() == torch::IntArrayRef({3, 2, 1}));
  CHECK(torch::arange(6).view({1, 2, 3}).mT().sizes() == torch::IntArrayRef({1, 3, 2}));
}

TEST_CASE("program: losses by their options and as plain functions") {
  auto p = torch::tensor({{0.2f, -1.f, 2.f}, {1.f, 0.f, 0.5f}}), t = torch::tensor({2, 0});
  const auto lse = [](double a, double b, double c) {
    return std::log(std::exp(a) + std::exp(b) + std::exp(c));
  };
  const double l0 = lse(0.2, -1, 2), l1 = lse(1, 0, 0.5), e0 = l0 - 2, e1 = l1 - 1;
  const auto cross = [&](const F::CrossEntropyFuncOptions& options) {
    return F::cross_entropy(p, t, options).item<double>();
  };
  CHECK(cross({}) == Approx((e0 + e1) / 2));
  CHECK(cross(F::CrossEntropyFuncOptions().reduction(torch::kSum)) == Approx(e0 + e1));
  CHECK(cross(F::CrossEntropyFuncOptions().weight(torch::tensor({1.f, 2.f, 3.f}))) ==
        Approx((3 * e0 + e1) / 4));
  CHECK(cross(F::CrossEntropyFuncOptions().ignore_index(0)) == Approx(e0));
  const double smooth0 = 0.9 * e0 + 0.1 * (l0 - 1.2 / 3), smooth1 = 0.9 * e1 + 0.1 * (l1 - 1.5 / 3);
  CHECK(cross(F::CrossEntropyFuncOptions().label_smoothing(0.1)) == Approx((smooth0 + smooth1) / 2));
  CHECK(torch::cross_entropy_loss(p, t).item<double>() == Approx((e0 + e1) / 2));

  auto x = torch::tensor({0.5f, 3.f}), zero = torch::zeros({2});
  CHECK(torch::nn::MSELoss(torch::kSum)(x, zero).item<double>() == Approx(9.25));
  CHECK(F::mse_loss(x, zero, F::MSELossFuncOptions(torch::kSum)).item<double>() == Approx(9.25));
  CHECK(F::l1_loss(x, zero).item<double>() == Approx(1.75));
  CHECK(F::smooth_l1_loss(x, zero, F::SmoothL1LossFuncOptions(torch::kMean).beta(2.0)).item<double>() ==
        Approx((0.0625 + 2) / 2));
  CHECK(F::huber_loss(x, zero, F::HuberLossFuncOptions().reduction(torch::kMean).delta(0.5)).item<double>() ==
        Approx((0.125 + 0.5 * 2.75) / 2));
  auto logit = torch::tensor({0.3f}), one = torch::ones({1});
  CHECK(torch::binary_cross_entropy_with_logits(logit, one).item<double>() ==
        Approx(std::log1p(std::exp(-0.3))));
  CHECK(torch::binary_cross_entropy(logit, one).item<double>() == Approx(-std::log(0.3)));
  CHECK(F::kl_div(torch::tensor({{-1.f, -2.f}}), torch::tensor({{0.5f, 0.5f}}),
                  F::KLDivFuncOptions(torch::kBatchMean))
            .item<double>() == Approx(0.5 * (2 * std::log(0.5) + 3)));
}

TEST_CASE("program: tensors that may be left out") {
  auto x = torch::randn({2, 4, 3}), w = torch::randn({5, 4, 3});
  CHECK(torch::conv1d(x, w).equal(torch::conv1d(x, w, {}, 1, 0)));
  CHECK(torch::conv2d(x.unsqueeze(3), w.unsqueeze(3)).size(1) == 5);
  CHECK(torch::group_norm(x, 2).equal(torch::group_norm(x, 2, torch::ones({4}), torch::zeros({4}))));
  CHECK(torch::layer_norm(x, {3}, torch::ones({3})).equal(torch::layer_norm(x, {3})));
  CHECK(torch::rms_norm(x, {3}).equal(torch::rms_norm(x, {3}, torch::ones({3}))));
  CHECK(torch::scaled_dot_product_attention(x, x, x).sizes() == x.sizes());
}

TEST_CASE("program: learning rates of param groups") {
  Mlp net(8, 16, 3);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(net->fc1->parameters(), std::make_unique<torch::optim::AdamWOptions>(1e-3));
  groups.emplace_back(net->fc2->parameters());
  torch::optim::AdamW optimizer(groups, torch::optim::AdamWOptions(5e-3).weight_decay(0));
  for (auto& group : optimizer.param_groups()) {
    if (!group.has_options()) continue;
    auto& options = static_cast<torch::optim::AdamWOptions&>(group.options());
    options.lr(options.lr() * 0.1);
  }
  CHECK(optimizer.param_groups()[0].options().get_lr() == Approx(1e-4));
  CHECK(optimizer.param_groups()[1].options().get_lr() == Approx(5e-4));

  const auto closure = [&] {
    optimizer.zero_grad();
    auto loss = net->forward(torch::ones({2, 8})).square().mean();
    loss.backward();
    return loss;
  };
  CHECK(optimizer.step(closure).item<float>() > 0);
}

TEST_CASE("program: a loader with workers") {
  const auto read = [](size_t workers) {
    torch::manual_seed(3);
    auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
        Numbers(50).map(torch::data::transforms::Stack<>()),
        torch::data::DataLoaderOptions().batch_size(8).workers(workers));
    std::vector<int64_t> order;
    for (auto& batch : *loader) {
      CHECK(batch.data.size(1) == 2);
      for (int64_t i = 0; i < batch.target.size(0); ++i) order.push_back(batch.target[i].item<int64_t>());
    }
    return order;
  };
  CHECK(read(0).size() == 50);
  CHECK(read(0) == read(3));

  for (size_t workers : {0, 2}) {
    auto broken = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
        Numbers(1001), torch::data::DataLoaderOptions().batch_size(100).workers(workers));
    const auto drain = [&] {
      for (auto& batch : *broken) CHECK(batch.size() > 0);
    };
    CHECK_THROWS_WITH(drain(), Catch::Matchers::Contains("no such example"));
  }
}

TEST_CASE("program: threads build graphs over the same weights") {
  torch::nn::Linear linear(16, 16);
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) linear(torch::ones({1, 16})).sum().backward();
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(linear->weight.grad().equal(torch::full({16, 16}, 400.f)));
}

TEST_CASE("program: a hook that throws leaves the graph usable") {
  auto w = torch::ones({2}).requires_grad_();
  auto y = w * 2;
  y.register_hook([](torch::Tensor) -> torch::Tensor { throw std::runtime_error("from the hook"); });
  CHECK_THROWS_WITH(y.sum().backward(), "from the hook");
  CHECK_FALSE(w.grad().defined());
  (w * 3).sum().backward();
  CHECK(w.grad().equal(torch::full({2}, 3.f)));
}
