// Weight normalisation: what it registers, that every forward computes the weight anew, copies, checkpoints,
// conversions and mixed precision. What PyTorch computes is in test_recorded_layers.cpp.

#include <catch2/catch.hpp>
#include <sstream>

#include "halftone/amp/autocast.h"
#include "halftone/autograd/node.h"
#include "halftone/io/serialize.h"
#include "halftone/nn/nn.h"
#include "halftone/tests/support/training.h"

using namespace halftone;
using namespace halftone::test;
using Catch::Matchers::Contains;
using nn::utils::remove_weight_norm;
using nn::utils::weight_norm;
using Names = std::vector<std::string>;

namespace {

std::string printed(const nn::Module& module) {
  std::ostringstream text;
  text << module;
  return text.str();
}

nn::Sequential small_net() {
  return nn::Sequential(weight_norm(nn::Conv1d(2, 3, 3)), nn::ReLU(), nn::Flatten(),
                        weight_norm(nn::Linear(9, 2), "weight", nullopt));
}

/// A module whose reset() normalises one of its layers, and whose forward uses a parameter of its own.
struct Scaled : nn::Cloneable<Scaled> {
  Scaled() { reset(); }
  void reset() override {
    inner = register_module("inner", weight_norm(nn::Linear(3, 3)));
    outer = register_module("outer", nn::Linear(3, 3));
    mix = register_parameter("mix", eye(3) + 1);
  }
  Tensor forward(const Tensor& x) { return matmul(outer(inner(x)), effective(mix, "mix")); }
  nn::Linear inner{nullptr}, outer{nullptr};
  Tensor mix;

 protected:
  Tensor* normalizable(std::string_view name) override { return name == "mix" ? &mix : nullptr; }
};

}  // namespace

TEST_CASE("weight norm takes the weight's place among the parameters and keeps the result") {
  nn::Linear layer(4, 3);
  const Tensor x = randn({5, 4}), before = layer(x), weight = layer->weight;
  const std::string text = printed(*layer);
  weight_norm(layer);
  CHECK(layer->named_parameters().keys() == Names{"bias", "weight_g", "weight_v"});
  const auto parameters = layer->named_parameters();
  CHECK(parameters["weight_g"].sizes() == IntArrayRef({3, 1}));
  CHECK(allclose(parameters["weight_g"], weight.norm(2, {1}, true)));
  CHECK(same_bits(parameters["weight_v"], weight));
  CHECK_FALSE(parameters["weight_v"].is_same(weight));
  CHECK(allclose(layer(x), before, 1e-5, 1e-6));
  CHECK(printed(*layer) == text);

  remove_weight_norm(layer);
  CHECK(layer->named_parameters().keys() == Names{"bias", "weight"});
  CHECK(layer->weight.is_same(layer->named_parameters()["weight"]));
  CHECK(layer->weight.is_leaf());
  CHECK(layer->weight.requires_grad());
  CHECK(allclose(layer->weight, weight));
  CHECK(allclose(layer(x), before, 1e-5, 1e-6));
}

TEST_CASE("weight norm: dimensions, frozen weights, names in messages") {
  CHECK(weight_norm(nn::ConvTranspose2d(3, 2, 3), "weight", 1)->named_parameters()["weight_g"].sizes() ==
        IntArrayRef({1, 2, 1, 1}));
  CHECK(weight_norm(nn::Conv2d(3, 2, 3), "weight", -2)->named_parameters()["weight_g"].sizes() ==
        IntArrayRef({1, 1, 3, 1}));
  CHECK(weight_norm(nn::Conv2d(3, 2, 3), "weight", nullopt)->named_parameters()["weight_g"].dim() == 0);
  CHECK(weight_norm(nn::Conv2d(3, 2, 3), "weight", -1)->named_parameters()["weight_g"].dim() == 0);

  nn::Sequential net(nn::Linear(2, 2));
  net->at<nn::LinearImpl>(0).weight.set_requires_grad(false);
  weight_norm(net->ptr(0));
  const auto parameters = net->named_parameters();
  CHECK(parameters.keys() == Names{"0.bias", "0.weight_g", "0.weight_v"});
  CHECK_FALSE((parameters["0.weight_g"].requires_grad() || parameters["0.weight_v"].requires_grad()));
  CHECK(autograd::meta_of(parameters["0.weight_v"]).name == "0.weight_v");
  remove_weight_norm(*net->ptr(0));
  CHECK_FALSE(net->named_parameters()["0.weight"].requires_grad());
  CHECK(autograd::meta_of(net->named_parameters()["0.weight"]).name == "0.weight");
}

