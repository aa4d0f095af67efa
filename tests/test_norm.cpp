// Layer, RMS, group and batch norm: values by hand, an fp64 reference, rows far from zero or the range's
// ends, half inputs without copies, running statistics, threads and instruction sets.

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "halftone/autograd/autograd.h"
#include "halftone/autograd/gradcheck.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/engine/threads.h"
#include "halftone/tests/support/kernel_tensors.h"
#include "halftone/tests/support/samples.h"

using namespace halftone;
using Catch::Matchers::Contains;
using halftone::test::value_at;

namespace {

Tensor floats(const std::vector<float>& values, ScalarType dtype = kFloat) { return tensor(values, dtype); }

/// layer_norm of (rows, n) in fp64.
std::vector<double> reference(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  std::vector<double> y;
  const std::int64_t n = x.size(1);
  for (std::int64_t r = 0; r < x.size(0); ++r) {
    double mean = 0, var = 0;
    for (std::int64_t i = 0; i < n; ++i) mean += value_at(x, r * n + i) / static_cast<double>(n);
    for (std::int64_t i = 0; i < n; ++i) {
      var += (value_at(x, r * n + i) - mean) * (value_at(x, r * n + i) - mean) / static_cast<double>(n);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      y.push_back((value_at(x, r * n + i) - mean) / std::sqrt(var + eps) * value_at(weight, i) +
                  value_at(bias, i));
    }
  }
  return y;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double worst = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i)
    worst = std::max(worst, std::abs(value_at(a, i) - value_at(b, i)));
  return worst;
}

}  // namespace

TEST_CASE("layer norm by hand", "[norm]") {
  const Tensor zero = zeros({10}, kHalf);
  CHECK(test::same_bits(layer_norm(zero, {10}, {}, {}, 1e-12), zero));
  for (ScalarType dtype : {kFloat, kDouble}) {
    const Tensor y = layer_norm(floats({1999, 2000, 2001, 2002}, dtype), {4});
    const std::vector<double> expected = {-1.341635, -0.447212, 0.447212, 1.341635};
    for (std::int64_t i = 0; i < 4; ++i)
      CHECK(value_at(y, i) == Approx(expected[static_cast<std::size_t>(i)]).epsilon(1e-6));
  }
  const Tensor y = layer_norm(floats({1, 3}), {2}, floats({2, 10}), floats({5, 7}), 0);
  CHECK(value_at(y, 0) == 3);
  CHECK(value_at(y, 1) == 17);
}

TEST_CASE("layer norm meets an fp64 reference at every row length and instruction set", "[norm]") {
  for (const cpu::Isa isa : testing::isa_levels()) {
    const testing::IsaGuard guard(isa);
    for (const std::int64_t n : {1, 2, 7, 16, 31, 512, 513, 1500}) {
      manual_seed(1);
      const Tensor x = randn({3, n}) * 3 + 10, weight = randn({n}), bias = randn({n});
      const Tensor y = layer_norm(x, {n}, weight, bias, 1e-3);
      const std::vector<double> expected = reference(x, weight, bias, 1e-3);
      for (std::int64_t i = 0; i < x.numel(); ++i) {
        CHECK(std::abs(value_at(y, i) - expected[static_cast<std::size_t>(i)]) <= 2e-5);
      }
    }
  }
}

TEST_CASE("half layer norm is fp32 layer norm, rounded", "[norm]") {
  manual_seed(2);
  for (ScalarType dtype : {kHalf, kBFloat16}) {
    const Tensor x = (randn({20, 100}) * 5).to(dtype);
    const Tensor half = layer_norm(x, {100}), rounded = layer_norm(x.to(kFloat), {100}).to(dtype);
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const double step = 2 * unit_roundoff(dtype) * std::max(std::abs(value_at(rounded, i)), 1e-4);
      CHECK(std::abs(value_at(half, i) - value_at(rounded, i)) <= step);
    }
  }
}

