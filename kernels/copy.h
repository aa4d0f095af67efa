#pragma once

#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"

namespace halftone {

/// Copies and fills. Any dtype to any dtype, any strides, rounding once; a float that does not fit an integer
/// saturates and NaN becomes 0.
struct CopyKernels {
  /// src is broadcast to dst's shape.
  void (*copy)(const Tensor& dst, const Tensor& src);
  void (*fill)(const Tensor& dst, const Scalar& value);
};

template <>
const CopyKernels& cpu_kernels<CopyKernels>();

}  // namespace halftone
