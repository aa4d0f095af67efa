#pragma once

#include "halftone/nn/functional.h"
#include "halftone/nn/module_holder.h"

namespace halftone::nn {

/// What pooling layers have in common: no parameters, options made from a window size, a name to print.
template <class Derived, class Options>
class PoolBase : public Cloneable<Derived> {
 public:
  PoolBase(const Options& options) : options(options) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  /// What the layer was made with.
  Options options;
};

/// Largest value of each window of (N, C, L).
class MaxPool1dImpl : public PoolBase<MaxPool1dImpl, MaxPool1dOptions> {
 public:
  MaxPool1dImpl(ExpandingArray<1> kernel_size) : PoolBase(kernel_size) {}
  explicit MaxPool1dImpl(const MaxPool1dOptions& options) : PoolBase(options) {}
  Tensor forward(const Tensor& input) { return functional::max_pool1d(input, options); }
  /// The maxima, and where in its plane each stood: what MaxUnpool1d takes.
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input) {
    return functional::max_pool1d_with_indices(input, options);
  }
};
HALFTONE_MODULE(MaxPool1d);

/// Largest value of each window of (N, C, H, W).
class MaxPool2dImpl : public PoolBase<MaxPool2dImpl, MaxPool2dOptions> {
 public:
  MaxPool2dImpl(ExpandingArray<2> kernel_size) : PoolBase(kernel_size) {}
  explicit MaxPool2dImpl(const MaxPool2dOptions& options) : PoolBase(options) {}
  Tensor forward(const Tensor& input) { return functional::max_pool2d(input, options); }
  /// The maxima, and where in its plane each stood: what MaxUnpool2d takes.
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input) {
    return functional::max_pool2d_with_indices(input, options);
  }
};
HALFTONE_MODULE(MaxPool2d);

/// Mean of each window of (N, C, L).
class AvgPool1dImpl : public PoolBase<AvgPool1dImpl, AvgPool1dOptions> {
 public:
  AvgPool1dImpl(ExpandingArray<1> kernel_size) : PoolBase(kernel_size) {}
  explicit AvgPool1dImpl(const AvgPool1dOptions& options) : PoolBase(options) {}
  Tensor forward(const Tensor& input) { return functional::avg_pool1d(input, options); }
};
HALFTONE_MODULE(AvgPool1d);

/// Mean of each window of (N, C, H, W).
class AvgPool2dImpl : public PoolBase<AvgPool2dImpl, AvgPool2dOptions> {
 public:
  AvgPool2dImpl(ExpandingArray<2> kernel_size) : PoolBase(kernel_size) {}
  explicit AvgPool2dImpl(const AvgPool2dOptions& options) : PoolBase(options) {}
  Tensor forward(const Tensor& input) { return functional::avg_pool2d(input, options); }
};
HALFTONE_MODULE(AvgPool2d);

/// Mean over windows chosen so that the output has the given length.
class AdaptiveAvgPool1dImpl : public PoolBase<AdaptiveAvgPool1dImpl, AdaptiveAvgPool1dOptions> {
 public:
  AdaptiveAvgPool1dImpl(ExpandingArray<1> output_size) : PoolBase(output_size) {}
  explicit AdaptiveAvgPool1dImpl(const AdaptiveAvgPool1dOptions& options) : PoolBase(options) {}
  Tensor forward(const Tensor& input) { return functional::adaptive_avg_pool1d(input, options); }
};
HALFTONE_MODULE(AdaptiveAvgPool1d);

/// Mean over windows chosen so that the output has the given height and width.
class AdaptiveAvgPool2dImpl : public PoolBase<AdaptiveAvgPool2dImpl, AdaptiveAvgPool2dOptions> {
 public:
  AdaptiveAvgPool2dImpl(ExpandingArrayWithOptionalElem<2> output_size) : PoolBase(output_size) {}
  explicit AdaptiveAvgPool2dImpl(const AdaptiveAvgPool2dOptions& options) : PoolBase(options) {}
  Tensor forward(const Tensor& input) { return functional::adaptive_avg_pool2d(input, options); }
};
HALFTONE_MODULE(AdaptiveAvgPool2d);