TEST_CASE("rows near the ends of the range of fp32 and far from zero", "[norm]") {
  const Tensor big = layer_norm(floats({1e30f, 2e30f, 3e30f, 4e30f}), {4});
  const Tensor small = layer_norm(floats({1e-30f, 2e-30f, 3e-30f, 4e-30f}), {4}, {}, {}, 0);
  const Tensor opposite = layer_norm(floats({3e38f, -3e38f}), {2});
  CHECK(value_at(big, 3) == Approx(1.3416407));
  CHECK(value_at(small, 0) == Approx(-1.3416407));
  CHECK(value_at(opposite, 0) == Approx(1));
  CHECK(value_at(rms_norm(floats({1e30f, 1e30f}), {2}, {}), 0) == Approx(1));

  manual_seed(3);
  const Tensor x = randn({4, 300}), far = x + 4096;
  CHECK(largest_difference(layer_norm(far, {300}), layer_norm((far - 4096), {300})) < 1e-5);
  CHECK(std::isnan(value_at(layer_norm(floats({1, std::numeric_limits<float>::infinity()}), {2}), 0)));
}

TEST_CASE("rms norm by hand and in bfloat16", "[norm]") {
  const Tensor y = rms_norm(floats({3, 4}), {2}, floats({1, 2}), 0.5);
  CHECK(value_at(y, 0) == Approx(3 / std::sqrt(13.0)));
  CHECK(value_at(y, 1) == Approx(8 / std::sqrt(13.0)));
  CHECK(rms_norm(floats({3, 4}, kBFloat16), {2}, {}).scalar_type() == kBFloat16);

  const Tensor x = ones({8, 16}, kBFloat16).requires_grad_();
  const Tensor out = rms_norm(x, {16}, ones({16}, kBFloat16));
  for (const autograd::SavedInfo& saved : autograd::saved_tensors(out)) {
    if (saved.dtype == kFloat) CHECK(count_elements(saved.sizes) == 8);
  }
}

TEST_CASE("group norm is layer norm of the groups", "[norm]") {
  manual_seed(4);
  const Tensor x = randn({3, 6, 5, 4}), weight = randn({6}), bias = randn({6});
  const Tensor y = group_norm(x, 2, weight, bias);
  const Tensor normal = layer_norm(x.reshape({3, 2, 60}), {60}).reshape({3, 6, 5, 4});
  CHECK(largest_difference(y, normal * weight.reshape({6, 1, 1}) + bias.reshape({6, 1, 1})) < 1e-5);
  CHECK_THROWS_WITH(group_norm(x, 4, weight, bias), Contains("group_norm") && Contains("must divide"));
}

TEST_CASE("batch norm trains with the batch's statistics and moves the running ones", "[norm]") {
  const Tensor x = floats({1, 10, 3, 30}).reshape({2, 2});
  Tensor mean = zeros({2}), var = ones({2});
  const Tensor y = batch_norm(x, {}, {}, mean, var, true, 0.1, 0);
  CHECK(value_at(y, 0) == -1);
  CHECK(value_at(y, 3) == 1);
  CHECK(value_at(mean, 0) == Approx(0.2));
  CHECK(value_at(mean, 1) == Approx(2));
  CHECK(value_at(var, 0) == Approx(0.9 + 0.1 * 2));  // unbiased
  CHECK(value_at(var, 1) == Approx(0.9 + 0.1 * 200));

  const Tensor fixed_mean = floats({1, 2}), fixed_var = floats({4, 9});
  const Tensor eval = batch_norm(x, floats({2, 3}), floats({0, 1}), fixed_mean, fixed_var, false, 0.1, 0);
  CHECK(value_at(eval, 0) == 0);
  CHECK(value_at(eval, 1) == Approx((10.0 - 2) / 3 * 3 + 1));
  CHECK(value_at(fixed_mean, 0) == 1);

  const Tensor half = batch_norm(x.to(kHalf), ones({2}), zeros({2}), mean, var, true, 0.1, 1e-5);
  CHECK(half.scalar_type() == kHalf);
  CHECK(value_at(half, 0) == Approx(-1).epsilon(1e-3));
}

TEST_CASE("batch norm of images equals its definition", "[norm]") {
  manual_seed(5);
  const Tensor x = randn({4, 3, 7, 5}) + 2;
  const Tensor y = batch_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5);
  const Tensor rows = layer_norm(x.transpose(0, 1).reshape({3, 140}), {140}, {}, {}, 1e-5);
  CHECK(largest_difference(y, rows.reshape({3, 4, 7, 5}).transpose(0, 1)) < 1e-5);
  const Tensor strided = x.permute({0, 1, 3, 2}).clone().permute({0, 1, 3, 2});
  CHECK(test::same_bits(batch_norm(strided, {}, {}, {}, {}, true, 0.1, 1e-5), y));
}

