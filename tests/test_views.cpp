// Views: what they show, what they refuse, that they share memory; and copies by rule (cat, stack, flip,
// ...).

#include <catch2/catch.hpp>

#include "halftone/autograd/autograd.h"
#include "halftone/engine/print.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/tests/support/values.h"

using namespace halftone;
using namespace halftone::test;
using Catch::Matchers::Contains;

namespace {

Tensor counted(IntArrayRef sizes) { return arange(count_elements(sizes), kFloat).view(sizes); }

bool shares(const Tensor& a, const Tensor& b) { return &a.storage() == &b.storage(); }

}  // namespace

TEST_CASE("view keeps the memory and infers one size") {
  const Tensor x = counted({2, 3, 4});
  CHECK(x.view({6, -1}).sizes() == IntArrayRef({6, 4}));
  CHECK(x.view(-1).sizes() == IntArrayRef({24}));
  CHECK(shares(x, x.view({4, 6})));
  CHECK(values(x.view({4, 6}).select(0, 1)) == List{6, 7, 8, 9, 10, 11});
  // Dimensions that lie without gaps can be split and joined in a strided tensor too.
  const Tensor t = x.transpose(0, 1);  // (3, 2, 4)
  CHECK(values(t.view({3, 2, 2, 2})) == values(t.contiguous().view({3, 2, 2, 2})));
  CHECK(values(x.slice(2, 0, 2).view({6, 2})) == values(x.slice(2, 0, 2).contiguous().view({6, 2})));
  CHECK(counted({1}).view({}).dim() == 0);
  CHECK(tensor(3).view({1, 1}).sizes() == IntArrayRef({1, 1}));
  CHECK(zeros({0, 3}).view({3, 0}).sizes() == IntArrayRef({3, 0}));
  CHECK(zeros({2, 0}).view({-1, 2}).sizes() == IntArrayRef({0, 2}));
}

TEST_CASE("view refuses what it cannot do, and says what can") {
  const Tensor x = counted({2, 3});
  CHECK_THAT(error_of([&] { x.t().view({6}); }),
             Contains("reshape") && Contains("[3, 2]") && Contains("[6]"));
  CHECK_THAT(error_of([&] {
               x.view({4, 2});
             }),
             Contains("[4, 2]") && Contains("[2, 3]") && Contains("6 elements"));
  CHECK_THAT(error_of([&] { x.view({-1, 4}); }), Contains("[-1, 4]"));
  CHECK_THAT(error_of([&] { x.view({-1, -1}); }), Contains("one -1"));
  CHECK_THAT(error_of([&] { zeros({0}).view({-1, 0}); }), Contains("any size"));
  CHECK_THAT(error_of([&] { x.view({std::int64_t{1} << 40, std::int64_t{1} << 40}); }), Contains("64 bits"));
  CHECK_THROWS_AS(Tensor().view({1}), Error);
}

TEST_CASE("reshape copies only when it must") {
  const Tensor x = counted({2, 3});
  CHECK(shares(x, x.reshape({3, 2})));
  CHECK(shares(x.t(), x.t().reshape({3, 1, 2})));
  const Tensor y = x.t().reshape({6});
  CHECK_FALSE(shares(x, y));
  CHECK(values(y) == List{0, 3, 1, 4, 2, 5});
}

TEST_CASE("transpose, permute and movedim") {
  const Tensor x = counted({2, 3, 4});
  CHECK(x.transpose(0, -1).sizes() == IntArrayRef({4, 3, 2}));
  CHECK(x.permute({2, 0, 1}).sizes() == IntArrayRef({4, 2, 3}));
  CHECK(x.movedim(0, 2).sizes() == IntArrayRef({3, 4, 2}));
  CHECK(x.movedim(-1, 0).sizes() == IntArrayRef({4, 2, 3}));
  CHECK(values(counted({2, 2}).t()) == List{0, 2, 1, 3});
  CHECK(counted({3}).t().sizes() == IntArrayRef({3}));
  CHECK_THROWS_AS(x.t(), Error);
  CHECK_THROWS_AS(x.permute({0, 1}), Error);
  CHECK_THROWS_AS(x.permute({0, 1, 1}), Error);
  CHECK_THAT(error_of([&] { x.transpose(0, 3); }), Contains("out of range"));
}