TEST_CASE("weight norm: each forward sees the present direction and length") {
  nn::Sequential net = small_net();
  const auto parameters = net->named_parameters();
  CHECK(parameters.keys() ==
        Names{"0.bias", "0.weight_g", "0.weight_v", "3.bias", "3.weight_g", "3.weight_v"});
  optim::SGD optimizer(net->parameters(), 0.05);
  const Tensor x = randn({6, 2, 5}), target = randn({6, 2});
  double last = 1e30;
  for (int step = 0; step < 5; ++step) {
    optimizer.zero_grad();
    const Tensor loss = nn::functional::mse_loss(net->forward(x), target);
    loss.backward();
    for (const auto& item : parameters) {
      INFO(item.key());
      CHECK(item.value().grad().abs().sum().item<double>() > 0);
    }
    optimizer.step();
    CHECK(loss.item<double>() < last);
    last = loss.item<double>();
  }
  NoGradGuard no_grad;
  const Tensor before = net->forward(x) - parameters["3.bias"];
  parameters["3.weight_g"].mul_(2);
  CHECK(allclose(net->forward(x) - parameters["3.bias"], before * 2, 1e-4, 1e-5));
  parameters["3.weight_v"].mul_(7);  // only its direction counts
  CHECK(allclose(net->forward(x) - parameters["3.bias"], before * 2, 1e-4, 1e-5));
}

TEST_CASE("weight norm: a weight that is not computed anew cannot be used") {
  nn::Linear layer = weight_norm(nn::Linear(2, 2));
  CHECK_FALSE(layer->weight.defined());
  CHECK(error_of([&] { linear(ones({1, 2}), layer->weight); }) != "");
  CHECK(error_of([&] { layer->reset_parameters(); }) != "");
  layer->weight = ones({2, 2});
  CHECK_THAT(error_of([&] { layer(ones({1, 2})); }), Contains("'weight'") && Contains("remove_weight_norm"));
  layer->weight = Tensor();
  CHECK(layer(ones({1, 2})).defined());
}

TEST_CASE("weight norm refuses what it cannot do, and changes nothing") {
  nn::Linear layer(2, 2);
  CHECK_THAT(error_of([&] { weight_norm(layer, "bias"); }), Contains("'bias'") && Contains("LinearImpl"));
  CHECK_THAT(error_of([&] { weight_norm(layer, "weight", 2); }), Contains("weight_norm"));
  CHECK_THAT(error_of([&] { remove_weight_norm(layer); }), Contains("not normalised"));
  {
    NoGradGuard no_grad;
    layer->weight[1].zero_();
  }
  CHECK_THAT(error_of([&] { weight_norm(layer); }), Contains("norm 0"));
  CHECK(layer->named_parameters().keys() == Names{"weight", "bias"});
  weight_norm(layer, "weight", 1);
  CHECK_THAT(error_of([&] { weight_norm(layer); }), Contains("already"));

  nn::LSTM lstm(2, 2);
  CHECK_THAT(error_of([&] { weight_norm(lstm, "weight_hh_l0"); }), Contains("LSTMImpl"));
  CHECK_THAT(error_of([&] { weight_norm(nn::LayerNorm(nn::LayerNormOptions({3}))); }), Contains("LayerNorm"));
}

