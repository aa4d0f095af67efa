#pragma once

#include "halftone/engine/functions.h"
#include "halftone/engine/tensor.h"
#include "halftone/kernels/gemm.h"
#include "halftone/kernels/kernels.h"
#include "halftone/kernels/reduce.h"

namespace halftone {

/// Epilogue::row_sums by a reduction of its own: of A (m, k), on `device`.
inline void sum_rows(std::int64_t m, std::int64_t k, const MatrixRef& a, const Epilogue& e, Device device) {
  if (m == 0) return;
  const TensorOptions options = TensorOptions(a.dtype).device(device);
  const Tensor out = from_blob(e.row_sums, {m}, TensorOptions(e.row_sums_dtype).device(device));
  const Tensor in = k == 0
                        ? empty({m, k}, options)
                        : from_blob(const_cast<void*>(a.data), {m, k}, {a.row_stride, a.col_stride}, options);
  kernels_for<ReduceKernels>(device).run(ReduceOp::kSum, out, in, DimMask{2}, {});
}

}  // namespace halftone
