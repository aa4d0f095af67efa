// Reading and writing by index tensors, masks and slices; order along a dimension.

#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "halftone/engine/print.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/engine/threads.h"
#include "halftone/tests/support/device.h"
#include "halftone/tests/support/values.h"

using namespace halftone;
using namespace halftone::test;
using namespace halftone::indexing;
using Catch::Matchers::Contains;

namespace {

Tensor counted(IntArrayRef sizes) { return arange(count_elements(sizes), kFloat).view(sizes); }

const float kNan = std::numeric_limits<float>::quiet_NaN();

/// The message about bad indices, which a device finds only when it runs.
template <class F>
std::string refusal(F f) {
  return error_of([&] { finish(f); });
}

}  // namespace

TEST_CASE("index with slices and integers gives views") {
  Tensor x = counted({3, 4});
  CHECK(values(x.index({1})) == List{4, 5, 6, 7});
  CHECK(values(x.index({Slice(), 1})) == List{1, 5, 9});
  CHECK(values(x.index({Slice(1, None), Slice(None, None, 2)})) == List{4, 6, 8, 10});
  CHECK(values(x.index({"...", -1})) == List{3, 7, 11});
  CHECK(values(x.index({Ellipsis, Slice(-2)})) == List{2, 3, 6, 7, 10, 11});
  CHECK(x.index({None, 0, None}).sizes() == IntArrayRef({1, 1, 4}));
  CHECK(&x.index({0}).storage() == &x.storage());
  CHECK(values(x.index({tensor(2)})) == List{8, 9, 10, 11});  // a 0-d integer is an integer
  CHECK(values(x[tensor(1)]) == List{4, 5, 6, 7});
  CHECK_THROWS_AS(x.index({0, 0, 0}), Error);
  CHECK_THROWS_AS(x.index({Ellipsis, Ellipsis}), Error);
  CHECK_THROWS_AS(x.index({"?"}), Error);
  CHECK_THAT(error_of([&] { x.index({Slice(), 4}); }), Contains("index 4") && Contains("dimension 1"));
}

TEST_CASE("index with tensors follows NumPy") {
  const Tensor x = counted({2, 3, 4});
  CHECK(values(x[tensor({1, 0})]) == values(cat({x.slice(0, 1), x.slice(0, 0, 1)})));
  CHECK(x.index({tensor({{0, 1}, {1, 0}})}).sizes() == IntArrayRef({2, 2, 3, 4}));
  // Adjacent index tensors stay where they were, separated ones go to the front.
  CHECK(x.index({Slice(), tensor({0, 2}), tensor({1, 3})}).sizes() == IntArrayRef({2, 2}));
  CHECK(values(x.index({Slice(), tensor({0, 2}), tensor({1, 3})})) == List{1, 11, 13, 23});
  CHECK(x.index({tensor({0, 1, 0}), Slice(), tensor({1, 3, 2})}).sizes() == IntArrayRef({3, 3}));
  CHECK(values(x.index({tensor({0, 1}), Slice(), tensor({1, 3})})) == List{1, 5, 9, 15, 19, 23});
  // Broadcast, negative, int32.
  CHECK(values(x.index({tensor({{0}, {1}}), 0, tensor({-1, 0})})) == List{3, 0, 15, 12});
  CHECK(values(x.index({tensor({1}, kInt), 0, 0})) == List{12});
  // On strided tensors.
  const Tensor t = x.permute({2, 0, 1});
  CHECK(values(t.index({tensor({3, 0})})) == values(t.contiguous().index({tensor({3, 0})})));
  CHECK(x.index({tensor(std::vector<std::int64_t>{})}).sizes() == IntArrayRef({0, 3, 4}));
  CHECK_THAT(refusal([&] { x[tensor({0, 2})]; }), Contains("index 2") && Contains("dimension 0"));
  CHECK_THAT(refusal([&] { x.index({tensor({-3})}); }), Contains("index -3"));
  CHECK_THROWS_AS(x.index({tensor({0, 1}), tensor({0, 1, 2})}), Error);
  CHECK_THROWS_AS(x[tensor({0.5, 1.0})], Error);
}