TEST_CASE("expand, squeeze, unsqueeze") {
  const Tensor x = counted({3, 1});
  CHECK(values(x.expand({2, 3, 2})) == List{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2});
  CHECK(x.expand({-1, 4}).sizes() == IntArrayRef({3, 4}));
  CHECK(tensor(5.0).expand({2, 2}).sizes() == IntArrayRef({2, 2}));
  CHECK(x.expand_as(zeros({3, 5})).size(1) == 5);
  CHECK_THAT(error_of([&] { x.expand({2, 2}); }), Contains("[3, 1]") && Contains("[2, 2]"));
  CHECK_THROWS_AS(x.expand({3}), Error);
  CHECK_THROWS_AS(x.expand({-1, 3, 1}), Error);
  CHECK(x.squeeze().sizes() == IntArrayRef({3}));
  CHECK(x.squeeze(0).sizes() == IntArrayRef({3, 1}));
  CHECK(x.squeeze(-1).sizes() == IntArrayRef({3}));
  CHECK(ones({1, 1}).squeeze().dim() == 0);
  CHECK(x.unsqueeze(0).sizes() == IntArrayRef({1, 3, 1}));
  CHECK(x.unsqueeze(-1).sizes() == IntArrayRef({3, 1, 1}));
  CHECK_THROWS_AS(x.unsqueeze(3), Error);
}

TEST_CASE("select, slice, narrow, diagonal") {
  const Tensor x = counted({3, 4});
  CHECK(values(x[1]) == List{4, 5, 6, 7});
  CHECK(values(x.select(1, -1)) == List{3, 7, 11});
  CHECK_THAT(error_of([&] { x[3]; }), Contains("index 3") && Contains("dimension 0") && Contains("size 3"));
  CHECK_THROWS_AS(x[0][0][0], Error);
  CHECK(values(x.slice(1, 1, 4, 2)) == List{1, 3, 5, 7, 9, 11});
  CHECK(values(x.slice(0, -2)) == List{4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(x.slice(0, 2, 1).sizes() == IntArrayRef({0, 4}));
  CHECK(x.slice(0, 5, 9).sizes() == IntArrayRef({0, 4}));
  CHECK_THROWS_AS(x.slice(0, 0, 3, 0), Error);
  CHECK(values(x.narrow(1, 1, 2)) == List{1, 2, 5, 6, 9, 10});
  CHECK(values(x.narrow(0, -1, 1)) == List{8, 9, 10, 11});
  CHECK_THAT(error_of([&] { x.narrow(1, 2, 3); }), Contains("size 4"));
  CHECK(values(x.diagonal()) == List{0, 5, 10});
  CHECK(values(x.diagonal(1)) == List{1, 6, 11});
  CHECK(values(x.diagonal(-2)) == List{8});
  CHECK(x.diagonal(4).numel() == 0);
  CHECK(counted({2, 3, 4}).diagonal(0, 0, 2).sizes() == IntArrayRef({3, 2}));
  CHECK_THROWS_AS(x.diagonal(0, 0, 0), Error);
}

TEST_CASE("flatten, unflatten, split, chunk, unbind") {
  const Tensor x = counted({2, 3, 4});
  CHECK(x.flatten().sizes() == IntArrayRef({24}));
  CHECK(x.flatten(1).sizes() == IntArrayRef({2, 12}));
  CHECK(x.flatten(0, 1).sizes() == IntArrayRef({6, 4}));
  CHECK(tensor(1).flatten().sizes() == IntArrayRef({1}));
  CHECK(x.unflatten(2, {2, -1}).sizes() == IntArrayRef({2, 3, 2, 2}));
  CHECK_THROWS_AS(x.unflatten(2, {3, 2}), Error);
  const auto parts = counted({5, 2}).split(2);
  REQUIRE(parts.size() == 3);
  CHECK(values(parts[2]) == List{8, 9});
  CHECK(counted({5}).split({1, 4})[1].size(0) == 4);
  CHECK_THROWS_AS(counted({5}).split({1, 3}), Error);
  CHECK(counted({5}).chunk(3).size() == 3);
  CHECK(counted({4}).chunk(3).size() == 2);  // pieces of ceil(4 / 3)
  CHECK(zeros({0}).chunk(2).size() == 2);
  CHECK(values(x.unbind(1)[2]) == List{8, 9, 10, 11, 20, 21, 22, 23});
}

TEST_CASE("as_strided reads the storage; its offset is absolute") {
  const Tensor x = counted({3, 4});
  CHECK(values(x.as_strided({2, 2}, {4, 1}, 1)) == List{1, 2, 5, 6});
  CHECK(values(x[1].as_strided({2}, {1})) == List{4, 5});
  CHECK(values(x[1].as_strided({2}, {1}, 0)) == List{0, 1});
  CHECK_THAT(error_of([&] { x.as_strided({4, 4}, {4, 1}); }), Contains("storage of 12"));
  CHECK_THROWS_AS(x.as_strided({2}, {1, 1}), Error);
  CHECK_THROWS_AS(x.as_strided({2}, {-1}), Error);
  CHECK_THROWS_AS(x.as_strided({std::int64_t{1} << 62}, {std::int64_t{1} << 40}), Error);
}

TEST_CASE("as_strided's gradient counts every reading of an element") {
  const Tensor x = leaf(counted({5}));
  const Tensor windows = x.as_strided({3, 3}, {1, 1});  // 0 1 2 / 1 2 3 / 2 3 4
  windows.sum().backward();
  CHECK(values(x.grad()) == List{1, 2, 3, 2, 1});

  // Through a transposed input, and a window that reaches elements the input does not have.
  const Tensor base = leaf(counted({2, 3}));
  const Tensor part = base.t().slice(0, 0, 2);  // elements 0 3 / 1 4 of storage
  part.as_strided({2, 2}, {3, 1}, 1).mul(tensor({{1.0f, 2.0f}, {3.0f, 4.0f}})).sum().backward();
  CHECK(values(base.grad()) == List{0, 1, 0, 0, 3, 0});  // 1, 2 / 4, 5: only 1 and 4 belong to the input

  const Tensor expanded = leaf(counted({1, 3})).expand({2, 3});
  CHECK_THAT(error_of([&] { expanded.as_strided({2}, {1}); }), Contains("contiguous()"));
}

TEST_CASE("as_strided_scatter replaces a window of a contiguous copy") {
  const Tensor x = counted({2, 3});
  CHECK(values(as_strided_scatter(x, tensor({-1.0f, -2.0f}), {2}, {3}, 1)) == List{0, -1, 2, 3, -2, 5});
  CHECK(values(as_strided_scatter(x.t(), tensor({-1.0f, -2.0f}), {2}, {3}, 1)) == List{0, -1, 1, 4, -2, 5});
  CHECK_THAT(error_of([&] {
               as_strided_scatter(x, zeros({2, 2}), {2, 2}, {1, 1}, 0);
             }),
             Contains("overlaps itself"));
  CHECK_THAT(error_of([&] { as_strided_scatter(x, zeros({3}), {3}, {1}, 4); }), Contains("outside"));
}

TEST_CASE("gradients flow back through views of views") {
  const Tensor x = leaf(counted({2, 3, 4}));
  const Tensor w = counted({4, 2});
  (x.permute({2, 0, 1}).select(2, 1).slice(0, 1) * w.slice(0, 1)).sum().backward();
  const Tensor expected = zeros({2, 3, 4});
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 1; j < 4; ++j) expected[i][1][j] = w[j][i].item();
  }
  CHECK(values(x.grad()) == values(expected));
}

