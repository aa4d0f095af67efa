// Writing in place: through views, into bases of views, and what the graph says about it. Gradients are
// compared with the same computation written without any write.

#include <catch2/catch.hpp>

#include "halftone/autograd/autograd.h"
#include "halftone/engine/print.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/tests/support/values.h"

using namespace halftone;
using namespace halftone::test;
using Catch::Matchers::Contains;

namespace {

Tensor counted(IntArrayRef sizes) { return arange(1, count_elements(sizes) + 1, kFloat).view(sizes); }

}  // namespace

TEST_CASE("assignment to an indexed tensor writes into it, to a named one rebinds it") {
  Tensor x = zeros({2, 3});
  x[0] = 1;
  x[1][2] = 2.5;
  x.slice(1, 0, 1) = tensor({{7.0f}, {8.0f}});
  CHECK(values(x) == List{7, 1, 1, 8, 0, 2.5});
  Tensor row = x[0];
  row = zeros({1});
  CHECK(values(x[0]) == List{7, 1, 1});
  const Tensor other = x[1];
  x[0] = other;
  CHECK(values(x[0]) == List{8, 0, 2.5});
}

TEST_CASE("an assigned element takes part in the graph") {
  const Tensor w = leaf(tensor(3.0f)), a = leaf(counted({3}));
  Tensor x = a * 2;
  x[1] = w * w;
  (x * tensor({1.0f, 10.0f, 100.0f})).sum().backward();
  CHECK(values(a.grad()) == List{2, 0, 200});
  CHECK(w.grad().item<float>() == 60);
}

TEST_CASE("filling a part of a fresh tensor") {
  const Tensor w = leaf(counted({3}));
  const Tensor x = zeros({2, 3});
  x[0] = w;
  x[1] = w * w;
  CHECK(x.requires_grad());
  x.sum().backward();
  CHECK(values(w.grad()) == List{3, 5, 7});
}

TEST_CASE("y = x.view(...); y.mul_(w) equals the out-of-place formulation") {
  const Tensor w1 = leaf(tensor({2.0f, 3.0f})), a1 = leaf(counted({2, 2}));
  const Tensor x = a1 * a1;
  const Tensor y = x.view({4}).slice(0, 1, 3);
  y.mul_(w1);
  (x * counted({2, 2})).sum().backward();

  const Tensor w2 = leaf(tensor({2.0f, 3.0f})), a2 = leaf(counted({2, 2}));
  const Tensor flat = (a2 * a2).view({4});
  const Tensor written = cat({flat.slice(0, 0, 1), flat.slice(0, 1, 3) * w2, flat.slice(0, 3)}).view({2, 2});
  (written * counted({2, 2})).sum().backward();

  CHECK(values(x) == values(written));
  CHECK(values(a1.grad()) == values(a2.grad()));
  CHECK(values(w1.grad()) == values(w2.grad()));
}

TEST_CASE("a view of a view writes through to the base and to its siblings") {
  const Tensor a = leaf(counted({2, 3})), w = leaf(tensor(5.0f));
  const Tensor x = a * 1;
  const Tensor column = x.t()[1];  // x[:, 1], a view of a view
  const Tensor sibling = x[0];     // taken before the write
  column.mul_(w);
  CHECK(values(sibling) == List{1, 10, 3});
  (sibling * sibling).sum().backward();  // a00^2 + (w a01)^2 + a02^2
  CHECK(values(a.grad()) == List{2, 100, 6, 0, 0, 0});
  CHECK(w.grad().item<float>() == 2 * 10 * 2);
}

TEST_CASE("a write to the base is seen by a view taken before") {
  const Tensor a = leaf(counted({4}));
  Tensor x = a * 1;
  const Tensor part = x.slice(0, 1, 3);
  x.mul_(3);
  CHECK(part.requires_grad());
  (part * part).sum().backward();  // (3 a)^2
  CHECK(values(a.grad()) == List{0, 36, 54, 0});
  CHECK(part.grad().defined() == false);
}

TEST_CASE("write after write, through different windows") {
  const Tensor a = leaf(counted({2, 2})), b = leaf(tensor({10.0f, 20.0f}));
  const Tensor x = a * 1;
  x[0].add_(b);
  x.t()[0].mul_(x.t()[1]);  // x[:, 0] *= x[:, 1]
  x.diagonal().mul_(2);
  // x = [[2 (a00 + b0)(a01 + b1), a01 + b1], [a10 a11, 2 a11]]
  CHECK(values(x) == List{2 * 11 * 22, 22, 12, 8});
  x.sum().backward();
  CHECK(values(a.grad()) == List{44, 22 + 1, 4, 3 + 2});
  CHECK(values(b.grad()) == List{44, 23});
}

TEST_CASE("writes through views of tensors that are not contiguous themselves") {
  const Tensor storage = counted({3, 2});
  const Tensor x = storage.t().detach();  // (2, 3), no view of anything, strides 1 and 2
  REQUIRE_FALSE(x.is_contiguous());
  const Tensor w = leaf(tensor({2.0f, 3.0f}));
  const Tensor column = x.select(1, 1);
  column.mul_(w);
  CHECK(values(x) == List{1, 6, 5, 2, 12, 6});
  (x * counted({2, 3})).sum().backward();
  CHECK(values(w.grad()) == List{3 * 2, 4 * 5});
}

