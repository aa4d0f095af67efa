// Attention against its definition in fp64: several blocks of rows, masks, broadcasting, dropout, half
// dtypes.

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "halftone/amp/autocast.h"
#include "halftone/autograd/autograd.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/engine/threads.h"
#include "halftone/tests/support/kernel_tensors.h"
#include "halftone/tests/support/samples.h"

using namespace halftone;
using Catch::Matchers::Contains;
using halftone::test::same_bits;
using halftone::test::value_at;

namespace {

/// Of one matrix each, in fp64. `bias` (L, S) is added to the scores, or undefined.
Tensor reference(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias, double scale) {
  Tensor scores = matmul(q, k.transpose(-2, -1)) * scale;
  if (bias.defined()) scores = scores + bias;
  return matmul(softmax(scores, -1), v);
}

double largest_difference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  double worst = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i)
    worst = std::max(worst, std::abs(value_at(a, i) - value_at(b, i)));
  return worst;
}

Tensor causal_bias(std::int64_t l, std::int64_t s) {
  const Tensor hidden = logical_not(tril(ones({l, s}, kBool)));
  return masked_fill(zeros({l, s}, kDouble), hidden, -std::numeric_limits<double>::infinity());
}

}  // namespace

TEST_CASE("attention by hand", "[attention]") {
  const Tensor q = zeros({1, 2}), k = ones({2, 2});
  const Tensor v = tensor({{1.0f}, {3.0f}});
  CHECK(value_at(scaled_dot_product_attention(q, k, v, {}), 0) == 2);
  CHECK(value_at(scaled_dot_product_attention(q, k, v, {}, 0, true), 0) == 1);  // query 0 sees key 0
  const Tensor keep = tensor({{false, true}});
  CHECK(value_at(scaled_dot_product_attention(q, k, v, keep), 0) == 3);
}

TEST_CASE("attention and its gradients meet the definition over several blocks of rows", "[attention]") {
  for (const cpu::Isa isa : testing::isa_levels()) {
    const testing::IsaGuard guard(isa);
    for (const bool causal : {false, true}) {
      manual_seed(1);
      std::vector<Tensor> fast = {randn({2, 150, 20}), randn({2, 131, 20}), randn({2, 131, 9})}, exact;
      for (const Tensor& t : fast) {
        exact.push_back(t.to(kDouble).requires_grad_());
        t.requires_grad_();
      }
      const Tensor weight = randn({2, 150, 9});
      const Tensor y = scaled_dot_product_attention(fast[0], fast[1], fast[2], {}, 0, causal);
      const Tensor z = reference(exact[0], exact[1], exact[2], causal ? causal_bias(150, 131) : Tensor(),
                                 1 / std::sqrt(20.0));
      CHECK(largest_difference(y, z) < 2e-6);
      (y * weight).sum().backward();
      (z * weight.to(kDouble)).sum().backward();
      for (std::size_t i = 0; i < 3; ++i) CHECK(largest_difference(fast[i].grad(), exact[i].grad()) < 2e-5);
    }
  }
}

TEST_CASE("scores of half operands are not rounded to half", "[attention]") {
  manual_seed(2);
  for (ScalarType dtype : {kHalf, kBFloat16}) {
    const Tensor q = (randn({3, 70, 16}) * 3).to(dtype), k = (randn({3, 80, 16}) * 3).to(dtype);
    const Tensor v = randn({3, 80, 8}).to(dtype);
    const Tensor y = scaled_dot_product_attention(q, k, v, {});
    CHECK(y.scalar_type() == dtype);
    const Tensor exact = reference(q.to(kDouble), k.to(kDouble), v.to(kDouble), {}, 0.25);
    for (std::int64_t i = 0; i < y.numel(); ++i) {
      const double e = value_at(exact, i);
      CHECK(std::abs(value_at(y, i) - e) <= unit_roundoff(dtype) * std::abs(e) * 1.01 + 2e-5);
    }
  }
}

TEST_CASE("masks broadcast; additive and bool ones agree", "[attention]") {
  manual_seed(3);
  const Tensor q = randn({2, 3, 5, 4}), k = randn({3, 7, 4}), v = randn({2, 1, 7, 6});
  const Tensor keep = gt(rand({5, 7}), 0.4);
  const Tensor bias = masked_fill(zeros({5, 7}), logical_not(keep), -std::numeric_limits<double>::infinity());
  const Tensor y = scaled_dot_product_attention(q, k, v, keep);
  CHECK(y.sizes() == IntArrayRef({2, 3, 5, 6}));
  CHECK(same_bits(y, scaled_dot_product_attention(q, k, v, bias)));
  CHECK(same_bits(y, scaled_dot_product_attention(q, k, v, keep.expand({2, 3, 5, 7}).clone())));
  CHECK(
      same_bits(y, scaled_dot_product_attention(q.transpose(-2, -1).clone().transpose(-2, -1), k, v, keep)));
}

