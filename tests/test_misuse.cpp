// Wrong calls: each is an Error that begins with the operator's name, never a crash or a silent NaN.

#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "halftone/halftone.h"
#include "halftone/tests/support/device.h"

namespace torch = halftone;
namespace F = torch::nn::functional;
using namespace torch::indexing;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using torch::kFloat;
using torch::Tensor;

#define REFUSES(name, ...) \
  CHECK_THROWS_WITH(torch::test::finish([&] { (void)(__VA_ARGS__); }), StartsWith(name ":"))

namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kHuge = std::int64_t{1} << 62;

Tensor matrix() { return torch::arange(6, kFloat).view({2, 3}); }

}  // namespace

TEST_CASE("misuse: undefined and moved-from tensors") {
  Tensor none, x = matrix();
  REFUSES("Tensor", none.sizes());
  REFUSES("add", none + 1);
  REFUSES("Tensor", none[0]);
  REFUSES("Tensor", none.item<float>());
  REFUSES("Tensor", x.set_data(none));
  REFUSES("mm", torch::mm(x, none));
  REFUSES("relu", torch::relu(none));
  REFUSES("linear", F::linear(x, none));
  REFUSES("backward", none.backward());
  REFUSES("cross_entropy_loss", F::cross_entropy(x, none));
  REFUSES("SGD", torch::optim::SGD({none}, 0.1));
  CHECK_THROWS_AS(torch::cat({x, none}), torch::Error);
  CHECK_THROWS_AS(x.copy_(none), torch::Error);
  Tensor taken = std::move(x);
  CHECK_FALSE(x.defined());
  REFUSES("Tensor", x.sizes());
  torch::nn::Linear empty(nullptr);
  CHECK_THROWS_WITH(empty->weight, Contains("empty"));
}

TEST_CASE("misuse: devices that are not there") {
  Tensor x = matrix();
  if (!torch::cuda::is_available()) {
    CHECK_THROWS_WITH(x.to(torch::kCUDA), Contains("CUDA"));
    CHECK_THROWS_WITH(x.cuda(), Contains("CUDA"));
    CHECK_THROWS_WITH(torch::zeros({2}, torch::kCUDA), Contains("CUDA"));
    CHECK_THROWS_WITH(torch::nn::Linear(2, 2)->to(torch::kCUDA), Contains("CUDA"));
  }
  for (const char* name : {"", "gpu", "cuda:", "cuda:x"}) CHECK_THROWS_AS(torch::Device(name), torch::Error);
}

TEST_CASE("misuse: sizes that no tensor has") {
  for (torch::Dtype dtype : {torch::kHalf, kFloat, torch::kDouble}) {
    REFUSES("allocate", torch::empty({kHuge}, dtype));  // the bytes wrap around
    REFUSES("allocate", torch::zeros({1, kHuge}, dtype));
  }
  REFUSES("allocate", torch::empty({std::int64_t{1} << 46}));
  REFUSES("allocate", torch::ones({1}).expand({kHuge}) * 2);
  REFUSES("allocate", torch::ones({1}).repeat({kHuge}));
  REFUSES("empty_strided", torch::empty_strided({3}, {kHuge}));
  REFUSES("empty_strided", torch::empty_strided({2}, {-1}));
  REFUSES("shape", torch::zeros({-1}));
  REFUSES("shape", torch::zeros({kHuge, kHuge}));
  REFUSES("shape", torch::zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}));
  REFUSES("arange", torch::arange(0, 1e18));
  REFUSES("arange", torch::arange(0, 10, -1));
  REFUSES("linspace", torch::linspace(0, 1, -1));
  REFUSES("randperm", torch::randperm(-1));
  REFUSES("from_blob", torch::from_blob(nullptr, {2}));
  CHECK(torch::ones({1}).expand({kHuge}).numel() == kHuge);
}

