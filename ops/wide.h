#pragma once

#include "halftone/engine/tensor.h"

namespace halftone::ops {

/// In fp32 where it was half: for rules of several steps. Undefined stays undefined.
inline Tensor wide(const Tensor& x) {
  return x.defined() ? to_dtype(x, accumulate_type(x.scalar_type())) : x;
}

}  // namespace halftone::ops
