// Reading and writing parts of tensors.

#include "halftone/tests/porting/check.h"

using namespace torch::indexing;

int main() {
  const auto a = torch::arange(24).view({2, 3, 4});
  const auto m = torch::arange(12, torch::kFloat).view({3, 4});

  // Integers, slices, None, Ellipsis
  PORTING_CHECK(a[1][2][3].item<int64_t>() == 23);
  PORTING_CLOSE(a.index({1}), a[1]);
  PORTING_CLOSE(a.index({1, 2}), torch::tensor({20, 21, 22, 23}));
  PORTING_CLOSE(a.index({"...", -1}), torch::tensor({{3, 7, 11}, {15, 19, 23}}));
  PORTING_CLOSE(a.index({Ellipsis, 0}), a.select(-1, 0));
  PORTING_CLOSE(a.index({Slice(), 1}), a.select(1, 1));
  PORTING_CLOSE(m.index({Slice(1, None)}), m.slice(0, 1));
  PORTING_CLOSE(m.index({Slice(None, 2), Slice(1, 4, 2)}), torch::tensor({{1.0, 3.0}, {5.0, 7.0}}));
  PORTING_CLOSE(m.index({Slice(None, None, 2)}), m.slice(0, 0, 3, 2));
  PORTING_CLOSE(m.index({Slice(-2, None), -1}), torch::tensor({7.0, 11.0}));
  PORTING_CHECK(m.index({None, Slice(), None}).sizes() == torch::IntArrayRef({1, 3, 1, 4}));
  PORTING_CHECK(m.index({Slice(2, 2)}).sizes() == torch::IntArrayRef({0, 4}));
  PORTING_CHECK(m.index({Slice(1, 100)}).size(0) == 2);
  PORTING_THROWS(m.index({5}));
  PORTING_THROWS(m.index({0, 0, 0}));

  // Index tensors and masks
  PORTING_CLOSE(m.index({torch::tensor({2, 0})}), torch::stack({m[2], m[0]}));
  PORTING_CLOSE(m.index({torch::tensor({0, 2}), torch::tensor({1, 3})}), torch::tensor({1.0, 11.0}));
  PORTING_CLOSE(m.index({Slice(), torch::tensor({-1, 0})}),
                torch::stack({m.select(1, 3), m.select(1, 0)}, 1));
  PORTING_CLOSE(m.index({torch::tensor({{0}, {2}}), torch::tensor({1, 3})}),
                torch::tensor({{1.0, 3.0}, {9.0, 11.0}}));
  PORTING_CLOSE(m.index({m > 8}), torch::tensor({9.0, 10.0, 11.0}));
  PORTING_CLOSE(m.index({torch::tensor({true, false, true})}), m.index({torch::tensor({0, 2})}));
  PORTING_CHECK(a.index({torch::tensor({0, 1}), Slice(), torch::tensor({3, 0})}).sizes() ==
                torch::IntArrayRef({2, 3}));
  PORTING_CHECK(m.index({true}).sizes() == torch::IntArrayRef({1, 3, 4}));
  PORTING_CLOSE(m[torch::tensor(1)], m[1]);
  PORTING_THROWS(m.index({torch::tensor({3})}));
  PORTING_THROWS(m.index({torch::tensor({true, false})}));

  // Writing
  auto w = torch::zeros({3, 4});
  w[0][1] = 5;
  w[2] = 1;
  w.index({1, Slice(0, 2)}) = torch::tensor({7.0, 8.0});
  PORTING_CLOSE(w, torch::tensor({{0.0, 5.0, 0.0, 0.0}, {7.0, 8.0, 0.0, 0.0}, {1.0, 1.0, 1.0, 1.0}}));
  w.index_put_({Slice(), 3}, 9);
  PORTING_CLOSE(w.select(1, 3), torch::full({3}, 9.0));
  w.index_put_({w > 4}, -1);
  PORTING_CHECK(w.max().item<float>() == 1);
  w.index_put_({torch::tensor({0, 0}), torch::tensor({2, 2})}, torch::tensor({1.0, 2.0}),
               /*accumulate=*/true);
  PORTING_CHECK(w[0][2].item<float>() == 3);
  w[0] += 10;
  w.select(1, 0).mul_(2);
  PORTING_CLOSE(w[0], torch::tensor({20.0, 9.0, 13.0, 9.0}));
  w.index({"...", 0}) = torch::zeros({3});
  PORTING_CHECK(w.select(1, 0).abs().sum().item<float>() == 0);

  // By function
  PORTING_CLOSE(m.index_select(1, torch::tensor({3, 1})), m.index({Slice(), torch::tensor({3, 1})}));
  PORTING_CLOSE(m.gather(1, torch::tensor({{0, 1}, {3, 3}, {2, 0}})),
                torch::tensor({{0.0, 1.0}, {7.0, 7.0}, {10.0, 8.0}}));
  PORTING_CLOSE(torch::zeros({2, 3}).scatter(1, torch::tensor({{2}, {0}}), 1.0),
                torch::tensor({{0.0, 0.0, 1.0}, {1.0, 0.0, 0.0}}));
  PORTING_CLOSE(torch::zeros({3}).scatter_add(0, torch::tensor({0, 0, 2}), torch::tensor({1.0, 2.0, 3.0})),
                torch::tensor({3.0, 0.0, 3.0}));
  PORTING_CLOSE(torch::zeros({3}).scatter_(0, torch::tensor({1}), torch::tensor({4.0})),
                torch::tensor({0.0, 4.0, 0.0}));
  PORTING_CLOSE(torch::zeros({3, 2}).index_add_(0, torch::tensor({2, 2}), torch::ones({2, 2})),
                torch::tensor({{0.0, 0.0}, {0.0, 0.0}, {2.0, 2.0}}));
  PORTING_CLOSE(torch::zeros({3, 2}).index_fill_(0, torch::tensor({1}), 3),
                torch::tensor({{0.0, 0.0}, {3.0, 3.0}, {0.0, 0.0}}));
  PORTING_CLOSE(torch::zeros({3, 2}).index_copy_(1, torch::tensor({0}), torch::ones({3, 1})),
                torch::tensor({{1.0, 0.0}, {1.0, 0.0}, {1.0, 0.0}}));
  PORTING_CLOSE(torch::take(m, torch::tensor({0, 5, -1})), torch::tensor({0.0, 5.0, 11.0}));
  PORTING_CLOSE(torch::zeros({2, 2}).put_(torch::tensor({1, 2}), torch::tensor({5.0, 6.0})),
                torch::tensor({{0.0, 5.0}, {6.0, 0.0}}));
  PORTING_CLOSE(torch::take_along_dim(m, m.argmax(1, true), 1), m.amax(1, true));
  PORTING_CLOSE(torch::masked_select(m, m.lt(3)), torch::tensor({0.0, 1.0, 2.0}));
  PORTING_CLOSE(m.masked_fill(m > 1, 0).sum(), torch::tensor(1.0));
  PORTING_CLOSE(torch::zeros({4}).masked_scatter_(torch::tensor({true, false, true, false}),
                                                  torch::tensor({1.0, 2.0, 3.0})),
                torch::tensor({1.0, 0.0, 2.0, 0.0}));
  PORTING_CLOSE(torch::where(m > 5, m, torch::zeros_like(m)).sum(), torch::tensor(51.0));
  PORTING_CLOSE(torch::where(m > 5, 1.0, 0.0).sum(), torch::tensor(6.0));
  PORTING_CLOSE(torch::nonzero(torch::tensor({{0, 1}, {2, 0}})), torch::tensor({{0, 1}, {1, 0}}));
  PORTING_CLOSE(torch::where(torch::tensor({0, 3, 0, 4}))[0], torch::tensor({1, 3}));
  PORTING_CLOSE(torch::argwhere(torch::tensor({0, 3})), torch::tensor({{1}}));
  PORTING_CLOSE(m.narrow(1, 1, 2), m.index({Slice(), Slice(1, 3)}));
  PORTING_CLOSE(torch::select_scatter(torch::zeros({2, 2}), torch::ones({2}), 0, 1),
                torch::tensor({{0.0, 0.0}, {1.0, 1.0}}));
  PORTING_CLOSE(torch::slice_scatter(torch::zeros({4}), torch::ones({2}), 0, 1, 3),
                torch::tensor({0.0, 1.0, 1.0, 0.0}));
  PORTING_CLOSE(torch::diagonal_scatter(torch::zeros({2, 2}), torch::ones({2})), torch::eye(2));
  PORTING_CLOSE(torch::isin(torch::tensor({1, 2, 3}), torch::tensor({3, 1})),
                torch::tensor({true, false, true}));

  // Views share memory
  auto base = torch::zeros({2, 3});
  base.t()[2].fill_(4);
  PORTING_CLOSE(base.select(1, 2), torch::full({2}, 4.0));
  base.diagonal().fill_(1);
  PORTING_CLOSE(base, torch::tensor({{1.0, 0.0, 4.0}, {0.0, 1.0, 4.0}}));
  base.unfold(1, 2, 1).select(1, 0).fill_(2);
  PORTING_CLOSE(base, torch::tensor({{2.0, 2.0, 4.0}, {2.0, 2.0, 4.0}}));
  PORTING_CLOSE(torch::zeros({3, 3}).fill_diagonal_(5), torch::eye(3) * 5);
  return porting::result("tensor_indexing");
}
