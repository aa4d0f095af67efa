// Modules: registration, names, modes, conversion, copies, containers, initial values, and what the layers
// compute.

#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>

#include "halftone/amp/autocast.h"
#include "halftone/autograd/node.h"
#include "halftone/engine/allocator.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/nn/nn.h"
#include "halftone/tests/support/device.h"
#include "halftone/tests/support/values.h"

namespace torch = halftone;
namespace nn = halftone::nn;
using namespace halftone;
using Catch::Matchers::Contains;
using halftone::test::error_of;
using halftone::test::values;

namespace {

struct Block : nn::Module {
  explicit Block(std::int64_t width) {
    fc = register_module("fc", nn::Linear(width, width));
    norm = register_module("norm", nn::BatchNorm1d(width));
  }
  Tensor forward(const Tensor& x) { return relu(norm(fc(x))); }
  nn::Linear fc{nullptr};
  nn::BatchNorm1d norm{nullptr};
};

struct Net : nn::Module {
  Net() {
    first = register_module("first", std::make_shared<Block>(4));
    drop = register_module("drop", nn::Dropout(0.5));
    head = register_module("head", nn::Linear(nn::LinearOptions(4, 2).bias(false)));
    gain = register_parameter("gain", ones({1}));
    steps = register_buffer("steps", zeros({}, kLong));
  }
  Tensor forward(const Tensor& x) { return head->forward(drop(first->forward(x))) * gain; }
  std::shared_ptr<Block> first;
  nn::Dropout drop{nullptr};
  nn::Linear head{nullptr};
  Tensor gain, steps;
};

struct CopyNet : nn::Cloneable<CopyNet> {
  CopyNet() { reset(); }
  void reset() override {
    body = register_module("body", nn::Sequential(nn::Linear(3, 3), nn::Tanh()));
    scale = register_parameter("scale", ones({3}));
    seen = register_buffer("seen", zeros({2}));
  }
  Tensor forward(const Tensor& x) { return body(x) * scale; }
  nn::Sequential body{nullptr};
  Tensor scale, seen;
};

}  // namespace

TEST_CASE("parameters, buffers and modules are listed depth first under dotted names") {
  Net net;
  std::vector<std::string> names;
  for (auto& p : net.named_parameters()) names.push_back(p.key());
  REQUIRE(names == std::vector<std::string>{"gain", "first.fc.weight", "first.fc.bias", "first.norm.weight",
                                            "first.norm.bias", "head.weight"});
  REQUIRE(net.named_buffers().keys() == std::vector<std::string>{"steps", "first.norm.running_mean",
                                                                 "first.norm.running_var",
                                                                 "first.norm.num_batches_tracked"});
  REQUIRE(net.named_parameters(false).keys() == std::vector<std::string>{"gain"});
  REQUIRE(net.parameters().size() == 6);
  REQUIRE(net.modules(false).size() == 5);  // first, first.fc, first.norm, drop, head
  REQUIRE(net.children().size() == 3);
  REQUIRE(net.named_modules({}, false).contains("first.norm"));
  for (const Tensor& p : net.parameters()) REQUIRE((p.requires_grad() && p.is_leaf()));
}

TEST_CASE("a parameter reachable by two names is listed once") {
  struct Tied : nn::Module {
    Tied() {
      a = register_module("a", nn::Linear(2, 2));
      b = register_module("b", a);
      register_parameter("w", a->weight);
    }
    nn::Linear a{nullptr}, b{nullptr};
  } tied;
  REQUIRE(tied.named_parameters().keys() == std::vector<std::string>{"w", "a.bias"});
}

TEST_CASE("parameters know their full name and count as parameter memory") {
  const std::size_t before = memory_stats(test::device_type()).allocated_of(MemoryCategory::kParameter);
  Net net;
  REQUIRE(autograd::meta_of(net.first->fc->weight).name == "first.fc.weight");
  // 6 parameters: 1 + 16 + 4 + 4 + 4 + 8 floats; buffers: one long, 4 + 4 floats, one long.
  REQUIRE(memory_stats(test::device_type()).allocated_of(MemoryCategory::kParameter) - before ==
          4 * (37 + 8) + 2 * 8);
}

