#pragma once

#include <cstdint>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"

namespace halftone {

/// Softmax and its logarithm along one dimension. Any strides and floating dtypes (integers are read too);
/// computed in fp32, in fp64 when a tensor is float64; rounded once, to the dtype of `out`. A row whose
/// maximum is not finite gives NaN. The largest element's own term of the sum is exact, so log_softmax is
/// accurate near 0.
struct SoftmaxKernels {
  void (*softmax)(const Tensor& out, const Tensor& x, std::int64_t dim);
  void (*log_softmax)(const Tensor& out, const Tensor& x, std::int64_t dim);
  /// result * (grad - sum(grad * result))
  void (*softmax_backward)(const Tensor& out, const Tensor& grad, const Tensor& result, std::int64_t dim);
  /// grad - exp(result) * sum(grad)
  void (*log_softmax_backward)(const Tensor& out, const Tensor& grad, const Tensor& result, std::int64_t dim);
};

template <>
const SoftmaxKernels& cpu_kernels<SoftmaxKernels>();

}  // namespace halftone
