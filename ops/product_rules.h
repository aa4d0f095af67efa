#pragma once

// What the declarations of matrix products have in common.

#include "halftone/ops/check_defined.h"
#include "halftone/ops/operator.h"
#include "halftone/ops/product.h"

namespace halftone::ops {

inline void check_rank(const char* op, const char* name, const Tensor& x, std::int64_t rank) {
  check_defined(op, name, x);
  if (x.dim() != rank)
    fail(op, "expected ", name, " with ", rank, " dimension", rank == 1 ? "" : "s", ", got ", x);
}

inline void check_inner(const char* op, const Tensor& a, const Tensor& b, std::int64_t columns,
                        std::int64_t rows) {
  if (columns != rows)
    fail(op, "the inner sizes differ: ", a, " times ", b, " (", columns, " and ", rows, ")");
}

inline Tensor swap_last(const Tensor& x) { return transpose(x, -2, -1); }

/// Gradients of `scale * a b` for matrices with equal batch dimensions, in the operands' dtypes.
inline Tensor grad_of_left(const Saved& s, int left, int right, const Tensor& g, double scale = 1) {
  if (!s.needs(left)) return {};
  return matmul_to_size(g, swap_last(s.input(right)), s.sizes(left), s.dtype(left), scale);
}
inline Tensor grad_of_right(const Saved& s, int left, int right, const Tensor& g, double scale = 1) {
  if (!s.needs(right)) return {};
  return matmul_to_size(swap_last(s.input(left)), g, s.sizes(right), s.dtype(right), scale);
}

}  // namespace halftone::ops