TEST_CASE("registration refuses what cannot work") {
  nn::Module m("m");
  m.register_parameter("w", ones({1}));
  REQUIRE_THAT(error_of([&] { m.register_parameter("w", ones({1})); }), Contains("'w' is already defined"));
  REQUIRE_THAT(error_of([&] { m.register_buffer("w", ones({1})); }), Contains("'w' is already defined"));
  REQUIRE_THAT(error_of([&] { nn::Sequential()->forward(ones({1})); }), Contains("empty Sequential"));
  REQUIRE_THAT(error_of([&] { m.register_parameter("a.b", ones({1})); }), Contains("dot"));
  REQUIRE_THAT(error_of([&] { m.register_parameter("", ones({1})); }), Contains("name"));
  REQUIRE_THAT(error_of([&] { m.register_parameter("i", ones({1}, kLong)); }), Contains("only floating"));
  const Tensor x = ones({1}).requires_grad_();
  REQUIRE_THAT(error_of([&] { m.register_parameter("y", x * 2); }), Contains("detach"));
  REQUIRE_NOTHROW(m.register_parameter("i", ones({1}, kLong), false));
  nn::Linear empty{nullptr};
  REQUIRE_FALSE(empty);
  REQUIRE_THAT(error_of([&] { m.register_module("e", empty); }), Contains("empty"));
  REQUIRE_THAT(error_of([&] { empty(ones({1})); }), Contains("register_module"));
  REQUIRE_THAT(error_of([&] { m.register_module("null", std::shared_ptr<nn::Module>()); }), Contains("null"));
}

TEST_CASE("train and eval reach every module; dropout and batch norm obey") {
  Net net;
  REQUIRE(net.is_training());
  net.eval();
  for (auto& m : net.modules(false)) REQUIRE_FALSE(m->is_training());
  nn::Dropout drop(0.5);
  const Tensor x = ones({64});
  REQUIRE(drop(x).eq(0).any().item<bool>());
  drop->eval();
  REQUIRE(equal(drop(x), x));
  REQUIRE_THAT(error_of([] { nn::Dropout bad(1.5); }), Contains("1.5"));
}

TEST_CASE("batch norm follows the batch in training and freezes in evaluation") {
  nn::BatchNorm1d norm(nn::BatchNorm1dOptions(2).momentum(0.5));
  const Tensor x = torch::tensor({{1.0f, 10.0f}, {3.0f, 30.0f}});
  const Tensor y = norm(x);
  REQUIRE(allclose(y, torch::tensor({{-1.0f, -1.0f}, {1.0f, 1.0f}}), 1e-4, 1e-4));
  // running = 0.5 * old + 0.5 * batch, the variance unbiased (2 and 200).
  REQUIRE(values(norm->running_mean) == test::List{1, 10});
  REQUIRE(values(norm->running_var) == test::List{1.5, 100.5});
  REQUIRE(norm->num_batches_tracked.item<std::int64_t>() == 1);
  norm->eval();
  const Tensor frozen = norm(x);
  REQUIRE(frozen[0][0].item<double>() == Approx(0));
  REQUIRE(frozen[1][1].item<double>() == Approx(20 / std::sqrt(100.5)).epsilon(1e-5));
  REQUIRE(values(norm->running_mean) == test::List{1, 10});
  REQUIRE(norm->num_batches_tracked.item<std::int64_t>() == 1);
  REQUIRE_THAT(error_of([&] { norm(ones({2})); }), Contains("float32[2]"));
  REQUIRE_THAT(error_of([] { nn::BatchNorm2d(3)(ones({2, 3})); }), Contains("(N, C, H, W)"));
}

TEST_CASE("batch norm without momentum averages all batches; without tracking it always uses the batch") {
  nn::BatchNorm1d norm(nn::BatchNorm1dOptions(1).momentum(nullopt).affine(false));
  norm(torch::tensor({{0.0f}, {2.0f}}));
  norm(torch::tensor({{4.0f}, {6.0f}}));
  REQUIRE(norm->running_mean.item<double>() == Approx(3));
  REQUIRE_FALSE(norm->weight.defined());
  nn::BatchNorm1d untracked(nn::BatchNorm1dOptions(1).track_running_stats(false));
  untracked->eval();
  REQUIRE(untracked(torch::tensor({{0.0f}, {2.0f}})).sum().item<double>() == Approx(0).margin(1e-6));
  REQUIRE(untracked->named_buffers().is_empty());
}

