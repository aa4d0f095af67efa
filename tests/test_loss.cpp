// Losses: values from closed forms, PyTorch's conventions for reductions, weights and ignored rows, extremes.

#include <cmath>
#include <limits>

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

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor tensor_of(const std::vector<double>& values, const std::vector<std::int64_t>& sizes,
                 ScalarType dtype = kFloat) {
  return tensor(values, dtype).view(sizes);
}

Tensor labels_of(const std::vector<std::int64_t>& values) { return tensor(values); }

double item(const Tensor& t) { return t.item<double>(); }

/// Cross entropy as PyTorch composes it, in float64.
Tensor composed(const Tensor& x, const Tensor& target, const Tensor& weight, double smoothing) {
  const Tensor y = log_softmax(x.to(kDouble), 1), t = one_hot(target, x.size(1)).to(kDouble);
  const Tensor q = (t * (1 - smoothing) + smoothing / static_cast<double>(x.size(1))) * weight.to(kDouble);
  return -(q * y).sum() / (t * weight.to(kDouble)).sum();
}

}  // namespace

TEST_CASE("cross entropy in closed form", "[loss]") {
  for (ScalarType dtype : {kFloat, kHalf, kBFloat16, kDouble}) {
    INFO(dtype_name(dtype));
    const double tolerance = dtype == kDouble ? 1e-14 : 1e-6;
    CHECK(item(cross_entropy_loss(tensor_of({0, 20}, {1, 2}, dtype), labels_of({0}), {})) ==
          Approx(20).epsilon(dtype == kDouble ? 1e-9 : 0));
    if (is_low_precision(dtype)) continue;
    const Tensor uniform = zeros({3, 4}, dtype);
    CHECK(item(cross_entropy_loss(uniform, labels_of({0, 1, 3}), {})) ==
          Approx(std::log(4.0)).epsilon(tolerance));
    CHECK(item(cross_entropy_loss(uniform, labels_of({0, 1, 3}), {}, Reduction::Sum)) ==
          Approx(3 * std::log(4.0)).epsilon(tolerance));
    CHECK(item(cross_entropy_loss(uniform[0], labels_of({2})[0], {})) ==
          Approx(std::log(4.0)).epsilon(tolerance));
  }
  // A confident row keeps its small loss: log(1 + e^-20), which 1 - p in fp32 would lose.
  CHECK(item(cross_entropy_loss(tensor_of({0, 20}, {1, 2}), labels_of({1}), {})) ==
        Approx(2.0611536e-9).epsilon(1e-6));
  // Any shift of the scores is harmless.
  CHECK(item(cross_entropy_loss(tensor_of({1e6, 1e6}, {1, 2}), labels_of({1}), {})) ==
        Approx(std::log(2.0)).epsilon(1e-6));
}

TEST_CASE("cross entropy's gradient is p - target, also where p is almost 1", "[loss]") {
  Tensor x = tensor_of({0, std::log(3.0)}, {1, 2});
  x.requires_grad_();
  cross_entropy_loss(x, labels_of({0}), {}).backward();
  CHECK(value_at(x.grad(), 0) == Approx(-0.75).epsilon(1e-6));
  CHECK(value_at(x.grad(), 1) == Approx(0.75).epsilon(1e-6));
  Tensor confident = tensor_of({0, 20}, {1, 2});
  confident.requires_grad_();
  cross_entropy_loss(confident, labels_of({1}), {}).backward();
  CHECK(value_at(confident.grad(), 0) == Approx(2.0611536e-9).epsilon(1e-6));
  CHECK(value_at(confident.grad(), 1) == Approx(-2.0611536e-9).epsilon(1e-6));
  // Huge scores: no error from a rounded logarithm of the sum.
  Tensor large = tensor_of({1e6, 1e6 + 1}, {1, 2});
  large.requires_grad_();
  cross_entropy_loss(large, labels_of({0}), {}).backward();
  CHECK(value_at(large.grad(), 1) == Approx(1 / (1 + std::exp(-1.0))).epsilon(1e-6));
}

