#pragma once

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