TEST_CASE("conversion happens in place, keeps running statistics in fp32 and refuses to overflow") {
  Net net;
  const Tensor weight = net.head->weight;
  net.to(kHalf);
  REQUIRE(weight.scalar_type() == kHalf);
  REQUIRE(net.head->weight.is_same(weight));
  REQUIRE(weight.requires_grad());
  REQUIRE(weight.storage().category() == MemoryCategory::kParameter);
  REQUIRE(net.first->norm->weight.scalar_type() == kHalf);
  REQUIRE(net.first->norm->running_mean.scalar_type() == kFloat);
  REQUIRE(net.steps.scalar_type() == kLong);
  net.to(kDouble);
  REQUIRE(net.first->norm->running_var.scalar_type() == kDouble);
  net.to(kCPU);
  REQUIRE_THAT(error_of([&] { net.to(kLong); }), Contains("floating dtype"));

  {
    NoGradGuard no_grad;
    net.head->weight[0][1] = 70000.0;
  }
  const std::string message = error_of([&] { net.to(kHalf); });
  REQUIRE_THAT(message, Contains("'head.weight'") && Contains("70000") && Contains("Autocast"));
  REQUIRE(net.gain.scalar_type() == kDouble);  // nothing changed
  REQUIRE_NOTHROW(net.to(kBFloat16));
}

TEST_CASE("a gradient follows its parameter's conversion; zero_grad drops or clears it") {
  nn::Linear fc(2, 1);
  fc(ones({1, 2})).sum().backward();
  fc->to(kDouble);
  REQUIRE(fc->weight.grad().scalar_type() == kDouble);
  fc(ones({1, 2}, kDouble)).sum().backward();
  REQUIRE(values(fc->weight.grad()) == test::List{2, 2});
  fc->zero_grad(false);
  REQUIRE(values(fc->weight.grad()) == test::List{0, 0});
  fc->zero_grad();
  REQUIRE_FALSE(fc->weight.grad().defined());
}

TEST_CASE("a whole model in fp16 runs, and says what is wrong when its input is not") {
  Net net;
  net.eval();
  net.to(kHalf);
  REQUIRE(net.forward(ones({3, 4}, kHalf)).scalar_type() == kHalf);
  const std::string message = error_of([&] { net.forward(ones({3, 4})); });
  REQUIRE_THAT(message, Contains("float16") && Contains("float32"));
  amp::Autocast autocast(test::device_type(), kHalf);
  REQUIRE(net.forward(ones({3, 4})).scalar_type() == kHalf);
}

TEST_CASE("a state dictionary restores a model, and a wrong one changes nothing") {
  manual_seed(1);
  Net a, b;
  b.load_state_dict(a.state_dict());
  a.eval();
  b.eval();
  const Tensor x = randn({5, 4});
  REQUIRE(equal(a.forward(x), b.forward(x)));

  const Tensor before = b.gain.detach().clone();
  auto state = a.state_dict();
  state["gain"] = full({1}, 7.0);
  state["head.weight"] = zeros({3, 4});
  REQUIRE_THAT(error_of([&] { b.load_state_dict(state); }), Contains("head.weight") && Contains("[3, 4]"));
  REQUIRE(equal(b.gain.detach(), before));
  state = a.state_dict();
  state.erase("gain");
  REQUIRE_THAT(error_of([&] { b.load_state_dict(state); }), Contains("'gain'"));
  REQUIRE_NOTHROW(b.load_state_dict(state, false));
  state = a.state_dict();
  state.insert("extra", ones({1}));
  REQUIRE_THAT(error_of([&] { b.load_state_dict(state); }), Contains("'extra'"));
  state = a.state_dict();
  state["steps"] = ones({});
  REQUIRE_THAT(error_of([&] { b.load_state_dict(state); }), Contains("steps"));
}

