#pragma once

#include <cstdint>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"

namespace halftone {

/// Rows of a table (rows, features) looked up by integer indices of any shape.
struct EmbeddingKernels {
  /// out (indices..., features), contiguous, in the table's dtype. Throws Error naming an index out of range.
  void (*forward)(const Tensor& out, const Tensor& table, const Tensor& indices);
  /// out (rows, features): each row is the sum of the rows of grad whose index it is, in order of position,
  /// in fp32 (fp64 for float64), rounded once; divided by their number if `by_frequency`. Row `padding` (-1:
  /// none) is 0.
  void (*backward)(const Tensor& out, const Tensor& grad, const Tensor& indices, std::int64_t padding,
                   bool by_frequency);
  /// out, shaped like indices and contiguous: what `backward` multiplies each row of grad with, for a table
  /// of `rows`.
  void (*factors)(const Tensor& out, const Tensor& indices, std::int64_t rows, std::int64_t padding,
                  bool by_frequency);
};

template <>
const EmbeddingKernels& cpu_kernels<EmbeddingKernels>();

}  // namespace halftone
