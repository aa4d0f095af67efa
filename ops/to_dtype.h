#pragma once

#include "halftone/engine/tensor.h"

namespace halftone::ops {

/// A tensor on the storage of `value` (which is `source` in another dtype), recorded as a cast of `source`.
/// Every use of a cached cast gets a node of its own, so graphs and grad modes never share one.
Tensor record_cast(const Tensor& source, const Tensor& value);

}  // namespace halftone::ops