TEST_CASE("misuse: shapes and dimensions") {
  Tensor x = matrix();
  REFUSES("view", x.view({4}));
  REFUSES("view", x.view({-1, -1}));
  REFUSES("view", x.t().view({6}));
  REFUSES("reshape", x.reshape({5}));
  REFUSES("expand", x.expand({3, 3}));
  REFUSES("permute", x.permute({0, 0}));
  REFUSES("transpose", x.transpose(0, 2));
  REFUSES("unsqueeze", x.unsqueeze(kMin));
  REFUSES("squeeze", x.squeeze(3));
  REFUSES("cat", torch::cat({}));
  REFUSES("cat", torch::cat({x, torch::ones({2, 2})}));
  REFUSES("stack", torch::stack({x, x.t()}));
  REFUSES("split", x.split(0));
  REFUSES("chunk", x.chunk(0));
  REFUSES("repeat", x.repeat({2}));
  REFUSES("flip", x.flip({0, 0}));
  REFUSES("roll", x.roll({1, 2}, {0}));
  REFUSES("sum", x.sum(2));
  REFUSES("sum", x.sum({0, 0}));
  REFUSES("max", torch::zeros({2, 0}).max(1));
  REFUSES("argmax", torch::zeros({0}).argmax());
  REFUSES("softmax", torch::softmax(x, 2));
  REFUSES("topk", x.topk(4));
  REFUSES("size", torch::ones({}).size(0));
  REFUSES("stride", torch::ones({}).stride(-1));
  REFUSES("as_strided", x.as_strided({7}, {1}));
  REFUSES("as_strided", x.as_strided({1}, {1}, -1));
}

TEST_CASE("misuse: indices") {
  Tensor x = matrix();
  REFUSES("select", x[2]);
  REFUSES("select", x[kMin]);
  REFUSES("select", torch::ones({})[0]);
  REFUSES("slice", x.slice(0, 0, 1, 0));
  REFUSES("narrow", x.narrow(0, 0, kMax));
  CHECK(x.slice(0, kMin, kMax).equal(x));
  REFUSES("index", x.index({0, 0, 0}));
  REFUSES("index", x.index({Ellipsis, Ellipsis}));
  REFUSES("index", x.index({torch::tensor({5})}));
  REFUSES("index", x.index({torch::tensor({1.5})}));
  REFUSES("index", x.index({torch::tensor({true, false, true})}));
  REFUSES("index_select", x.index_select(0, torch::tensor({kMin})));
  REFUSES("gather", x.gather(0, torch::tensor({{2, 0, 0}})));
  REFUSES("scatter_add", x.scatter_add(0, torch::tensor({{7}}), x));
  REFUSES("embedding", torch::embedding(x, torch::tensor({2})));
  REFUSES("embedding", torch::embedding(x, x));
  REFUSES("item", x.item<float>());
  REFUSES("data_ptr", x.data_ptr<double>());
  CHECK_THROWS_AS((x.accessor<float, 1>()), torch::Error);
  CHECK_THROWS_AS((x.accessor<double, 2>()), torch::Error);
}

TEST_CASE("misuse: arithmetic") {
  Tensor x = matrix();
  REFUSES("add", x + torch::ones({2, 2}));
  REFUSES("add", x.add_(torch::ones({4, 2, 3})));
  REFUSES("add", torch::ones({3}).expand({2, 3}).add_(1));
  REFUSES("add", torch::tensor({1}).add_(1.5));
  REFUSES("exp", torch::tensor({1, 2}).exp_());
  REFUSES("mm", torch::mm(x, x));
  REFUSES("mm", torch::mm(x, torch::ones({3, 2}, torch::kDouble)));
  REFUSES("matmul", torch::matmul(x, torch::ones({})));
  REFUSES("dot", torch::dot(x[0], x[0].narrow(0, 0, 2)));
  REFUSES("linear", torch::linear(x, torch::ones({2, 2})));
  REFUSES("floor_divide", torch::floor_divide(torch::tensor({1}), torch::tensor({0})));
  REFUSES("remainder", torch::remainder(torch::tensor({1}), 0));
  REFUSES("pow", torch::pow(torch::tensor({2}), -1));
  REFUSES("mean", torch::tensor({1, 2}).mean());
  REFUSES("neg", -torch::tensor({true}));
  REFUSES("sub", torch::tensor({true}) - torch::tensor({true}));
  REFUSES("bitwise_and", torch::bitwise_and(x, x));
  // What wraps, wraps without a trap.
  CHECK(torch::floor_divide(torch::tensor({kMin}), -1).item<std::int64_t>() == kMin);
  CHECK(torch::remainder(torch::tensor({kMin}), -1).item<std::int64_t>() == 0);
  CHECK((torch::tensor({kMax}) + 1).item<std::int64_t>() == kMin);
}

