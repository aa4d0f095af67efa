#pragma once

#include <initializer_list>

#include "halftone/engine/tensor.h"

namespace halftone::ops {

/// A number as a 0-d tensor (float64, int64 or bool) that does not widen its partner's dtype, exact to the
/// last bit.
Tensor wrapped_number(const Scalar& value);

/// The dtype an operator on these tensors computes its result in, by PyTorch's rules: kinds order bool <
/// integer < floating; within a kind, tensors with dimensions decide before 0-d tensors, those before wrapped
/// numbers; a group that decides later counts only when its kind is higher. A wrapped floating number counts
/// as the default dtype. Undefined tensors are ignored. At least one must be defined.
ScalarType result_type(std::initializer_list<const Tensor*> tensors);
using halftone::result_type;

/// The same, with integers and bool turned into the default dtype: for operators with fractional results.
ScalarType floating_result_type(std::initializer_list<const Tensor*> tensors);

/// `dtype` if it is a floating type, else the default dtype.
ScalarType floating_or_default(ScalarType dtype);

}  // namespace halftone::ops
