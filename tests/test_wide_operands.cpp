// Functions composed of operators, given half operands: they compute what their fp32 copies would give,
// rounded once, and neither make nor keep such copies.

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <unordered_set>

#include "halftone/halftone.h"
#include "halftone/ops/wide.h"
#include "halftone/tests/support/device.h"
#include "halftone/tests/support/samples.h"

using namespace halftone;
using test::same_bits;

namespace {

using Tensors = std::vector<Tensor>;

struct Composed {
  const char* name;
  Tensors operands;  ///< fp32, of numbers that are half numbers
  std::function<Tensor(const Tensors&)> call;
  bool rounds_once = true;  ///< gradients too: embedding's are sums of rows that are half already
};

constexpr std::int64_t kRows = 5, kColumns = 33;

/// Between low and high, exact in float16 and bfloat16.
Tensor numbers(IntArrayRef sizes, double low, double high) {
  return ((rand(sizes) * (high - low) + low) * 16).round() / 16;
}

std::vector<Composed> all_composed() {
  manual_seed(3);
  const Tensor a = numbers({kRows, kColumns}, -2, 2), b = numbers({kRows, kColumns}, -2, 2),
               c = numbers({kRows, kColumns}, -2, 2);
  const Tensor positive = numbers({kRows, kColumns}, 0.25, 3), row = numbers({kColumns}, 0.25, 3);
  const Tensor signs = sign(b + 0.03125), row_signs = select(signs, 1, 0);
  const Tensor labels = randint(kColumns, {kRows}, kLong), many = randint(kColumns, {kRows, kColumns}, kLong);
  const Tensor first_labels = where(lt(arange(kColumns), 4), many, -1), hot = gt(b, 0);
  const Tensor index = randint(kRows, {12}, kLong), offsets = tensor({0, 4, 4, 9});
  const auto bag = [=](const Tensors& x, std::int64_t mode, const Tensor& weights = {}) {
    return std::get<0>(embedding_bag(x[0], index, offsets, false, mode, false, weights));
  };
  return {
      {"dist", {a, b}, [](const Tensors& x) { return dist(x[0], x[1]); }},
      {"cdist", {a, b}, [](const Tensors& x) { return cdist(x[0], x[1]); }},
      {"pdist", {a}, [](const Tensors& x) { return pdist(x[0]); }},
      {"pairwise_distance", {a, b}, [](const Tensors& x) { return pairwise_distance(x[0], x[1]); }},
      {"pairwise_distance",
       {a, b},
       [](const Tensors& x) { return pairwise_distance(x[0], x[1], 3, 1e-6, true); }},
      {"cosine_similarity", {a, b}, [](const Tensors& x) { return cosine_similarity(x[0], x[1]); }},
      {"cosine_similarity", {a, row}, [](const Tensors& x) { return cosine_similarity(x[0], x[1], 0); }},
      {"cosine_embedding_loss",
       {a, b},
       [=](const Tensors& x) { return cosine_embedding_loss(x[0], x[1], row_signs, 0.1); }},
      {"triplet_margin_loss",
       {a, b, c},
       [](const Tensors& x) { return triplet_margin_loss(x[0], x[1], x[2], 1.0, 2, 1e-6, /*swap=*/true); }},
      {"hinge_embedding_loss", {a}, [=](const Tensors& x) { return hinge_embedding_loss(x[0], signs); }},
      {"margin_ranking_loss",
       {a, b},
       [=](const Tensors& x) { return margin_ranking_loss(x[0], x[1], signs.to(x[0].scalar_type()), 0.5); }},
      {"multi_margin_loss", {a}, [=](const Tensors& x) { return multi_margin_loss(x[0], labels); }},
      {"multi_margin_loss",
       {a, row},
       [=](const Tensors& x) { return multi_margin_loss(x[0], labels, 2, 0.75, x[1]); }},
      {"multilabel_margin_loss",
       {a},
       [=](const Tensors& x) { return multilabel_margin_loss(x[0], first_labels); }},
      {"multilabel_soft_margin_loss",
       {a, positive, row},
       [](const Tensors& x) { return multilabel_soft_margin_loss(x[0], x[1], x[2]); }},
      {"multilabel_soft_margin_loss",
       {a},
       [=](const Tensors& x) { return multilabel_soft_margin_loss(x[0], hot); }},
      {"soft_margin_loss", {a, b}, [](const Tensors& x) { return soft_margin_loss(x[0], x[1]); }},
      {"poisson_nll_loss",
       {a, positive},
       [](const Tensors& x) { return poisson_nll_loss(x[0], x[1], true, false, 1e-8, Reduction::Mean); }},
      {"poisson_nll_loss",
       {positive},
       [=](const Tensors& x) {
         return poisson_nll_loss(x[0], many + 3000, false, false, 1e-8, Reduction::None);
       }},
      {"poisson_nll_loss",
       {positive, row},
       [](const Tensors& x) {
         return poisson_nll_loss(x[0], x[1], false, /*full=*/true, 1e-8, Reduction::Mean);
       }},
      {"_weight_norm",
       {a, narrow(positive, 1, 0, 1)},
       [](const Tensors& x) { return _weight_norm(x[0], x[1]); }},
      {"logit", {positive / 4}, [](const Tensors& x) { return logit(x[0]); }},
      {"logit", {positive / 4}, [](const Tensors& x) { return logit(x[0], 0.25); }},
      {"renorm", {a}, [](const Tensors& x) { return renorm(x[0], 2, 0, 5); }},
      {"nanmean", {a}, [](const Tensors& x) { return nanmean(x[0], 1); }},
      {"embedding_bag", {a}, [=](const Tensors& x) { return bag(x, 0); }},
      {"embedding_bag", {a}, [=](const Tensors& x) { return bag(x, 1); }, false},
      {"embedding_bag", {a}, [=](const Tensors& x) { return bag(x, 2); }},
      {"embedding_bag",
       {a, numbers({12}, 0.25, 2)},
       [=](const Tensors& x) { return bag(x, 0, x[1]); },
       false},
      {"local_response_norm",
       {unsqueeze(a, 0)},
       [](const Tensors& x) {
         return nn::functional::local_response_norm(x[0], nn::LocalResponseNormOptions(3));
       }},
      {"norm", {a}, [](const Tensors& x) { return norm(x[0], 2, 1, false, kFloat); }},
      {"linalg_vector_norm",
       {a},
       [](const Tensors& x) { return linalg_vector_norm(x[0], 3, {}, false, kFloat); }},
  };
}

Tensors leaves(const Tensors& values, ScalarType dtype) {
  Tensors leaves;
  for (const Tensor& value : values)
    leaves.push_back(value.detach().to(dtype, false, true).set_requires_grad(true));
  return leaves;
}

/// Every tensor kept for the backward of `output`.
Tensors kept_for(const Tensor& output) {
  Tensors kept;
  std::vector<const autograd::Node*> nodes{autograd::grad_fn(output)};
  std::unordered_set<const autograd::Node*> seen(nodes.begin(), nodes.end());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i]->visit_saved([&](const Tensor& tensor) { kept.push_back(tensor); });
    for (const autograd::Edge& edge : nodes[i]->next_edges()) {
      if (edge && seen.insert(edge.node.get()).second) nodes.push_back(edge.node.get());
    }
  }
  return kept;
}

