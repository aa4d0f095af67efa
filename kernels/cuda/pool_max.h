#pragma once

#include "halftone/engine/tensor.h"
#include "halftone/kernels/pool.h"

// The functions of PoolKernels for maxima; kernels/pool.h says what they do.
namespace halftone::cuda {

void max_forward(const Tensor& out, const Tensor& indices, const Tensor& x, const PoolShape& shape);
void max_backward(const Tensor& gx, const Tensor& gy, const Tensor& indices, const PoolShape& shape);

}  // namespace halftone::cuda
