#pragma once

#include <cstdint>

#include "halftone/kernels/gemm.h"

/// The products' own kernels, for what cuBLASLt does not do. All work on the current stream.
namespace halftone::cuda {

/// A product as kernels/gemm.h describes it; the addend has no data where beta is 0.
struct GemmProblem {
  std::int64_t batch, m, n, k;
  MatrixRef a, b;
  MutableMatrixRef c;
  Epilogue epilogue;
};

/// The product of operands of any dtypes and strides: fp32, or fp64 when A or B is float64, or int64; one
/// chain of sums over ascending k.
void multiply_tiled(const GemmProblem& problem);

/// Copies `batch` matrices (rows, cols) of floats into another layout or dtype.
void copy_matrices(std::int64_t batch, std::int64_t rows, std::int64_t cols, const MatrixRef& from,
                   const MutableMatrixRef& to);

/// C of `problem` from the finished sums of its products: the epilogue, then the only rounding.
void finish(const GemmProblem& problem, const MatrixRef& sums);

}  // namespace halftone::cuda