TEST_CASE("weight norm: copies are normalised like their original") {
  nn::Sequential net = small_net();
  const Tensor x = randn({2, 2, 5});
  const auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(net->clone());
  CHECK(copy->named_parameters().keys() == net->named_parameters().keys());
  const Tensor y = net->forward(x);
  CHECK(same_bits(copy->forward(x), y));
  {
    NoGradGuard no_grad;
    net->named_parameters()["3.weight_g"].mul_(2);
  }
  CHECK(same_bits(copy->forward(x), y));

  // reset() of the copy makes `inner` normalised and the others not; the original is the other way round.
  Scaled model;
  remove_weight_norm(model.inner);
  weight_norm(model.outer, "weight", 1);
  weight_norm(model, "mix", nullopt);
  const auto other = std::dynamic_pointer_cast<Scaled>(model.clone());
  REQUIRE(other->named_parameters().size() == model.named_parameters().size());
  for (const auto& item : other->named_parameters()) {
    INFO(item.key());
    CHECK(same_bits(item.value(), model.named_parameters()[item.key()]));
    CHECK_FALSE(item.value().is_same(model.named_parameters()[item.key()]));
  }
  CHECK(same_bits(other->forward(ones({2, 3})), model.forward(ones({2, 3}))));
}

TEST_CASE("weight norm: checkpoints hold direction and length") {
  nn::Sequential net = small_net(), loaded = small_net();
  std::stringstream file;
  save(net, file);
  load(loaded, file);
  const Tensor x = randn({2, 2, 5});
  CHECK(same_bits(loaded->forward(x), net->forward(x)));
  CHECK(net->state_dict().keys() ==
        Names{"0.bias", "0.weight_g", "0.weight_v", "3.bias", "3.weight_g", "3.weight_v"});
  nn::Sequential plain(nn::Conv1d(2, 3, 3), nn::ReLU(), nn::Flatten(), nn::Linear(9, 2));
  CHECK_THAT(error_of([&] { plain->load_state_dict(net->state_dict()); }), Contains("0.weight"));
}

TEST_CASE("weight norm in mixed precision") {
  const Tensor x = randn({8, 2, 5}), target = randn({8, 2});
  const auto train = [&](nn::Sequential net, bool autocast, auto prepare) {
    optim::SGD optimizer(net->parameters(), 0.05);
    optimizer.use_loss_scaling();
    prepare(optimizer);
    double first = 0, last = 0;
    for (int step = 0; step < 20; ++step) {
      optimizer.zero_grad();
      Tensor loss;
      {
        amp::Autocast region(device_type(), kHalf, autocast);
        const Tensor out = net->forward(x.to(net->parameters()[0].scalar_type()));
        CHECK(out.scalar_type() == kHalf);
        loss = nn::functional::mse_loss(out.to(kFloat), target);
      }
      optimizer.backward(loss);
      CHECK(optimizer.step().applied());
      (step == 0 ? first : last) = loss.item<double>();
    }
    CHECK(last < 0.9 * first);
  };
  SECTION("autocast") {
    train(small_net(), true, [](optim::SGD&) {});
  }
  SECTION("autocast with half shadows") {
    train(small_net(), true, [](optim::SGD& optimizer) { optimizer.use_half_shadow(kHalf); });
  }
  SECTION("half parameters with masters") {
    nn::Sequential net = small_net();
    net->to(kHalf);
    for (const Tensor& parameter : net->parameters()) CHECK(parameter.scalar_type() == kHalf);
    train(net, false, [](optim::SGD&) {});
  }
  SECTION("a model converted to float64 and back computes the same") {
    nn::Sequential net = small_net();
    const Tensor y = net->forward(x);
    net->to(kDouble);
    CHECK(allclose(net->forward(x.to(kDouble)).to(kFloat), y, 1e-4, 1e-5));
    net->to(kFloat);
    CHECK(same_bits(net->forward(x), y));
  }
}