TEST_CASE("batch norm's gradients in evaluation, to second order", "[norm]") {
  const TensorOptions wide(kDouble);
  manual_seed(6);
  const Tensor mean = randn({2}, wide), var = rand({2}, wide) + 0.5;
  const std::vector<Tensor> inputs = {randn({3, 2, 2}, wide).requires_grad_(),
                                      randn({2}, wide).requires_grad_(), randn({2}, wide).requires_grad_()};
  const auto function = [&](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{batch_norm(in[0], in[1], in[2], mean, var, false, 0.1, 1e-3)};
  };
  CHECK(autograd::gradcheck(function, inputs));
  CHECK(autograd::gradgradcheck(function, inputs));
}

TEST_CASE("a later update of the running statistics does not disturb an earlier backward", "[norm]") {
  const Tensor x = randn({4, 2}).requires_grad_();
  Tensor mean = zeros({2}), var = ones({2});
  const Tensor y = batch_norm(x, {}, {}, mean, var, false, 0.1, 1e-5);
  mean.add_(1);
  y.sum().backward();
  CHECK(value_at(x.grad(), 0) == Approx(1).epsilon(1e-4));
}

TEST_CASE("norms and their gradients are the same for any number of threads", "[norm]") {
  const int before = get_num_threads();
  const auto run = [](int threads) {
    set_num_threads(threads);
    manual_seed(7);
    const Tensor x = randn({150, 700}).requires_grad_(), weight = randn({700}).requires_grad_();
    const Tensor bias = randn({700}).requires_grad_();
    layer_norm(x, {700}, weight, bias).square().sum().backward();
    const Tensor images = randn({6, 16, 11, 11}).requires_grad_(), scale = randn({16}).requires_grad_();
    batch_norm(images, scale, {}, {}, {}, true, 0.1, 1e-5).square().sum().backward();
    return std::vector<Tensor>{x.grad(), weight.grad(), bias.grad(), images.grad(), scale.grad()};
  };
  const std::vector<Tensor> alone = run(1), three = run(3);
  set_num_threads(before);
  for (std::size_t i = 0; i < alone.size(); ++i) CHECK(test::same_bits(alone[i], three[i]));
}

TEST_CASE("weight gradients of many rows stay accurate", "[norm]") {
  manual_seed(8);
  const Tensor x = randn({5000, 3}), weight = ones({3}).requires_grad_(), bias = zeros({3}).requires_grad_();
  const Tensor exact_weight = ones({3}, kDouble).requires_grad_(),
               exact_bias = zeros({3}, kDouble).requires_grad_();
  layer_norm(x, {3}, weight, bias).sum().backward();
  layer_norm(x.to(kDouble), {3}, exact_weight, exact_bias).sum().backward();
  CHECK(value_at(bias.grad(), 0) == 5000);
  CHECK(largest_difference(weight.grad(), exact_weight.grad()) < 1e-3);
}

TEST_CASE("norms refuse what does not fit, by name", "[norm]") {
  const Tensor x = ones({2, 3});
  CHECK_THROWS_WITH(layer_norm(x, {2}), Contains("layer_norm") && Contains("[2, 3]"));
  CHECK_THROWS_WITH(layer_norm(x, {}), Contains("layer_norm"));
  CHECK_THROWS_WITH(layer_norm(x, {3}, ones({2}), {}), Contains("weight"));
  CHECK_THROWS_WITH(layer_norm(x, {3}, {}, {}, -1), Contains("eps"));
  CHECK_THROWS_WITH(layer_norm(ones({2, 3}, kLong), {3}), Contains("floating"));
  CHECK_THROWS_WITH(batch_norm(x, {}, {}, {}, {}, false, 0.1, 1e-5), Contains("running_mean"));
  CHECK_THROWS_WITH(batch_norm(ones({1, 3}), {}, {}, {}, {}, true, 0.1, 1e-5),
                    Contains("more than one value"));
  CHECK_THROWS_WITH(batch_norm(ones({3}), {}, {}, {}, {}, true, 0.1, 1e-5), Contains("(N, C, ...)"));
}
