// The convolution operators over the kernels of test_conv.cpp: values by hand, one and two dimensions,
// batched or not, gradients, autocast, refusals.

#include <catch2/catch.hpp>

#include "halftone/amp/autocast.h"
#include "halftone/autograd/autograd.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/tests/support/samples.h"

using namespace halftone;
using Catch::Matchers::Contains;
using halftone::test::same_bits;
using halftone::test::value_at;

namespace {

Tensor tensor(const std::vector<float>& values, const std::vector<std::int64_t>& sizes) {
  return halftone::tensor(values).view(sizes);
}

std::vector<double> values_of(const Tensor& t) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < t.numel(); ++i) values.push_back(value_at(t, i));
  return values;
}

using V = std::vector<double>;

}  // namespace

TEST_CASE("convolutions by hand", "[conv]") {
  const Tensor line = tensor({1, 2, 3, 4}, {1, 1, 4}), edge = tensor({1, -1}, {1, 1, 2});
  CHECK(values_of(conv1d(line, edge, {})) == V{-1, -1, -1});
  CHECK(values_of(conv1d(line, edge, tensor({10}, {1}), 2, 1)) == V{9, 9, 14});
  CHECK(values_of(conv1d(line, edge, {}, 1, 0, 3)) == V{-3});

  const Tensor image = tensor({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 3, 3}), box = ones({1, 1, 2, 2});
  const Tensor sums = conv2d(image, box, {});
  CHECK(sums.sizes() == IntArrayRef({1, 2, 2}));
  CHECK(values_of(sums) == V{12, 16, 24, 28});
  const Tensor twice = cat({image.unsqueeze(0), image.unsqueeze(0)}, 1);
  CHECK(values_of(conv2d(twice, tensor({1, 2}, {2, 1, 1, 1}), {}, 2, 0, 1, 2)) ==
        V{1, 3, 7, 9, 2, 6, 14, 18});
}

TEST_CASE("conv1d is conv2d of height one", "[conv]") {
  manual_seed(1);
  const Tensor x = randn({2, 4, 9}).requires_grad_(), w = randn({6, 2, 3}).requires_grad_();
  const Tensor b = randn({6}).requires_grad_();
  const Tensor x2 = x.detach().unsqueeze(2).requires_grad_(), w2 = w.detach().unsqueeze(2).requires_grad_();
  const Tensor y = conv1d(x, w, b, 2, 1, 2, 2), y2 = conv2d(x2, w2, b.detach(), {1, 2}, {0, 1}, {1, 2}, 2);
  CHECK(same_bits(y, y2.squeeze(2)));
  y.square().sum().backward();
  y2.square().sum().backward();
  CHECK(same_bits(x.grad(), x2.grad().squeeze(2)));
  CHECK(same_bits(w.grad(), w2.grad().squeeze(2)));
  CHECK(b.grad().defined());
}

TEST_CASE("strided inputs and weights convolve alike", "[conv]") {
  manual_seed(2);
  const Tensor x = randn({2, 3, 6, 5}), w = randn({4, 3, 3, 2});
  const Tensor last = x.permute({0, 2, 3, 1}).clone().permute({0, 3, 1, 2});
  CHECK(same_bits(conv2d(last, w.transpose(0, 1).clone().transpose(0, 1), {}), conv2d(x, w, {})));
}

TEST_CASE("convolutions without a batch or without channels", "[conv]") {
  const Tensor x = ones({0, 3, 4, 4}).requires_grad_(), w = ones({2, 3, 2, 2}).requires_grad_();
  const Tensor y = conv2d(x, w, {});
  CHECK(y.sizes() == IntArrayRef({0, 2, 3, 3}));
  y.sum().backward();
  CHECK(w.grad().sum().item<float>() == 0);
  CHECK(values_of(conv2d(ones({1, 0, 2, 2}), ones({1, 0, 1, 1}), tensor({3}, {1}))) == V{3, 3, 3, 3});
}

TEST_CASE("convolutions under autocast", "[conv]") {
  const Tensor x = ones({1, 2, 4, 4}), w = ones({3, 2, 2, 2}).requires_grad_();
  Tensor y;
  {
    const amp::Autocast autocast(test::device_type(), kBFloat16);
    y = conv2d(x, w, ones({3}));
    CHECK(y.scalar_type() == kBFloat16);
    CHECK(conv1d(ones({2, 4}), ones({1, 2, 2}), {}).scalar_type() == kBFloat16);
  }
  y.sum().backward();
  CHECK(w.grad().scalar_type() == kFloat);
  CHECK(value_at(w.grad(), 0) == 9);
}

TEST_CASE("convolutions refuse what does not fit, by name", "[conv]") {
  const Tensor x = ones({1, 2, 4, 4}), w = ones({4, 2, 3, 3});
  CHECK_THROWS_WITH(conv2d(ones({4, 4}), w, {}), Contains("conv2d") && Contains("(N, C, H, W)"));
  CHECK_THROWS_WITH(conv2d(x, ones({4, 3, 3, 3}), {}), Contains("2 channels") && Contains("takes 3"));
  CHECK_THROWS_WITH(conv2d(x, w, {}, 1, 0, 1, 3), Contains("groups"));
  CHECK_THROWS_WITH(conv2d(x, w, {}, 0), Contains("stride"));
  CHECK_THROWS_WITH(conv2d(x, w, {}, 1, -1), Contains("padding"));
  CHECK_THROWS_WITH(conv2d(x, w, {}, {1, 1, 1}), Contains("stride"));
  CHECK_THROWS_WITH(conv2d(x, w, {}, 1, 0, 2), Contains("larger than the input"));
  CHECK_THROWS_WITH(conv2d(x, w, ones({3})), Contains("bias (4)"));
  CHECK_THROWS_WITH(conv2d(x, w.to(kHalf), {}), Contains("float32") && Contains("float16"));
  CHECK_THROWS_WITH(conv2d(x.to(kLong), w.to(kLong), {}), Contains("floating"));
  CHECK_THROWS_WITH(conv1d(x, w, {}), Contains("conv1d") && Contains("(N, C, L)"));
}
