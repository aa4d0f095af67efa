#pragma once

#include <cstdint>

#include "halftone/engine/dtype.h"

namespace halftone {

/// A matrix in memory, or `batch` of them: element (i, j) of matrix b stands at
/// data + b * batch_stride + i * row_stride + j * col_stride, counted in elements. Any strides are fine for
/// operands, zero and negative ones too; a transpose is the two strides swapped.
struct MatrixRef {
  const void* data = nullptr;
  Dtype dtype = kFloat;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 0;
  std::int64_t batch_stride = 0;
};

/// The result of a product; no two elements may share a place.
struct MutableMatrixRef {
  void* data = nullptr;
  Dtype dtype = kFloat;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 0;
  std::int64_t batch_stride = 0;
};

enum class Activation { kNone, kRelu, kGeluTanh };

/// What is done to an element of A*B in fp32 before its only rounding:
/// activation(alpha * (A*B) + beta * addend + bias).
struct Epilogue {
  const void* bias =
      nullptr;  ///< n contiguous elements, one per column, the same for every matrix of the batch
  Dtype bias_dtype = kFloat;
  Activation activation = Activation::kNone;
  double alpha = 1;
  double beta = 0;   ///< 0: the addend is not read, so its NaN do not count
  MatrixRef addend;  ///< (m, n), any float dtype; may be the result itself (same place, dtype and strides)
  /// What the activation is applied to, rounded once: in C's dtype and with C's strides, in memory of its
  /// own. Null: not wanted.
  void* before_activation = nullptr;
  /// The sums of A's rows over k, m contiguous elements, rounded once. For one matrix (batch 1) of floats
  /// with strides that are not negative. With A the transpose of a linear layer's gradient, this is the
  /// gradient of its bias. Null: not wanted.
  void* row_sums = nullptr;
  Dtype row_sums_dtype = kFloat;
};

/// Matrix products on one device.
///
/// `run`: C = epilogue(A * B) for `batch` matrices A (m, k), B (k, n), C (m, n).
///
/// Floating types may be mixed freely in A, B, C, addend and bias. Products accumulate in fp32 over the whole
/// of k (fp64 when A or B is float64) and the result is rounded once, to C's dtype. Integers accumulate in
/// int64 and wrap; they take an integer C and no activation.
///
/// On the CPU an element depends on its row of A, its column of B and k, and on nothing else: not on m, n,
/// batch, its position, the strides or the number of threads. k alone says how it is cut into blocks; within
/// a block one chain of fused multiply-adds runs over ascending k, starting from zero; the blocks' sums are
/// added in order. (The plain x86-64 level has no fused multiply-add and rounds each product.) float64
/// products are Eigen's, on one thread: their order of summation may depend on the shape.
///
/// Error bound: |C - exact| <= (k + 2) * 2^-24 * sum |a||b| + u(C) * |exact|, for results in C's normal
/// range.
///
/// bfloat16 times bfloat16 on AVX512-BF16 uses VDPBF16PS: two products per step (the odd k, then the even
/// one), each step rounded to nearest even, subnormal inputs, intermediate and final sums counted as zero: an
/// extra k * 2^-126 in the bound. With AMX it uses TDPBF16PS: k is taken 32 at a time, the products of its
/// even and of its odd k are summed in two chains from zero, whose sum is added to the result; roundings and
/// subnormals as before. Everywhere else subnormals are exact.
///
/// NaN and infinities propagate as IEEE 754 says (0 * inf is NaN). k == 0 gives the epilogue of zero, and row
/// sums of zero.
struct GemmKernels {
  void (*run)(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, const MatrixRef& a,
              const MatrixRef& b, const MutableMatrixRef& c, const Epilogue& epilogue);
};

}  // namespace halftone
