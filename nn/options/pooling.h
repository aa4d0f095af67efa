#pragma once

#include <vector>

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
/// By the number of dimensions.
/// @{
using MaxPool1dOptions = MaxPoolOptions<1>;
using MaxPool2dOptions = MaxPoolOptions<2>;
/// @}

/// Options of AvgPool1d and AvgPool2d. The stride defaults to the kernel size. count_include_pad: the
/// padding's zeros are part of the mean; divisor_override: what sums are divided by instead, in two
/// dimensions only.
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
/// By the number of dimensions.
/// @{
using AvgPool1dOptions = AvgPoolOptions<1>;
using AvgPool2dOptions = AvgPoolOptions<2>;
/// @}

/// Options of AdaptiveAvgPool1d and AdaptiveAvgPool2d. In two dimensions a size may be nullopt: the input's.
template <class OutputSize>
struct AdaptiveAvgPoolOptions {
  AdaptiveAvgPoolOptions(OutputSize output_size) : output_size_(output_size) {}
  HALFTONE_ARG(OutputSize, output_size);
};
/// By the number of dimensions.
/// @{
using AdaptiveAvgPool1dOptions = AdaptiveAvgPoolOptions<ExpandingArray<1>>;
using AdaptiveAvgPool2dOptions = AdaptiveAvgPoolOptions<ExpandingArrayWithOptionalElem<2>>;
/// @}

/// Options of AdaptiveMaxPool1d and AdaptiveMaxPool2d.
template <class OutputSize>
struct AdaptiveMaxPoolOptions {
  AdaptiveMaxPoolOptions(OutputSize output_size) : output_size_(output_size) {}
  HALFTONE_ARG(OutputSize, output_size);
};
/// By the number of dimensions.
/// @{
using AdaptiveMaxPool1dOptions = AdaptiveMaxPoolOptions<ExpandingArray<1>>;
using AdaptiveMaxPool2dOptions = AdaptiveMaxPoolOptions<ExpandingArrayWithOptionalElem<2>>;
/// @}

/// Options of FractionalMaxPool2d: output_size, or output_ratio in (0, 1) of the input's size; just one of
/// them. _random_samples: see fractional_max_pool2d; drawn at each call unless given.
struct FractionalMaxPool2dOptions {
  FractionalMaxPool2dOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size) {}
  HALFTONE_ARG(ExpandingArray<2>, kernel_size);
  HALFTONE_ARG(optional<ExpandingArray<2>>, output_size) = nullopt;
  using ExpandingArrayDouble = ExpandingArray<2, double>;
  HALFTONE_ARG(optional<ExpandingArrayDouble>, output_ratio) = nullopt;
  HALFTONE_ARG(Tensor, _random_samples) = Tensor();
};

/// Options of MaxUnpool1d and MaxUnpool2d. The stride defaults to the kernel size.
template <std::size_t D>
struct MaxUnpoolOptions {
  MaxUnpoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  HALFTONE_ARG(ExpandingArray<D>, kernel_size);
  HALFTONE_ARG(ExpandingArray<D>, stride);
  HALFTONE_ARG(ExpandingArray<D>, padding) = 0;
};
/// By the number of dimensions.
/// @{
using MaxUnpool1dOptions = MaxUnpoolOptions<1>;
using MaxUnpool2dOptions = MaxUnpoolOptions<2>;
/// @}

/// Options of LPPool1d and LPPool2d. The stride defaults to the kernel size.
template <std::size_t D>
struct LPPoolOptions {
  LPPoolOptions(double norm_type, ExpandingArray<D> kernel_size)
      : norm_type_(norm_type), kernel_size_(kernel_size), stride_(kernel_size) {}
  HALFTONE_ARG(double, norm_type);
  HALFTONE_ARG(ExpandingArray<D>, kernel_size);
  HALFTONE_ARG(ExpandingArray<D>, stride);
  HALFTONE_ARG(bool, ceil_mode) = false;
};
/// By the number of dimensions.
/// @{
using LPPool1dOptions = LPPoolOptions<1>;
using LPPool2dOptions = LPPoolOptions<2>;
/// @}

namespace functional {
/// Options of the functions that need no more than their layer's.
/// @{
using MaxPool1dFuncOptions = MaxPool1dOptions;
using MaxPool2dFuncOptions = MaxPool2dOptions;
using AvgPool1dFuncOptions = AvgPool1dOptions;
using AvgPool2dFuncOptions = AvgPool2dOptions;
using AdaptiveAvgPool1dFuncOptions = AdaptiveAvgPool1dOptions;
using AdaptiveAvgPool2dFuncOptions = AdaptiveAvgPool2dOptions;
using AdaptiveMaxPool1dFuncOptions = AdaptiveMaxPool1dOptions;
using AdaptiveMaxPool2dFuncOptions = AdaptiveMaxPool2dOptions;
using LPPool1dFuncOptions = LPPool1dOptions;
using LPPool2dFuncOptions = LPPool2dOptions;
/// @}

/// Options of functional::max_unpool1d and max_unpool2d. output_size: which of the sizes that pool to the
/// input's.
template <std::size_t D>
struct MaxUnpoolFuncOptions {
  MaxUnpoolFuncOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  HALFTONE_ARG(ExpandingArray<D>, kernel_size);
  HALFTONE_ARG(ExpandingArray<D>, stride);
  HALFTONE_ARG(ExpandingArray<D>, padding) = 0;
  HALFTONE_ARG(optional<std::vector<std::int64_t>>, output_size) = nullopt;
};
/// By the number of dimensions.
/// @{
using MaxUnpool1dFuncOptions = MaxUnpoolFuncOptions<1>;
using MaxUnpool2dFuncOptions = MaxUnpoolFuncOptions<2>;
/// @}
/// The same.
using FractionalMaxPool2dFuncOptions = FractionalMaxPool2dOptions;
}  // namespace functional
}  // namespace halftone::nn
