#pragma once

#include "halftone/kernels/copy.h"
#include "halftone/kernels/index.h"
#include "halftone/ops/alias.h"
#include "halftone/ops/operator.h"

/// What the operators that take index tensors share.
namespace halftone::ops {

/// An index tensor as int64. Throws Error for anything but int32 and int64.
inline Tensor as_index(const char* op, const Tensor& index) {
  if (index.scalar_type() == kLong) return index;
  if (index.scalar_type() == kInt) return index.to(kLong);
  fail(op, "index must be int64 or int32, got ", index);
}

/// In place `out` is `self` already.
inline void copy_unless_same(const Tensor& out, const Tensor& self) {
  if (out.data_ptr() != self.data_ptr()) kernels_for<CopyKernels>(out.device()).copy(out, self);
}

/// out = self + what `add` adds to the tensor it is given; half results are summed in fp32 and rounded once.
template <class F>
void add_into(const Tensor& out, const Tensor& self, F&& add) {
  if (!is_low_precision(out.scalar_type())) {
    copy_unless_same(out, self);
    add(out);
    return;
  }
  const Tensor sums = allocate({self.sizes().dims(), kFloat, out.device()});
  const CopyKernels& copies = kernels_for<CopyKernels>(out.device());
  copies.copy(sums, self);
  add(sums);
  copies.copy(out, sums);
}

}  // namespace halftone::ops