TEST_CASE("a contiguous base that starts inside its storage") {
  const Tensor x = counted({4, 2})[1].detach();  // offset 2
  const Tensor w = leaf(tensor(4.0f));
  x.slice(0, 1).mul_(w);
  CHECK(values(x) == List{3, 16});
  (x * tensor({1.0f, 10.0f})).sum().backward();
  CHECK(w.grad().item<float>() == 40);
}

TEST_CASE("second derivatives through a write") {
  const Tensor a = leaf(tensor({2.0f, 3.0f}));
  const Tensor x = a * a;
  x.slice(0, 1).mul_(a.slice(0, 1));  // a0^2, a1^3
  const Tensor first = autograd::grad({x.sum()}, {a}, {}, true, true)[0];
  CHECK(values(first) == List{4, 27});
  CHECK(values(autograd::grad({first.sum()}, {a})[0]) == List{2, 18});
}

TEST_CASE("leaves that require grad are not written, unless nothing is recorded") {
  Tensor x = leaf(counted({3}));
  CHECK_THAT(error_of([&] { x.add_(1); }), Contains("add") && Contains("leaf"));
  CHECK_THAT(error_of([&] { x[0] = 1; }), Contains("view of a leaf"));
  CHECK_THAT(error_of([&] { x.index_put_({0}, 1.0); }), Contains("leaf"));
  CHECK(values(x) == List{1, 2, 3});
  {
    NoGradGuard no_grad;
    x.add_(1);
    x[0] = 9;
  }
  CHECK(values(x) == List{9, 3, 4});
  CHECK(x.is_leaf());
}

TEST_CASE("a tensor kept for backward that was written is an error naming operator and versions") {
  const Tensor a = leaf(counted({3}));
  const Tensor x = a * 1;
  const Tensor y = x * x;
  x.add_(1);
  CHECK_THAT(error_of([&] { y.sum().backward(); }),
             Contains("mul") && Contains("version 1") && Contains("expected 0") && Contains("add"));
  // Also when a view was written.
  const Tensor b = leaf(counted({3}));
  const Tensor u = b * 1;
  const Tensor v = u * u;
  u[0] = 0;
  CHECK_THAT(error_of([&] { v.sum().backward(); }), Contains("written in place"));
  // An operator that keeps nothing does not mind.
  const Tensor c = leaf(counted({3}));
  const Tensor s = c * 1;
  const Tensor t = s + 1;
  s.mul_(2);
  t.sum().backward();
  CHECK(values(c.grad()) == List{1, 1, 1});
}

TEST_CASE("operands that overlap the written tensor are read as they were") {
  Tensor x = counted({2, 2});
  x.add_(x.t());
  CHECK(values(x) == List{2, 5, 5, 8});
  Tensor y = counted({4});
  y.slice(0, 1).copy_(y.slice(0, 0, 3));
  CHECK(values(y) == List{1, 1, 2, 3});
  Tensor z = counted({3});
  z.mul_(z);
  CHECK(values(z) == List{1, 4, 9});
  const Tensor a = leaf(counted({2, 2}));
  const Tensor w = a * 1;
  w.add_(w.t());
  (w * counted({2, 2})).sum().backward();
  CHECK(values(a.grad()) == List{2, 5, 5, 8});
}

TEST_CASE("an expanded tensor is not written in place") {
  Tensor x = zeros({1, 3}).expand({2, 3});
  CHECK_THAT(error_of([&] { x.add_(1); }), Contains("expanded") && Contains("clone()"));
  CHECK_THROWS_AS(x.index_put_({tensor({0})}, 1.0), Error);
}

TEST_CASE("index_put_, masked_fill_ and scatter_add_ with gradients") {
  const Tensor a = leaf(counted({4})), v = leaf(tensor({10.0f, 20.0f, 30.0f}));
  Tensor x = a * 2;
  x.index_put_({tensor({3, 0, 3})}, v);  // 30 wins at 3
  CHECK(values(x) == List{20, 4, 6, 30});
  (x * counted({4})).sum().backward();
  CHECK(values(a.grad()) == List{0, 4, 6, 0});
  CHECK(values(v.grad()) == List{0, 1, 4});

  const Tensor b = leaf(counted({2, 2})), u = leaf(tensor({5.0f, 6.0f}));
  Tensor y = b * 1;
  y.t().index_put_({tensor({1, 1}), tensor({0, 1})}, u, true);  // y[:, 1] += u
  y[0].masked_fill_(tensor({true, false}), 0);
  y.view({4}).scatter_add_(0, tensor({2, 2}), u);
  CHECK(values(y) == List{0, 7, 14, 10});
  (y * counted({2, 2})).sum().backward();
  CHECK(values(b.grad()) == List{0, 2, 3, 4});
  CHECK(values(u.grad()) == List{2 + 3, 4 + 3});
}

TEST_CASE("in-place writes into half tensors keep their dtype, also from wider values") {
  Tensor h = zeros({2}, kHalf);
  h.index_put_({tensor({1})}, tensor({1.5f}));
  h[0] = tensor(0.1f);
  CHECK(h.scalar_type() == kHalf);
  CHECK(values(h) == List{static_cast<double>(static_cast<float>(Half(0.1f))), 1.5});
  Tensor i = zeros({2}, kLong);
  CHECK_THROWS_AS(i.add_(ones({2})), Error);
}
