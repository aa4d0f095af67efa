#pragma once

#include "halftone/engine/tensor.h"

namespace halftone::cuda {

/// See SoftmaxKernels.
void softmax_backward(const Tensor& out, const Tensor& grad, const Tensor& result, std::int64_t dim);
void log_softmax_backward(const Tensor& out, const Tensor& grad, const Tensor& result, std::int64_t dim);

}  // namespace halftone::cuda