/// Largest value of windows chosen so that the output has the given length.
class AdaptiveMaxPool1dImpl : public PoolBase<AdaptiveMaxPool1dImpl, AdaptiveMaxPool1dOptions> {
 public:
  AdaptiveMaxPool1dImpl(ExpandingArray<1> output_size) : PoolBase(output_size) {}
  explicit AdaptiveMaxPool1dImpl(const AdaptiveMaxPool1dOptions& options) : PoolBase(options) {}
  Tensor forward(const Tensor& input) { return functional::adaptive_max_pool1d(input, options); }
  /// The maxima, and where in its row each stood.
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input) {
    return functional::adaptive_max_pool1d_with_indices(input, options);
  }
};
HALFTONE_MODULE(AdaptiveMaxPool1d);

/// Puts values back where a MaxPool1d found them; zeros elsewhere.
class MaxUnpool1dImpl : public PoolBase<MaxUnpool1dImpl, MaxUnpool1dOptions> {
 public:
  MaxUnpool1dImpl(ExpandingArray<1> kernel_size) : PoolBase(kernel_size) {}
  explicit MaxUnpool1dImpl(const MaxUnpool1dOptions& options) : PoolBase(options) {}
  Tensor forward(const Tensor& input, const Tensor& indices,
                 const optional<std::vector<std::int64_t>>& output_size = nullopt);
};
HALFTONE_MODULE(MaxUnpool1d);

/// The p-norm of each window.
class LPPool1dImpl : public PoolBase<LPPool1dImpl, LPPool1dOptions> {
 public:
  LPPool1dImpl(double norm_type, ExpandingArray<1> kernel_size)
      : PoolBase(LPPool1dOptions(norm_type, kernel_size)) {}
  explicit LPPool1dImpl(const LPPool1dOptions& options) : PoolBase(options) {}
  Tensor forward(const Tensor& input) { return functional::lp_pool1d(input, options); }
};
HALFTONE_MODULE(LPPool1d);

/// Largest value of windows chosen so that the output has the given height and width.
class AdaptiveMaxPool2dImpl : public PoolBase<AdaptiveMaxPool2dImpl, AdaptiveMaxPool2dOptions> {
 public:
  AdaptiveMaxPool2dImpl(ExpandingArrayWithOptionalElem<2> output_size) : PoolBase(output_size) {}
  explicit AdaptiveMaxPool2dImpl(const AdaptiveMaxPool2dOptions& options) : PoolBase(options) {}
  Tensor forward(const Tensor& input) { return functional::adaptive_max_pool2d(input, options); }
  /// The maxima, and where in its plane each stood.
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input) {
    return functional::adaptive_max_pool2d_with_indices(input, options);
  }
};
HALFTONE_MODULE(AdaptiveMaxPool2d);

/// Puts values back where a MaxPool2d found them; zeros elsewhere.
class MaxUnpool2dImpl : public PoolBase<MaxUnpool2dImpl, MaxUnpool2dOptions> {
 public:
  MaxUnpool2dImpl(ExpandingArray<2> kernel_size) : PoolBase(kernel_size) {}
  explicit MaxUnpool2dImpl(const MaxUnpool2dOptions& options) : PoolBase(options) {}
  Tensor forward(const Tensor& input, const Tensor& indices,
                 const optional<std::vector<std::int64_t>>& output_size = nullopt);
};
HALFTONE_MODULE(MaxUnpool2d);

/// Largest value of each of output_size windows that lie at random (arXiv:1412.6071).
class FractionalMaxPool2dImpl : public Cloneable<FractionalMaxPool2dImpl> {
 public:
  FractionalMaxPool2dImpl(ExpandingArray<2> kernel_size)
      : FractionalMaxPool2dImpl(FractionalMaxPool2dOptions(kernel_size)) {}
  /// Throws Error unless output_size or output_ratio is given, and just one of them.
  explicit FractionalMaxPool2dImpl(FractionalMaxPool2dOptions options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  /// The maxima, and where in its plane each stood.
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);

  FractionalMaxPool2dOptions options;
  Tensor _random_samples;  ///< buffer, undefined unless given in the options
};
HALFTONE_MODULE(FractionalMaxPool2d);

/// The p-norm of each window.
class LPPool2dImpl : public PoolBase<LPPool2dImpl, LPPool2dOptions> {
 public:
  LPPool2dImpl(double norm_type, ExpandingArray<2> kernel_size)
      : PoolBase(LPPool2dOptions(norm_type, kernel_size)) {}
  explicit LPPool2dImpl(const LPPool2dOptions& options) : PoolBase(options) {}
  Tensor forward(const Tensor& input) { return functional::lp_pool2d(input, options); }
};
HALFTONE_MODULE(LPPool2d);

}  // namespace halftone::nn