TEST_CASE("index with masks and bools") {
  const Tensor x = counted({2, 3});
  CHECK(values(x[x > 2]) == List{3, 4, 5});
  CHECK(values(x.index({tensor({true, false})})) == List{0, 1, 2});
  CHECK(values(x.index({Slice(), tensor({true, false, true})})) == List{0, 2, 3, 5});
  CHECK(x.index({true}).sizes() == IntArrayRef({1, 2, 3}));
  CHECK(x.index({false}).sizes() == IntArrayRef({0, 2, 3}));
  CHECK(values(masked_select(x, tensor({true, false, true}))) == List{0, 2, 3, 5});
  CHECK(masked_select(tensor(3.0), tensor(true)).sizes() == IntArrayRef({1}));
  CHECK_THAT(error_of([&] { x[tensor({true, false, true})]; }), Contains("mask"));
  CHECK(values(nonzero(tensor({{0, 3}, {5, 0}}))) == List{0, 1, 1, 0});
  CHECK(nonzero(tensor(1)).sizes() == IntArrayRef({1, 0}));
  CHECK(nonzero(zeros({3})).sizes() == IntArrayRef({0, 1}));
  CHECK(nonzero(tensor({kNan, -0.0f})).size(0) == 1);
}

TEST_CASE("index_put_ writes, adds, and lets the last of several win") {
  Tensor x = zeros({4});
  x.index_put_({tensor({0, 2, 0})}, tensor({1.0f, 2.0f, 3.0f}));
  CHECK(values(x) == List{3, 0, 2, 0});
  index_put_(x, {tensor({0, 2, 0})}, tensor({1.0f, 2.0f, 3.0f}), true);
  CHECK(values(x) == List{7, 0, 4, 0});
  Tensor y = zeros({2, 3});
  y.index_put_({Slice(), 1}, 5);
  y.index_put_({0, Slice(1, None)}, tensor({{7.0f, 8.0f}}));  // a leading 1 that has no room is dropped
  CHECK(values(y) == List{0, 7, 8, 0, 5, 0});
  y.index_put_({y > 6}, -1.0);
  CHECK(values(y) == List{0, -1, -1, 0, 5, 0});
  y.t().index_put_({tensor({2}), tensor({1})}, 9.0);  // through a strided view
  CHECK(values(y) == List{0, -1, -1, 0, 5, 9});
  y.index_put_({0, Ellipsis}, tensor({1, 2, 3}));  // int64 values into float
  CHECK(values(y[0]) == List{1, 2, 3});
  // Nothing is written when an index is bad and the host can see it.
  const List before = values(y);
  const auto version = y._version();
  Tensor target = by_device(y, y.clone());
  CHECK_THAT(refusal([&] { target.index_put_({tensor({0, 5})}, 1.0); }), Contains("index 5"));
  CHECK_THAT(error_of([&] { y.index_put_({tensor({0, 1})}, zeros({4})); }), Contains("[4]"));
  CHECK(values(y) == before);
  CHECK(y._version() == version);
  CHECK_THROWS_AS(index_put(zeros({3}, kHalf), {tensor({0})}, ones({1})), Error);
}

TEST_CASE("index_select and index_add") {
  const Tensor x = counted({3, 2});
  CHECK(values(x.index_select(0, tensor({2, 0, 2}))) == List{4, 5, 0, 1, 4, 5});
  CHECK(values(x.t().index_select(-1, tensor({1}))) == List{2, 3});
  CHECK(x.index_select(0, tensor(1)).sizes() == IntArrayRef({1, 2}));
  CHECK_THAT(refusal([&] { x.index_select(0, tensor({-1})); }),
             Contains("index -1") && Contains(by_device("negative", "dimension 0")));
  CHECK_THAT(refusal([&] { x.index_select(1, tensor({2})); }), Contains("dimension 1") && Contains("size 2"));
  CHECK_THROWS_AS(x.index_select(0, tensor({{0}})), Error);
  CHECK(values(zeros({2, 2}).index_add(0, tensor({1, 1}), ones({2, 2}), 0.5)) == List{0, 0, 1, 1});
  Tensor sums = zeros({3}, kLong);
  sums.index_add_(0, tensor({0, 2, 0}), tensor({1, 2, 3}), 2);
  CHECK(values(sums) == List{8, 0, 4});
  CHECK_THROWS_AS(x.index_add(0, tensor({0}), ones({2, 2})), Error);
}

