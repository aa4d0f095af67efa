#pragma once

#include <algorithm>
#include <optional>

#include "halftone/kernels/cuda/norm_rows.h"
#include "halftone/kernels/cuda/softmax_teams.h"

// What the host code of the normalisations shares.
namespace halftone::cuda {

/// Address and dtype of a tensor that may be undefined.
struct MaybeTensor {
  void* data = nullptr;
  ScalarType dtype = kFloat;

  explicit MaybeTensor(const Tensor& t) {
    if (!t.defined()) return;
    data = t.data_ptr();
    dtype = t.scalar_type();
  }
};

/// Weights and biases may have any layout; kernels read them in row-major order.
inline Tensor in_order(const Tensor& t) {
  if (!t.defined() || t.is_contiguous()) return t;
  const Tensor copy = empty(t.sizes(), TensorOptions(t.scalar_type()).device(t.device()));
  kernels_for<CopyKernels>(t.device()).copy(copy, t);
  return copy;
}

/// Calls f.template operator()<Team, kValues>(grid, threads) with what suits rows of `n` elements, computed
/// in C.
template <class C, class F>
void choose_norm_team(std::int64_t rows, std::int64_t n, F f) {
  constexpr int kValues = kPieceValues<C>;
  constexpr std::int64_t kPiece = Share<kValues>::kPiece;
  if (n <= kPiece) {
    const unsigned grid = blocks_for(rows, static_cast<int>(WarpTeam::kRowsPerBlock));
    return f.template operator()<WarpTeam, kValues>(grid, WarpTeam::kThreads);
  }
  const std::int64_t pieces = (n + kPiece - 1) / kPiece;
  const int threads = 32 * static_cast<int>(pieces < kAccumulators ? pieces : kAccumulators);
  f.template operator()<BlockTeam, kValues>(blocks_for(rows, 1), threads);
}

/// Threads of a block that works on a part of a row.
inline constexpr int kPartThreads = 32 * kAccumulators;

/// How few, long rows are shared out: each is cut into `count` parts of `size` pieces, a block each. Sums of
/// parts are added in order by every block that needs them, so no block waits for another. The cut depends on
/// the shape alone.
struct RowParts {
  std::int64_t count, size, all;  // `all`: pieces of a row

  /// Nothing where a block per row, or less, is enough.
  template <class C>
  static std::optional<RowParts> of(const NormShape& shape) {
    constexpr std::int64_t kSmallest =
        2 * kAccumulators;  // pieces; a part keeps its threads busy for a while
    constexpr std::int64_t kBlocks = 1024, kMost = 64;
    constexpr std::int64_t kPiece = Share<kPieceValues<C>>::kPiece;
    const std::int64_t pieces = (shape.row_size() + kPiece - 1) / kPiece;
    const std::int64_t wanted =
        std::min({pieces / kSmallest, kBlocks / std::max<std::int64_t>(shape.rows, 1), kMost});
    if (shape.affine != NormShape::Affine::kRow || !shape.centered || wanted < 2) return std::nullopt;
    const std::int64_t size = (pieces + wanted - 1) / wanted;
    return RowParts{(pieces + size - 1) / size, size, pieces};
  }
  HALFTONE_HD Pieces pieces(std::int64_t part) const {
    const std::int64_t begin = part * size, end = begin + size;
    return {begin, end < all ? end : all};
  }
};

/// Of row `row`, its parts in order.
__device__ inline Deviations sum_parts(const Deviations* parts, const RowParts& cut, std::int64_t row) {
  Deviations total;
  for (std::int64_t i = row * cut.count; i < (row + 1) * cut.count; ++i) {
    total.first += parts[i].first;
    total.second += parts[i].second;
  }
  return total;
}
/// The mean of row `row`, from the sums about `shift`.
__device__ inline double mean_of_parts(const Deviations* parts, const RowParts& cut, std::int64_t row,
                                       double shift, std::int64_t n) {
  return shift + sum_parts(parts, cut, row).first / static_cast<double>(n);
}

/// See NormKernels.
void norm_backward(const Tensor& gx, const Tensor& gw, const Tensor& gb, const Tensor& g, const Tensor& x,
                   const Tensor& weight, const Tensor& mean, const Tensor& rstd, const NormShape& shape);

/// The mean and 1 / sqrt(var + eps) of rows, in the dtype to compute in, which is that of `mean` and `rstd`.
void norm_statistics(const Tensor& mean, const Tensor& rstd, const Tensor& x, const NormShape& shape);

/// Gradients of weights and biases that rows share: sums of g (x - center) rstd and of g over the rows, in
/// two passes in a fixed order. `center` and `rstd` are in C, one per row. gw and gb may be undefined.
void norm_weight_gradients(const Tensor& gw, const Tensor& gb, const Tensor& g, const Tensor& x,
                           const Tensor& mean, const Tensor& rstd, const NormShape& shape, bool wide);
/// Where there is nothing to sum.
void zero_weight_gradients(const Tensor& gw, const Tensor& gb, std::int64_t channels);

}  // namespace halftone::cuda
