#pragma once

#include "halftone/engine/generator.h"
#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"

namespace halftone {

/// Dropout whose mask is a place in a random stream, not a tensor.
struct DropoutKernels {
  /// out[i] = x[i] / (1 - p), or 0 with probability p: where the uniform number made of word i of the Philox
  /// stream is below p. i counts in row-major order whatever the strides. Computed in fp32 (fp64 for
  /// float64), rounded once. `out` may be `x`. One block serves four elements.
  void (*run)(const Tensor& out, const Tensor& x, double p, PhiloxState state);
};

template <>
const DropoutKernels& cpu_kernels<DropoutKernels>();

}  // namespace halftone
