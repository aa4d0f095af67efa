#include "halftone/nn/norm_base.h"

#include "halftone/nn/init.h"
#include "halftone/nn/layers.h"
#include "halftone/nn/norm.h"

namespace halftone::nn {

template <class Derived, class Options>
NormImplBase<Derived, Options>::NormImplBase(const Options& options) : options(options) {
  NormImplBase::reset();
}

template <class Derived, class Options>
void NormImplBase<Derived, Options>::reset() {
  const std::int64_t n = options.num_features();
  if (n <= 0) {
    constexpr bool kIsBatchNorm = std::is_same_v<Options, BatchNormOptions>;
    fail(kIsBatchNorm ? "BatchNorm" : "InstanceNorm", "num_features must be positive, got ", n);
  }
  weight = this->register_parameter("weight", options.affine() ? ones({n}) : Tensor());
  bias = this->register_parameter("bias", options.affine() ? zeros({n}) : Tensor());
  const bool tracks = options.track_running_stats();
  running_mean = this->register_buffer("running_mean", tracks ? zeros({n}) : Tensor());
  running_var = this->register_buffer("running_var", tracks ? ones({n}) : Tensor());
  num_batches_tracked = this->register_buffer("num_batches_tracked", tracks ? zeros({}, kLong) : Tensor());
}

template <class Derived, class Options>
void NormImplBase<Derived, Options>::reset_parameters() {
  reset_running_stats();
  if (!options.affine()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

template <class Derived, class Options>
void NormImplBase<Derived, Options>::reset_running_stats() {
  if (!options.track_running_stats()) return;
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
}

template <class Derived, class Options>
bool NormImplBase<Derived, Options>::keeps_precision(const std::string& buffer) const {
  return buffer == "running_mean" || buffer == "running_var";
}

template class NormImplBase<BatchNorm1dImpl, BatchNormOptions>;
template class NormImplBase<BatchNorm2dImpl, BatchNormOptions>;
template class NormImplBase<InstanceNorm1dImpl, InstanceNormOptions>;
template class NormImplBase<InstanceNorm2dImpl, InstanceNormOptions>;

}  // namespace halftone::nn