bool is_copy(const Tensor& kept, const Tensor& operand) {
  if (kept.scalar_type() != kFloat || kept.numel() != operand.numel()) return false;
  const Tensor values = operand.detach().to(kFloat).flatten(), found = kept.detach().flatten();
  return equal(found, values) || equal(found, -values);
}

/// Bytes kept for backward per element of the first operand. The operands are no leaves: those are there
/// anyway.
double kept_per_element(const Composed& f, ScalarType dtype) {
  Tensors x = leaves(f.operands, dtype);
  for (Tensor& operand : x) operand = operand.clone();
  const amp::Autocast autocast(test::device_type(), dtype);
  return static_cast<double>(autograd::saved_bytes(f.call(x))) / static_cast<double>(x[0].numel());
}

}  // namespace

TEST_CASE("half operands give what their fp32 copies give, rounded once", "[composed]") {
  for (const Composed& f : all_composed()) {
    for (const ScalarType dtype : {kHalf, kBFloat16}) {
      INFO(f.name << " of " << dtype_name(dtype));
      const Tensors half = leaves(f.operands, dtype), full = leaves(f.operands, kFloat);
      const Tensor expected = f.call(full), outside = f.call(half);
      CHECK(same_bits(outside.detach(), expected.detach().to(outside.scalar_type())));
      Tensor inside;
      {
        const amp::Autocast autocast(test::device_type(), dtype);
        inside = f.call(half);
      }
      CHECK(same_bits(inside.detach(), expected.detach().to(inside.scalar_type())));
      if (!f.rounds_once) continue;
      const Tensor weights = numbers(inside.sizes(), 1, 2);
      (inside * weights).sum().backward();
      (expected * weights).sum().backward();
      for (std::size_t i = 0; i < half.size(); ++i) {
        INFO("gradient " << i);
        CHECK(same_bits(half[i].grad(), full[i].grad().to(dtype)));
      }
    }
  }
}