TEST_CASE("pieces of a tensor have one gradient, put together in one pass") {
  const Tensor x = leaf(counted({2, 6}));
  const auto pieces = x.split({1, 3, 2}, 1);
  CHECK(autograd::grad_fn(pieces[0]) == autograd::grad_fn(pieces[2]));
  (pieces[0].sum() * 2 + (pieces[2] * pieces[2]).sum()).backward();  // nothing flows to pieces[1]
  CHECK(values(x.grad()) == List{2, 0, 0, 0, 8, 10, 2, 0, 0, 0, 20, 22});

  const Tensor y = leaf(counted({3, 2}));
  const auto rows = y.unbind(0);
  const Tensor once = autograd::grad({(rows[0] * rows[2] * rows[2]).sum()}, {y}, {}, std::nullopt, true)[0];
  CHECK(values(once) == List{16, 25, 0, 0, 0, 10});
  once.sum().backward();  // and again
  CHECK(values(y.grad()) == List{8, 10, 0, 0, 8, 12});

  const Tensor z = leaf(counted({4}));
  auto halves = (z * 1).chunk(2);
  halves[1].mul_(3.0);  // a write through one piece
  halves[0].add_(halves[1]);
  halves[0].sum().backward();
  CHECK(values(z.grad()) == List{1, 1, 3, 3});

  const auto empty = leaf(zeros({0, 2})).split(2);
  CHECK(empty.size() == 1);
  empty[0].sum().backward();
}

