#pragma once

#include <cstdint>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"
#include "halftone/kernels/params.h"

namespace halftone {

/// Bit d set: dimension d is reduced.
using DimMask = std::uint32_t;

/// What remains of the reduced elements.
enum class ReduceOp : std::uint8_t {
  kSum,           // 0 of nothing
  kMean,          // NaN of nothing
  kProd,          // 1 of nothing
  kMax,           // NaN if any is NaN; operators refuse empty reductions
  kMin,           //
  kAny,           // 1 if any is not zero, else 0
  kAll,           // 1 if none is zero, else 0
  kNorm1,         // sum |x|
  kNorm2,         // sqrt(sum x^2), squares in double: no overflow while the result is representable
  kNormInf,       // max |x|
  kNormP,         // (sum |x|^p)^(1/p), powers in double. Params: p
  kCountNonzero,  //
  kLogSumExp,     // log(sum e^x), shifted by the maximum
  kVar,           // sum (x - mean)^2 / max(n - correction, 0), in two passes. Params: correction
};

/// Sums, extremes and counts of integers are exact in int64; everything else of integers needs fractions.
inline bool has_integer_form(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kProd:
    case ReduceOp::kMax:
    case ReduceOp::kMin:
    case ReduceOp::kAny:
    case ReduceOp::kAll:
    case ReduceOp::kCountNonzero:
      return true;
    default:
      return false;
  }
}

enum class Cumulative : std::uint8_t { kSum, kProd, kLogSumExp };

/// Kernels that reduce along dimensions. The inputs have any dtype and strides, and so have the outputs.
/// Blocks of fixed size are reduced in float (in double for float64, norms and what integers need fractions
/// for; sums, extremes and counts of integers in int64), blocks are combined in double. A result does not
/// depend on the number of threads.
struct ReduceKernels {
  /// `out` has the kept dimensions of `in` in order; the reduced ones are absent or have size 1.
  void (*run)(ReduceOp op, const Tensor& out, const Tensor& in, DimMask dims, const Params& params);
  /// The index (int64) along `dim` of the first largest or smallest element, NaN counting as both, and its
  /// value if `out_value` is given. Shapes as in `run`. The dimension must not be empty.
  void (*arg)(bool largest, const Tensor& out_index, const Tensor* out_value, const Tensor& in,
              std::int64_t dim);
  /// Running sum, product or log(sum(exp)) along `dim`, from the end if `reverse`; `out` has the sizes of
  /// `in` and may be `in`.
  void (*cumulative)(Cumulative op, const Tensor& out, const Tensor& in, std::int64_t dim, bool reverse);
  /// out[k] = in[k] + factors[k] * out[k - 1] along `dim`, from the end with out[k + 1] if `reverse`; the one
  /// before the first is 0. In double. All have one size; `out` may be neither.
  void (*recurrence)(const Tensor& out, const Tensor& in, const Tensor& factors, std::int64_t dim,
                     bool reverse);
  /// The largest or smallest element so far along `dim` and the index (int64) of the last that equals it, NaN
  /// counting as both. Both results have the sizes of `in`; values its dtype.
  void (*running_extreme)(bool largest, const Tensor& values, const Tensor& indices, const Tensor& in,
                          std::int64_t dim);
};

template <>
const ReduceKernels& cpu_kernels<ReduceKernels>();

}  // namespace halftone