TEST_CASE("a row that sees nothing gives zeros and no gradient", "[attention]") {
  for (ScalarType dtype : {kFloat, kHalf, kBFloat16}) {
    manual_seed(4);
    const Tensor q = randn({3, 4}).to(dtype), k = randn({5, 4}).to(dtype), v = randn({5, 2}).to(dtype);
    for (const Tensor& t : {q, k, v}) t.requires_grad_();
    Tensor keep = ones({3, 5}, kBool);
    keep.select(0, 1).fill_(false);
    const Tensor y = scaled_dot_product_attention(q, k, v, keep);
    CHECK(value_at(y, 2) == 0);
    CHECK(value_at(y, 3) == 0);
    y.to(kFloat).sum().backward();
    for (std::int64_t i = 0; i < 4; ++i) CHECK(value_at(q.grad(), 4 + i) == 0);
    for (std::int64_t i = 0; i < k.numel(); ++i) CHECK(std::isfinite(value_at(k.grad(), i)));
  }
}

TEST_CASE("dropout of attention weights keeps the mean and repeats with its seed", "[attention]") {
  const Tensor q = zeros({200, 2}), k = zeros({100, 2}), v = ones({100, 1}).requires_grad_();
  manual_seed(5);
  const Tensor y = scaled_dot_product_attention(q, k, v, {}, 0.25);
  CHECK(y.mean().item<float>() == Approx(1).epsilon(0.02));
  CHECK_FALSE(same_bits(y, scaled_dot_product_attention(q, k, v, {}, 0.25)));
  manual_seed(5);
  const Tensor again = scaled_dot_product_attention(q, k, v, {}, 0.25);
  CHECK(same_bits(y, again));
  // Linear in v: the gradient drops the same weights.
  y.sum().backward();
  CHECK(v.grad().sum().item<float>() == Approx(y.sum().item<float>()).epsilon(1e-5));
  CHECK(value_at(scaled_dot_product_attention(q, k, v, {}, 1.0), 0) == 0);
}

TEST_CASE("attention is the same for any number of threads", "[attention]") {
  const int before = get_num_threads();
  const auto run = [](int threads) {
    set_num_threads(threads);
    manual_seed(6);
    const Tensor q = randn({3, 130, 16}).requires_grad_(), k = randn({3, 130, 16}).requires_grad_();
    const Tensor v = randn({3, 130, 16}).requires_grad_();
    const Tensor y = scaled_dot_product_attention(q, k, v, {}, 0.1, true);
    y.square().sum().backward();
    return std::vector<Tensor>{y.detach(), q.grad(), k.grad(), v.grad()};
  };
  const std::vector<Tensor> alone = run(1), three = run(3);
  set_num_threads(before);
  for (std::size_t i = 0; i < alone.size(); ++i) CHECK(same_bits(alone[i], three[i]));
}

TEST_CASE("attention keeps its operands for backward, and nothing of the size of the scores", "[attention]") {
  const Tensor q = ones({1, 90, 4}).requires_grad_(), k = ones({1, 80, 4}), v = ones({1, 80, 4});
  const Tensor y = scaled_dot_product_attention(q, k, v, {});
  for (const autograd::SavedInfo& saved : autograd::saved_tensors(y))
    CHECK(count_elements(saved.sizes) <= 90 * 4);
}

TEST_CASE("attention without keys, queries or features", "[attention]") {
  CHECK(value_at(scaled_dot_product_attention(ones({2, 3}), ones({0, 3}), ones({0, 4}), {}), 7) == 0);
  CHECK(scaled_dot_product_attention(ones({0, 3}), ones({2, 3}), ones({2, 4}), {}).numel() == 0);
  CHECK(value_at(scaled_dot_product_attention(ones({2, 0}), ones({5, 0}), ones({5, 1}), {}), 0) == Approx(1));
}

TEST_CASE("attention runs in the autocast dtype and refuses what does not fit", "[attention]") {
  const Tensor q = ones({2, 3}), k = ones({4, 3}), v = ones({4, 5});
  {
    const amp::Autocast autocast(test::device_type(), kBFloat16);
    CHECK(scaled_dot_product_attention(q, k, v, {}).scalar_type() == kBFloat16);
  }
  const std::string name = "scaled_dot_product_attention";
  CHECK_THROWS_WITH(scaled_dot_product_attention(q, k.to(kHalf), v, {}),
                    Contains(name) && Contains("float16"));
  CHECK_THROWS_WITH(scaled_dot_product_attention(q, ones({4, 2}), v, {}),
                    Contains(name) && Contains("[4, 2]"));
  CHECK_THROWS_WITH(scaled_dot_product_attention(q, k, ones({3, 5}), {}), Contains("number of keys"));
  CHECK_THROWS_WITH(scaled_dot_product_attention(q, k, v, ones({3, 4}, kBool)), Contains(name));
  CHECK_THROWS_WITH(scaled_dot_product_attention(q, k, v, ones({2, 4}, kLong)), Contains("attn_mask"));
  CHECK_THROWS_WITH(scaled_dot_product_attention(q, k, v, ones({2, 4}), 0, true), Contains("exclude"));
  CHECK_THROWS_WITH(scaled_dot_product_attention(q, k, v, {}, 1.5), Contains("dropout_p"));
}