TEST_CASE("gather and scatter") {
  const Tensor x = counted({2, 3});
  CHECK(values(x.gather(1, tensor({{2, 0}, {1, 1}}))) == List{2, 0, 4, 4});
  CHECK(values(x.gather(0, tensor({{1, 0, 1}}))) == List{3, 1, 5});
  CHECK_THROWS_AS(finish([&] { x.gather(1, tensor({{3}, {0}})); }), Error);
  CHECK_THROWS_AS(x.gather(1, tensor({0, 1})), Error);
  CHECK_THROWS_AS(x.gather(1, zeros({3, 1}, kLong)), Error);
  CHECK(values(zeros({2, 3}).scatter(1, tensor({{0, 2}, {1, 1}}), tensor({{1.0f, 2.0f}, {3.0f, 4.0f}}))) ==
        List{1, 0, 2, 0, 4, 0});
  CHECK(values(zeros({2, 3}).scatter(1, tensor({{2}, {0}}), 7)) == List{0, 0, 7, 7, 0, 0});
  Tensor y = zeros({3});
  y.scatter_add_(0, tensor({0, 0, 2}), ones({5}));  // what index does not cover is left out
  CHECK(values(y) == List{2, 0, 1});
  y.scatter_(0, tensor({1}), -1);
  CHECK(values(y) == List{2, -1, 1});
}

TEST_CASE("the gradient of an overwritten source is zero") {
  const Tensor src = leaf(tensor({1.0f, 2.0f, 3.0f})), self = leaf(zeros({3}));
  (scatter(self, 0, tensor({0, 0, 2}), src) * tensor({10.0f, 20.0f, 30.0f})).sum().backward();
  CHECK(values(src.grad()) == List{0, 10, 30});
  CHECK(values(self.grad()) == List{0, 20, 0});
  const Tensor put = leaf(tensor({1.0f, 2.0f, 3.0f}));
  (index_put(zeros({3}), {tensor({0, 0, 2})}, put) * tensor({10.0f, 20.0f, 30.0f})).sum().backward();
  CHECK(values(put.grad()) == List{0, 10, 30});
}

TEST_CASE("sums into half tensors are rounded once, in the same order for any number of threads") {
  // One by one in fp16, 1 added to 2048 is lost each time.
  Tensor x = full({1}, 2048, kHalf);
  x.index_add_(0, zeros({64}, kLong), ones({64}, kHalf));
  CHECK(x.item<float>() == 2112);
  CHECK(full({1}, 2048, kHalf).scatter_add(0, zeros({64}, kLong), ones({64}, kHalf)).item<float>() == 2112);
  const Tensor weight = leaf(zeros({2}, kBFloat16));
  weight.index_select(0, zeros({513}, kLong)).sum().backward();
  CHECK(values(weight.grad()) == List{512, 0});  // 513 rounded to bfloat16 once; adding up in it stops at 256

  manual_seed(1);
  const Tensor source = randn({5000, 40}), index = randint(0, 7, {5000});
  const int threads = get_num_threads();
  set_num_threads(1);
  const List one = values(zeros({7, 40}).index_add(0, index, source));
  const List one_scatter =
      values(zeros({7, 40}).scatter_add(0, index.unsqueeze(1).expand({5000, 40}), source));
  set_num_threads(3);
  CHECK(values(zeros({7, 40}).index_add(0, index, source)) == one);
  CHECK(values(zeros({7, 40}).scatter_add(0, index.unsqueeze(1).expand({5000, 40}), source)) == one_scatter);
  set_num_threads(threads);
  CHECK(one == one_scatter);
}

