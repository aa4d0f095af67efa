#pragma once

#include "halftone/engine/tensor.h"

namespace halftone::ops {

/// `x` in the dtype its arithmetic is carried out in (fp32 where it is half): for gradient rules composed of
/// several operators, so that only the last result is rounded.
inline Tensor wide(const Tensor& x) { return to_dtype(x, accumulate_type(x.scalar_type())); }

}  // namespace halftone::ops
