#pragma once

#include "halftone/engine/arg.h"
#include "halftone/nn/expanding_array.h"
#include "halftone/nn/module_holder.h"

namespace halftone::nn {

/// Options of Unfold.
struct UnfoldOptions {
  UnfoldOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size) {}
  HALFTONE_ARG(ExpandingArray<2>, kernel_size);
  HALFTONE_ARG(ExpandingArray<2>, dilation) = 1;
  HALFTONE_ARG(ExpandingArray<2>, padding) = 0;
  HALFTONE_ARG(ExpandingArray<2>, stride) = 1;
};

/// Options of Fold.
struct FoldOptions {
  FoldOptions(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size)
      : output_size_(output_size), kernel_size_(kernel_size) {}
  HALFTONE_ARG(ExpandingArray<2>, output_size);
  HALFTONE_ARG(ExpandingArray<2>, kernel_size);
  HALFTONE_ARG(ExpandingArray<2>, dilation) = 1;
  HALFTONE_ARG(ExpandingArray<2>, padding) = 0;
  HALFTONE_ARG(ExpandingArray<2>, stride) = 1;
};

namespace functional {
/// Options of the functions that need no more than their layer's.
/// @{
using UnfoldFuncOptions = UnfoldOptions;
using FoldFuncOptions = FoldOptions;
/// @}

/// The windows of (N, C, H, W) as columns: (N, C * kh * kw, windows).
Tensor unfold(const Tensor& input, const UnfoldFuncOptions& options);
/// The columns added up to (N, C, output_size).
Tensor fold(const Tensor& input, const FoldFuncOptions& options);
}  // namespace functional

/// functional::unfold as a layer.
class UnfoldImpl : public Cloneable<UnfoldImpl> {
 public:
  UnfoldImpl(ExpandingArray<2> kernel_size) : UnfoldImpl(UnfoldOptions(kernel_size)) {}
  explicit UnfoldImpl(const UnfoldOptions& options) : options(options) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input) { return functional::unfold(input, options); }

  UnfoldOptions options;
};
HALFTONE_MODULE(Unfold);

/// functional::fold as a layer.
class FoldImpl : public Cloneable<FoldImpl> {
 public:
  FoldImpl(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size)
      : FoldImpl(FoldOptions(output_size, kernel_size)) {}
  explicit FoldImpl(const FoldOptions& options) : options(options) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input) { return functional::fold(input, options); }

  FoldOptions options;
};
HALFTONE_MODULE(Fold);

}  // namespace halftone::nn
