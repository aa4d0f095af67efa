#pragma once

#include <cstdint>

#include "halftone/engine/tensor.h"

namespace halftone::tool {

/// Elements that a 16-bit type would not hold as they are, rounding to nearest.
struct HalfLosses {
  std::int64_t flushed = 0;    ///< not zero, would become zero
  std::int64_t subnormal = 0;  ///< would be subnormal: fewer bits
  std::int64_t overflow = 0;   ///< finite, would become infinite
};

/// What the elements of a tensor are like. Extremes and mean are those of the finite ones.
struct TensorStats {
  std::int64_t elements = 0, finite = 0, zeros = 0, nan = 0, infinite = 0;
  double min = 0, max = 0, mean_magnitude = 0;
  HalfLosses float16, bfloat16;  ///< of floating tensors
};

/// One pass over a CPU tensor of any dtype.
TensorStats tensor_stats(const Tensor& tensor);

}  // namespace halftone::tool
