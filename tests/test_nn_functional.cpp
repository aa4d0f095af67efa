// nn::functional: options reach the operators. Values are worked out by hand.

#include <catch2/catch.hpp>
#include <cmath>

#include "halftone/amp/autocast.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/nn/nn.h"
#include "halftone/tests/support/device.h"
#include "halftone/tests/support/values.h"

namespace torch = halftone;
namespace F = halftone::nn::functional;
namespace nn = halftone::nn;
using namespace halftone;
using Catch::Matchers::Contains;
using halftone::test::error_of;
using halftone::test::List;
using halftone::test::values;

namespace {
double item(const Tensor& t) { return t.item<double>(); }
}  // namespace

TEST_CASE("cross entropy: every option") {
  const Tensor logits = torch::tensor({{0.0f, 0.0f}, {0.0f, std::log(3.0f)}});
  const Tensor target = torch::tensor({0, 1});
  const double a = std::log(2.0), b = std::log(4.0 / 3);
  REQUIRE(item(F::cross_entropy(logits, target)) == Approx((a + b) / 2));
  using Options = F::CrossEntropyFuncOptions;
  REQUIRE(item(F::cross_entropy(logits, target, Options().reduction(kSum))) == Approx(a + b));
  REQUIRE(F::cross_entropy(logits, target, Options().reduction(kNone)).sizes() == IntArrayRef{2});
  REQUIRE(item(F::cross_entropy(logits, target, Options().ignore_index(0))) == Approx(b));
  REQUIRE(item(F::cross_entropy(logits, target, Options().weight(torch::tensor({1.0f, 3.0f})))) ==
          Approx((a + 3 * b) / 4));
  // Smoothing s: (1 - s) times the loss plus s times the mean over classes.
  const double mean_a = std::log(2.0), mean_b = 0.5 * (std::log(4.0) + b);
  REQUIRE(item(F::cross_entropy(logits, target, Options().label_smoothing(0.1).reduction(kSum))) ==
          Approx(0.9 * (a + b) + 0.1 * (mean_a + mean_b)));
  REQUIRE(item(nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().reduction(kSum))(logits, target)) ==
          Approx(a + b));
  REQUIRE(item(F::nll_loss(F::log_softmax(logits, 1), target, F::NLLLossFuncOptions().reduction(kSum))) ==
          Approx(a + b));
}

TEST_CASE("elementwise losses: reductions and shape parameters") {
  const Tensor x = torch::tensor({0.0f, 3.0f}), y = torch::tensor({0.5f, 0.0f});
  REQUIRE(values(F::mse_loss(x, y, F::MSELossFuncOptions(kNone))) == List{0.25, 9});
  REQUIRE(item(F::mse_loss(x, y)) == 4.625);
  REQUIRE(item(F::l1_loss(x, y, F::L1LossFuncOptions(kSum))) == 3.5);
  REQUIRE(item(F::smooth_l1_loss(x, y, F::SmoothL1LossFuncOptions(kSum))) == Approx(0.125 + 2.5));
  REQUIRE(item(F::smooth_l1_loss(x, y, F::SmoothL1LossFuncOptions(kSum).beta(2))) == Approx(0.0625 + 2));
  REQUIRE(item(F::huber_loss(x, y, F::HuberLossFuncOptions(kSum).delta(2))) == Approx(0.125 + 4));
  REQUIRE(item(nn::HuberLoss(nn::HuberLossOptions(kSum).delta(2))(x, y)) == Approx(0.125 + 4));
  REQUIRE(item(nn::SmoothL1Loss()(x, y)) == Approx(1.3125));
}

