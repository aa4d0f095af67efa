#include "halftone/nn/norm.h"

#include <ostream>

#include "halftone/autograd/grad_mode.h"
#include "halftone/nn/functional.h"
#include "halftone/nn/init.h"
#include "halftone/nn/layer_text.h"

namespace halftone::nn {

template <class Derived>
Tensor BatchNormImplBase<Derived>::normalise(const Tensor& input) {
  const bool tracks = this->options.track_running_stats();
  double momentum = this->options.momentum().value_or(0);
  if (this->is_training() && tracks) {
    NoGradGuard no_grad;
    this->num_batches_tracked.add_(1);
    if (!this->options.momentum()) momentum = 1.0 / this->num_batches_tracked.template item<double>();
  }
  return functional::batch_norm(input, this->running_mean, this->running_var,
                                functional::BatchNormFuncOptions()
                                    .weight(this->weight)
                                    .bias(this->bias)
                                    .training(this->is_training() || !tracks)
                                    .momentum(momentum)
                                    .eps(this->options.eps()));
}

template <class Derived>
void BatchNormImplBase<Derived>::print(std::ostream& stream, const char* name) const {
  stream << kLayerPrefix << name << "(" << this->options.num_features() << ", eps=" << this->options.eps()
         << ", momentum=";
  if (this->options.momentum()) {
    stream << *this->options.momentum();
  } else {
    stream << "none";
  }
  stream << ", affine=" << (this->options.affine() ? "true" : "false")
         << ", track_running_stats=" << (this->options.track_running_stats() ? "true" : "false") << ")";
}

template class BatchNormImplBase<BatchNorm1dImpl>;
template class BatchNormImplBase<BatchNorm2dImpl>;

void BatchNorm1dImpl::pretty_print(std::ostream& stream) const { print(stream, "BatchNorm1d"); }

Tensor BatchNorm1dImpl::forward(const Tensor& input) {
  if (input.dim() != 2 && input.dim() != 3) fail("BatchNorm1d", "expected (N, C) or (N, C, L), got ", input);
  return normalise(input);
}

void BatchNorm2dImpl::pretty_print(std::ostream& stream) const { print(stream, "BatchNorm2d"); }

Tensor BatchNorm2dImpl::forward(const Tensor& input) {
  if (input.dim() != 4) fail("BatchNorm2d", "expected (N, C, H, W), got ", input);
  return normalise(input);
}

LayerNormImpl::LayerNormImpl(LayerNormOptions options) : options(std::move(options)) { reset(); }

void LayerNormImpl::reset() {
  const bool affine = options.elementwise_affine();
  weight = register_parameter("weight", affine ? ones(options.normalized_shape()) : Tensor());
  bias = register_parameter("bias", affine ? zeros(options.normalized_shape()) : Tensor());
}

void LayerNormImpl::reset_parameters() {
  if (!options.elementwise_affine()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

void LayerNormImpl::pretty_print(std::ostream& stream) const {
  stream << kLayerPrefix << "LayerNorm(" << concat(IntArrayRef(options.normalized_shape()))
         << ", eps=" << options.eps()
         << ", elementwise_affine=" << (options.elementwise_affine() ? "true" : "false") << ")";
}

Tensor LayerNormImpl::forward(const Tensor& input) {
  return halftone::layer_norm(input, options.normalized_shape(), weight, bias, options.eps());
}

GroupNormImpl::GroupNormImpl(const GroupNormOptions& options) : options(options) { reset(); }

void GroupNormImpl::reset() {
  const std::int64_t channels = options.num_channels(), groups = options.num_groups();
  if (groups <= 0 || channels <= 0 || channels % groups != 0)
    fail("GroupNorm", channels, " channels are not divisible into ", groups, " groups");
  weight = register_parameter("weight", options.affine() ? ones({channels}) : Tensor());
  bias = register_parameter("bias", options.affine() ? zeros({channels}) : Tensor());
}

void GroupNormImpl::reset_parameters() {
  if (!options.affine()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

void GroupNormImpl::pretty_print(std::ostream& stream) const {
  stream << kLayerPrefix << "GroupNorm(" << options.num_groups() << ", " << options.num_channels()
         << ", eps=" << options.eps() << ", affine=" << (options.affine() ? "true" : "false") << ")";
}

Tensor GroupNormImpl::forward(const Tensor& input) {
  return halftone::group_norm(input, options.num_groups(), weight, bias, options.eps());
}

RMSNormImpl::RMSNormImpl(RMSNormOptions options) : options(std::move(options)) { reset(); }

void RMSNormImpl::reset() {
  weight = register_parameter("weight",
                              options.elementwise_affine() ? ones(options.normalized_shape()) : Tensor());
}

void RMSNormImpl::reset_parameters() {
  if (options.elementwise_affine()) init::ones_(weight);
}

void RMSNormImpl::pretty_print(std::ostream& stream) const {
  stream << kLayerPrefix << "RMSNorm(" << concat(IntArrayRef(options.normalized_shape()));
  if (options.eps()) stream << ", eps=" << *options.eps();
  stream << ", elementwise_affine=" << (options.elementwise_affine() ? "true" : "false") << ")";
}

Tensor RMSNormImpl::forward(const Tensor& input) {
  return halftone::rms_norm(input, options.normalized_shape(), weight, options.eps());
}

}  // namespace halftone::nn