TEST_CASE("class weights, ignored rows and smoothing follow PyTorch", "[loss]") {
  manual_seed(7);
  const Tensor x = randn({5, 4}), weight = tensor_of({1, 2, 0.5, 4}, {4});
  const Tensor target = labels_of({0, 3, 1, 2, 3});
  for (double smoothing : {0.0, 0.1, 1.0}) {
    CHECK(item(cross_entropy_loss(x, target, weight, Reduction::Mean, -100, smoothing)) ==
          Approx(item(composed(x, target, weight, smoothing))).epsilon(1e-6));
  }
  // An ignored row is as if it were not there, and is not read.
  Tensor poisoned = x.clone();
  poisoned[1].fill_(std::numeric_limits<double>::quiet_NaN());
  poisoned.requires_grad_();
  const Tensor with =
      cross_entropy_loss(poisoned, labels_of({0, -100, 1, 2, 3}), weight, Reduction::Mean, -100, 0.1);
  const Tensor rest = cat({x.narrow(0, 0, 1), x.narrow(0, 2, 3)});
  CHECK(item(with) == Approx(item(composed(rest, labels_of({0, 1, 2, 3}), weight, 0.1))).epsilon(1e-6));
  with.backward();
  for (std::int64_t c = 0; c < 4; ++c) CHECK(value_at(poisoned.grad(), 4 + c) == 0);
  // No valid row at all.
  CHECK(std::isnan(item(cross_entropy_loss(x, labels_of({1, 1, 1, 1, 1}), {}, Reduction::Mean, 1))));
  CHECK(item(cross_entropy_loss(x, labels_of({1, 1, 1, 1, 1}), {}, Reduction::Sum, 1)) == 0);
  const Tensor each = cross_entropy_loss(x, labels_of({1, 0, 1, 2, 3}), {}, Reduction::None, 1);
  CHECK(each.sizes() == IntArrayRef({5}));
  CHECK(value_at(each, 0) == 0);
}

TEST_CASE("a target of probabilities is the index target where it is one-hot", "[loss]") {
  manual_seed(8);
  const Tensor x = randn({3, 4, 2}), target = randint(0, 4, {3, 2});
  const Tensor hot = one_hot(target, 4).to(kFloat).permute({0, 2, 1});
  for (auto reduction : {Reduction::Mean, Reduction::Sum}) {
    CHECK(item(cross_entropy_loss(x, hot, {}, reduction)) ==
          Approx(item(cross_entropy_loss(x, target, {}, reduction))).epsilon(1e-6));
  }
  // A class of probability 0 may have score -inf.
  CHECK(item(cross_entropy_loss(tensor_of({-kInf, 0, 0}, {1, 3}), tensor_of({0, 1, 0}, {1, 3}), {})) ==
        Approx(std::log(2.0)).epsilon(1e-6));
}

TEST_CASE("half scores: fp32 loss under autocast, kept as they are, one rounding of the gradient", "[loss]") {
  manual_seed(9);
  Tensor leaf = randn({6, 10});
  leaf.requires_grad_();
  const Tensor x = leaf.to(kBFloat16);
  x.retain_grad();
  const Tensor target = randint(0, 10, {6});
  Tensor loss;
  {
    const amp::Autocast autocast(device_type(), kBFloat16);
    loss = cross_entropy_loss(x, target, {});
  }
  CHECK(loss.scalar_type() == kFloat);
  std::int64_t bytes = 0;
  for (const auto& kept : autograd::saved_tensors(loss)) {
    CHECK((kept.dtype == kBFloat16 || kept.dtype == kLong));
    if (kept.dtype == kBFloat16) bytes += 2 * count_elements(kept.sizes);
  }
  CHECK(bytes == 2 * 60);
  loss.backward();
  Tensor wide = x.detach().to(kDouble);
  wide.requires_grad_();
  cross_entropy_loss(wide, target, {}).backward();
  CHECK(item(loss) == Approx(item(cross_entropy_loss(wide, target, {}))).epsilon(1e-6));
  CHECK(x.grad().scalar_type() == kBFloat16);
  for (std::int64_t i = 0; i < 60; ++i) {
    const double exact = value_at(wide.grad(), i);
    CHECK(std::abs(value_at(x.grad(), i) - exact) <= 0x1p-8 * std::abs(exact) * 1.001);
  }
}

