#pragma once

#include <cstdint>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"

namespace halftone {

/// How rows of class scores become a loss.
struct ClassLossOptions {
  const char* op;  ///< for messages
  Reduction::Reduction reduction = Reduction::Mean;
  std::int64_t ignore_index = -100;
  double label_smoothing = 0;
  bool log_probabilities = false;  ///< the scores are logarithms of probabilities already (nll_loss)
};

/// Classification losses. Scores x have the classes in dimension 1 (0 if they have one dimension); target
/// holds class indices, shaped like x without that dimension, or probabilities shaped like x; weight has one
/// element per class or is undefined. With q_c = weight_c ((1 - smoothing) target_c + smoothing / C), a row's
/// loss is
///   -sum_c q_c log softmax(x)_c,
/// and the mean divides by the sum of the target's weights, or by the number of rows if the target holds
/// probabilities. Rows whose index is ignore_index count nothing and are not read.
/// Any strides and dtypes, computed in fp32 (fp64 when a floating tensor is float64), rounded once.
/// Throws Error for an index that is neither a class nor ignore_index.
struct ClassLossKernels {
  void (*forward)(const Tensor& out, const Tensor& x, const Tensor& target, const Tensor& weight,
                  const ClassLossOptions& options);
  /// The gradient for x, given that of the loss.
  void (*backward)(const Tensor& out, const Tensor& grad, const Tensor& x, const Tensor& target,
                   const Tensor& weight, const ClassLossOptions& options);
  /// out, shaped like x and contiguous: 1 at each row's class, else 0; rows to ignore are 0.
  void (*one_hot)(const Tensor& out, const Tensor& target, const ClassLossOptions& options);
};

template <>
const ClassLossKernels& cpu_kernels<ClassLossKernels>();

}  // namespace halftone
