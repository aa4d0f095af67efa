#pragma once

#include "halftone/engine/tensor.h"
#include "halftone/kernels/cuda/class_loss_rows.h"
#include "halftone/kernels/loss.h"

// The parts of the classification losses, one per file.
namespace halftone::cuda {

/// Addresses of the operands; `weight` and `total_weight` (the sum of the weights, in fp64) may be null.
struct ClassData {
  const void* scores;
  const void* target;
  const void* weight;
  const double* total_weight;
};

/// `result` and `grad` may be undefined.
ClassProblem class_problem(const Tensor& x, const Tensor& target, const Tensor& weight, const Tensor& result,
                           const Tensor& grad, const ClassLossOptions& options);
/// Where a label stands: what the scores' class dimension is.
std::int64_t class_dim(const Tensor& x);

/// -sum_c q_c log softmax(x)_c of every row, into a contiguous tensor. NaN where the label is wrong.
void class_losses(const Tensor& losses, const ClassProblem& problem, const ClassData& data, FaultSink sink,
                  bool wide);
/// The gradients of rows; `grad` is the loss's, `divisor` what a mean divides by if the host does not
/// know it (fp64 on the device), else null.
void class_gradients(const Tensor& out, const Tensor& grad, const double* divisor,
                     const ClassProblem& problem, const ClassData& data, FaultSink sink, bool wide);

/// The sum of the class weights in fp64, a scalar on the device.
Tensor sum_class_weights(const Tensor& weight, bool wide);
/// `out` becomes the sum of the losses, or their mean: for index targets over the sum of the labels' weights.
void reduce_class_losses(const Tensor& out, const Tensor& losses, const ClassProblem& problem,
                         const ClassData& data, bool mean, bool wide);
/// The sum of the labels' weights in fp64, a scalar on the device.
Tensor sum_label_weights(const Tensor& like, const ClassProblem& problem, const ClassData& data, bool wide);

/// nll_loss: the losses and gradients of scores that are log-probabilities already.
void nll_losses(const Tensor& losses, const ClassProblem& problem, const ClassData& data, FaultSink sink,
                bool wide);
void nll_gradients(const Tensor& out, const Tensor& grad, const Tensor& target, const double* divisor,
                   const ClassProblem& problem, const ClassData& data, FaultSink sink, bool wide);
/// See ClassLossKernels.
void class_one_hot(const Tensor& out, const Tensor& target, const ClassLossOptions& options);

}  // namespace halftone::cuda
