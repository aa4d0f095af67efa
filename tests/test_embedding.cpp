// Embedding: rows looked up, gradients summed in a fixed order.

#include <catch2/catch.hpp>

#include "halftone/engine/tensor_factory.h"
#include "halftone/engine/threads.h"
#include "halftone/tests/support/samples.h"

using namespace halftone;
using namespace halftone::test;
using Catch::Matchers::Contains;

namespace {

Tensor indices_of(const std::vector<std::int64_t>& values) { return tensor(values); }

Tensor gradient(const Tensor& table, const Tensor& indices, std::int64_t padding = -1,
                bool by_frequency = false) {
  Tensor leaf = table.detach().clone();
  leaf.requires_grad_();
  embedding(leaf, indices, padding, by_frequency).sum().backward();
  return leaf.grad();
}

}  // namespace

TEST_CASE("rows are looked up bit for bit in every dtype and layout", "[embedding]") {
  manual_seed(16);
  for (ScalarType dtype : {kFloat, kHalf, kBFloat16, kDouble}) {
    const Tensor table = randn({5, 3}, kDouble).to(dtype);
    const Tensor index = indices_of({4, 0, 4, 2}).view({2, 2});
    const Tensor y = embedding(table, index);
    REQUIRE(y.sizes() == IntArrayRef({2, 2, 3}));
    CHECK(same_bits(y[0][0], table[4]));
    CHECK(same_bits(y[1][1], table[2]));
    CHECK(same_bits(embedding(table.t().contiguous().t(), index.t()).permute({1, 0, 2}), y));
    CHECK(same_bits(embedding(table, index.to(kInt)), y));
  }
}

TEST_CASE("gradients count occurrences, without the padding row", "[embedding]") {
  const Tensor table = zeros({4, 2}), index = indices_of({1, 3, 1, 1});
  const Tensor plain = gradient(table, index);
  CHECK(value_at(plain, 0) == 0);
  CHECK(value_at(plain, 2) == 3);
  CHECK(value_at(plain, 4) == 0);
  CHECK(value_at(plain, 7) == 1);
  const Tensor padded = gradient(table, index, 1);
  CHECK(value_at(padded, 2) == 0);
  CHECK(value_at(padded, 6) == 1);
  CHECK(value_at(gradient(table, index, -1, true), 2) == 1);
}

TEST_CASE("many gradients to one row are summed in fp32", "[embedding]") {
  const Tensor index = zeros({4096}, kLong);
  CHECK(value_at(gradient(zeros({1, 1}, kBFloat16), index), 0) == 4096);
  CHECK(value_at(gradient(zeros({1, 1}, kHalf), index), 0) == 4096);
}

TEST_CASE("wrong indices are refused by value", "[embedding]") {
  const Tensor table = zeros({4, 2});
  CHECK_THROWS_WITH(finish([&] {
                      embedding(table, indices_of({0, 4}));
                    }),
                    Contains("index 4") && Contains("4 rows"));
  CHECK_THROWS_WITH(finish([&] { embedding(table, indices_of({-1})); }), Contains("index -1"));
  CHECK_THROWS_WITH(embedding(table, zeros({2})), Contains("integer"));
  CHECK_THROWS_WITH(embedding(zeros({4}), indices_of({0})), Contains("table"));
  CHECK_THROWS_WITH(embedding(table, indices_of({0}), 4), Contains("padding_idx 4"));
  CHECK_THROWS_WITH(embedding(table, indices_of({0}), -1, false, true), Contains("sparse"));
}

TEST_CASE("the gradient does not depend on the number of threads", "[embedding]") {
  manual_seed(17);
  const int threads = get_num_threads();
  const Tensor index = randint(0, 50, {5000}), table = randn({50, 33}), probe = randn({5000, 33});
  Tensor first;
  for (int count : {1, 2, 4}) {
    set_num_threads(count);
    const Tensor got = embedding_backward(probe, index, 50, -1, false);
    if (!first.defined()) first = got;
    CHECK(same_bits(got, first));
  }
  set_num_threads(threads);
}
