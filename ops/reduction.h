#pragma once

#include "halftone/kernels/reduce.h"
#include "halftone/ops/operator.h"

namespace halftone::ops {

/// Which dimensions a call reduces, and what the result looks like.
struct Reduced {
  DimMask mask = 0;
  std::int64_t count = 1;  ///< elements that one result is made of
  Dims kept;               ///< the result's sizes with size 1 in place of the reduced dimensions
  Dims dropped;            ///< the result's sizes without them

  const Dims& sizes(bool keepdim) const { return keepdim ? kept : dropped; }
};

/// Reduces `sizes` over `dims`; over all of them when `dims` is empty. Throws Error naming `op` when a
/// dimension is out of range or named twice.
Reduced reduced(const char* op, IntArrayRef sizes, IntArrayRef dims);

/// Runs the kernel on out's device.
void reduce(ReduceOp op, const Tensor& out, const Tensor& self, DimMask mask, const Params& params = {});

/// A result's gradient with the reduced dimensions back as size 1, so that it broadcasts over the input.
Tensor with_kept_dims(const char* op, const Tensor& grad, IntArrayRef input_sizes, IntArrayRef dims);

/// In the type that arithmetic on the tensor's dtype is carried out in: small tensors of factors are not
/// rounded to half.
Tensor widened(const Tensor& tensor);

/// Throws Error naming `op` unless `self` is a defined floating tensor.
void check_floating(const char* op, const Tensor& self);

/// The dtype sums and products have: what the caller named, int64 for integers and bool, else self's.
Meta sum_meta(const Tensor& self, const Dims& sizes, OptionalDtype dtype);

/// `self` in a dtype named for a sum where it matters that elements are converted before they are added.
Tensor converted_for_sum(const Tensor& self, OptionalDtype dtype);

}  // namespace halftone::ops
