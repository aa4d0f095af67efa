#pragma once

#include "halftone/engine/arg.h"
#include "halftone/nn/enum.h"
#include "halftone/nn/expanding_array.h"

namespace halftone::nn {

/// Options of MaxPool1d and MaxPool2d. The stride defaults to the kernel size.
template <std::size_t D>
struct MaxPoolOptions {
  MaxPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  HALFTONE_ARG(ExpandingArray<D>, kernel_size);
  HALFTONE_ARG(ExpandingArray<D>, stride);
  HALFTONE_ARG(ExpandingArray<D>, padding) = 0;
  HALFTONE_ARG(ExpandingArray<D>, dilation) = 1;
  HALFTONE_ARG(bool, ceil_mode) = false;
};
using MaxPool1dOptions = MaxPoolOptions<1>;
using MaxPool2dOptions = MaxPoolOptions<2>;

/// Options of AvgPool1d and AvgPool2d (divisor_override: 2d only). The stride defaults to the kernel size.
template <std::size_t D>
struct AvgPoolOptions {
  AvgPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  HALFTONE_ARG(ExpandingArray<D>, kernel_size);
  HALFTONE_ARG(ExpandingArray<D>, stride);
  HALFTONE_ARG(ExpandingArray<D>, padding) = 0;
  HALFTONE_ARG(bool, ceil_mode) = false;
  HALFTONE_ARG(bool, count_include_pad) = true;
  HALFTONE_ARG(optional<std::int64_t>, divisor_override) = nullopt;
};
using AvgPool1dOptions = AvgPoolOptions<1>;
using AvgPool2dOptions = AvgPoolOptions<2>;

/// Options of AdaptiveAvgPool1d and AdaptiveAvgPool2d.
template <std::size_t D>
struct AdaptiveAvgPoolOptions {
  AdaptiveAvgPoolOptions(ExpandingArray<D> output_size) : output_size_(output_size) {}
  HALFTONE_ARG(ExpandingArray<D>, output_size);
};
using AdaptiveAvgPool1dOptions = AdaptiveAvgPoolOptions<1>;
using AdaptiveAvgPool2dOptions = AdaptiveAvgPoolOptions<2>;

namespace functional {
using MaxPool1dFuncOptions = MaxPool1dOptions;
using MaxPool2dFuncOptions = MaxPool2dOptions;
using AvgPool1dFuncOptions = AvgPool1dOptions;
using AvgPool2dFuncOptions = AvgPool2dOptions;
using AdaptiveAvgPool1dFuncOptions = AdaptiveAvgPool1dOptions;
using AdaptiveAvgPool2dFuncOptions = AdaptiveAvgPool2dOptions;
}  // namespace functional
}  // namespace halftone::nn