TEST_CASE("wrong targets are refused with their value", "[loss]") {
  const Tensor x = zeros({2, 3});
  const std::string target = by_device("target ", "class ");
  CHECK_THROWS_WITH(finish([&] {
                      cross_entropy_loss(x, labels_of({0, 3}), {});
                    }),
                    Contains(target + "3") && Contains(by_device("0 to 2", "0 .. 2")));
  CHECK_THROWS_WITH(finish([&] { cross_entropy_loss(x, labels_of({0, -1}), {}); }), Contains(target + "-1"));
  CHECK_THROWS_WITH(finish([&] {
                      nll_loss(x, labels_of({7, 0}));
                    }),
                    Contains("nll_loss") && Contains(target + "7"));
  CHECK_THROWS_WITH(cross_entropy_loss(x, labels_of({0}), {}), Contains("[2]"));
  CHECK_THROWS_WITH(cross_entropy_loss(x, zeros({2, 2}), {}), Contains("probabilities"));
  CHECK_THROWS_WITH(cross_entropy_loss(x, labels_of({0, 1}), ones({2})), Contains("3 classes"));
  CHECK_THROWS_WITH(cross_entropy_loss(x, labels_of({0, 1}), {}, Reduction::Mean, -100, 1.5),
                    Contains("label_smoothing"));
  CHECK_THROWS_WITH(cross_entropy_loss(x, Tensor(), {}),
                    Contains("cross_entropy_loss") && Contains("target"));
  CHECK_THROWS_WITH(nll_loss(x, zeros({2, 3}), {}), Contains("integer"));
}

TEST_CASE("nll_loss picks the target's log-probability", "[loss]") {
  const Tensor x = tensor_of({-1, -2, -3, -4}, {2, 2});
  CHECK(item(nll_loss(x, labels_of({0, 1}))) == 2.5);
  CHECK(item(nll_loss(x, labels_of({0, 1}), tensor_of({1, 3}, {2}))) == 13.0 / 4);
  CHECK(item(nll_loss(x, labels_of({0, 1}), {}, Reduction::Sum, 1)) == 1);
  manual_seed(10);
  const Tensor scores = randn({4, 3}), target = labels_of({2, 0, 1, 1});
  CHECK(item(nll_loss(log_softmax(scores, 1), target)) ==
        Approx(item(cross_entropy_loss(scores, target, {}))).epsilon(1e-6));
}

TEST_CASE("elementwise losses in closed form", "[loss]") {
  const Tensor x = tensor_of({0, 1, 4}, {3}), t = tensor_of({0.5, 1, 1}, {3});
  CHECK(item(mse_loss(x, t)) == Approx(9.25 / 3));
  CHECK(item(mse_loss(x, t, Reduction::Sum)) == 9.25);
  CHECK(item(l1_loss(x, t)) == Approx(3.5 / 3));
  CHECK(item(smooth_l1_loss(x, t, Reduction::Sum)) == 0.125 + 2.5);
  CHECK(item(smooth_l1_loss(x, t, Reduction::Sum, 0)) == 3.5);
  CHECK(item(huber_loss(x, t, Reduction::Sum, 2)) == 0.125 + 2 * (3 - 1));
  CHECK(item(binary_cross_entropy(tensor_of({0.25}, {1}), tensor_of({1}, {1}), {})) == Approx(std::log(4.0)));
  CHECK(item(binary_cross_entropy(tensor_of({0}, {1}), tensor_of({1}, {1}), {})) == 100);
  CHECK(item(binary_cross_entropy_with_logits(zeros({2}), tensor_of({0, 1}, {2}), {}, {})) ==
        Approx(std::log(2.0)));
  CHECK(item(binary_cross_entropy_with_logits(tensor_of({-1000}, {1}), tensor_of({1}, {1}), {}, {})) == 1000);
  CHECK(item(binary_cross_entropy_with_logits(zeros({1}), ones({1}), full({1}, 2.0), full({1}, 3.0))) ==
        Approx(6 * std::log(2.0)));
  CHECK(item(kl_div(tensor_of({std::log(0.5)}, {1}), tensor_of({1}, {1}), Reduction::Sum)) ==
        Approx(std::log(2.0)));
  CHECK(item(kl_div(zeros({1}), zeros({1}), Reduction::Sum)) == 0);
  CHECK(item(kl_div(tensor_of({std::log(0.5)}, {1}), zeros({1}), Reduction::Sum, true)) ==
        Approx(std::log(2.0)));
}

