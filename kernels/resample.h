#pragma once

#include <array>
#include <cstdint>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"
#include "halftone/kernels/math/resample.h"

namespace halftone {

/// A resampling of `planes` images in up to three dimensions; those that are absent have size 1.
struct ResampleShape {
  std::int64_t planes = 0;
  std::array<ResampleDim, 3> dims;
};

struct ResampleKernels {
  /// out = the weighted sums of x that every dimension's taps name, or, if `adjoint`, x (of the output's
  /// sizes) added up where its elements were read from. Tensors are contiguous, of any floating dtypes, and
  /// not empty. Sums are formed in fp32 (fp64 for float64) and rounded once; one thread forms each.
  void (*run)(const Tensor& out, const Tensor& x, const ResampleShape& shape, bool adjoint);
};

template <>
const ResampleKernels& cpu_kernels<ResampleKernels>();

}  // namespace halftone
