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
};

/// Options of Hardtanh.
struct HardtanhOptions {
  HALFTONE_ARG(double, min_val) = -1;
  HALFTONE_ARG(double, max_val) = 1;
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

using ReLUFuncOptions = ReLUOptions;
using LeakyReLUFuncOptions = LeakyReLUOptions;
using GELUFuncOptions = GELUOptions;
using SoftplusFuncOptions = SoftplusOptions;
using ELUFuncOptions = ELUOptions;
using HardtanhFuncOptions = HardtanhOptions;

/// Options of functional::softmax; a bare dimension converts.
struct SoftmaxFuncOptions {
  SoftmaxFuncOptions(std::int64_t dim) : dim_(dim) {}
  HALFTONE_ARG(std::int64_t, dim);
  HALFTONE_ARG(optional<Dtype>, dtype) = nullopt;
};
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;

}  // namespace functional
}  // namespace halftone::nn