TEST_CASE("binary cross entropy, from probabilities and from logits") {
  const Tensor p = torch::tensor({0.5f, 0.25f}), t = torch::tensor({1.0f, 0.0f});
  const double expected = -std::log(0.5) - std::log(0.75);
  REQUIRE(item(F::binary_cross_entropy(p, t, F::BinaryCrossEntropyFuncOptions().reduction(kSum))) ==
          Approx(expected));
  const Tensor logits = torch::tensor({0.0f, -std::log(3.0f)});
  using Options = F::BinaryCrossEntropyWithLogitsFuncOptions;
  REQUIRE(item(F::binary_cross_entropy_with_logits(logits, t, Options().reduction(kSum))) ==
          Approx(expected));
  REQUIRE(item(F::binary_cross_entropy_with_logits(
              logits, t, Options().reduction(kSum).pos_weight(torch::tensor({3.0f, 3.0f})))) ==
          Approx(-3 * std::log(0.5) - std::log(0.75)));
  REQUIRE(item(nn::BCEWithLogitsLoss()(logits, t)) == Approx(expected / 2));
  REQUIRE(item(nn::BCELoss()(p, t)) == Approx(expected / 2));
  amp::Autocast autocast(test::device_type(), kHalf);
  REQUIRE_THAT(error_of([&] { F::binary_cross_entropy(p.to(kHalf), t.to(kHalf)); }), Contains("with_logits"));
}

TEST_CASE("kl divergence: batch mean divides by rows") {
  const Tensor q = torch::tensor({{0.5f, 0.5f}, {0.5f, 0.5f}}).log(),
               p = torch::tensor({{1.0f, 0.0f}, {0.5f, 0.5f}});
  const double sum = std::log(2.0);
  REQUIRE(item(F::kl_div(q, p, F::KLDivFuncOptions(kSum))) == Approx(sum));
  REQUIRE(item(F::kl_div(q, p, F::KLDivFuncOptions(kBatchMean))) == Approx(sum / 2));
  REQUIRE(item(F::kl_div(q, p)) == Approx(sum / 4));
  const Tensor log_p = torch::tensor({{0.9f, 0.1f}}).log(), log_q = torch::tensor({{0.5f, 0.5f}}).log();
  REQUIRE(item(F::kl_div(log_q, log_p, F::KLDivFuncOptions(kSum).log_target(true))) ==
          Approx(0.9 * std::log(0.9 / 0.5) + 0.1 * std::log(0.1 / 0.5)).epsilon(1e-5));
  REQUIRE(item(nn::KLDivLoss(nn::KLDivLossOptions(kBatchMean))(q, p)) == Approx(sum / 2));
}

TEST_CASE("activations as functions and as layers") {
  const Tensor x = torch::tensor({-2.0f, 0.0f, 1.5f});
  REQUIRE(values(F::relu(x)) == List{0, 0, 1.5});
  REQUIRE(values(nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.5))(x)) == List{-1, 0, 1.5});
  REQUIRE(values(F::hardtanh(x)) == List{-1, 0, 1});
  REQUIRE(values(F::relu6(x * 10)) == List{0, 0, 6});
  REQUIRE(values(nn::ELU(nn::ELUOptions().alpha(2))(x))[0] == Approx(2 * std::expm1(-2.0)));
  REQUIRE(values(F::softplus(x, F::SoftplusFuncOptions().beta(2)))[2] ==
          Approx(0.5 * std::log1p(std::exp(3.0))));
  REQUIRE(values(F::softplus(x, F::SoftplusFuncOptions().threshold(1)))[2] == 1.5);
  const double exact = 1.5 * 0.5 * std::erfc(-1.5 / std::sqrt(2.0));
  const double approximate = 0.75 * (1 + std::tanh(std::sqrt(2 / M_PI) * (1.5 + 0.044715 * 3.375)));
  REQUIRE(values(F::gelu(x))[2] == Approx(exact));
  REQUIRE(values(nn::GELU(nn::GELUOptions().approximate("tanh"))(x))[2] == Approx(approximate));
  REQUIRE(values(nn::SiLU()(x))[2] == Approx(1.5 / (1 + std::exp(-1.5))));
  REQUIRE(values(nn::Softmax(0)(torch::tensor({0.0f, std::log(3.0f)})))[1] == Approx(0.75));
  REQUIRE(F::softmax(x.to(kHalf), F::SoftmaxFuncOptions(0).dtype(kFloat)).scalar_type() == kFloat);
  const Tensor in_place = x.clone();
  F::relu(in_place, F::ReLUFuncOptions(true));
  REQUIRE(values(in_place) == List{0, 0, 1.5});
  nn::LeakyReLU(nn::LeakyReLUOptions().inplace(true))(in_place);
}

