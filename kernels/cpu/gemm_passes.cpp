// Epilogues of products in passes of their own: GELU, the values before an activation, sums of A's rows.

#include "halftone/kernels/cpu/gemm_passes.h"

#include <cmath>

#include "halftone/engine/error.h"
#include "halftone/engine/functions.h"
#include "halftone/engine/tensor.h"
#include "halftone/kernels/copy.h"
#include "halftone/kernels/kernels.h"
#include "halftone/kernels/pointwise.h"
#include "halftone/kernels/row_sums.h"

namespace halftone::cpu {
namespace {

using i64 = std::int64_t;

void multiply(i64 batch, i64 m, i64 n, i64 k, const MatrixRef& a, const MatrixRef& b,
              const MutableMatrixRef& c, const Epilogue& epilogue) {
  cpu_kernels<GemmKernels>().run(batch, m, n, k, a, b, c, epilogue);
}

Tensor tensor_at(void* data, const MutableMatrixRef& like, i64 batch, i64 m, i64 n) {
  const i64 step = batch > 1 ? like.batch_stride : 0;
  return from_blob(data, {batch, m, n}, {step, like.row_stride, like.col_stride},
                   TensorOptions(like.dtype).device(kCPU));
}

/// The product goes where the activation reads it without having been rounded.
void activate(i64 batch, i64 m, i64 n, i64 k, const MatrixRef& a, const MatrixRef& b,
              const MutableMatrixRef& c, Epilogue e) {
  const bool wide = a.dtype == kDouble || b.dtype == kDouble;
  const Dtype exact = wide ? kDouble : kFloat;
  const Fn fn = e.activation == Activation::kRelu ? Fn::kRelu : Fn::kGeluTanh;
  const bool activates = e.activation != Activation::kNone;
  void* const kept = e.before_activation;
  e.activation = Activation::kNone;
  e.before_activation = nullptr;

  const Tensor out = tensor_at(c.data, c, batch, m, n);
  Tensor before;
  MutableMatrixRef sums = c;
  if (kept && c.dtype == exact) {
    sums.data = kept;
    before = tensor_at(kept, sums, batch, m, n);
  } else {
    before = empty({batch, m, n}, TensorOptions(exact).device(kCPU));
    sums = {before.data_ptr(), exact, n, 1, m * n};
  }
  multiply(batch, m, n, k, a, b, sums, e);
  if (kept && kept != sums.data) cpu_kernels<CopyKernels>().copy(tensor_at(kept, c, batch, m, n), before);
  if (!activates) return cpu_kernels<CopyKernels>().copy(out, before);
  const Tensor* const in[] = {&before};
  cpu_kernels<PointwiseKernels>().run(fn, out, {in, 1}, {});
}

}  // namespace

bool takes_more_passes(const Epilogue& e) {
  return e.row_sums || e.before_activation || e.activation == Activation::kGeluTanh;
}

void run_in_passes(i64 batch, i64 m, i64 n, i64 k, const MatrixRef& a, const MatrixRef& b,
                   const MutableMatrixRef& c, const Epilogue& epilogue) {
  Epilogue e = epilogue;
  if (e.row_sums) {
    if (batch != 1) fail("gemm", "sums of rows are those of one matrix, got a batch of ", batch);
    if (!is_floating_point(a.dtype)) fail("gemm", "sums of rows are those of floats, got ", a.dtype);
    sum_rows(m, k, a, e, kCPU);
    e.row_sums = nullptr;
  }
  if (batch == 0 || m == 0 || n == 0) return;
  if (!takes_more_passes(e)) return multiply(batch, m, n, k, a, b, c, e);
  if (!is_floating_point(a.dtype) || !is_floating_point(b.dtype))
    fail("gemm", "activations are for floats: A is ", a.dtype, ", B ", b.dtype);
  activate(batch, m, n, k, a, b, c, e);
}

}  // namespace halftone::cpu
