#pragma once

#include "halftone/engine/tensor.h"

namespace halftone::ops {

/// Throws Error naming the operator and the argument when the tensor is undefined.
inline void check_defined(const char* op, const char* name, const Tensor& x) {
  if (!x.defined()) fail(op, "expected a tensor for ", name, ", got an undefined one");
}

}  // namespace halftone::ops
