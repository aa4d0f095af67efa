#pragma once

#include <vector>

#include "halftone/engine/tensor.h"
#include "halftone/optim/deferred_scalar.h"

namespace halftone::nn::utils {

/// Scales all gradients in place so that their norm, taken as one vector, is at most `max_norm`. Returns the
/// norm before; it is accumulated in fp64 and does not overflow. `norm_type` may be infinite. Throws Error
/// when a gradient is still scaled by a GradScaler (call unscale_ first), and with `error_if_nonfinite` when
/// the norm is not finite.
optim::DeferredScalar clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                                      double norm_type = 2.0, bool error_if_nonfinite = false);
optim::DeferredScalar clip_grad_norm_(const Tensor& parameter, double max_norm, double norm_type = 2.0,
                                      bool error_if_nonfinite = false);

/// Clamps every gradient element to [-clip_value, clip_value] in place. Throws Error when a gradient is still
/// scaled.
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);
void clip_grad_value_(const Tensor& parameter, double clip_value);

}  // namespace halftone::nn::utils
