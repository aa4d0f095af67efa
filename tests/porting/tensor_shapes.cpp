// Shapes: views, joining and splitting, rearranging, padding, windows, resampling.

#include "halftone/tests/porting/check.h"

int main() {
  const auto a = torch::arange(6);
  const auto m = torch::arange(6, torch::kFloat).view({2, 3});
  const auto t = torch::arange(24).view({2, 3, 4});

  // Views and reshapes
  PORTING_CLOSE(a.view({-1, 3}), torch::tensor({{0, 1, 2}, {3, 4, 5}}));
  PORTING_CHECK(t.reshape({4, 6}).data_ptr() == t.data_ptr());
  PORTING_CHECK(t.flatten(1).sizes() == torch::IntArrayRef({2, 12}));
  PORTING_CHECK(t.unflatten(2, {2, 2}).sizes() == torch::IntArrayRef({2, 3, 2, 2}));
  PORTING_CHECK(t.unsqueeze(1).squeeze(1).sizes() == t.sizes() &&
                torch::zeros({1, 2, 1}).squeeze().dim() == 1);
  PORTING_CHECK(t.permute({2, 0, 1}).sizes() == torch::IntArrayRef({4, 2, 3}));
  PORTING_CHECK(torch::movedim(t, 0, 2).sizes() == torch::IntArrayRef({3, 4, 2}));
  PORTING_CHECK(torch::movedim(t, {0, 1}, {2, 0}).sizes() == torch::IntArrayRef({3, 4, 2}));
  PORTING_CHECK(t.swapaxes(0, 2).sizes() == torch::IntArrayRef({4, 3, 2}) && m.t().size(0) == 3);
  PORTING_CHECK(m.unsqueeze(0).expand({4, -1, -1}).sizes() == torch::IntArrayRef({4, 2, 3}));
  PORTING_CHECK(torch::broadcast_to(a, {2, 6}).stride(0) == 0 &&
                m.expand_as(torch::zeros({5, 2, 3})).size(0) == 5);
  PORTING_CHECK(torch::atleast_2d(torch::tensor(1.0)).dim() == 2 &&
                torch::ravel(t.transpose(0, 1)).is_contiguous());
  PORTING_CLOSE(m.as_strided({3}, {2}), torch::tensor({0.0, 2.0, 4.0}));
  PORTING_THROWS(t.view({5, 5}));
  PORTING_THROWS(t.transpose(0, 1).view({24}));

  // Joining and splitting
  PORTING_CLOSE(torch::cat({m, m}, 1).sum(1), torch::tensor({6.0, 24.0}));
  PORTING_CHECK(torch::cat({a, m.flatten()}).dtype() == torch::kFloat);
  PORTING_CHECK(torch::stack({m, m, m}, -1).sizes() == torch::IntArrayRef({2, 3, 3}));
  PORTING_CLOSE(torch::vstack({torch::tensor({1, 2}), torch::tensor({3, 4})}),
                torch::tensor({{1, 2}, {3, 4}}));
  PORTING_CLOSE(torch::hstack({torch::tensor({1, 2}), torch::tensor({3})}), torch::tensor({1, 2, 3}));
  PORTING_CLOSE(torch::column_stack({torch::tensor({1, 2}), torch::tensor({3, 4})}),
                torch::tensor({{1, 3}, {2, 4}}));
  PORTING_CHECK(torch::dstack({m, m}).sizes() == torch::IntArrayRef({2, 3, 2}));
  PORTING_CLOSE(torch::block_diag({torch::ones({1, 1}), torch::full({1, 2}, 2.0)}),
                torch::tensor({{1.0, 0.0, 0.0}, {0.0, 2.0, 2.0}}));
  PORTING_CHECK(a.split(4).size() == 2 && a.split(4)[1].numel() == 2 && a.chunk(4).size() == 3);
  PORTING_CHECK(a.tensor_split(4).size() == 4 && a.tensor_split(4)[3].numel() == 1);
  PORTING_CLOSE(torch::tensor_split(a, torch::IntArrayRef({1, 4}))[1], torch::tensor({1, 2, 3}));
  PORTING_CLOSE(m.hsplit(3)[2], torch::tensor({{2.0}, {5.0}}));
  PORTING_CHECK(t.unbind(1).size() == 3 && t.unbind(1)[0].sizes() == torch::IntArrayRef({2, 4}));
  PORTING_CLOSE(a.split_with_sizes({1, 5})[1], a.slice(0, 1));
  PORTING_CLOSE(a.repeat({2, 1}).sum(0), a * 2);
  PORTING_CLOSE(torch::tile(torch::tensor({1, 2}), {2}), torch::tensor({1, 2, 1, 2}));
  PORTING_CLOSE(torch::tensor({1, 2}).repeat_interleave(2), torch::tensor({1, 1, 2, 2}));
  PORTING_CLOSE(torch::tensor({5, 6, 7}).repeat_interleave(torch::tensor({2, 0, 1})),
                torch::tensor({5, 5, 7}));
  const auto grid = torch::meshgrid({torch::arange(2), torch::arange(3)});
  PORTING_CLOSE(grid[0], torch::tensor({{0, 0, 0}, {1, 1, 1}}));
  PORTING_CHECK(torch::meshgrid({torch::arange(2), torch::arange(3)}, "xy")[0].sizes() ==
                torch::IntArrayRef({3, 2}));
  PORTING_CLOSE(torch::cartesian_prod({torch::tensor({1, 2}), torch::tensor({3, 4})}),
                torch::tensor({{1, 3}, {1, 4}, {2, 3}, {2, 4}}));
  PORTING_CLOSE(torch::combinations(torch::tensor({1, 2, 3})), torch::tensor({{1, 2}, {1, 3}, {2, 3}}));
  PORTING_CHECK(torch::broadcast_tensors({torch::zeros({2, 1}), torch::zeros({3})})[1].sizes() ==
                torch::IntArrayRef({2, 3}));

  // Rearranging
  PORTING_CLOSE(m.flip({0, 1}), torch::tensor({{5.0, 4.0, 3.0}, {2.0, 1.0, 0.0}}));
  PORTING_CLOSE(torch::fliplr(m), m.flip({1}));
  PORTING_CLOSE(torch::roll(a, 2), torch::tensor({4, 5, 0, 1, 2, 3}));
  PORTING_CLOSE(m.roll({1, 1}, {0, 1}), torch::tensor({{5.0, 3.0, 4.0}, {2.0, 0.0, 1.0}}));
  PORTING_CLOSE(torch::rot90(m), torch::tensor({{2.0, 5.0}, {1.0, 4.0}, {0.0, 3.0}}));
  PORTING_CLOSE(torch::rot90(m, -1, {0, 1}), torch::tensor({{3.0, 0.0}, {4.0, 1.0}, {5.0, 2.0}}));
  PORTING_CLOSE(m.tril(), torch::tensor({{0.0, 0.0, 0.0}, {3.0, 4.0, 0.0}}));
  PORTING_CLOSE(torch::ones({3, 3}).triu(1).sum(), torch::tensor(3.0));
  PORTING_CLOSE(torch::tril_indices(2, 2), torch::tensor({{0, 1, 1}, {0, 0, 1}}));
  PORTING_CLOSE(torch::triu_indices(2, 3, 1), torch::tensor({{0, 0, 1}, {1, 2, 2}}));
  PORTING_CLOSE(torch::diag(torch::tensor({1, 2})), torch::tensor({{1, 0}, {0, 2}}));
  PORTING_CLOSE(torch::diag(m, 1), torch::tensor({1.0, 5.0}));
  PORTING_CLOSE(torch::diag_embed(torch::ones({2, 2})).sum({1, 2}), torch::full({2}, 2.0));
  PORTING_CHECK(torch::diag_embed(torch::ones({4, 2}), 1, 0, 2).sizes() == torch::IntArrayRef({3, 4, 3}));
  PORTING_CLOSE(torch::trace(torch::tensor({{1.0, 2.0}, {3.0, 4.0}})), torch::tensor(5.0));

  // Windows
  PORTING_CLOSE(a.unfold(0, 3, 2), torch::tensor({{0, 1, 2}, {2, 3, 4}}));
  const auto image = torch::arange(16, torch::kFloat).view({1, 1, 4, 4});
  const auto columns = torch::im2col(image, {2, 2}, {1, 1}, {0, 0}, {2, 2});
  PORTING_CHECK(columns.sizes() == torch::IntArrayRef({1, 4, 4}));
  PORTING_CLOSE(columns[0][1], torch::tensor({1.0, 3.0, 9.0, 11.0}));
  PORTING_CLOSE(torch::col2im(columns, {4, 4}, {2, 2}, {1, 1}, {0, 0}, {2, 2}), image);
  const auto overlapping = torch::im2col(torch::ones({1, 2, 3, 3}), {3, 3}, {1, 1}, {1, 1}, {1, 1});
  PORTING_CLOSE(torch::col2im(overlapping, {3, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1})[0][0],
                torch::tensor({{4.0, 6.0, 4.0}, {6.0, 9.0, 6.0}, {4.0, 6.0, 4.0}}));

  // Padding
  const auto row = torch::tensor({1.0, 2.0, 3.0}).view({1, 1, 3});
  PORTING_CLOSE(torch::constant_pad_nd(row, {1, 2}, 9).flatten(),
                torch::tensor({9.0, 1.0, 2.0, 3.0, 9.0, 9.0}));
  PORTING_CLOSE(torch::constant_pad_nd(row, {-1, 0}).flatten(), torch::tensor({2.0, 3.0}));
  PORTING_CLOSE(torch::reflection_pad1d(row, {2, 1}).flatten(),
                torch::tensor({3.0, 2.0, 1.0, 2.0, 3.0, 2.0}));
  PORTING_CLOSE(torch::replication_pad1d(row, {2, 1}).flatten(),
                torch::tensor({1.0, 1.0, 1.0, 2.0, 3.0, 3.0}));
  PORTING_CLOSE(torch::pad(row, {2, 1}, "circular").flatten(), torch::tensor({2.0, 3.0, 1.0, 2.0, 3.0, 1.0}));
  PORTING_CLOSE(torch::pad(m, {0, 0, 1, 0}, "constant", 7).select(0, 0), torch::full({3}, 7.0));
  PORTING_CHECK(torch::reflection_pad2d(image, {1, 1, 2, 2}).sizes() == torch::IntArrayRef({1, 1, 8, 6}));
  PORTING_CHECK(torch::reflection_pad2d(image, {1, 1, 2, 2})[0][0][0][0].item<float>() == 9);

  // Resampling
  const auto line = torch::tensor({0.0, 1.0, 4.0, 2.0}).view({1, 1, 4});
  PORTING_CLOSE(torch::upsample_nearest1d(line, {6}).flatten(),
                torch::tensor({0.0, 0.0, 1.0, 4.0, 4.0, 2.0}));
  PORTING_CLOSE(torch::upsample_linear1d(line, {7}, true).flatten(),
                torch::tensor({0.0, 0.5, 1.0, 2.5, 4.0, 3.0, 2.0}));
  PORTING_CLOSE(torch::upsample_linear1d(line, {2}, false).flatten(), torch::tensor({0.5, 3.0}));
  PORTING_CLOSE(torch::upsample_bilinear2d(image, {2, 3}, false)[0][0],
                torch::tensor({{2.1666667, 3.5, 4.8333333}, {10.1666667, 11.5, 12.8333333}}));
  PORTING_CLOSE(torch::upsample_bilinear2d(image, {3, 3}, true)[0][0],
                torch::tensor({{0.0, 1.5, 3.0}, {6.0, 7.5, 9.0}, {12.0, 13.5, 15.0}}));
  PORTING_CHECK(torch::upsample_nearest2d(image, {8, 2}).sizes() == torch::IntArrayRef({1, 1, 8, 2}));
  PORTING_CLOSE(torch::upsample_bicubic2d(image, {2, 2}, true)[0][0],
                torch::tensor({{0.0, 3.0}, {12.0, 15.0}}));
  PORTING_CLOSE(torch::upsample_bicubic2d(image, {3, 2}, false)[0][0],
                torch::tensor({{0.9583333, 2.8541667}, {6.5520833, 8.4479167}, {12.1458333, 14.0416667}}),
                1.0);
  PORTING_CHECK(
      torch::upsample_trilinear3d(torch::ones({1, 1, 2, 2, 2}), {3, 3, 3}, false).sum().item<float>() == 27);
  return porting::result("tensor_shapes");
}