TEST_CASE("no fp32 copy of a half operand is kept for backward", "[composed]") {
  for (const Composed& f : all_composed()) {
    for (const ScalarType dtype : {kHalf, kBFloat16}) {
      for (const bool autocast : {false, true}) {
        INFO(f.name << " of " << dtype_name(dtype) << (autocast ? " under autocast" : ""));
        const Tensors x = leaves(f.operands, dtype);
        const amp::Autocast region(test::device_type(), dtype, autocast);
        const Tensor output = f.call(x);
        for (const Tensor& kept : kept_for(output)) {
          for (const Tensor& operand : x) CHECK_FALSE(is_copy(kept, operand));
        }
      }
    }
  }
}

TEST_CASE("what half operands keep for backward", "[composed]") {
  // Bytes per element of one operand: 2 for a half one, 1 for a mask, 4 for an fp32 value that is no operand.
  const std::map<std::string, double> most{{"cosine_similarity", 4},
                                           {"cosine_embedding_loss", 4.6},
                                           {"hinge_embedding_loss", 3},
                                           {"soft_margin_loss", 4},
                                           {"margin_ranking_loss", 3},
                                           {"pairwise_distance", 4.2},
                                           {"dist", 4.1},
                                           {"_weight_norm", 2.5},
                                           {"logit", 2},
                                           {"norm", 2.2}};
  for (const Composed& f : all_composed()) {
    const auto bound = most.find(f.name);
    if (bound == most.end()) continue;
    INFO(f.name);
    CHECK(kept_per_element(f, kHalf) <= bound->second);
    CHECK(kept_per_element(f, kBFloat16) <= bound->second);
  }
}

TEST_CASE("a half operand that is written before backward is noticed", "[composed]") {
  for (const Composed& f : all_composed()) {
    INFO(f.name);
    const Tensors x = leaves(f.operands, kHalf), untouched = leaves(f.operands, kHalf);
    const Tensor output = f.call(x);
    f.call(untouched).sum().backward();
    {
      const NoGradGuard no_grad;
      for (const Tensor& operand : x) Tensor(operand).add_(1);
    }
    try {
      output.sum().backward();
      for (std::size_t i = 0; i < x.size(); ++i) CHECK(same_bits(x[i].grad(), untouched[i].grad()));
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find("written in place") != std::string::npos);
    }
  }
}

TEST_CASE("distances of half tensors make no fp32 copy of them", "[composed]") {
  const Tensor x = rand({256, 1024}, kHalf), y = rand({256, 1024}, kHalf);
  const auto peak = [&](const auto& compute) {
    empty_cache();
    reset_peak_memory_stats(x.device());
    const std::size_t before = memory_stats(x.device()).allocated;
    const Tensor result = compute();
    return static_cast<double>(memory_stats(x.device()).peak - before) / static_cast<double>(x.numel());
  };
  CHECK(peak([&] { return dist(x, y); }) < 5);  // the fp32 difference
  CHECK(peak([&] { return pairwise_distance(x, y); }) < 9);
  CHECK(peak([&] { return norm(x, 2, 1, false, kFloat); }) < 1);
}

TEST_CASE("gradients of gradients pass through half operands", "[composed]") {
  for (const Composed& f : all_composed()) {
    INFO(f.name);
    const auto penalty = [&](ScalarType dtype) {
      const Tensors x = leaves(f.operands, dtype);
      const Tensor first =
          autograd::grad({f.call(x).to(kFloat).sum()}, {x[0]}, {}, {}, /*create_graph=*/true)[0];
      const Tensor loss = first.to(kFloat).square().sum();
      if (!loss.requires_grad()) return zeros_like(x[0]).to(kFloat);
      loss.backward();
      return (x[0].grad().defined() ? x[0].grad() : zeros_like(x[0])).to(kFloat);
    };
    const Tensor expected = penalty(kFloat), got = penalty(kBFloat16);
    CHECK(allclose(got, expected, 0.05, 0.05 * expected.abs().max().item<double>() + 1e-3));
  }
}

