#pragma once

#include <cstdint>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"

namespace halftone {

/// Which elements are normalised together, in a contiguous tensor. Row r is `segments` runs of `length`
/// elements: element i of segment s stands at r * row_step + s * segment_step + i. The rows together are the
/// whole tensor.
struct NormShape {
  /// Which weight and bias an element takes.
  enum class Affine : std::uint8_t {
    kElement,  ///< number i: layer norm (one segment per row)
    kSegment,  ///< number r % groups * segments + s: group norm
    kRow,      ///< number r: batch norm
  };
  std::int64_t rows = 0, segments = 1, length = 0;
  std::int64_t row_step = 0, segment_step = 0;
  Affine affine = Affine::kElement;
  std::int64_t groups = 1;
  double eps = 0;
  bool centered = true;  ///< false: nothing is subtracted (RMS norm)
  bool frozen = false;   ///< mean and rstd are given constants, not the rows' own

  std::int64_t row_size() const { return segments * length; }
  /// Number of weights.
  std::int64_t channels() const {
    return affine == Affine::kElement ? length : affine == Affine::kSegment ? groups * segments : rows;
  }
};

/// Normalisation of rows: xhat = (x - mean) * rstd with rstd = 1 / sqrt(var + eps), times weight plus bias.
///
/// Data tensors are contiguous, weight and bias have any layout; all floating dtypes, mixed freely. Computed
/// in fp32 (fp64 when a tensor is float64) and rounded once. Means and variances: over blocks of at most 512
/// elements, the squares about the block's own mean, so a large common offset costs no accuracy; squares that
/// leave the range of fp32 are summed again in fp64. Blocks are combined in fp64, in order: results do not
/// depend on threads.
struct NormKernels {
  /// `mean`, `rstd` (one element per row each, contiguous, or undefined) receive the rows' statistics, or
  /// give them if shape.frozen; `var` likewise receives the biased variance. `weight`, `bias` may be
  /// undefined.
  void (*forward)(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& var,
                  const Tensor& x, const Tensor& weight, const Tensor& bias, const NormShape& shape);
  /// With h = g * weight: gx = rstd (h - mean(h) - xhat mean(h xhat)); gw and gb (contiguous, or undefined)
  /// are the sums of g xhat and g. Without `mean` and `rstd` they are computed again.
  void (*backward)(const Tensor& gx, const Tensor& gw, const Tensor& gb, const Tensor& g, const Tensor& x,
                   const Tensor& weight, const Tensor& mean, const Tensor& rstd, const NormShape& shape);
};

template <>
const NormKernels& cpu_kernels<NormKernels>();

}  // namespace halftone
