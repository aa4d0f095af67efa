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

 protected:
  Tensor* normalizable(std::string_view name) override { return name == "weight" ? &weight : nullptr; }
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

/// What the transposed convolutions share: weight (in_channels, out_channels / groups, kernel...) and bias
/// (out_channels), both starting uniform in +-1/sqrt(fan in).
template <std::size_t D, class Derived>
class ConvTransposeNdImpl : public Cloneable<Derived> {
 public:
  explicit ConvTransposeNdImpl(const ConvTransposeOptions<D>& options) : options(options) { reset(); }
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  ConvTransposeOptions<D> options;
  Tensor weight;
  Tensor bias;  ///< undefined without bias

 protected:
  Tensor* normalizable(std::string_view name) override { return name == "weight" ? &weight : nullptr; }
  /// The output_padding that gives `output_size`, or the options' own.
  std::vector<std::int64_t> padding_for(const Tensor& input, const optional<IntArrayRef>& output_size) const;
};

/// Transposed convolution over (N, C, L): the gradient of Conv1d as a layer.
class ConvTranspose1dImpl : public ConvTransposeNdImpl<1, ConvTranspose1dImpl> {
 public:
  ConvTranspose1dImpl(std::int64_t in_channels, std::int64_t out_channels, ExpandingArray<1> kernel_size)
      : ConvTransposeNdImpl(ConvTranspose1dOptions(in_channels, out_channels, kernel_size)) {}
  explicit ConvTranspose1dImpl(const ConvTranspose1dOptions& options) : ConvTransposeNdImpl(options) {}
  /// output_size: the length wanted, instead of the output_padding that leads to it.
  Tensor forward(const Tensor& input, const optional<IntArrayRef>& output_size = nullopt);
};
HALFTONE_MODULE(ConvTranspose1d);

/// Transposed convolution over (N, C, H, W).
class ConvTranspose2dImpl : public ConvTransposeNdImpl<2, ConvTranspose2dImpl> {
 public:
  ConvTranspose2dImpl(std::int64_t in_channels, std::int64_t out_channels, ExpandingArray<2> kernel_size)
      : ConvTransposeNdImpl(ConvTranspose2dOptions(in_channels, out_channels, kernel_size)) {}
  explicit ConvTranspose2dImpl(const ConvTranspose2dOptions& options) : ConvTransposeNdImpl(options) {}
  Tensor forward(const Tensor& input, const optional<IntArrayRef>& output_size = nullopt);
};
HALFTONE_MODULE(ConvTranspose2d);

}  // namespace halftone::nn