TEST_CASE("operators in a function that computes in fp32 give fp32, and only there", "[composed]") {
  const Tensor x = rand({4}, kHalf);
  {
    const ops::WideResults wide;
    CHECK((x + x).scalar_type() == kFloat);
    CHECK(x.square().scalar_type() == kFloat);
    CHECK(x.exp().scalar_type() == kFloat);
    CHECK(neg(x).scalar_type() == kHalf);  // does not round
    CHECK(x.to(kBFloat16).scalar_type() == kBFloat16);
    CHECK((x.to(kDouble) + x).scalar_type() == kDouble);
    const ops::WideResults inner(false);
    CHECK((x + x).scalar_type() == kFloat);
  }
  CHECK((x + x).scalar_type() == kHalf);
}

TEST_CASE("the fused ones have policies of their own, composed ones those of their operators", "[composed]") {
  const Tensor x = rand({3, 4}, kHalf), y = rand({3, 4}, kHalf);
  const amp::Autocast autocast(test::device_type(), kHalf);
  CHECK(cosine_similarity(x, y).scalar_type() == kFloat);
  CHECK(dist(x, y).scalar_type() == kFloat);
  {
    const amp::PolicyOverride keep("cosine_similarity", amp::Precision::kFp32Inside);
    CHECK(cosine_similarity(x, y).scalar_type() == kHalf);
  }
  const amp::PolicyOverride logits("logit", amp::Precision::kFp32);
  CHECK(logit(x).scalar_type() == kFloat);
  CHECK_THROWS_AS(amp::PolicyOverride("dist", amp::Precision::kLow), Error);
  // In half: leave the region, and the result has the operands' dtype.
  const amp::Autocast off(test::device_type(), /*enabled=*/false);
  CHECK(dist(x, y).scalar_type() == kHalf);
}

TEST_CASE("logit moves into its bounds and keeps NaN", "[composed]") {
  const Tensor x = tensor({0.0, 0.125, 0.5, 0.875, 1.0, std::nan("")}).set_requires_grad(true);
  const Tensor y = logit(x, 0.25);
  const double bound = std::log(3.0);
  CHECK(
      allclose(y, tensor({-bound, -bound, 0.0, bound, bound, std::nan("")}), 1e-6, 1e-7, /*equal_nan=*/true));
  y.sum().backward();
  CHECK(allclose(x.grad(), tensor({0.0, 0.0, 4.0, 0.0, 0.0, std::nan("")}), 1e-6, 1e-7, true));
  CHECK(logit(tensor({0, 1})).scalar_type() == kFloat);
  CHECK(std::isinf(logit(tensor({1.0})).item<double>()));
  const Tensor outside = tensor({-0.1, 1.2}).set_requires_grad(true);
  logit(outside).sum().backward();
  CHECK(outside.grad().isnan().all().item<bool>());
  CHECK(allclose(logit(tensor({0.1, 1.0}), 0.7), tensor({0.7, 0.7}).logit()));
  Tensor half = tensor({0.25, 0.75}).to(kHalf);
  CHECK(half.logit_().is_same(half));
  CHECK(same_bits(half, tensor({-std::log(3.0), std::log(3.0)}).to(kHalf)));
}

TEST_CASE("a float64 operand makes all of a composed function float64", "[composed]") {
  const Tensor a = tensor({{0.3, -1.7, 0.9}}).to(kHalf), p = tensor({{0.1, 0.2, 0.3}}),
               n = tensor({{1.0, -1.0, 2.0}});
  const Tensor mixed = triplet_margin_loss(a, p.to(kDouble), n.to(kDouble));
  CHECK(equal(mixed, triplet_margin_loss(a.to(kDouble), p.to(kDouble), n.to(kDouble))));
  CHECK(mixed.scalar_type() == kDouble);
  const Tensor weighted = multilabel_soft_margin_loss(a, (p > 0.15).to(kDouble), {}, Reduction::Mean);
  CHECK(equal(weighted,
              multilabel_soft_margin_loss(a.to(kDouble), (p > 0.15).to(kDouble), {}, Reduction::Mean)));
}

TEST_CASE("normalize has the range and the precision of fp32 inside", "[composed]") {
  namespace F = nn::functional;
  const Tensor large = full({1, 4}, 6e4, kHalf), none = zeros({1, 4}, kHalf);
  CHECK(equal(F::normalize(large), full({1, 4}, 0.5, kHalf)));
  CHECK(equal(F::normalize(none), none));
}