TEST_CASE("misuse: losses and layers") {
  Tensor x = matrix();
  REFUSES("cross_entropy_loss", F::cross_entropy(x, torch::tensor({0, 3})));
  REFUSES("cross_entropy_loss", F::cross_entropy(x, torch::tensor({0})));
  REFUSES("cross_entropy_loss",
          F::cross_entropy(x, torch::tensor({0, 1}), F::CrossEntropyFuncOptions().label_smoothing(2)));
  REFUSES("mse_loss", F::mse_loss(x, torch::ones({5})));
  REFUSES("binary_cross_entropy", F::binary_cross_entropy(torch::tensor({1.5f}), torch::ones({1})));
  REFUSES("huber_loss", F::huber_loss(x, x, F::HuberLossFuncOptions().delta(0)));
  REFUSES("conv2d", torch::conv2d(torch::ones({1, 3, 8, 8}), torch::ones({4, 2, 3, 3})));
  REFUSES("conv2d", torch::conv2d(torch::ones({1, 3, 2, 2}), torch::ones({4, 3, 3, 3})));
  REFUSES("conv2d", torch::conv2d(torch::ones({1, 3, 8, 8}), torch::ones({4, 3, 3, 3}), {}, 0));
  REFUSES("conv1d", torch::conv1d(torch::ones({1, 1, 4}), torch::ones({1, 1, 2}), {}, kHuge, kHuge));
  REFUSES("max_pool2d", torch::max_pool2d(torch::ones({1, 1, 4, 4}), kHuge));
  REFUSES("layer_norm", torch::layer_norm(x, {2}));
  REFUSES("group_norm", torch::group_norm(torch::ones({2, 4}), 3));
  REFUSES("batch_norm", torch::nn::BatchNorm1d(3)(torch::ones({1, 3})));
  REFUSES("dropout", torch::dropout(x, std::nan(""), true));
  REFUSES("Linear", torch::nn::Linear(-1, 2));
  CHECK_THROWS_AS(torch::nn::Linear(kHuge / 4, kHuge / 4), torch::Error);
}

TEST_CASE("misuse: gradients") {
  Tensor w = torch::ones({3}).requires_grad_();
  REFUSES("requires_grad_", torch::tensor({1}).requires_grad_());
  REFUSES("requires_grad_", (w * 2).requires_grad_(false));
  CHECK_THROWS_AS((w * 2).backward(), torch::Error);
  CHECK_THROWS_AS(torch::ones({1}).sum().backward(), torch::Error);
  CHECK_THROWS_AS(torch::autograd::grad({(w * 2).sum()}, {torch::ones({1}).requires_grad_()}), torch::Error);
  Tensor loss = (w * w).sum();
  loss.backward();
  CHECK_THROWS_WITH(loss.backward(), Contains("retain_graph"));
}

TEST_CASE("tensors without elements go through everything") {
  Tensor z = torch::zeros({0, 3}).requires_grad_();
  z.sum().backward();
  CHECK(z.grad().sizes() == torch::IntArrayRef({0, 3}));
  CHECK(torch::mm(z, torch::ones({3, 4})).sizes() == torch::IntArrayRef({0, 4}));
  CHECK(torch::mm(torch::zeros({2, 0}), torch::zeros({0, 3})).equal(torch::zeros({2, 3})));
  CHECK(torch::cat({z, matrix()}).size(0) == 2);
  CHECK(torch::cat({torch::zeros({0}), matrix()}).size(0) == 2);
  CHECK(z.mean(0).isnan().all().item<bool>());
  CHECK(torch::zeros({0}).prod().item<float>() == 1);
  CHECK(torch::zeros({0}).all().item<bool>());
  CHECK(z.view({3, 0}).size(1) == 0);
  CHECK(torch::softmax(z, 1).numel() == 0);
  CHECK(torch::nn::Linear(3, 4)(z).size(1) == 4);
  CHECK(torch::layer_norm(z, {3}).numel() == 0);
  CHECK(torch::conv2d(torch::zeros({0, 3, 8, 8}), torch::ones({4, 3, 3, 3})).sizes() ==
        torch::IntArrayRef({0, 4, 6, 6}));
  CHECK(std::isnan(F::cross_entropy(z, torch::zeros({0}, torch::kLong)).item<float>()));
  CHECK(matrix().index({torch::zeros({2}, torch::kBool)}).size(0) == 0);
  CHECK(torch::nonzero(torch::zeros({3})).sizes() == torch::IntArrayRef({0, 1}));
}
