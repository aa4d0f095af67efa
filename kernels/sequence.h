#pragma once

#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"

namespace halftone {

/// Evenly spaced numbers, written to a contiguous tensor of any dtype.
struct SequenceKernels {
  /// out[i] = start + i * step: in int64 when both are integers, else in double; rounded once.
  void (*arange)(const Tensor& out, const Scalar& start, const Scalar& step);
  /// From start to end inclusive, both exact; counted from the nearer end, so that the sequence is symmetric.
  void (*linspace)(const Tensor& out, double start, double end);
};

template <>
const SequenceKernels& cpu_kernels<SequenceKernels>();

}  // namespace halftone
