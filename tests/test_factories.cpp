// Factories, the parts of error messages, conversion of numbers, and random numbers.

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "halftone/engine/tensor.h"
#include "halftone/engine/threads.h"
#include "halftone/tests/support/device.h"

using namespace halftone;

namespace {

std::vector<double> values(const Tensor& tensor) {
  const Tensor flat = tensor.detach().to(kCPU, kDouble).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

using List = std::vector<double>;
using Catch::Matchers::Contains;

class ThreadsGuard {
 public:
  explicit ThreadsGuard(int count) : previous_(get_num_threads()) { set_num_threads(count); }
  ~ThreadsGuard() { set_num_threads(previous_); }

 private:
  int previous_;
};

}  // namespace

TEST_CASE("error messages show what was given") {
  CHECK(concat("a ", 1, " ", true) == "a 1 true");
  CHECK(concat(0.5, " ", 1e-8, " ", std::numeric_limits<double>::infinity()) == "0.5 1e-08 inf");
  CHECK(concat(kBFloat16, Dims{2, 3}, Device("cuda:1")) == "bfloat16[2, 3]cuda:1");
  const std::string place = test::by_device("", " on cuda:0");
  CHECK(concat(zeros({2, 0}, kHalf), " ", zeros({}), " ", Tensor()) ==
        "float16[2, 0]" + place + " float32[]" + place + " undefined tensor");
  CHECK(concat(zeros({4}, kLong)) == "int64[4]" + place);
}

TEST_CASE("a number keeps its kind and saturates as an integer") {
  CHECK(Scalar(2.9).to_long() == 2);
  CHECK(Scalar(-2.9).to_long() == -2);
  CHECK(Scalar(1e30).to_long() == std::numeric_limits<std::int64_t>::max());
  CHECK(Scalar(-1e30).to_long() == std::numeric_limits<std::int64_t>::min());
  CHECK(Scalar(std::nan("")).to_long() == 0);
  CHECK(Scalar(true).type() == kBool);
  CHECK(Scalar((std::int64_t{1} << 53) + 1).to_long() == 9007199254740993);
}

TEST_CASE("zeros, ones, full and the *_like forms") {
  CHECK(values(zeros({2, 2})) == List{0, 0, 0, 0});
  CHECK(zeros({2}).scalar_type() == kFloat);
  CHECK(values(ones({3}, kHalf)) == List{1, 1, 1});
  CHECK(full({2}, 1.5).scalar_type() == kFloat);
  CHECK(full({2}, 7).scalar_type() == kLong);
  CHECK(full({2}, true).scalar_type() == kBool);
  CHECK(full({2}, 7, kFloat).scalar_type() == kFloat);
  CHECK(full({}, std::int64_t{9007199254740993}).item<std::int64_t>() == 9007199254740993);
  CHECK(scalar_tensor(3).scalar_type() == kFloat);
  const Tensor half = ones({2, 3}, kHalf);
  CHECK(zeros_like(half).scalar_type() == kHalf);
  CHECK(zeros_like(half).sizes() == half.sizes());
  CHECK(full_like(half, 2.5, kDouble).scalar_type() == kDouble);
  CHECK(half.new_zeros({4}).scalar_type() == kHalf);
  CHECK(half.new_full({1}, 2).item<float>() == 2.0f);
  CHECK(empty({0, 3}).numel() == 0);
  CHECK(ones({2}, dtype(kFloat).requires_grad(true)).requires_grad());
  CHECK_THROWS_AS(ones({2}, dtype(kLong).requires_grad(true)), Error);
  CHECK_THROWS_AS(empty({2, -1}), Error);
}

TEST_CASE("the default dtype is that of factories without one") {
  set_default_dtype(kDouble);
  CHECK(zeros({1}).scalar_type() == kDouble);
  CHECK((arange(3) * 0.5).scalar_type() == kDouble);
  set_default_dtype(kFloat);
  CHECK_THROWS_AS(set_default_dtype(kLong), Error);
}

TEST_CASE("arange, linspace and eye") {
  CHECK(arange(4).scalar_type() == kLong);
  CHECK(values(arange(4)) == List{0, 1, 2, 3});
  CHECK(values(arange(5, 0, -2)) == List{5, 3, 1});
  CHECK(arange(0, 1, 0.25).scalar_type() == kFloat);
  CHECK(values(arange(0, 1, 0.25)) == List{0, 0.25, 0.5, 0.75});
  CHECK(arange(1, 1).numel() == 0);
  CHECK(arange(0, 3, 1, kHalf).scalar_type() == kHalf);
  CHECK(arange(0, 1, 0.1, kDouble).numel() == 10);
  CHECK_THROWS_AS(arange(0, 3, 0), Error);
  CHECK_THROWS_AS(arange(0, 3, -1), Error);
  CHECK_THROWS_AS(arange(std::numeric_limits<double>::infinity()), Error);

  CHECK(values(linspace(0, 1, 5)) == List{0, 0.25, 0.5, 0.75, 1});
  CHECK(values(linspace(3, 9, 1)) == List{3});
  CHECK(linspace(0, 1, 0).numel() == 0);
  CHECK(values(linspace(-1, 1, 101, kDouble))[100] == 1.0);
  CHECK_THROWS_AS(linspace(0, 1, -1), Error);

  CHECK(values(eye(2)) == List{1, 0, 0, 1});
  CHECK(values(eye(2, 3)) == List{1, 0, 0, 0, 1, 0});
  CHECK(values(eye(3, 2)) == List{1, 0, 0, 1, 0, 0});
  CHECK(eye(0).numel() == 0);
}

TEST_CASE("foreign memory is used as it is, and given back") {
  std::vector<float> memory{0, 1, 2, 3, 4, 5};
  Tensor view = from_blob(memory.data(), {2, 3});
  view.fill_(7);
  CHECK(memory[5] == 7);
  memory[1] = 3;
  CHECK(values(from_blob(memory.data(), {3, 2}, {1, 3})) == List{7, 7, 3, 7, 7, 7});
  int freed = 0;
  {
    const Tensor owned = from_blob(memory.data(), {2}, [&](void*) { ++freed; });
  }
  CHECK(freed == 1);
  CHECK_THROWS_AS(from_blob(nullptr, {2}), Error);
  CHECK_THROWS_AS(from_blob(memory.data(), {2}, {-1}), Error);
}

TEST_CASE("empty_strided covers the memory its strides reach") {
  const Tensor t = empty_strided({2, 3}, {1, 4});
  CHECK(t.strides() == IntArrayRef({1, 4}));
  CHECK(t.storage().bytes() >= 10 * sizeof(float));
  CHECK_THROWS_AS(empty_strided({2, 3}, {1}), Error);
}

TEST_CASE("item needs exactly one element") {
  CHECK(full({1, 1}, 2.5).item<double>() == 2.5);
  CHECK_THROWS_WITH(zeros({2}).item(), Contains("float32[2]"));
  CHECK_THROWS_AS(Tensor().item(), Error);
}

// --- Random numbers
// ---------------------------------------------------------------------------------------------

TEST_CASE("the same seed gives the same numbers for any number of threads, length and layout") {
  for (ScalarType dtype : {kHalf, kBFloat16, kFloat, kDouble}) {
    INFO(dtype_name(dtype));
    const auto draw = [&](std::int64_t n, int threads) {
      const ThreadsGuard guard(threads);
      manual_seed(11);
      const Tensor u = rand({n}, dtype), z = randn({n}, dtype);
      return std::pair(u, z);
    };
    const auto [u1, z1] = draw(20000, 1);
    const auto [u4, z4] = draw(20000, 4);
    CHECK(u1.equal(u4));
    CHECK(z1.equal(z4));
    CHECK(draw(777, 2).first.equal(u1.narrow(0, 0, 777)));
    Tensor strided = zeros({100, 2}, dtype).select(1, 0);
    manual_seed(11);
    strided.uniform_();
    CHECK(strided.equal(u1.narrow(0, 0, 100)));
  }
}

TEST_CASE("a generator of one's own leaves the common stream alone") {
  manual_seed(5);
  const Tensor expected = rand({8});
  manual_seed(5);
  Generator own(5);
  const Tensor mine = rand({8}, own), next = rand({8}, own);
  CHECK(mine.equal(expected));
  CHECK_FALSE(next.equal(mine));
  CHECK(rand({8}).equal(expected));
}

TEST_CASE("uniform and normal numbers have the right moments and range") {
  manual_seed(1);
  for (ScalarType dtype : {kHalf, kBFloat16, kFloat, kDouble}) {
    INFO(dtype_name(dtype));
    const List u = values(rand({100000}, dtype)), z = values(randn({100000}, dtype));
    double sum = 0, square = 0, mean = 0, variance = 0;
    for (double x : u) {
      REQUIRE((x >= 0 && x < 1));
      sum += x;
      square += x * x;
    }
    for (double x : z) {
      mean += x;
      variance += x * x;
    }
    // A grid of 2^-8 (bfloat16) moves the mean by half a step.
    CHECK(sum / 1e5 == Approx(0.5).margin(0.006));
    CHECK(square / 1e5 == Approx(1.0 / 3).margin(0.006));
    CHECK(mean / 1e5 == Approx(0).margin(0.012));
    CHECK(variance / 1e5 == Approx(1).margin(0.02));
  }
  for (double x : values(empty({10000}, kHalf).uniform_(2, 2.001))) CHECK((x >= 2 && x < 2.001));
  const List shifted = values(empty({10000}).normal_(5, 0.1));
  for (double x : shifted) CHECK(std::abs(x - 5) < 1);
}

TEST_CASE("integers, permutations and draws") {
  manual_seed(2);
  const Tensor dice = randint(1, 7, {6000});
  CHECK(dice.scalar_type() == kLong);
  for (int face = 1; face <= 6; ++face) CHECK(dice.eq(face).sum().item<int>() == Approx(1000).margin(120));
  CHECK(randint(3, {2}, kFloat).scalar_type() == kFloat);
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min(),
                     highest = std::numeric_limits<std::int64_t>::max();
  CHECK_NOTHROW(randint(lowest, highest, {4}));
  CHECK_THROWS_AS(randint(5, 5, {2}), Error);
  CHECK_THROWS_AS(randint(0, 300, {2}, kByte), Error);

  const List order = values(randperm(1000));
  CHECK(std::set<double>(order.begin(), order.end()).size() == 1000);
  CHECK(order != values(arange(1000)));
  manual_seed(2);
  const Tensor first = randperm(50);
  manual_seed(2);
  CHECK(randperm(50).equal(first));
  CHECK(randperm(0).numel() == 0);

  const Tensor coin = empty({20000}).bernoulli_(0.3);
  CHECK(coin.mean().item<double>() == Approx(0.3).margin(0.015));
  CHECK(bernoulli(zeros({5})).sum().item<int>() == 0);
  CHECK(bernoulli(ones({5})).sum().item<int>() == 5);
  CHECK_THROWS_AS(coin.bernoulli_(1.5), Error);
  CHECK_THROWS_AS(test::finish([] { bernoulli(full({2}, -0.5)); }), Error);
}

TEST_CASE("multinomial draws in proportion, and without replacement never twice") {
  manual_seed(3);
  Tensor weights = zeros({4});
  weights[1] = 1.0;
  weights[3] = 3.0;
  const Tensor drawn = multinomial(weights, 8000, true);
  CHECK(drawn.eq(1).sum().item<int>() == Approx(2000).margin(150));
  CHECK(drawn.eq(3).sum().item<int>() == Approx(6000).margin(150));
  const List both = values(multinomial(weights, 2));
  CHECK(std::set<double>(both.begin(), both.end()) == std::set<double>{1, 3});
  CHECK(multinomial(ones({3, 5}), 5).sizes() == IntArrayRef({3, 5}));
  CHECK_THROWS_WITH(multinomial(weights, 3), Contains("2 positive weights"));
  CHECK_THROWS_AS(multinomial(zeros({3}), 1), Error);
  CHECK_THROWS_AS(multinomial(full({3}, -1.0), 1), Error);
}

TEST_CASE("overwriting with random numbers forgets the history and respects leaves") {
  Tensor leaf = ones({4}, requires_grad());
  CHECK_THROWS_AS(leaf.uniform_(), Error);
  Tensor y = leaf * 2;
  y.normal_();
  (y * 3 + leaf).sum().backward();
  CHECK(values(leaf.grad()) == List{1, 1, 1, 1});
  CHECK_THROWS_AS(zeros({3}, kLong).normal_(), Error);
  CHECK_THROWS_AS(zeros({3}).normal_(0, -1), Error);
  CHECK_THROWS_AS(zeros({3}).uniform_(1, 0), Error);
}
