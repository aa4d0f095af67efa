#include "halftone/nn/utils/clip_grad.h"

#include <cmath>

#include "halftone/autograd/node.h"
#include "halftone/kernels/optimizer.h"
#include "halftone/kernels/record.h"

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
           " is still scaled by ", stamp->read_scale(), "; call scaler.unscale_(optimizer) before clipping");
    }
    gradients.push_back(meta->grad.detach());
  }
  return gradients;
}

/// The gradients as kernels take them: contiguous, on one device.
std::vector<GradientEntry> entries_of(const std::vector<Tensor>& gradients) {
  std::vector<GradientEntry> entries;
  for (const Tensor& gradient : gradients) {
    if (gradient.device() != gradients[0].device()) {
      fail("clip_grad_norm_", "there are gradients on ", gradients[0].device(), " and on ", gradient.device(),
           "; clip the parameters of one device at a time");
    }
    entries.push_back({gradient.contiguous(), {}, 0});
  }
  return entries;
}

}  // namespace

optim::DeferredScalar clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                                      double norm_type, bool error_if_nonfinite) {
  if (!(max_norm >= 0)) fail("clip_grad_norm_", "max_norm: expected a number >= 0, got ", max_norm);
  if (!(norm_type > 0)) fail("clip_grad_norm_", "norm_type: expected a positive number, got ", norm_type);
  NoGradGuard no_grad;
  const std::vector<Tensor> gradients = gradients_of("clip_grad_norm_", parameters);
  const std::vector<GradientEntry> entries = entries_of(gradients);
  if (entries.empty()) return optim::DeferredScalar(0);
  const Device device = gradients[0].device();
  const auto& kernels = kernels_for<OptimizerKernels>(device);
  const Tensor scan = empty_record(scan_bytes(entries.size()), device);
  kernels.scan(entries, norm_type, scan, {});
  const auto read_norm = [scan] { return read_record<ScanHeader>(scan).norm; };
  optim::DeferredScalar norm =
      device.is_cpu() ? optim::DeferredScalar(read_norm()) : optim::DeferredScalar(read_norm);
  if (error_if_nonfinite && !std::isfinite(norm.item())) {
    fail("clip_grad_norm_", "the norm of the gradients is ", norm.item(),
         "; clipping cannot make them finite");
  }
  if (device.is_cpu() && clip_factor(max_norm, norm) == 1) return norm;  // nothing is written
  kernels.clip(entries, scan, max_norm);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Tensor& values = entries[i].gradient;
    if (values.is_same(gradients[i])) {
      gradients[i].storage().bump_version("clip_grad_norm_");
    } else {
      gradients[i].copy_(values);
    }
  }
  return norm;
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
