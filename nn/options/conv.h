#pragma once

#include "halftone/engine/arg.h"
#include "halftone/engine/tensor.h"
#include "halftone/nn/enum.h"
#include "halftone/nn/expanding_array.h"

namespace halftone::nn {

/// Zeros added around the input of a convolution: numbers, kValid (none), or kSame (the output keeps the
/// input's size; stride 1 only).
template <std::size_t D>
class ConvPadding {
 public:
  ConvPadding(std::int64_t amount) : amounts_(amount) {}
  ConvPadding(std::initializer_list<std::int64_t> amounts) : amounts_(amounts) {}
  ConvPadding(const std::vector<std::int64_t>& amounts) : amounts_(amounts) {}
  ConvPadding(ExpandingArray<D> amounts) : amounts_(amounts) {}
  ConvPadding(enumtype::kValid) : amounts_(0) {}
  ConvPadding(enumtype::kSame) : amounts_(0), same_(true) {}
  /// The amounts follow from the kernel and the dilation.
  bool is_same() const { return same_; }
  /// Zeros on either side of each dimension; 0 with kValid and kSame.
  const ExpandingArray<D>& amounts() const { return amounts_; }

 private:
  ExpandingArray<D> amounts_;
  bool same_ = false;
};

/// What a convolution's padding is filled with: kZeros, kReflect, kReplicate or kCircular.
class ConvPaddingMode {
 public:
  enum class Kind : std::uint8_t { kZeros, kReflect, kReplicate, kCircular };
  ConvPaddingMode(enumtype::kZeros) : kind_(Kind::kZeros) {}
  ConvPaddingMode(enumtype::kReflect) : kind_(Kind::kReflect) {}
  ConvPaddingMode(enumtype::kReplicate) : kind_(Kind::kReplicate) {}
  ConvPaddingMode(enumtype::kCircular) : kind_(Kind::kCircular) {}
  Kind kind() const { return kind_; }
  /// Whether it is kZeros, which needs no copy of the input.
  bool is_zeros() const { return kind_ == Kind::kZeros; }
  /// "kZeros", "kReflect", "kReplicate" or "kCircular".
  const char* name() const;

 private:
  Kind kind_;
};

/// Options of Conv1d and Conv2d.
template <std::size_t D>
struct ConvOptions {
  ConvOptions(std::int64_t in_channels, std::int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  HALFTONE_ARG(std::int64_t, in_channels);
  HALFTONE_ARG(std::int64_t, out_channels);
  HALFTONE_ARG(ExpandingArray<D>, kernel_size);
  HALFTONE_ARG(ExpandingArray<D>, stride) = 1;
  HALFTONE_ARG(ConvPadding<D>, padding) = 0;
  HALFTONE_ARG(ExpandingArray<D>, dilation) = 1;
  HALFTONE_ARG(std::int64_t, groups) = 1;
  HALFTONE_ARG(bool, bias) = true;
  HALFTONE_ARG(ConvPaddingMode, padding_mode) = kZeros;
};
/// By the number of dimensions.
/// @{
using Conv1dOptions = ConvOptions<1>;
using Conv2dOptions = ConvOptions<2>;
/// @}

/// Options of ConvTranspose1d and ConvTranspose2d. padding_mode: kZeros only.
template <std::size_t D>
struct ConvTransposeOptions {
  ConvTransposeOptions(std::int64_t in_channels, std::int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  HALFTONE_ARG(std::int64_t, in_channels);
  HALFTONE_ARG(std::int64_t, out_channels);
  HALFTONE_ARG(ExpandingArray<D>, kernel_size);
  HALFTONE_ARG(ExpandingArray<D>, stride) = 1;
  HALFTONE_ARG(ExpandingArray<D>, padding) = 0;
  HALFTONE_ARG(ExpandingArray<D>, output_padding) = 0;
  HALFTONE_ARG(std::int64_t, groups) = 1;
  HALFTONE_ARG(bool, bias) = true;
  HALFTONE_ARG(ExpandingArray<D>, dilation) = 1;
  HALFTONE_ARG(ConvPaddingMode, padding_mode) = kZeros;
};
/// By the number of dimensions.
/// @{
using ConvTranspose1dOptions = ConvTransposeOptions<1>;
using ConvTranspose2dOptions = ConvTransposeOptions<2>;
/// @}

namespace functional {

/// Options of functional::conv1d and conv2d. bias: (out_channels), or undefined.
template <std::size_t D>
struct ConvFuncOptions {
  HALFTONE_ARG(Tensor, bias) = Tensor();
  HALFTONE_ARG(ExpandingArray<D>, stride) = 1;
  HALFTONE_ARG(ConvPadding<D>, padding) = 0;
  HALFTONE_ARG(ExpandingArray<D>, dilation) = 1;
  HALFTONE_ARG(std::int64_t, groups) = 1;
};
/// By the number of dimensions.
/// @{
using Conv1dFuncOptions = ConvFuncOptions<1>;
using Conv2dFuncOptions = ConvFuncOptions<2>;
/// @}

/// Options of functional::conv_transpose1d and conv_transpose2d. bias: (out_channels), or undefined.
template <std::size_t D>
struct ConvTransposeFuncOptions {
  HALFTONE_ARG(Tensor, bias) = Tensor();
  HALFTONE_ARG(ExpandingArray<D>, stride) = 1;
  HALFTONE_ARG(ExpandingArray<D>, padding) = 0;
  HALFTONE_ARG(ExpandingArray<D>, output_padding) = 0;
  HALFTONE_ARG(std::int64_t, groups) = 1;
  HALFTONE_ARG(ExpandingArray<D>, dilation) = 1;
};
/// By the number of dimensions.
/// @{
using ConvTranspose1dFuncOptions = ConvTransposeFuncOptions<1>;
using ConvTranspose2dFuncOptions = ConvTransposeFuncOptions<2>;
/// @}

}  // namespace functional
}  // namespace halftone::nn