TEST_CASE("dropout: off in evaluation, in place on request, p checked") {
  const Tensor x = ones({1000});
  REQUIRE(equal(F::dropout(x, F::DropoutFuncOptions().training(false)), x));
  manual_seed(1);
  const Tensor y = F::dropout(x, F::DropoutFuncOptions().p(0.25));
  for (const double v : values(y)) REQUIRE((v == 0 || v == Approx(4.0 / 3)));
  REQUIRE(y.eq(0).sum().item<double>() == Approx(250).margin(60));
  const Tensor z = x.clone();
  F::dropout(z, F::DropoutFuncOptions().p(1.0).inplace(true));
  REQUIRE(values(z.sum()) == List{0});
  REQUIRE_THAT(error_of([&] { F::dropout(x, F::DropoutFuncOptions().p(-0.1)); }), Contains("-0.1"));
}

TEST_CASE("convolution: stride, padding, same, dilation, groups, bias") {
  const Tensor x = arange(5, kFloat).reshape({1, 1, 5}), w = ones({1, 1, 3});
  REQUIRE(values(F::conv1d(x, w)) == List{3, 6, 9});
  REQUIRE(values(F::conv1d(x, w, F::Conv1dFuncOptions().padding(1).stride(2))) == List{1, 6, 7});
  REQUIRE(values(F::conv1d(x, w, F::Conv1dFuncOptions().dilation(2).bias(torch::tensor({10.0f})))) ==
          List{16});
  REQUIRE(values(F::conv1d(x, w, F::Conv1dFuncOptions().padding(kSame))) == List{1, 3, 6, 9, 7});
  // An even kernel needs one more zero behind than in front.
  REQUIRE(values(F::conv1d(x, ones({1, 1, 2}), F::Conv1dFuncOptions().padding(kSame))) ==
          List{1, 3, 5, 7, 4});
  REQUIRE_THAT(error_of([&] { F::conv1d(x, w, F::Conv1dFuncOptions().padding(kSame).stride(2)); }),
               Contains("stride 1"));
  nn::Conv2d conv(nn::Conv2dOptions(2, 2, 3).padding(kSame).groups(2));
  REQUIRE(conv(ones({1, 2, 4, 6})).sizes() == IntArrayRef{1, 2, 4, 6});
  REQUIRE(conv->weight.sizes() == IntArrayRef{2, 1, 3, 3});
}

TEST_CASE("pooling: the stride defaults to the window") {
  const Tensor x = arange(16, kFloat).reshape({1, 1, 4, 4});
  REQUIRE(values(F::max_pool2d(x, F::MaxPool2dFuncOptions(2))) == List{5, 7, 13, 15});
  REQUIRE(F::max_pool2d(x, F::MaxPool2dFuncOptions({2, 3}).stride(1)).sizes() == IntArrayRef{1, 1, 3, 2});
  REQUIRE(values(nn::AvgPool2d(2)(x)) == List{2.5, 4.5, 10.5, 12.5});
  REQUIRE(values(nn::AdaptiveAvgPool2d(1)(x)) == List{7.5});
  REQUIRE(values(F::avg_pool2d(x, F::AvgPool2dFuncOptions(4).divisor_override(1))) == List{120});
  const Tensor line = arange(6, kFloat).reshape({1, 1, 6});
  REQUIRE(values(nn::MaxPool1d(nn::MaxPool1dOptions(4).ceil_mode(true))(line)) == List{3, 5});
  REQUIRE(values(F::avg_pool1d(line, F::AvgPool1dFuncOptions(3))) == List{1, 4});
  REQUIRE(values(nn::AdaptiveAvgPool1d(2)(line)) == List{1, 4});
  REQUIRE_THAT(error_of([&] { F::avg_pool1d(line, F::AvgPool1dFuncOptions(2).divisor_override(1)); }),
               Contains("avg_pool2d only"));
}

