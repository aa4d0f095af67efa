// Products: values by hand, broadcasting against loops in float64, gradients, dtypes and refusals.

#include <catch2/catch.hpp>

#include "halftone/amp/autocast.h"
#include "halftone/autograd/autograd.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/engine/threads.h"
#include "halftone/tests/support/samples.h"

using namespace halftone;
using namespace halftone::test;
using Catch::Matchers::Contains;

namespace {

Tensor matrix(const std::vector<float>& values, const std::vector<std::int64_t>& sizes,
              ScalarType dtype = kFloat) {
  return tensor(values, dtype).view(sizes);
}

std::vector<double> values_of(const Tensor& t) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < t.numel(); ++i) values.push_back(value_at(t, i));
  return values;
}

using V = std::vector<double>;

}  // namespace

TEST_CASE("products by hand", "[matmul]") {
  const Tensor a = matrix({1, 2, 3, 4, 5, 6}, {2, 3}), b = matrix({1, 0, 0, 1, 1, 1}, {3, 2});
  CHECK(values_of(mm(a, b)) == V{4, 5, 10, 11});
  CHECK(values_of(mm(b, a)) == V{1, 2, 3, 4, 5, 6, 5, 7, 9});
  CHECK(values_of(mm(a.t(), a)) == V{17, 22, 27, 22, 29, 36, 27, 36, 45});
  CHECK(values_of(mv(a, matrix({1, 0, -1}, {3}))) == V{-2, -2});
  CHECK(dot(matrix({1, 2, 3}, {3}), matrix({4, 5, 6}, {3})).item<float>() == 32);
  CHECK(values_of(outer(matrix({1, 2}, {2}), matrix({3, 4, 5}, {3}))) == V{3, 4, 5, 6, 8, 10});
  CHECK(values_of(addmm(matrix({10, 20}, {2}), a, b, 0.5, 2)) == V{13, 20, 25, 32});
  CHECK(values_of(bmm(a.unsqueeze(0), b.unsqueeze(0))) == V{4, 5, 10, 11});
  CHECK(values_of(baddbmm(matrix({1}, {1}), a.unsqueeze(0), b.unsqueeze(0), -1, 1)) == V{3, 4, 9, 10});
  CHECK(values_of(linear(a, matrix({1, 1, 1, 0, 0, 2}, {2, 3}), matrix({1, -1}, {2}))) == V{7, 5, 16, 11});
  CHECK(values_of(linear(matrix({1, 2, 3}, {3}), matrix({1, 1, 1}, {1, 3}))) == V{6});
}

TEST_CASE("beta = 0 does not read the addend", "[matmul]") {
  const Tensor nan = full({2, 2}, std::numeric_limits<float>::quiet_NaN());
  const Tensor a = matrix({1, 2, 3, 4}, {2, 2});
  CHECK(values_of(addmm(nan, a, a, 0, 1)) == V{7, 10, 15, 22});
}

TEST_CASE("integer products wrap nothing that fits", "[matmul]") {
  const Tensor a = matrix({1, 2, 3, 4}, {2, 2}).to(kLong);
  CHECK(mm(a, a).scalar_type() == kLong);
  CHECK(values_of(mm(a, a)) == V{7, 10, 15, 22});
  CHECK(values_of(addmm(a, a, a, 2, 1)) == V{9, 14, 21, 30});
}

