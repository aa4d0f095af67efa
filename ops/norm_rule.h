#pragma once

// What the normalisations share: their checks, and the gradient of their gradients.

#include "halftone/kernels/norm.h"
#include "halftone/ops/operator.h"
#include "halftone/ops/wide.h"

namespace halftone::ops {

/// Throws Error naming `op` unless input and, where given, weight and bias are floating, on one device, the
/// latter two of shape `affine`.
void check_norm_operands(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias,
                         IntArrayRef affine);
void check_norm_eps(const char* op, double eps);

/// Sizes and dtype of a tensor with one statistic per row.
Meta norm_statistic(const Tensor& input, IntArrayRef sizes);

/// Results of a backward operator: gradients of the input, and of weight and bias (empty without a weight).
std::array<Meta, 3> norm_gradient_metas(const char* op, const Tensor& grad, const Tensor& input,
                                        const Tensor& weight);

/// `result`, or an undefined tensor where the kernel is to skip it.
Tensor wanted_gradient(const Tensor& result, const Tensor& weight);

/// Operands of a normalisation's backward operator (gx, gw, gb) = B(g, x, w) and the gradients v, p, q of its
/// results; w, v, p, q may be undefined. All broadcast against x; rows are along `dims`.
struct NormOperands {
  Tensor g, x, w, v, p, q;
  Dims dims;
};

/// Gradients of B's operands; that of the weight is still to be summed over what it was broadcast along.
struct NormDerivative {
  Tensor g, x, w;
};

/// Composed of public operators, statistics included, so it can be differentiated again. With xhat = (x - mu)
/// r, h = g w, P(u) = u - mean(u) - xhat mean(u xhat) (without mean(u) if not `centered`):
///   B = (r P(h), sum g xhat, sum g)
///   dg = w r P(v) + p xhat + q,   dw = g r P(v)
///   dx = -r^2 (xhat mean(v P(h)) + mean(v xhat) P(h) + mean(h xhat) P(v)) + r P(p g)
NormDerivative differentiate_norm_backward(const NormOperands& o, double eps, bool centered);
/// The same with mean and rstd constant: B = (g w r, sum g xhat, sum g).
NormDerivative differentiate_frozen_backward(const NormOperands& o, const Tensor& mean, const Tensor& rstd);

}  // namespace halftone::ops