TEST_CASE("pad adds and crops, differentiably") {
  const Tensor x = ones({2, 2}).requires_grad_();
  const Tensor y = F::pad(x, F::PadFuncOptions({1, 0, 0, 2}).value(7));
  REQUIRE(values(y) == List{7, 1, 1, 7, 1, 1, 7, 7, 7, 7, 7, 7});
  y.sum().backward();
  REQUIRE(values(x.grad()) == List{1, 1, 1, 1});
  REQUIRE(values(F::pad(arange(4, kFloat), F::PadFuncOptions({-1, -1}))) == List{1, 2});
  REQUIRE_THAT(error_of([&] { F::pad(x, F::PadFuncOptions({1, 1, 1})); }), Contains("3 numbers"));
  REQUIRE_THAT(error_of([&] { F::pad(x, F::PadFuncOptions({-3, 0})); }), Contains("leaves nothing"));
}

TEST_CASE("one_hot, normalize, linear, embedding and the normalisations") {
  REQUIRE(values(F::one_hot(torch::tensor({1, 0}), 3)) == List{0, 1, 0, 1, 0, 0});
  REQUIRE(allclose(F::normalize(torch::tensor({{3.0f, 4.0f}, {0.0f, 0.0f}})),
                   torch::tensor({{0.6f, 0.8f}, {0.0f, 0.0f}})));
  const Tensor w = torch::tensor({{1.0f, 2.0f}, {3.0f, 4.0f}});
  REQUIRE(values(F::linear(ones({1, 2}), w)) == List{3, 7});
  REQUIRE(values(F::linear(ones({1, 2}), w, ones({2}))) == List{4, 8});
  REQUIRE(values(F::embedding(torch::tensor({1}), w)) == List{3, 4});
  REQUIRE_THAT(
      error_of([&] { F::embedding(torch::tensor({1}), w, F::EmbeddingFuncOptions().padding_idx(2)); }),
      Contains("padding_idx"));
  const Tensor bag = torch::tensor({{1, 0, 1}});
  const auto padded = [](std::int64_t row) {
    return F::EmbeddingBagFuncOptions().mode(kSum).padding_idx(row);
  };
  REQUIRE(values(F::embedding_bag(bag, w, padded(-1))) == List{1, 2});
  REQUIRE_THAT(error_of([&] { F::embedding_bag(bag, w, padded(2)); }), Contains("padding_idx"));
  const Tensor x = torch::tensor({{1.0f, 3.0f}});
  REQUIRE(allclose(F::layer_norm(x, F::LayerNormFuncOptions({2}).bias(ones({2}))),
                   torch::tensor({{0.0f, 2.0f}}), 0, 1e-4));
  REQUIRE(allclose(F::group_norm(x, F::GroupNormFuncOptions(1).weight(full({2}, 2.0))),
                   torch::tensor({{-2.0f, 2.0f}}), 0, 1e-4));
  REQUIRE(allclose(F::rms_norm(x, F::RMSNormFuncOptions({2})), x / std::sqrt(5.0)));
  REQUIRE(allclose(F::batch_norm(x, zeros({2}), full({2}, 4.0), F::BatchNormFuncOptions().eps(0)), x / 2));
}

TEST_CASE("losses under autocast are fp32, layers are half") {
  nn::Sequential model(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 3));
  for (const Dtype dtype : {kHalf, kBFloat16}) {
    amp::Autocast autocast(test::device_type(), dtype);
    const Tensor logits = model(randn({6, 4}));
    REQUIRE(logits.scalar_type() == dtype);
    REQUIRE(F::cross_entropy(logits, torch::tensor({0, 1, 2, 0, 1, 2})).scalar_type() == kFloat);
    REQUIRE(F::softmax(logits, 1).scalar_type() == kFloat);
    REQUIRE(F::mse_loss(logits, zeros({6, 3})).scalar_type() == kFloat);
  }
}
