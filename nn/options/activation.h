#pragma once

#include <string>

#include "halftone/engine/arg.h"
#include "halftone/engine/functions.h"
#include "halftone/nn/enum.h"

namespace halftone::nn {

/// Options of ReLU.
struct ReLUOptions {
  ReLUOptions(bool inplace = false) : inplace_(inplace) {}
  HALFTONE_ARG(bool, inplace);
};

/// Options of LeakyReLU: x for x > 0, negative_slope * x elsewhere.
struct LeakyReLUOptions {
  HALFTONE_ARG(double, negative_slope) = 0.01;
  HALFTONE_ARG(bool, inplace) = false;
};

/// Options of GELU: approximate is "none" (erf) or "tanh".
struct GELUOptions {
  HALFTONE_ARG(std::string, approximate) = "none";
};

/// Options of Softplus: log(1 + exp(beta x)) / beta, the identity where beta x > threshold.
struct SoftplusOptions {
  HALFTONE_ARG(double, beta) = 1;
  HALFTONE_ARG(double, threshold) = 20;
};

/// Options of ELU: x for x > 0, alpha (exp(x) - 1) elsewhere.
struct ELUOptions {
  HALFTONE_ARG(double, alpha) = 1;
  HALFTONE_ARG(bool, inplace) = false;
};

/// Options of Hardtanh: clamps to [min_val, max_val].
struct HardtanhOptions {
  HALFTONE_ARG(double, min_val) = -1;
  HALFTONE_ARG(double, max_val) = 1;
  HALFTONE_ARG(bool, inplace) = false;
};

/// Options of SELU.
struct SELUOptions {
  SELUOptions(bool inplace = false) : inplace_(inplace) {}
  HALFTONE_ARG(bool, inplace);
};

/// Options of CELU: x for x > 0, alpha (exp(x / alpha) - 1) elsewhere.
struct CELUOptions {
  HALFTONE_ARG(double, alpha) = 1;
  HALFTONE_ARG(bool, inplace) = false;
};

/// Options of ReLU6.
struct ReLU6Options {
  ReLU6Options(bool inplace = false) : inplace_(inplace) {}
  HALFTONE_ARG(bool, inplace);
};

/// Options of RReLU: negative elements get slopes uniform in [lower, upper] in training, the mean slope else.
struct RReLUOptions {
  HALFTONE_ARG(double, lower) = 1.0 / 8.0;
  HALFTONE_ARG(double, upper) = 1.0 / 3.0;
  HALFTONE_ARG(bool, inplace) = false;
};

/// Options of PReLU: num_parameters is 1, or the number of channels for one learned slope each; they start
/// from init.
struct PReLUOptions {
  PReLUOptions(std::int64_t num_parameters = 1) : num_parameters_(num_parameters) {}
  HALFTONE_ARG(std::int64_t, num_parameters);
  HALFTONE_ARG(double, init) = 0.25;
};

/// Options of GLU.
struct GLUOptions {
  GLUOptions(std::int64_t dim = -1) : dim_(dim) {}
  HALFTONE_ARG(std::int64_t, dim);
};

/// Options of Hardshrink: x, and 0 where |x| <= lambda.
struct HardshrinkOptions {
  HardshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
  HALFTONE_ARG(double, lambda);
};

/// Options of Softshrink: x moved towards 0 by lambda, at most to 0.
struct SoftshrinkOptions {
  SoftshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
  HALFTONE_ARG(double, lambda);
};

/// Options of Threshold: x for x > threshold, value elsewhere.
struct ThresholdOptions {
  ThresholdOptions(double threshold, double value) : threshold_(threshold), value_(value) {}
  HALFTONE_ARG(double, threshold);
  HALFTONE_ARG(double, value);
  HALFTONE_ARG(bool, inplace) = false;
};

/// Options of Softmin: softmax of -x.
struct SoftminOptions {
  SoftminOptions(std::int64_t dim) : dim_(dim) {}
  HALFTONE_ARG(std::int64_t, dim);
};

/// Options of Softmax.
struct SoftmaxOptions {
  SoftmaxOptions(std::int64_t dim) : dim_(dim) {}
  HALFTONE_ARG(std::int64_t, dim);
};

/// Options of LogSoftmax.
struct LogSoftmaxOptions {
  LogSoftmaxOptions(std::int64_t dim) : dim_(dim) {}
  HALFTONE_ARG(std::int64_t, dim);
};

namespace functional {

/// Options of the functions that need no more than their layer's.
/// @{
using ReLUFuncOptions = ReLUOptions;
using LeakyReLUFuncOptions = LeakyReLUOptions;
using GELUFuncOptions = GELUOptions;
using SoftplusFuncOptions = SoftplusOptions;
using ELUFuncOptions = ELUOptions;
using HardtanhFuncOptions = HardtanhOptions;
using SELUFuncOptions = SELUOptions;
using CELUFuncOptions = CELUOptions;
using ReLU6FuncOptions = ReLU6Options;
using GLUFuncOptions = GLUOptions;
using HardshrinkFuncOptions = HardshrinkOptions;
using SoftshrinkFuncOptions = SoftshrinkOptions;
using ThresholdFuncOptions = ThresholdOptions;
/// @}

/// Options of functional::rrelu: negative elements get slopes uniform in [lower, upper] in training, the mean
/// slope else.
struct RReLUFuncOptions {
  HALFTONE_ARG(double, lower) = 1.0 / 8.0;
  HALFTONE_ARG(double, upper) = 1.0 / 3.0;
  HALFTONE_ARG(bool, training) = false;
  HALFTONE_ARG(bool, inplace) = false;
};

/// Options of functional::gumbel_softmax: samples of a categorical distribution at temperature tau, one-hot
/// with the soft gradient if `hard`.
struct GumbelSoftmaxFuncOptions {
  HALFTONE_ARG(double, tau) = 1.0;
  HALFTONE_ARG(bool, hard) = false;
  HALFTONE_ARG(int, dim) = -1;
};

/// Options of functional::softmax; a bare dimension converts. dtype: what the input is converted to before.
struct SoftmaxFuncOptions {
  SoftmaxFuncOptions(std::int64_t dim) : dim_(dim) {}
  HALFTONE_ARG(std::int64_t, dim);
  HALFTONE_ARG(optional<Dtype>, dtype) = nullopt;
};
/// The same as softmax's.
/// @{
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;
using SoftminFuncOptions = SoftmaxFuncOptions;
/// @}

}  // namespace functional
}  // namespace halftone::nn
