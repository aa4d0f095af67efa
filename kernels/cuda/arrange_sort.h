#pragma once

#include "halftone/engine/tensor.h"

namespace halftone::cuda {

/// ArrangeKernels::sort (kernels/index.h).
void sort(const Tensor& values, const Tensor& indices, const Tensor& self, std::int64_t dim, bool descending);

}  // namespace halftone::cuda
