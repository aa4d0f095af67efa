#pragma once

#include <cstdint>

#include "halftone/kernels/gemm.h"

namespace halftone::cuda {

/// A column-major matrix of cuBLASLt, or a batch of them: element (i, j) of matrix b stands at
/// data + b * batch_stride + j * ld + i. `transposed`: the operand is the matrix with rows and columns
/// swapped.
struct LtMatrix {
  const void* data = nullptr;
  Dtype dtype = kFloat;
  std::int64_t ld = 1;
  std::int64_t batch_stride = 0;
  bool transposed = false;
};

/// d = epilogue(alpha * a * b + beta * c) for `batch` matrices a (m, k), b (k, n), c and d (m, n), rounded
/// once.
struct LtProduct {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  LtMatrix a, b;  ///< of one dtype
  LtMatrix c;     ///< d's dtype; not read when beta is 0. May be d itself
  LtMatrix d;     ///< its data are written
  double alpha = 1, beta = 0;
  const void* bias = nullptr;  ///< m elements of d's dtype, the same for every column; null for none
  Activation activation = Activation::kNone;  ///< after the bias
  void* before_activation = nullptr;          ///< of GELU, laid out like d, in d's dtype; null for none
  void* sums = nullptr;  ///< sums over k of d's dtype: m of a's rows, or n of b's columns; null for none
  bool sums_of_b = false;
};

/// Whether cuBLASLt may be asked to write what GELU is applied to.
bool takes_before_activation(const LtProduct& product);

/// Enqueues the product on the current stream; false where cuBLASLt has no algorithm for it, and then nothing
/// happens. The algorithm is chosen once per device, shape, types, layouts, alignments and epilogue.
bool enqueue(const LtProduct& product);

}  // namespace halftone::cuda