TEST_CASE("matmul takes every combination of ranks", "[matmul]") {
  const std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> shapes = {
      {{3}, {3}},
      {{3}, {3, 2}},
      {{4, 3}, {3}},
      {{4, 3}, {3, 2}},
      {{3}, {2, 3, 4}},
      {{2, 4, 3}, {3}},
      {{2, 4, 3}, {3, 2}},
      {{4, 3}, {2, 3, 2}},
      {{2, 4, 3}, {2, 3, 2}},
      {{5, 1, 4, 3}, {2, 3, 2}},
      {{1, 4, 3}, {5, 2, 3, 1}},
      {{3}, {2, 2, 3, 1}},
  };
  manual_seed(1);
  for (const auto& [left, right] : shapes) {
    INFO(concat(IntArrayRef(left), " times ", IntArrayRef(right)));
    const Tensor a = randn(left, kDouble), b = randn(right, kDouble);
    // Through broadcasting and a sum: what matmul means.
    Tensor x = left.size() == 1 ? a.unsqueeze(0) : a;
    Tensor y = right.size() == 1 ? b.unsqueeze(1) : b;
    Tensor expected = (x.unsqueeze(-1) * y.unsqueeze(-3)).sum({-2});
    if (left.size() == 1) expected = expected.squeeze(-2);
    if (right.size() == 1) expected = expected.squeeze(-1);
    const Tensor got = matmul(a, b);
    REQUIRE(got.sizes() == expected.sizes());
    CHECK(got.allclose(expected, 1e-12, 1e-12));
    // Strides instead of copies: the same bits from transposed memory.
    const Tensor at = left.size() > 1 ? a.transpose(-1, -2).clone().transpose(-1, -2) : a;
    const Tensor bt = right.size() > 1 ? b.transpose(-1, -2).clone().transpose(-1, -2) : b;
    CHECK(same_bits(matmul(at, bt), got));
  }
}

TEST_CASE("the weight's gradient sums all rows in fp32 and rounds once", "[matmul]") {
  // 4096 rows of ones: a sum kept in bfloat16 stops at 256.
  Tensor x = ones({8, 512, 1}, kBFloat16), w = ones({1, 1}, kBFloat16), b = zeros({1}, kBFloat16);
  w.requires_grad_();
  b.requires_grad_();
  linear(x, w, b).sum().backward();
  CHECK(w.grad().item<float>() == 4096);
  CHECK(b.grad().item<float>() == 4096);
  // A batch whose matrices do not follow each other evenly, so that the sum cannot become a longer k.
  Tensor left = ones({1, 1}, kHalf);
  left.requires_grad_();
  const Tensor right = ones({3000, 2, 2}, kHalf).narrow(1, 0, 1).narrow(2, 0, 1);
  matmul(left, right).sum().backward();
  CHECK(left.grad().item<float>() == 3000);
}

TEST_CASE("gradients of broadcast batches equal those of explicit ones", "[matmul]") {
  manual_seed(2);
  Tensor a = randn({4, 1, 2, 3}, kDouble), b = randn({5, 3, 2}, kDouble);
  a.requires_grad_();
  b.requires_grad_();
  const Tensor probe = randn({4, 5, 2, 2}, kDouble);
  (matmul(a, b) * probe).sum().backward();
  const Tensor a2 = a.detach().expand({4, 5, 2, 3}), b2 = b.detach().expand({4, 5, 3, 2});
  const Tensor ga = matmul(probe, b2.transpose(-1, -2)).sum({1}, true);
  const Tensor gb = matmul(a2.transpose(-1, -2), probe).sum({0});
  CHECK(a.grad().allclose(ga, 1e-12, 1e-12));
  CHECK(b.grad().allclose(gb, 1e-12, 1e-12));
}

TEST_CASE("linear is one node that keeps only what is needed", "[matmul]") {
  Tensor x = ones({4, 3}), w = ones({2, 3});
  x.requires_grad_();
  const Tensor frozen = linear(x, w);
  const auto kept = autograd::saved_tensors(frozen);
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].sizes == Dims{2, 3});
  w.requires_grad_();
  const Tensor first = linear(x.detach(), w);
  REQUIRE(autograd::saved_tensors(first).size() == 1);
  CHECK(autograd::saved_tensors(first)[0].sizes == Dims{4, 3});
}

