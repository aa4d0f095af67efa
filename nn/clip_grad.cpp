#include "halftone/nn/utils/clip_grad.h"

#include <cmath>

#include "halftone/autograd/node.h"
#include "halftone/kernels/optimizer.h"
#include "halftone/optim/total_norm.h"

namespace halftone::nn::utils {
namespace {

/// The gradients that are there, in true units.
std::vector<Tensor> gradients_of(const char* op, const std::vector<Tensor>& parameters) {
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : parameters) {
    if (!parameter.defined()) {
      fail(op, "parameter ", &parameter - parameters.data(), " is undefined; expected a leaf tensor");
    }
    const autograd::TensorMeta* meta = autograd::find_meta(parameter);
    if (!meta || !meta->grad.defined()) continue;
    if (const auto* stamp = autograd::gradient_stamp(*meta)) {
      fail(op, "the gradient of ",
           meta->name.empty() ? concat("a parameter ", parameter) : "'" + meta->name + "'",
           " is still scaled by ", stamp->scale, "; call scaler.unscale_(optimizer) before clipping");
    }
    gradients.push_back(meta->grad.detach());
  }
  return gradients;
}

double norm_of(const std::vector<Tensor>& gradients, double p) {
  std::vector<double> norms;
  for (const Tensor& gradient : gradients) {
    norms.push_back(kernels_for<OptimizerKernels>(gradient.device()).scan(gradient.contiguous(), 1, p).norm);
  }
  return optim::total_norm(norms, p);
}

}  // namespace

optim::DeferredScalar clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                                      double norm_type, bool error_if_nonfinite) {
  if (!(max_norm >= 0)) fail("clip_grad_norm_", "max_norm: expected a number >= 0, got ", max_norm);
  if (!(norm_type > 0)) fail("clip_grad_norm_", "norm_type: expected a positive number, got ", norm_type);
  NoGradGuard no_grad;
  const std::vector<Tensor> gradients = gradients_of("clip_grad_norm_", parameters);
  const double norm = norm_of(gradients, norm_type);
  if (error_if_nonfinite && !std::isfinite(norm)) {
    fail("clip_grad_norm_", "the norm of the gradients is ", norm, "; clipping cannot make them finite");
  }
  const double factor = max_norm / (norm + 1e-6);  // PyTorch's
  if (factor >= 1) return optim::DeferredScalar(norm);
  for (const Tensor& gradient : gradients) {
    const Tensor values = gradient.contiguous();
    kernels_for<OptimizerKernels>(values.device()).scale(values, factor, 2);
    if (values.is_same(gradient)) {
      gradient.storage().bump_version("clip_grad_norm_");
    } else {
      gradient.copy_(values);
    }
  }
  return optim::DeferredScalar(norm);
}

optim::DeferredScalar clip_grad_norm_(const Tensor& parameter, double max_norm, double norm_type,
                                      bool error_if_nonfinite) {
  return clip_grad_norm_(std::vector<Tensor>{parameter}, max_norm, norm_type, error_if_nonfinite);
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  if (!(clip_value >= 0)) fail("clip_grad_value_", "clip_value: expected a number >= 0, got ", clip_value);
  NoGradGuard no_grad;
  for (Tensor& gradient : gradients_of("clip_grad_value_", parameters))
    clamp_(gradient, -clip_value, clip_value);
}

void clip_grad_value_(const Tensor& parameter, double clip_value) {
  clip_grad_value_(std::vector<Tensor>{parameter}, clip_value);
}

}  // namespace halftone::nn::utils
