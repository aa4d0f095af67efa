#pragma once

// The gradients of input @ weight.t() + bias, which linear and its forms with an activation share.

#include "halftone/kernels/gemm.h"
#include "halftone/ops/operator.h"

namespace halftone::ops {

/// Of an operator whose tensor inputs 0, 1 and 2 are input (..., in), weight (out, in) and bias (out), for
/// the gradient `g` of the product. Weight and bias get theirs from one product.
Gradients linear_gradients(const Saved& s, const Tensor& g);

/// Throws Error naming `op` unless the operands fit together. Returns what the product looks like.
Meta linear_meta(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias);

/// out = activation(input @ weight.t() + bias). `before_activation`, if defined, has the sizes of `out` and
/// is contiguous like it.
void run_linear(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
                Activation activation = Activation::kNone, const Tensor& before_activation = {});

}  // namespace halftone::ops