TEST_CASE("a layer with its activation is the two operators, rounded once", "[matmul]") {
  manual_seed(11);
  for (const ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
    INFO(dtype_name(dtype));
    const double tolerance = 8 * unit_roundoff(dtype);
    const Tensor x = randn({2, 5, 6}, dtype), w = randn({8, 6}, dtype), b = randn({8}, dtype);
    const Tensor g = randn({2, 5, 8}, dtype);
    for (const bool has_bias : {true, false}) {
      const auto run = [&](auto layer) {
        const Tensor p[] = {x.clone().requires_grad_(), w.clone().requires_grad_(),
                            b.clone().requires_grad_()};
        const Tensor y = layer(p[0], p[1], has_bias ? p[2] : Tensor());
        y.backward(g);
        std::vector<Tensor> all{y.detach(), p[0].grad(), p[1].grad()};
        if (has_bias) all.push_back(p[2].grad());
        return all;
      };
      const auto check = [&](const std::vector<Tensor>& fused, const std::vector<Tensor>& composed) {
        for (std::size_t i = 0; i < fused.size(); ++i) {
          CAPTURE(i);
          CHECK(allclose(fused[i].to(kDouble), composed[i].to(kDouble), tolerance, 8 * tolerance));
        }
      };
      check(run([](auto... t) { return linear_relu(t...); }),
            run([](auto... t) { return relu(linear(t...)); }));
      check(run([](auto... t) { return linear_gelu(t...); }),
            run([](auto... t) { return gelu(linear(t...), "tanh"); }));
    }
  }
  const Tensor x = randn({3, 4}), w = randn({2, 4});
  CHECK(same_bits(linear_relu(x, w), relu(linear(x, w))));
  CHECK_THROWS_WITH(linear_gelu(x.to(kLong), w.to(kLong)), Contains("linear_gelu") && Contains("floating"));
  CHECK_THROWS_WITH(linear_relu(x, randn({2, 5})), Contains("linear_relu") && Contains("features"));

  // What GELU's gradient reads is kept only where one will be asked for.
  const auto before = autograd::saved_bytes(linear_relu(x.clone().requires_grad_(), w).sum());
  CHECK(before == autograd::saved_bytes(linear_gelu(x.clone().requires_grad_(), w).sum()));
}

TEST_CASE("weight and bias of a layer get their gradients from one product", "[matmul]") {
  manual_seed(12);
  const Tensor x = randn({4, 3, 5}, kDouble), g = randn({4, 3, 2}, kDouble);
  const Tensor w = randn({2, 5}, kDouble).requires_grad_(), b = randn({2}, kDouble).requires_grad_();
  for (const bool evenly_spaced : {true, false}) {
    const Tensor input = evenly_spaced ? x : x.transpose(0, 1), grad = evenly_spaced ? g : g.transpose(0, 1);
    w.mutable_grad() = b.mutable_grad() = Tensor();
    const Tensor y = linear(input, w, b);
    y.backward(grad);
    const Tensor rows = input.reshape({12, 5}), grad_rows = grad.reshape({12, 2});
    CHECK(allclose(w.grad(), mm(grad_rows.t(), rows), 1e-12, 1e-12));
    CHECK(allclose(b.grad(), grad_rows.sum(0), 1e-12, 1e-12));
  }
  // The same of addmm, where the weight is (in, out).
  for (const std::vector<std::int64_t>& size : {std::vector<std::int64_t>{2}, {1, 2}}) {
    const Tensor rows = x.reshape({12, 5}), grad = g.reshape({12, 2});
    const Tensor weight = randn({5, 2}, kDouble).requires_grad_(),
                 bias = randn(size, kDouble).requires_grad_();
    addmm(bias, rows, weight).backward(grad);
    CHECK(weight.grad().is_contiguous());
    CHECK(allclose(weight.grad(), mm(rows.t(), grad), 1e-12, 1e-12));
    CHECK(allclose(bias.grad(), grad.sum(0).view(size), 1e-12, 1e-12));
  }
}

