#pragma once

// Derivatives of activations for other operators' gradient rules; both are registered operators.

#include <string_view>

#include "halftone/engine/tensor.h"

namespace halftone::ops {

/// `grad` where `result`, that of relu, is positive, else 0; in `dtype`.
Tensor relu_backward(const Tensor& grad, const Tensor& result, ScalarType dtype);

/// `grad` times the derivative of gelu at `self`, in `dtype`. `approximate`: "none" or "tanh".
Tensor gelu_backward(const Tensor& grad, const Tensor& self, std::string_view approximate, ScalarType dtype);

}  // namespace halftone::ops