TEST_CASE("where and masked_fill") {
  const Tensor x = counted({2, 2});
  const Tensor mask = tensor({{true, false}, {false, true}});
  CHECK(values(where(mask, x, -x)) == List{0, -1, -2, 3});
  CHECK(values(where(mask, 1.5, x)) == List{1.5, 1, 2, 1.5});
  CHECK(where(mask, x.to(kHalf), 1.5).scalar_type() == kHalf);
  CHECK(where(mask, x.to(kHalf), x).scalar_type() == kFloat);
  CHECK(where(tensor({true}), tensor({1}), tensor({0.5})).scalar_type() == kFloat);
  CHECK(values(where(tensor({true, false}), tensor({{1}, {2}}), tensor(0))) == List{1, 0, 2, 0});
  CHECK_THROWS_AS(where(x, x, x), Error);
  CHECK(values(x.masked_fill(mask, 9)) == List{9, 1, 2, 9});
  CHECK(values(x.masked_fill(mask, tensor(9.0))) == List{9, 1, 2, 9});
  CHECK(values(tensor({1, 2}).masked_fill(tensor({true, false}), 7)) == List{7, 2});
  CHECK_THROWS_AS(tensor({1, 2}).masked_fill(tensor({true, false}), 0.5), Error);
  CHECK_THROWS_AS(x.masked_fill(x, 1), Error);
  // -1e9 does not fit fp16 and becomes -inf; masked entries get no gradient.
  const Tensor h = leaf(ones({2, 2}, kHalf));
  const Tensor filled = h.masked_fill(mask, -1e9);
  CHECK(std::isinf(filled[0][0].item<float>()));
  filled.sum().backward();
  CHECK(values(h.grad()) == List{0, 1, 1, 0});
  // What is not chosen does not leak, NaN neither.
  const Tensor a = leaf(tensor({1.0f, kNan}));
  where(tensor({true, false}), a, tensor(0.0)).sum().backward();
  CHECK(values(a.grad()) == List{1, 0});
}

TEST_CASE("sort is stable, NaN is the largest") {
  const Tensor x = tensor({2.0f, kNan, 1.0f, 2.0f, -1.0f});
  const auto [up, up_from] = x.sort();
  CHECK(values(up_from) == List{4, 2, 0, 3, 1});
  CHECK(std::isnan(up[4].item<float>()));
  const auto [down, down_from] = x.sort(0, true);
  CHECK(values(down_from) == List{1, 0, 3, 2, 4});
  CHECK(values(argsort(counted({2, 3}).flip({0, 1}), 0)) == List{1, 1, 1, 0, 0, 0});
  const auto [top, top_from] = topk(x, 2);
  CHECK(values(top_from) == List{1, 0});
  CHECK(values(std::get<0>(topk(tensor({5, 1, 4}), 2, -1, false))) == List{1, 4});
  CHECK_THAT(error_of([&] { topk(x, 6); }), Contains("k = 6"));
  CHECK(std::get<0>(topk(zeros({2, 3}), 0)).sizes() == IntArrayRef({2, 0}));
  CHECK(values(std::get<0>(tensor({true, false, true}).sort())) == List{0, 1, 1});
}

TEST_CASE("one_hot") {
  CHECK(values(one_hot(tensor({2, 0}))) == List{0, 0, 1, 1, 0, 0});
  CHECK(one_hot(tensor({{0}}), 4).sizes() == IntArrayRef({1, 1, 4}));
  CHECK(one_hot(zeros({0}, kLong), 3).sizes() == IntArrayRef({0, 3}));
  CHECK_THROWS_AS(finish([&] { one_hot(tensor({3}), 3); }), Error);
  CHECK_THROWS_AS(finish([&] { one_hot(tensor({-2}), 3); }), Error);
  CHECK_THROWS_AS(one_hot(tensor({1.0})), Error);
}