TEST_CASE("dtypes that differ are refused outside a region, and meet inside", "[matmul]") {
  const Tensor a = ones({2, 2}), b = ones({2, 2}, kHalf);
  CHECK_THROWS_WITH(mm(a, b), Contains("float32[2, 2]") && Contains("float16[2, 2]") && Contains(".to()") &&
                                  Contains("Autocast"));
  CHECK_THROWS_AS(linear(a, a, ones({2}, kHalf)), Error);
  {
    const amp::Autocast autocast(device_type(), kBFloat16);
    CHECK(mm(a, b).scalar_type() == kBFloat16);
    CHECK(matmul(a, b).scalar_type() == kBFloat16);
    CHECK(dot(ones({2}), ones({2}, kHalf)).scalar_type() == kFloat);
    {
      const amp::PolicyOverride keep("mm", amp::Precision::kFp32);
      CHECK(mm(a, b).scalar_type() == kFloat);
      CHECK(mm(b, b).scalar_type() == kFloat);
      CHECK(matmul(a, b).scalar_type() == kBFloat16);
    }
    const amp::Autocast off(device_type(), kBFloat16, false);
    CHECK_THROWS_AS(mm(a, b), Error);
  }
  CHECK_THROWS_AS(mm(a, b), Error);
}

TEST_CASE("a product overridden to fp32 has right gradients for half operands", "[matmul]") {
  Tensor a = matrix({1, 2, 3, 4}, {2, 2}, kHalf), b = matrix({1, 0, 0, 1}, {2, 2}, kHalf);
  a.requires_grad_();
  Tensor y;
  {
    const amp::Autocast autocast(device_type(), kHalf);
    const amp::PolicyOverride keep("mm", amp::Precision::kFp32);
    y = mm(a, b);
  }
  REQUIRE(y.scalar_type() == kFloat);
  y.sum().backward();
  CHECK(a.grad().scalar_type() == kHalf);
  CHECK(values_of(a.grad()) == V{1, 1, 1, 1});
}

TEST_CASE("alpha and beta are applied before the only rounding", "[matmul]") {
  // 300 * 300 overflows float16; a tenth of it does not.
  const Tensor a = full({1, 1}, 300, kHalf);
  CHECK(addmm(zeros({1, 1}, kHalf), a, a, 1, 0.1).item<float>() == Approx(9000).margin(4));
  Tensor bias = ones({1}, kBFloat16);
  bias.requires_grad_();
  addmm(bias, ones({512, 1}, kBFloat16), ones({1, 1}, kBFloat16), 3, 1).sum().backward();
  CHECK(bias.grad().item<float>() == 1536);
}

TEST_CASE("wrong shapes are refused by name", "[matmul]") {
  const Tensor a = ones({2, 3});
  CHECK_THROWS_WITH(mm(a, a), Contains("mm") && Contains("3 and 2"));
  CHECK_THROWS_WITH(mm(a, ones({3})), Contains("mat2") && Contains("2 dimensions"));
  CHECK_THROWS_WITH(bmm(ones({2, 1, 1}), ones({3, 1, 1})), Contains("batch sizes"));
  CHECK_THROWS_WITH(matmul(ones({2, 1, 3}), ones({5, 3, 1})), Contains("matmul"));
  CHECK_THROWS_WITH(matmul(ones({}), a), Contains("one dimension"));
  CHECK_THROWS_WITH(linear(a, ones({2, 4})), Contains("features"));
  CHECK_THROWS_WITH(linear(a, ones({2, 3}), ones({3})), Contains("bias"));
  CHECK_THROWS_WITH(addmm(ones({3}), a, ones({3, 2})), Contains("broadcast"));
  CHECK_THROWS_WITH(mm(ones({2, 2}, kBool), ones({2, 2}, kBool)), Contains("bool"));
  CHECK_THROWS_WITH(mm(Tensor(), a), Contains("mm") && Contains("self"));
  CHECK_THROWS_WITH(linear(a, Tensor()), Contains("linear") && Contains("weight"));
}

TEST_CASE("products and their gradients do not depend on the number of threads", "[matmul]") {
  manual_seed(3);
  const int threads = get_num_threads();
  const Tensor x = randn({3, 70, 40}), w = randn({50, 40});
  std::vector<Tensor> first;
  for (int count : {1, 2, 4}) {
    set_num_threads(count);
    Tensor a = x.clone(), b = w.clone();
    a.requires_grad_();
    b.requires_grad_();
    const Tensor y = linear(a, b);
    y.square().sum().backward();
    const std::vector<Tensor> got = {y.detach(), a.grad(), b.grad()};
    if (first.empty()) first = got;
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(same_bits(got[i], first[i]));
  }
  set_num_threads(threads);
}
