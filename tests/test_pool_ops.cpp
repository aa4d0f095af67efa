// The pooling operators over the kernels of test_pool.cpp: values by hand, one dimension, gradients,
// refusals.

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

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

TEST_CASE("maxima of windows and where their gradients go", "[pool]") {
  const Tensor x = tensor({1, 5, 2, 4, 3, 3, 9, 0, 7}, {1, 3, 3}).requires_grad_();
  const Tensor y = max_pool2d(x, 2, 1);
  CHECK(values_of(y) == V{5, 5, 9, 7});
  y.sum().backward();
  CHECK(values_of(x.grad()) == V{0, 2, 0, 0, 0, 0, 1, 0, 1});
  CHECK(values_of(max_pool1d(tensor({1, 3, 2, 8, 5}, {1, 5}), 2)) == V{3, 8});
  CHECK(values_of(max_pool1d(tensor({1, 3, 2, 8, 5}, {1, 5}), 2, 2, 0, 1, true)) == V{3, 8, 5});
  CHECK(values_of(max_pool1d(tensor({-1, -3}, {1, 2}), 2, 2, 1)) ==
        V{-1, -3});  // padding is never the maximum
}

TEST_CASE("of equal maxima the first takes the gradient", "[pool]") {
  const Tensor x = ones({1, 2, 2}).requires_grad_();
  max_pool2d(x, 2).sum().backward();
  CHECK(values_of(x.grad()) == V{1, 0, 0, 0});
}

TEST_CASE("means of windows", "[pool]") {
  const Tensor x = tensor({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 3, 3});
  CHECK(values_of(avg_pool2d(x, 2, 1)) == V{3, 4, 6, 7});
  CHECK(values_of(avg_pool2d(x, 2, 2, 1)) == V{0.25, 1.25, 2.75, 7});
  CHECK(values_of(avg_pool2d(x, 2, 2, 1, false, false)) == V{1, 2.5, 5.5, 7});
  CHECK(values_of(avg_pool2d(x, 2, 1, 0, false, true, 2)) == V{6, 8, 12, 14});
  CHECK(values_of(avg_pool1d(tensor({1, 2, 3, 4, 6}, {1, 5}), 2, 2, 0, true)) == V{1.5, 3.5, 6});
  CHECK(values_of(adaptive_avg_pool2d(x, {1, 2})) == V{4.5, 5.5});
  CHECK(values_of(adaptive_avg_pool1d(tensor({1, 2, 3}, {1, 3}), 1)) == V{2});
  CHECK(values_of(avg_pool2d(full({1, 2, 2}, 60000, kHalf), 2)) ==
        V{60000});  // the sum does not fit, the mean does
}

TEST_CASE("gradients of means", "[pool]") {
  const Tensor x = ones({1, 3, 3}).requires_grad_();
  avg_pool2d(x, 2, 1).sum().backward();
  CHECK(values_of(x.grad()) == V{0.25, 0.5, 0.25, 0.5, 1, 0.5, 0.25, 0.5, 0.25});
}

TEST_CASE("pooling in half precision and over strided inputs", "[pool]") {
  manual_seed(1);
  const Tensor x = randn({2, 3, 7, 6});
  const Tensor strided = x.permute({0, 2, 3, 1}).clone().permute({0, 3, 1, 2});
  CHECK(same_bits(max_pool2d(strided, 3, 2, 1), max_pool2d(x, 3, 2, 1)));
  CHECK(same_bits(avg_pool2d(strided, 3, 2, 1), avg_pool2d(x, 3, 2, 1)));
  for (ScalarType dtype : {kHalf, kBFloat16}) {
    const Tensor half = x.to(dtype);
    CHECK(same_bits(max_pool2d(half, 2), max_pool2d(half.to(kFloat), 2).to(dtype)));
    CHECK(same_bits(adaptive_avg_pool2d(half, 2), adaptive_avg_pool2d(half.to(kFloat), 2).to(dtype)));
  }
}

TEST_CASE("a NaN is a maximum", "[pool]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(value_at(max_pool1d(tensor({1, nan, 3}, {1, 3}), 3), 0)));
}

TEST_CASE("pooling refuses what does not fit, by name", "[pool]") {
  const Tensor x = ones({1, 2, 4, 4});
  CHECK_THROWS_WITH(max_pool2d(ones({4, 4}), 2), Contains("max_pool2d") && Contains("(N, C, H, W)"));
  CHECK_THROWS_WITH(max_pool2d(x, 2, 2, 2), Contains("half the kernel_size"));
  CHECK_THROWS_WITH(max_pool2d(x, 5), Contains("larger than the input"));
  CHECK_THROWS_WITH(max_pool2d(x, 0), Contains("kernel_size"));
  CHECK_THROWS_WITH(max_pool2d(x.to(kLong), 2), Contains("floating"));
  CHECK_THROWS_WITH(avg_pool2d(x, 2, 0), Contains("stride"));
  CHECK_THROWS_WITH(avg_pool2d(x, 2, 1, 0, false, true, 0), Contains("divisor_override"));
  CHECK_THROWS_WITH(avg_pool2d(ones({1, 0, 4}), 2), Contains("empty"));
  CHECK_THROWS_WITH(adaptive_avg_pool2d(x, -1), Contains("output_size"));
  const auto wrong_index = [] {
    max_pool2d_backward(ones({1, 1, 1}), full({1, 1, 1}, 9), {1, 2, 2}, 2, {}, 0, 1, false, kFloat);
  };
  CHECK_THROWS_WITH(test::finish(wrong_index), Contains("index 9"));
  const Tensor four = full({1, 1, 1}, 4).to(kByte), two = full({1, 1, 1}, 2).to(kByte);
  const auto wrong_number = [&] {
    max_pool2d_backward(ones({1, 1, 1}), four, {1, 2, 2}, 2, {}, 0, 1, false, kFloat);
  };
  CHECK_THROWS_WITH(test::finish(wrong_number), Contains("4"));
  const auto in_padding = [&] {  // an element of the window, but not of the plane
    max_pool2d_backward(ones({1, 1, 1}), two, {1, 1, 1}, 2, 2, 1, 1, false, kFloat);
  };
  CHECK_THROWS_WITH(test::finish(in_padding), Contains("2"));
  CHECK_THROWS_WITH(max_pool2d_backward(ones({1, 1, 1}), two, {1, 20, 20}, 20, {}, 0, 1, false, kFloat),
                    Contains("expected int64 indices"));
}

TEST_CASE("max pooling keeps four bits per window, more where windows are large") {
  const auto kept = [](std::int64_t kernel) {
    const Tensor x = randn({2, 3, 40, 40}).requires_grad_();
    return autograd::saved_bytes(max_pool2d(x, kernel).sum());
  };
  CHECK(kept(2) == 2 * 3 * 20 * 10);
  CHECK(kept(3) == 2 * 3 * 13 * 7);
  CHECK(kept(4) == 2 * 3 * 10 * 10);
  CHECK(kept(20) == 2 * 3 * 2 * 2 * 8);
}
