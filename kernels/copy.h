#pragma once

#include <cstdint>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"

namespace halftone {

/// Kernels that move elements.
struct CopyKernels {
  /// dst[i] = src[i], converted to the dtype of `dst` as convert_value.h says (one rounding; floating to
  /// integer truncates and saturates). `src` broadcasts to the sizes of `dst`; any strides. The two must not
  /// overlap, unless they are the same elements. Throws Error when the sizes do not broadcast.
  void (*copy)(const Tensor& dst, const Tensor& src);
  /// Every element of `dst` becomes `value`, or `integer` when `dst` has an integer dtype or bool.
  void (*fill)(const Tensor& dst, double value, std::int64_t integer);
};

template <>
const CopyKernels& cpu_kernels<CopyKernels>();

}  // namespace halftone