TEST_CASE("a clone is deep, has the same values and draws no random numbers") {
  manual_seed(3);
  auto net = std::make_shared<CopyNet>();
  net->scale.set_requires_grad(false);
  net->eval();
  const PhiloxState stream = default_generator().state();
  auto copy = std::dynamic_pointer_cast<CopyNet>(net->clone());
  REQUIRE(copy);
  REQUIRE(default_generator().state().offset == stream.offset);
  const Tensor x = randn({2, 3});
  REQUIRE(equal(net->forward(x), copy->forward(x)));
  REQUIRE_FALSE(copy->scale.requires_grad());
  REQUIRE_FALSE(copy->is_training());
  {
    NoGradGuard no_grad;
    copy->scale.fill_(5);
    copy->body->at<nn::LinearImpl>(0).weight.fill_(0);
  }
  REQUIRE(values(net->scale) == test::List{1, 1, 1});
  REQUIRE(net->body->at<nn::LinearImpl>(0).weight.ne(0).any().item<bool>());
  net->to(kHalf);
  REQUIRE(copy->forward(x).scalar_type() == kFloat);

  nn::CrossEntropyLoss loss(nn::CrossEntropyLossOptions().weight(ones({3})));
  auto loss_copy = std::dynamic_pointer_cast<nn::CrossEntropyLossImpl>(loss->clone());
  loss_copy->to(kDouble);
  REQUIRE(loss->options.weight().scalar_type() == kFloat);
  REQUIRE(loss_copy->options.weight().scalar_type() == kDouble);
  REQUIRE_THAT(error_of([] { Net().clone(); }), Contains("Cloneable"));
}

TEST_CASE("Sequential runs modules, holders, functions and named steps, nested") {
  manual_seed(2);
  nn::Sequential inner({{"fc", nn::Linear(4, 4)}, {"act", nn::ReLU()}});
  nn::Sequential model(
      nn::Linear(3, 4), nn::Functional(torch::relu), inner, [](Tensor x) { return x * 2; }, Block(4));
  model->push_back(nn::Linear(4, 2));
  model->push_back("last", nn::LogSoftmax(1));
  REQUIRE(model->size() == 7);
  REQUIRE(model->named_parameters().contains("2.fc.weight"));
  REQUIRE(model->named_children().keys().back() == "last");
  const Tensor x = randn({5, 3});
  Tensor by_hand = x;
  for (auto& step : *model) by_hand = step.forward(by_hand);
  model->eval();
  by_hand = x;
  for (auto& step : *model) by_hand = step.forward(by_hand);
  REQUIRE(equal(model(x), by_hand));
  REQUIRE(model->at<nn::LinearImpl>(0).weight.size(0) == 4);
  REQUIRE(model[2]->as<nn::Sequential>() == inner.get());
  REQUIRE_THAT(error_of([&] { model->at<nn::ReLUImpl>(0); }), Contains("LinearImpl"));
  REQUIRE_THAT(error_of([&] { model->ptr(7); }), Contains("7"));

  nn::Sequential small(nn::Linear(2, 2), nn::ReLU());
  auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(small->clone());
  const Tensor y = randn({1, 2});
  REQUIRE(equal(copy->forward(y), small->forward(y)));
  nn::init::zeros_(small->at<nn::LinearImpl>(0).weight);
  nn::init::zeros_(small->at<nn::LinearImpl>(0).bias);
  REQUIRE(values(small->forward(ones({1, 2}))) == test::List{0, 0});
  REQUIRE(copy->at<nn::LinearImpl>(0).weight.ne(0).any().item<bool>());
}

TEST_CASE("ModuleList and ModuleDict register what they hold") {
  struct Stack : nn::Module {
    Stack() {
      for (int i = 0; i < 3; ++i) layers->push_back(nn::Linear(2, 2));
      register_module("layers", layers);
      heads->insert("a", nn::Linear(2, 1));
      heads->insert("b", nn::Linear(2, 3));
      register_module("heads", heads);
    }
    nn::ModuleList layers;
    nn::ModuleDict heads;
  } model;
  REQUIRE(model.parameters().size() == 10);
  REQUIRE(model.named_parameters().contains("layers.2.bias"));
  REQUIRE(model.named_parameters().contains("heads.b.weight"));
  for (const auto& layer : *model.layers) REQUIRE(layer->as<nn::Linear>() != nullptr);
  REQUIRE(model.layers[1]->as<nn::Linear>()->weight.size(0) == 2);
  REQUIRE(model.heads->at<nn::LinearImpl>("b").weight.size(0) == 3);
  REQUIRE(model.heads->contains("a"));
  REQUIRE_THAT(error_of([&] { model.heads["c"]; }), Contains("'c'"));
  REQUIRE_THAT(error_of([&] { model.layers->ptr(3); }), Contains("out of range"));
}

