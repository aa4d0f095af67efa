#pragma once

#include "halftone/kernels/reduce.h"

namespace halftone::cpu {

/// ReduceKernels::arg, cumulative, recurrence and running_extreme.
void arg_extreme(bool largest, const Tensor& out_index, const Tensor* out_value, const Tensor& in,
                 std::int64_t dim);
void cumulative(Cumulative op, const Tensor& out, const Tensor& in, std::int64_t dim, bool reverse);
void recurrence(const Tensor& out, const Tensor& in, const Tensor& factors, std::int64_t dim, bool reverse);
void running_extreme(bool largest, const Tensor& values, const Tensor& indices, const Tensor& in,
                     std::int64_t dim);

}  // namespace halftone::cpu