TEST_CASE("a half loss is computed and reduced in fp32, rounded once", "[loss]") {
  // Squares overflow float16; their mean does not have to be taken there.
  const Tensor x = tensor_of({300, 0, 0, 0}, {4}, kHalf), t = zeros({4}, kHalf);
  CHECK(item(mse_loss(x, t)) == 22496);  // 22500 rounded to float16
  CHECK(item(l1_loss(full({4096}, 1, kBFloat16), zeros({4096}, kBFloat16), Reduction::Sum)) == 4096);
  // The gradient's factor 2 / N underflows float16 by itself.
  Tensor big = full({100000}, 1000, kHalf);
  big.requires_grad_();
  mse_loss(big, zeros({100000}, kHalf)).backward();
  CHECK(value_at(big.grad(), 0) == Approx(0.02).epsilon(0x1p-11));
}

TEST_CASE("broadcast losses follow PyTorch, with summed gradients", "[loss]") {
  Tensor x = tensor_of({1, 2}, {2, 1}), t = tensor_of({0, 1, 2}, {3});
  x.requires_grad_();
  t.requires_grad_();
  const Tensor loss = mse_loss(x, t, Reduction::Sum);
  CHECK(item(loss) == 1 + 0 + 1 + 4 + 1 + 0);
  loss.backward();
  CHECK(value_at(x.grad(), 0) == 0);
  CHECK(value_at(x.grad(), 1) == 6);
  CHECK(value_at(t.grad(), 0) == -6);
  CHECK(value_at(t.grad(), 2) == 2);
  CHECK_THROWS_WITH(mse_loss(ones({2}), ones({3})), Contains("[2]") && Contains("[3]"));
  CHECK_THROWS_WITH(binary_cross_entropy(ones({2}), ones({1}), {}), Contains("shaped like"));
  CHECK_THROWS_WITH(finish([] { binary_cross_entropy(full({2}, 1.5), ones({2}), {}); }), Contains("1.5"));
  CHECK_THROWS_WITH(finish([] { binary_cross_entropy(full({2}, NAN), ones({2}), {}); }), Contains("nan"));
  CHECK_THROWS_WITH(smooth_l1_loss(ones({2}), ones({2}), Reduction::Mean, -1), Contains("beta"));
  CHECK_THROWS_WITH(huber_loss(ones({2}), ones({2}), Reduction::Mean, 0), Contains("delta"));
}

TEST_CASE("binary_cross_entropy is banned on half probabilities inside a region", "[loss]") {
  const Tensor p = full({2}, 0.5, kBFloat16), t = ones({2});
  const amp::Autocast autocast(device_type(), kBFloat16);
  CHECK_THROWS_WITH(binary_cross_entropy(p, t, {}), Contains("binary_cross_entropy_with_logits"));
  CHECK(item(binary_cross_entropy(full({2}, 0.5), t, {})) == Approx(std::log(2.0)));
  CHECK(binary_cross_entropy_with_logits(p, t, {}, {}).scalar_type() == kFloat);
  const amp::PolicyOverride lifted("binary_cross_entropy", amp::Precision::kFp32);
  CHECK(item(binary_cross_entropy(p, t, {})) == Approx(std::log(2.0)));
}

TEST_CASE("losses do not depend on the number of threads", "[loss]") {
  manual_seed(11);
  const int threads = get_num_threads();
  const Tensor x = randn({700, 130}), target = randint(0, 130, {700});
  std::vector<Tensor> first;
  for (int count : {1, 2, 4}) {
    set_num_threads(count);
    Tensor leaf = x.clone();
    leaf.requires_grad_();
    const Tensor loss = cross_entropy_loss(leaf, target, {}, Reduction::Mean, -100, 0.1);
    loss.backward();
    const std::vector<Tensor> got = {loss.detach(), leaf.grad(), mse_loss(x, x * 2)};
    if (first.empty()) first = got;
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(same_bits(got[i], first[i]));
  }
  set_num_threads(threads);
}
