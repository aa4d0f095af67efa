#pragma once

#include <vector>

#include "halftone/engine/arg.h"
#include "halftone/engine/tensor.h"
#include "halftone/nn/enum.h"

namespace halftone::nn {

/// Options of BatchNorm1d and BatchNorm2d. Without a momentum the running statistics are the plain average
/// over all batches.
struct BatchNormOptions {
  BatchNormOptions(std::int64_t num_features) : num_features_(num_features) {}
  HALFTONE_ARG(std::int64_t, num_features);
  HALFTONE_ARG(double, eps) = 1e-5;
  HALFTONE_ARG(optional<double>, momentum) = 0.1;
  HALFTONE_ARG(bool, affine) = true;
  HALFTONE_ARG(bool, track_running_stats) = true;
};
/// By the number of dimensions.
/// @{
using BatchNorm1dOptions = BatchNormOptions;
using BatchNorm2dOptions = BatchNormOptions;
/// @}

/// Options of LayerNorm: normalises over the last normalized_shape.size() dimensions.
struct LayerNormOptions {
  LayerNormOptions(std::vector<std::int64_t> normalized_shape)
      : normalized_shape_(std::move(normalized_shape)) {}
  HALFTONE_ARG(std::vector<std::int64_t>, normalized_shape);
  HALFTONE_ARG(double, eps) = 1e-5;
  HALFTONE_ARG(bool, elementwise_affine) = true;
};

/// Options of GroupNorm. num_channels: channels of the input.
struct GroupNormOptions {
  GroupNormOptions(std::int64_t num_groups, std::int64_t num_channels)
      : num_groups_(num_groups), num_channels_(num_channels) {}
  HALFTONE_ARG(std::int64_t, num_groups);
  HALFTONE_ARG(std::int64_t, num_channels);
  HALFTONE_ARG(double, eps) = 1e-5;
  HALFTONE_ARG(bool, affine) = true;
};

/// Options of RMSNorm. eps defaults to the machine epsilon of the input's dtype.
struct RMSNormOptions {
  RMSNormOptions(std::vector<std::int64_t> normalized_shape)
      : normalized_shape_(std::move(normalized_shape)) {}
  HALFTONE_ARG(std::vector<std::int64_t>, normalized_shape);
  HALFTONE_ARG(optional<double>, eps) = nullopt;
  HALFTONE_ARG(bool, elementwise_affine) = true;
};

namespace functional {

/// Options of functional::batch_norm. weight and bias: (C), or undefined.
struct BatchNormFuncOptions {
  HALFTONE_ARG(Tensor, weight) = Tensor();
  HALFTONE_ARG(Tensor, bias) = Tensor();
  HALFTONE_ARG(bool, training) = false;
  HALFTONE_ARG(double, momentum) = 0.1;
  HALFTONE_ARG(double, eps) = 1e-5;
};

/// Options of functional::layer_norm. weight and bias: normalized_shape, or undefined.
struct LayerNormFuncOptions {
  LayerNormFuncOptions(std::vector<std::int64_t> normalized_shape)
      : normalized_shape_(std::move(normalized_shape)) {}
  HALFTONE_ARG(std::vector<std::int64_t>, normalized_shape);
  HALFTONE_ARG(Tensor, weight) = Tensor();
  HALFTONE_ARG(Tensor, bias) = Tensor();
  HALFTONE_ARG(double, eps) = 1e-5;
};

/// Options of functional::group_norm. weight and bias: (C), or undefined.
struct GroupNormFuncOptions {
  GroupNormFuncOptions(std::int64_t num_groups) : num_groups_(num_groups) {}
  HALFTONE_ARG(std::int64_t, num_groups);
  HALFTONE_ARG(Tensor, weight) = Tensor();
  HALFTONE_ARG(Tensor, bias) = Tensor();
  HALFTONE_ARG(double, eps) = 1e-5;
};

/// Options of functional::rms_norm. weight: normalized_shape, or undefined. eps: the machine epsilon of the
/// input's dtype unless given.
struct RMSNormFuncOptions {
  RMSNormFuncOptions(std::vector<std::int64_t> normalized_shape)
      : normalized_shape_(std::move(normalized_shape)) {}
  HALFTONE_ARG(std::vector<std::int64_t>, normalized_shape);
  HALFTONE_ARG(Tensor, weight) = Tensor();
  HALFTONE_ARG(optional<double>, eps) = nullopt;
};

}  // namespace functional
}  // namespace halftone::nn
