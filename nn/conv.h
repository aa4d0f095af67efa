#pragma once

#include "halftone/nn/module_holder.h"
#include "halftone/nn/options/conv.h"

namespace halftone::nn {

/// What the convolutions share: weight (out_channels, in_channels / groups, kernel...) and bias
/// (out_channels), both starting uniform in +-1/sqrt(fan in).
template <std::size_t D, class Derived>
class ConvNdImpl : public Cloneable<Derived> {
 public:
  explicit ConvNdImpl(const ConvOptions<D>& options) : options(options) { reset(); }
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  ConvOptions<D> options;
  Tensor weight;
  Tensor bias;  ///< undefined without bias
};

/// Convolution over (N, C, L).
class Conv1dImpl : public ConvNdImpl<1, Conv1dImpl> {
 public:
  Conv1dImpl(std::int64_t in_channels, std::int64_t out_channels, ExpandingArray<1> kernel_size)
      : ConvNdImpl(Conv1dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv1dImpl(const Conv1dOptions& options) : ConvNdImpl(options) {}
  Tensor forward(const Tensor& input);
};
HALFTONE_MODULE(Conv1d);

/// Convolution over (N, C, H, W).
class Conv2dImpl : public ConvNdImpl<2, Conv2dImpl> {
 public:
  Conv2dImpl(std::int64_t in_channels, std::int64_t out_channels, ExpandingArray<2> kernel_size)
      : ConvNdImpl(Conv2dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv2dImpl(const Conv2dOptions& options) : ConvNdImpl(options) {}
  Tensor forward(const Tensor& input);
};
HALFTONE_MODULE(Conv2d);

}  // namespace halftone::nn
