#pragma once

#include <cstdint>

#include "halftone/engine/generator.h"
#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"

namespace halftone {

struct AttentionOptions {
  double scale = 1;
  bool causal = false;  ///< query i sees keys 0 .. i
  double dropout_p = 0;
  PhiloxState state = {};  ///< where dropout reads: the word of weight (b, i, j) has its row-major number
};

/// Scaled dot product attention: out = dropout(softmax(scale * q k^T + mask)) v.
///
/// q (..., L, E), k (..., S, E), v (..., S, Ev), mask (..., L, S) or undefined: bool (keep where true) or
/// floating. Equal batch dimensions, any strides, zero ones too; results are contiguous; floating dtypes may
/// be mixed. Scores and weights are fp32 (fp64 if q, k or v is float64) and exist for a block of query rows
/// at a time. A row that sees no key gives zeros. Results do not depend on the number of threads.
struct AttentionKernels {
  void (*forward)(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                  const AttentionOptions& options);
  /// Gradients from g, which is shaped like out. `gmask` may be undefined. The weights are computed again.
  void (*backward)(const Tensor& gq, const Tensor& gk, const Tensor& gv, const Tensor& gmask, const Tensor& g,
                   const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                   const AttentionOptions& options);
};

template <>
const AttentionKernels& cpu_kernels<AttentionKernels>();

}  // namespace halftone
