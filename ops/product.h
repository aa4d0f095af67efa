#pragma once

// Matrix products of tensors, for the operators built on them: batches broadcast, transposes are strides,
// sums over batches are part of the product.

#include "halftone/engine/tensor.h"
#include "halftone/kernels/gemm.h"

namespace halftone::ops {

/// A batch of matrices and where they lie; strides in elements.
struct MatrixStack {
  void* data;
  ScalarType dtype;
  Dims batch, batch_strides;
  std::int64_t rows, cols, row_stride, col_stride;
};

/// (..., rows, cols).
MatrixStack matrices(const Tensor& x);
/// A vector as one row or one column; a tensor with more dimensions as its matrices.
MatrixStack row_or_matrices(const Tensor& x);
MatrixStack column_or_matrices(const Tensor& x);
/// `x` broadcast to `sizes`, which has two dimensions or more.
MatrixStack broadcast_matrices(const Tensor& x, IntArrayRef sizes);
MatrixStack transposed(MatrixStack x);

/// out = epilogue(a b), rounded once. The batch dimensions of out, a and b broadcast against each other
/// (aligned from the right): where out has size 1 and the product more, the products are summed in fp32;
/// where out has more, they are repeated. `addend` (for epilogue.beta) has out's batch dimensions and is
/// refused together with a sum.
void run_product(Device device, const MatrixStack& out, const MatrixStack& a, const MatrixStack& b,
                 Epilogue epilogue = {}, const MatrixStack* addend = nullptr);

/// Throws Error unless all defined tensors are on one device and of one dtype, which is not bool.
void check_product_operands(const char* op, std::initializer_list<const Tensor*> operands);

}  // namespace halftone::ops
