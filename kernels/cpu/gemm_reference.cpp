// Products that are not accumulated in fp32: float64 by Eigen, integers by a plain loop.

#include <Eigen/Core>
#include <cmath>
#include <cstdint>

#include "halftone/kernels/cpu/gemm_plan.h"

namespace halftone::cpu {
namespace {

using i64 = std::int64_t;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Strided = Eigen::Map<const RowMajor, Eigen::Unaligned, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;

template <class Acc>
Acc element(const void* data, Dtype dtype, i64 offset) {
  return dispatch_all(dtype,
                      [&]<class T>() { return static_cast<Acc>(static_cast<const T*>(data)[offset]); });
}

template <class Acc>
void set_element(void* data, Dtype dtype, i64 offset, Acc value) {
  dispatch_all(dtype, [&]<class T>() { static_cast<T*>(data)[offset] = static_cast<T>(value); });
}

/// float64 operands are used where they are, others are widened into `copy`.
Strided as_float64(const MatrixRef& x, i64 rows, i64 cols, RowMajor& copy) {
  if (x.dtype == kDouble)
    return Strided(static_cast<const double*>(x.data), rows, cols, {x.row_stride, x.col_stride});
  copy.resize(rows, cols);
  for (i64 i = 0; i < rows; ++i)
    for (i64 j = 0; j < cols; ++j)
      copy(i, j) = element<double>(x.data, x.dtype, i * x.row_stride + j * x.col_stride);
  return Strided(copy.data(), rows, cols, {cols, 1});
}

template <class Acc, class Sum>
void finish(const GemmProblem& p, Acc alpha, Acc beta, Sum sum) {
  for (i64 i = 0; i < p.m; ++i) {
    for (i64 j = 0; j < p.n; ++j) {
      Acc value = alpha * sum(i, j);
      if (p.addend.data != nullptr)
        value += beta * element<Acc>(p.addend.data, p.addend.dtype,
                                     i * p.addend.row_stride + j * p.addend.col_stride);
      if (p.bias != nullptr)
        value += element<Acc>(p.bias, p.bias_dtype, i * p.bias_row_stride + j * p.bias_col_stride);
      if (p.activation == Activation::kRelu && value < Acc(0)) value = Acc(0);
      set_element(p.c.data, p.c.dtype, i * p.c.row_stride + j * p.c.col_stride, value);
    }
  }
}

}  // namespace

void gemm_float64(const GemmProblem& p, double alpha, double beta) {
  RowMajor copy_a, copy_b, product = RowMajor::Zero(p.m, p.n);
  if (p.k > 0) product.noalias() += as_float64(p.a, p.m, p.k, copy_a) * as_float64(p.b, p.k, p.n, copy_b);
  finish<double>(p, alpha, beta, [&](i64 i, i64 j) { return product(i, j); });
}

void gemm_integer(const GemmProblem& p, i64 alpha, i64 beta) {
  // Unsigned arithmetic wraps where signed would be undefined.
  using u64 = std::uint64_t;
  const auto sum = [&](i64 i, i64 j) {
    u64 total = 0;
    for (i64 k = 0; k < p.k; ++k) {
      total += static_cast<u64>(element<i64>(p.a.data, p.a.dtype, i * p.a.row_stride + k * p.a.col_stride)) *
               static_cast<u64>(element<i64>(p.b.data, p.b.dtype, k * p.b.row_stride + j * p.b.col_stride));
    }
    return total;
  };
  finish<u64>(p, static_cast<u64>(alpha), static_cast<u64>(beta), sum);
}

}  // namespace halftone::cpu
