// Sorting and counting; products and norms of vectors and matrices.

#include "halftone/tests/porting/check.h"

#include <cmath>
#include <limits>

int main() {
  const float nan = std::nanf("");
  const auto x = torch::tensor({{3.0, 1.0, 2.0}, {9.0, 7.0, 8.0}});

  // Order
  const auto [sorted, order] = x.sort(1);
  PORTING_CLOSE(sorted, torch::tensor({{1.0, 2.0, 3.0}, {7.0, 8.0, 9.0}}));
  PORTING_CLOSE(order, torch::tensor({{1, 2, 0}, {1, 2, 0}}));
  PORTING_CLOSE(std::get<0>(torch::sort(x, 0, /*descending=*/true))[0], x[1]);
  PORTING_CLOSE(torch::argsort(torch::tensor({2, 1, 2, 0}), /*stable=*/true, 0), torch::tensor({3, 1, 0, 2}));
  PORTING_CLOSE(std::get<0>(x.topk(2)), torch::tensor({{3.0, 2.0}, {9.0, 8.0}}));
  PORTING_CLOSE(std::get<1>(x.topk(1, 1, /*largest=*/false)), torch::tensor({{1}, {1}}));
  PORTING_CLOSE(x.median(), torch::tensor(3.0));
  PORTING_CLOSE(std::get<0>(x.median(1)), torch::tensor({2.0, 8.0}));
  PORTING_CLOSE(std::get<1>(x.median(1, true)), torch::tensor({{2}, {2}}));
  PORTING_CHECK(std::isnan(torch::tensor({1.0f, nan, 0.0f}).median().item<float>()));
  PORTING_CLOSE(torch::nanmedian(torch::tensor({1.0f, nan, 0.0f, 5.0f})), torch::tensor(1.0));
  PORTING_CLOSE(std::get<0>(torch::kthvalue(x, 2, 1)), torch::tensor({2.0, 8.0}));
  PORTING_CLOSE(std::get<0>(torch::mode(torch::tensor({{2, 1, 2, 1, 3}}), 1)), torch::tensor({1}));
  PORTING_CLOSE(std::get<0>(torch::mode(torch::tensor({5.0, 4.0, 5.0}))), torch::tensor(5.0));
  PORTING_CLOSE(torch::quantile(torch::tensor({0.0, 1.0, 2.0, 3.0}), 0.4), torch::tensor(1.2));
  PORTING_CLOSE(torch::quantile(x, torch::tensor({0.0, 0.5}), 1), torch::tensor({{1.0, 7.0}, {2.0, 8.0}}));
  PORTING_CLOSE(torch::quantile(torch::tensor({0.0, 1.0}), 0.6, c10::nullopt, false, "nearest"),
                torch::tensor(1.0));
  PORTING_CLOSE(torch::quantile(x, 0.5, 0, /*keepdim=*/true), torch::tensor({{6.0, 4.0, 5.0}}));
  PORTING_CLOSE(torch::nanquantile(torch::tensor({1.0f, nan, 3.0f}), 0.5), torch::tensor(2.0));
  const auto [distinct, inverse, counts] =
      torch::_unique2(torch::tensor({3, 1, 3, 2, 1, 3}), true, true, true);
  PORTING_CLOSE(distinct, torch::tensor({1, 2, 3}));
  PORTING_CLOSE(inverse, torch::tensor({2, 0, 2, 1, 0, 2}));
  PORTING_CLOSE(counts, torch::tensor({2, 1, 3}));
  PORTING_CLOSE(std::get<0>(torch::unique_dim(torch::tensor({{2, 1}, {1, 3}, {2, 1}}), 0)),
                torch::tensor({{1, 3}, {2, 1}}));
  PORTING_CLOSE(std::get<0>(torch::unique_consecutive(torch::tensor({1, 1, 2, 1}))),
                torch::tensor({1, 2, 1}));
  PORTING_CLOSE(std::get<2>(torch::unique_consecutive(torch::tensor({1, 1, 2, 1}), false, true)),
                torch::tensor({2, 1, 1}));
  PORTING_CLOSE(torch::bincount(torch::tensor({0, 2, 2})), torch::tensor({1, 0, 2}));
  PORTING_CLOSE(torch::bincount(torch::tensor({0, 1}), torch::tensor({0.5, 2.0}), 3),
                torch::tensor({0.5, 2.0, 0.0}));
  PORTING_CLOSE(torch::histc(torch::tensor({0.0, 1.0, 1.0, 4.0}), 4, 0, 4),
                torch::tensor({1.0, 2.0, 0.0, 1.0}));
  PORTING_CLOSE(torch::searchsorted(torch::tensor({1, 3, 5}), torch::tensor({3, 6})), torch::tensor({1, 3}));
  PORTING_CLOSE(torch::searchsorted(torch::tensor({1, 3, 5}), torch::tensor({3}), false, /*right=*/true),
                torch::tensor({2}));
  PORTING_CLOSE(torch::bucketize(torch::tensor({0.5, 2.0}), torch::tensor({1.0, 2.0})),
                torch::tensor({0, 1}));

  // Products
  const auto a = torch::arange(6, torch::kFloat).view({2, 3});
  const auto b = torch::arange(12, torch::kFloat).view({3, 4});
  const auto v = torch::tensor({1.0, 2.0, 3.0});
  const auto ab = a.mm(b);
  PORTING_CLOSE(ab[1], torch::tensor({56.0, 68.0, 80.0, 92.0}));
  PORTING_CLOSE(a.matmul(v), torch::tensor({8.0, 26.0}));
  PORTING_CLOSE(torch::matmul(a.expand({5, 2, 3}), b)[4], ab);
  PORTING_CLOSE(torch::bmm(a.unsqueeze(0), b.unsqueeze(0))[0], ab);
  PORTING_CLOSE(v.dot(v), torch::tensor(14.0));
  PORTING_CLOSE(torch::outer(v, v)[2], v * 3);
  PORTING_CLOSE(torch::ger(v, v), torch::outer(v, v));
  PORTING_CLOSE(torch::inner(a, a), a.mm(a.t()));
  PORTING_CLOSE(torch::addmm(torch::ones({2, 4}), a, b, 2, 0.5), ab * 0.5 + 2);
  PORTING_CLOSE(torch::addmv(torch::ones({2}), a, v), torch::tensor({9.0, 27.0}));
  PORTING_CLOSE(torch::addr(torch::zeros({3, 3}), v, v, 1, 2), torch::outer(v, v) * 2);
  PORTING_CLOSE(torch::baddbmm(torch::zeros({1, 2, 4}), a.unsqueeze(0), b.unsqueeze(0))[0], ab);
  PORTING_CLOSE(torch::addbmm(torch::zeros({2, 4}), a.expand({2, 2, 3}), b.expand({2, 3, 4})), ab * 2);
  PORTING_CLOSE(torch::einsum("ij,jk->ik", {a, b}), ab);
  PORTING_CLOSE(torch::einsum("ij,jk", {a, b}), ab);
  PORTING_CLOSE(torch::einsum("ij->", {a}), torch::tensor(15.0));
  PORTING_CLOSE(torch::einsum("ij->ji", {a}), a.t());
  PORTING_CLOSE(torch::einsum("ii->i", {torch::eye(3)}), torch::ones({3}));
  PORTING_CLOSE(torch::einsum("i,j->ij", {v, v}), torch::outer(v, v));
  PORTING_CLOSE(torch::einsum("...ij,...jk->...ik", {a.expand({2, 2, 3}), b.expand({2, 3, 4})})[1], ab);
  PORTING_CLOSE(
      torch::einsum("bij,bjk,bk->bi", {a.expand({2, 2, 3}), b.expand({2, 3, 4}), torch::ones({2, 4})})[0],
      ab.sum(1));
  PORTING_CLOSE(torch::tensordot(a, b, {1}, {0}), ab);
  PORTING_CLOSE(torch::tensordot(b, b, {0, 1}, {0, 1}), b.square().sum());
  PORTING_CLOSE(torch::kron(torch::eye(2), torch::tensor({{1.0, 2.0}})),
                torch::tensor({{1.0, 2.0, 0.0, 0.0}, {0.0, 0.0, 1.0, 2.0}}));
  PORTING_CLOSE(torch::cross(torch::tensor({1.0, 0.0, 0.0}), torch::tensor({0.0, 1.0, 0.0})),
                torch::tensor({0.0, 0.0, 1.0}));
  PORTING_CLOSE(torch::matrix_power(torch::tensor({{1.0, 1.0}, {0.0, 1.0}}), 5),
                torch::tensor({{1.0, 5.0}, {0.0, 1.0}}));
  PORTING_CLOSE(torch::chain_matmul({a, b, torch::ones({4, 1})}), ab.sum(1, true));
  PORTING_CLOSE(torch::linalg::multi_dot({a, b, torch::ones({4})}), ab.sum(1));
  PORTING_CLOSE(torch::cdist(torch::tensor({{0.0, 0.0}, {3.0, 4.0}}), torch::tensor({{0.0, 0.0}})),
                torch::tensor({{0.0}, {5.0}}));
  PORTING_CLOSE(torch::pdist(torch::tensor({{0.0, 0.0}, {3.0, 4.0}, {3.0, 0.0}})),
                torch::tensor({5.0, 3.0, 4.0}));
  PORTING_THROWS(a.mm(a));
  PORTING_THROWS(torch::einsum("ij,jk->ik", {a, a}));

  // Norms
  const double inf = std::numeric_limits<double>::infinity();
  PORTING_CLOSE(torch::linalg_norm(v), torch::tensor(3.7416574));
  PORTING_CLOSE(torch::linalg_norm(a, "fro"), torch::tensor(7.4161985));
  PORTING_CLOSE(torch::linalg_norm(a, inf), torch::tensor(12.0));
  PORTING_CLOSE(torch::linalg_norm(a, 1), torch::tensor(7.0));
  PORTING_CLOSE(torch::linalg_vector_norm(a, 3, torch::IntArrayRef({1})), torch::tensor({2.0800838, 6.0}));
  PORTING_CLOSE(torch::linalg_vector_norm(a, inf), torch::tensor(5.0));
  PORTING_CLOSE(torch::linalg_matrix_norm(a, -inf), torch::tensor(3.0));
  return porting::result("tensor_order_and_products");
}
