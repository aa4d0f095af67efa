#pragma once

#include "halftone/nn/module_holder.h"

namespace halftone::nn {

/// What batch and instance normalisations share: weight and bias per channel where `affine`, and running
/// statistics where `track_running_stats`, which stay fp32 when the module is converted to half.
template <class Derived, class Options>
class NormImplBase : public Cloneable<Derived> {
 public:
  /// Throws Error unless num_features is positive.
  explicit NormImplBase(const Options& options);
  void reset() override;
  void reset_parameters();
  /// Mean 0, variance 1, no batches.
  void reset_running_stats();

  Options options;
  Tensor weight;               ///< (num_features), undefined unless affine
  Tensor bias;                 ///< (num_features), undefined unless affine
  Tensor running_mean;         ///< (num_features), undefined unless statistics are tracked
  Tensor running_var;          ///< (num_features)
  Tensor num_batches_tracked;  ///< int64, 0-d

 protected:
  bool keeps_precision(const std::string& buffer) const override;
};

}  // namespace halftone::nn
