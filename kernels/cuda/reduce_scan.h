#pragma once

#include "halftone/kernels/reduce.h"

namespace halftone::cuda {

/// ReduceKernels::arg and ReduceKernels::cumulative.
void arg_extreme(bool largest, const Tensor& out_index, const Tensor* out_value, const Tensor& in,
                 std::int64_t dim);
void cumulative(Cumulative op, const Tensor& out, const Tensor& in, std::int64_t dim, bool reverse);

}  // namespace halftone::cuda
