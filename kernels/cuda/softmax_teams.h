#pragma once

#include <algorithm>
#include <initializer_list>

#include "halftone/kernels/copy.h"
#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/cuda/softmax_rows.h"

namespace halftone::cuda {

/// Calls f.template operator()<Team, kValues>(grid, threads) with what suits rows of this geometry, computed
/// in C; nothing for no rows. `k` is the tensor whose layout decides.
template <class C, int N, class F>
void choose_team(const RowGeometry<N>& geometry, int k, F f) {
  constexpr int kValues = kPieceValues<C>;
  constexpr std::int64_t kPiece = Share<kValues>::kPiece;
  const std::int64_t rows = geometry.rows.numel, n = geometry.length;
  if (rows == 0 || n == 0) return;
  const auto grid = [&](std::int64_t rows_per_block) {
    return blocks_for(rows, static_cast<int>(rows_per_block));
  };
  if (rows_lie_side_by_side(geometry, k)) {
    const unsigned blocks = grid(ColumnTeam::kRowsPerBlock);
    if (n <= kShortRow) return f.template operator()<ColumnTeam, 1>(blocks, ColumnTeam::kThreads);
    return f.template operator()<ColumnTeam, kValues>(blocks, ColumnTeam::kThreads);
  }
  const unsigned warps = grid(WarpTeam::kRowsPerBlock);
  if (n <= kShortRow) return f.template operator()<WarpTeam, 1>(warps, WarpTeam::kThreads);
  if (n <= kPiece) return f.template operator()<WarpTeam, kValues>(warps, WarpTeam::kThreads);
  const std::int64_t pieces = (n + kPiece - 1) / kPiece;
  const int threads = 32 * static_cast<int>(pieces < kAccumulators ? pieces : kAccumulators);
  f.template operator()<BlockTeam, kValues>(grid(BlockTeam::kRowsPerBlock), threads);
}

inline bool any_double(std::initializer_list<const Tensor*> tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor* t) { return t->defined() && t->scalar_type() == kDouble; });
}

/// Integers as floating numbers, which is what the row kernels read.
inline Tensor as_floating(const Tensor& x, bool wide) {
  if (x.is_floating_point()) return x;
  const Tensor copy = empty(x.sizes(), TensorOptions(wide ? kDouble : kFloat).device(x.device()));
  kernels_for<CopyKernels>(x.device()).copy(copy, x);
  return copy;
}

}  // namespace halftone::cuda