TEST_CASE("the gradient of many pieces takes memory for the whole once") {
  const Tensor x = leaf(ones({256, 1000}));
  Tensor sum = zeros({1000});
  for (const Tensor& row : x.unbind(0)) sum = sum + row;
  const std::size_t before = memory_stats(kCPU).allocated;
  reset_peak_memory_stats(kCPU);
  sum.sum().backward();
  CHECK(memory_stats(kCPU).peak - before < 4 * x.nbytes());
  CHECK(values(x.grad().sum()) == List{256000});
}

TEST_CASE("cat and stack join, promote and skip old empty tensors") {
  const Tensor a = counted({2, 2}), b = ones({1, 2}, kHalf);
  const Tensor joined = cat({a, b});
  CHECK(joined.scalar_type() == kFloat);
  CHECK(values(joined) == List{0, 1, 2, 3, 1, 1});
  CHECK(cat({ones({1}, kHalf), ones({1}, kBFloat16)}).scalar_type() == kFloat);
  CHECK(cat({tensor({1, 2}), tensor({0.5})}).scalar_type() == kFloat);
  CHECK(values(cat({a, zeros({0}), a.t()}, 1)) == List{0, 1, 0, 2, 2, 3, 1, 3});
  CHECK(concat({a, a}, -1).sizes() == IntArrayRef({2, 4}));
  CHECK(values(stack({a[0], a[1]}, 1)) == List{0, 2, 1, 3});
  CHECK(stack({tensor(1.0), tensor(2.0)}).sizes() == IntArrayRef({2}));
  CHECK_THAT(error_of([&] { cat({a, zeros({2, 3})}); }), Contains("[2, 2]") && Contains("[2, 3]"));
  CHECK_THROWS_AS(cat({a, zeros({2})}), Error);
  CHECK_THROWS_AS(cat({tensor(1.0)}), Error);
  CHECK_THROWS_AS(cat(TensorList()), Error);
  CHECK_THROWS_AS(stack({a, b}), Error);
  // fp16 to bf16 and back: converted while copying, each gradient in its input's dtype.
  const Tensor h = leaf(ones({2}, kHalf)), f = leaf(ones({3}));
  (cat({h, f}) * 3).sum().backward();
  CHECK(h.grad().scalar_type() == kHalf);
  CHECK(values(h.grad()) == List{3, 3});
}

TEST_CASE("flip, roll, repeat, repeat_interleave, triangles") {
  const Tensor x = counted({2, 3});
  CHECK(values(x.flip({0, 1})) == List{5, 4, 3, 2, 1, 0});
  CHECK(values(x.flip({-1})) == List{2, 1, 0, 5, 4, 3});
  CHECK_THROWS_AS(x.flip({0, 0}), Error);
  CHECK(values(x.roll(1)) == List{5, 0, 1, 2, 3, 4});
  CHECK(values(x.roll({1, -1}, {0, 1})) == List{4, 5, 3, 1, 2, 0});
  CHECK(values(x.roll(7, 1)) == values(x.roll(1, 1)));
  CHECK(values(counted({2}).repeat({2, 2})) == List{0, 1, 0, 1, 0, 1, 0, 1});
  CHECK(values(x.repeat({1, 2})) == List{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  CHECK(counted({2}).repeat({2, 2, 2, 2, 2}).sizes() == IntArrayRef({2, 2, 2, 2, 4}));
  CHECK(x.repeat({0, 1}).sizes() == IntArrayRef({0, 3}));
  CHECK_FALSE(shares(x, x.repeat({1, 1})));
  CHECK_THROWS_AS(x.repeat({2}), Error);
  CHECK(values(counted({2}).repeat_interleave(2)) == List{0, 0, 1, 1});
  CHECK(values(x.repeat_interleave(2, 0)) == List{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  CHECK(values(ones({3, 3}).tril()) == List{1, 0, 0, 1, 1, 0, 1, 1, 1});
  CHECK(values(ones({2, 3}).triu(1)) == List{0, 1, 1, 0, 0, 1});
  CHECK(values(ones({2, 2, 2}).tril(-1)) == List{0, 0, 1, 0, 0, 0, 1, 0});
  CHECK_THROWS_AS(counted({3}).tril(), Error);
  const Tensor r = leaf(counted({2}));
  r.repeat({3, 2}).sum().backward();
  CHECK(values(r.grad()) == List{6, 6});
}
