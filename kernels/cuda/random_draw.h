#pragma once

#include "halftone/engine/generator.h"
#include "halftone/engine/tensor.h"

// The functions of RandomKernels that draw indices; kernels/random.h says what they do.
namespace halftone::cuda {

void permutation(const Tensor& out, PhiloxState state);
void multinomial(const Tensor& out, const Tensor& weights, bool replacement, PhiloxState state);

}  // namespace halftone::cuda