TEST_CASE("a model prints as a tree") {
  nn::Sequential model(nn::Linear(3, 4), nn::Sequential(nn::ReLU(), nn::Dropout(0.25)));
  std::ostringstream text;
  text << model;
  REQUIRE(text.str() ==
          "torch::nn::Sequential(\n"
          "  (0): torch::nn::Linear(in_features=3, out_features=4, bias=true)\n"
          "  (1): torch::nn::Sequential(\n"
          "    (0): torch::nn::ReLU()\n"
          "    (1): torch::nn::Dropout(p=0.25, inplace=false)\n"
          "  )\n"
          ")");
  std::ostringstream conv;
  conv << nn::Conv2d(nn::Conv2dOptions(1, 2, 3).padding(1)) << nn::MaxPool2d(2) << nn::MSELoss();
  REQUIRE_THAT(conv.str(), Contains("Conv2d(1, 2, kernel_size=[3, 3], stride=[1, 1], padding=[1, 1])") &&
                               Contains("MaxPool2d(kernel_size=[2, 2]") && Contains("MSELoss()"));
}

TEST_CASE("apply visits every module") {
  Net net;
  int linears = 0;
  net.apply([&](nn::Module& m) { linears += m.as<nn::Linear>() != nullptr; });
  REQUIRE(linears == 2);
  std::vector<std::string> names;
  net.apply([&](const std::string& name, nn::Module&) { names.push_back(name); });
  REQUIRE(names == std::vector<std::string>{"", "first", "first.fc", "first.norm", "drop", "head"});
}

TEST_CASE("layers start from PyTorch's distributions") {
  manual_seed(5);
  nn::Linear fc(400, 300);
  const double bound = 1 / std::sqrt(400.0);
  for (const Tensor& p : {fc->weight, fc->bias}) {
    REQUIRE(p.abs().max().item<double>() <= bound);
    REQUIRE(p.abs().max().item<double>() > 0.95 * bound);
  }
  REQUIRE(fc->weight.detach().std().item<double>() == Approx(bound / std::sqrt(3.0)).epsilon(0.01));
  nn::Conv2d conv(16, 32, 5);
  REQUIRE(conv->weight.sizes() == IntArrayRef{32, 16, 5, 5});
  REQUIRE(conv->weight.abs().max().item<double>() <= 1 / std::sqrt(16 * 25.0));
  REQUIRE_FALSE(nn::Conv2d(nn::Conv2dOptions(1, 1, 1).bias(false))->bias.defined());
  nn::Embedding table(nn::EmbeddingOptions(1000, 64).padding_idx(-1));
  REQUIRE(table->weight.detach().std().item<double>() == Approx(1).epsilon(0.02));
  REQUIRE(table->weight[999].eq(0).all().item<bool>());
  REQUIRE_THAT(error_of([] { nn::Embedding(nn::EmbeddingOptions(4, 2).padding_idx(4)); }),
               Contains("padding_idx"));
  REQUIRE_THAT(error_of([] { nn::Conv2d(nn::Conv2dOptions(3, 4, 3).groups(2)); }), Contains("groups"));
  REQUIRE_THAT(error_of([] { nn::GroupNorm(3, 4); }), Contains("4 channels"));
}

TEST_CASE("embedding picks rows; its padding row gets no gradient") {
  nn::Embedding table(nn::EmbeddingOptions(3, 2)
                          ._weight(torch::tensor({{1.0f, 2.0f}, {3.0f, 4.0f}, {5.0f, 6.0f}}))
                          .padding_idx(0));
  const Tensor rows = table(torch::tensor({2, 0, 2}));
  REQUIRE(values(rows) == test::List{5, 6, 1, 2, 5, 6});
  rows.sum().backward();
  REQUIRE(values(table->weight.grad()) == test::List{0, 0, 0, 0, 2, 2});
  REQUIRE_THAT(error_of([] {
                 nn::Embedding(nn::EmbeddingOptions(3, 2)._weight(ones({2, 2})));
               }),
               Contains("[3, 2]"));
}

TEST_CASE("normalisation layers compute what their papers say") {
  const Tensor x = torch::tensor({{1999.0f, 2000.0f, 2001.0f, 2002.0f}});
  const Tensor y = nn::LayerNorm(nn::LayerNormOptions({4}))(x);
  REQUIRE(allclose(y, torch::tensor({{-1.341635f, -0.447212f, 0.447212f, 1.341635f}}), 0, 1e-5));
  const Tensor r = nn::RMSNorm(nn::RMSNormOptions({2}).eps(0.0))(torch::tensor({{3.0f, 4.0f}}));
  REQUIRE(allclose(r, torch::tensor({{0.8485281f, 1.1313708f}}), 1e-6, 0));
  const Tensor g = nn::GroupNorm(2, 4)(torch::tensor({{1.0f, 3.0f, 10.0f, 30.0f}}));
  REQUIRE(allclose(g, torch::tensor({{-1.0f, 1.0f, -1.0f, 1.0f}}), 0, 1e-4));
}

TEST_CASE("initialisers keep their promises") {
  manual_seed(11);
  const Tensor w = empty({200, 300});
  nn::init::kaiming_normal_(w, 0, kFanOut, kReLU);
  REQUIRE(w.std().item<double>() == Approx(std::sqrt(2.0 / 200)).epsilon(0.02));
  nn::init::xavier_uniform_(w, nn::init::calculate_gain(kTanh));
  REQUIRE(w.abs().max().item<double>() <= 5.0 / 3 * std::sqrt(6.0 / 500));
  nn::init::xavier_normal_(w);
  REQUIRE(w.std().item<double>() == Approx(std::sqrt(2.0 / 500)).epsilon(0.02));
  nn::init::trunc_normal_(w, 1, 2, 0, 3);
  REQUIRE(w.min().item<double>() >= 0);
  REQUIRE(w.max().item<double>() <= 3);
  // 1 + 2 (phi(-1/2) - phi(1)) / (Phi(1) - Phi(-1/2))
  REQUIRE(w.mean().item<double>() == Approx(1.41327).margin(0.01));
  nn::init::trunc_normal_(w, 0, 1, 20, 21);  // far in the tail
  REQUIRE(w.min().item<double>() >= 20);
  REQUIRE(w.mean().item<double>() == Approx(20.05).margin(0.01));
  REQUIRE_THAT(error_of([&] { nn::init::trunc_normal_(w, 0, 1, 2, 1); }), Contains("a < b"));

  for (auto shape : {std::vector<std::int64_t>{40, 25}, {25, 40}, {8, 2, 2, 2}}) {
    Tensor q = torch::empty(shape);
    nn::init::orthogonal_(q, 2);
    q = q.reshape({shape[0], -1});
    const Tensor gram = q.size(0) <= q.size(1) ? q.mm(q.t()) : q.t().mm(q);
    REQUIRE(allclose(gram, eye(gram.size(0)) * 4, 0, 1e-5));
  }
  REQUIRE(equal(nn::init::eye_(empty({2, 3})), eye(2, 3)));
  REQUIRE(nn::init::calculate_gain(kLeakyReLU, 2) == Approx(std::sqrt(0.4)));
  REQUIRE_THAT(error_of([] { nn::init::xavier_normal_(empty({3})); }), Contains("two dimensions"));
  // An initialiser works on a leaf that requires grad, and records nothing.
  const Tensor p = ones({2, 2}).requires_grad_();
  nn::init::uniform_(p);
  REQUIRE((p.is_leaf() && p.requires_grad()));
}

TEST_CASE("parameters go to one vector and back") {
  nn::Linear fc(2, 2);
  const Tensor flat = nn::utils::parameters_to_vector(fc->parameters());
  REQUIRE(flat.sizes() == IntArrayRef{6});
  nn::utils::vector_to_parameters(arange(6, kFloat), fc->parameters());
  REQUIRE(values(fc->weight) == test::List{0, 1, 2, 3});
  REQUIRE(values(fc->bias) == test::List{4, 5});
  REQUIRE_THAT(error_of([&] { nn::utils::vector_to_parameters(arange(5, kFloat), fc->parameters()); }),
               Contains("6 elements"));
}

TEST_CASE("options take one number or one per dimension, and nothing else") {
  const nn::Conv2dOptions options = nn::Conv2dOptions(1, 2, {3, 5}).stride(2).padding({1, 2});
  REQUIRE(options.kernel_size()[1] == 5);
  REQUIRE(options.stride()[1] == 2);
  REQUIRE(options.padding().amounts()[1] == 2);
  REQUIRE_THAT(error_of([] { nn::Conv2dOptions(1, 2, {1, 2, 3}); }), Contains("1 or 2 values"));
}
