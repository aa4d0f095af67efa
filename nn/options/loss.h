#pragma once

#include <functional>

#include "halftone/engine/arg.h"
#include "halftone/engine/tensor.h"
#include "halftone/nn/enum.h"

namespace halftone::nn {

/// Options of CrossEntropyLoss. weight: one factor per class. Targets equal to ignore_index count for
/// nothing. label_smoothing: share of the target that all classes get alike, in [0, 1].
struct CrossEntropyLossOptions {
  HALFTONE_ARG(Tensor, weight) = Tensor();
  HALFTONE_ARG(std::int64_t, ignore_index) = -100;
  HALFTONE_ARG(LossReduction, reduction) = kMean;
  HALFTONE_ARG(double, label_smoothing) = 0;
};

/// Options of NLLLoss. weight: one factor per class.
struct NLLLossOptions {
  HALFTONE_ARG(Tensor, weight) = Tensor();
  HALFTONE_ARG(std::int64_t, ignore_index) = -100;
  HALFTONE_ARG(LossReduction, reduction) = kMean;
};

/// Options of MSELoss.
struct MSELossOptions {
  template <class Reduction = LossReduction>
  requires std::is_convertible_v<Reduction, LossReduction> MSELossOptions(Reduction reduction = kMean)
      : reduction_(reduction) {}
  HALFTONE_ARG(LossReduction, reduction);
};

/// Options of L1Loss.
struct L1LossOptions {
  template <class Reduction = LossReduction>
  requires std::is_convertible_v<Reduction, LossReduction> L1LossOptions(Reduction reduction = kMean)
      : reduction_(reduction) {}
  HALFTONE_ARG(LossReduction, reduction);
};

/// Options of SmoothL1Loss: 0.5 d^2 / beta for |d| < beta, |d| - 0.5 beta elsewhere.
struct SmoothL1LossOptions {
  template <class Reduction = LossReduction>
  requires std::is_convertible_v<Reduction, LossReduction> SmoothL1LossOptions(Reduction reduction = kMean)
      : reduction_(reduction) {}
  HALFTONE_ARG(LossReduction, reduction);
  HALFTONE_ARG(double, beta) = 1;
};

/// Options of HuberLoss: 0.5 d^2 for |d| < delta, delta (|d| - 0.5 delta) elsewhere.
struct HuberLossOptions {
  template <class Reduction = LossReduction>
  requires std::is_convertible_v<Reduction, LossReduction> HuberLossOptions(Reduction reduction = kMean)
      : reduction_(reduction) {}
  HALFTONE_ARG(LossReduction, reduction);
  HALFTONE_ARG(double, delta) = 1;
};

/// Options of BCELoss. weight: factors of the losses, broadcast to them.
struct BCELossOptions {
  HALFTONE_ARG(Tensor, weight) = Tensor();
  HALFTONE_ARG(LossReduction, reduction) = kMean;
};

/// Options of BCEWithLogitsLoss. weight: factors of the losses, broadcast to them; pos_weight: factors of the
/// positive targets.
struct BCEWithLogitsLossOptions {
  HALFTONE_ARG(Tensor, weight) = Tensor();
  HALFTONE_ARG(LossReduction, reduction) = kMean;
  HALFTONE_ARG(Tensor, pos_weight) = Tensor();
};

/// Options of KLDivLoss. log_target: the target holds logarithms. reduction: kBatchMean divides the sum by
/// the number of rows, kMean by the number of elements.
struct KLDivLossOptions {
  template <class Reduction = KLDivReduction>
  requires std::is_convertible_v<Reduction, KLDivReduction> KLDivLossOptions(Reduction reduction = kMean)
      : reduction_(reduction) {}
  HALFTONE_ARG(KLDivReduction, reduction);
  HALFTONE_ARG(bool, log_target) = false;
};

/// Options of HingeEmbeddingLoss: x where the target is 1, max(0, margin - x) where it is -1.
struct HingeEmbeddingLossOptions {
  HALFTONE_ARG(double, margin) = 1;
  HALFTONE_ARG(LossReduction, reduction) = kMean;
};

/// Options of MultiMarginLoss: sums of max(0, margin - x[target] + x[i])^p, p 1 or 2, over the other classes.
/// weight: one factor per class.
struct MultiMarginLossOptions {
  HALFTONE_ARG(std::int64_t, p) = 1;
  HALFTONE_ARG(double, margin) = 1;
  HALFTONE_ARG(Tensor, weight) = Tensor();
  HALFTONE_ARG(LossReduction, reduction) = kMean;
};

/// Options of CosineEmbeddingLoss: 1 - cos where the target is 1, max(0, cos - margin) where it is -1.
struct CosineEmbeddingLossOptions {
  HALFTONE_ARG(double, margin) = 0;
  HALFTONE_ARG(LossReduction, reduction) = kMean;
};

/// Options of MultiLabelMarginLoss.
struct MultiLabelMarginLossOptions {
  template <class Reduction = LossReduction>
  requires std::is_convertible_v<Reduction, LossReduction> MultiLabelMarginLossOptions(
      Reduction reduction = kMean)
      : reduction_(reduction) {}
  HALFTONE_ARG(LossReduction, reduction);
};

/// Options of SoftMarginLoss: log(1 + exp(-target x)).
struct SoftMarginLossOptions {
  template <class Reduction = LossReduction>
  requires std::is_convertible_v<Reduction, LossReduction> SoftMarginLossOptions(Reduction reduction = kMean)
      : reduction_(reduction) {}
  HALFTONE_ARG(LossReduction, reduction);
};

/// Options of MultiLabelSoftMarginLoss. weight: one factor per class.
struct MultiLabelSoftMarginLossOptions {
  HALFTONE_ARG(Tensor, weight) = Tensor();
  HALFTONE_ARG(LossReduction, reduction) = kMean;
};

/// Options of TripletMarginLoss: max(0, |a - p| - |a - n| + margin); swap: the nearer of a and p counts for
/// n.
struct TripletMarginLossOptions {
  HALFTONE_ARG(double, margin) = 1;
  HALFTONE_ARG(double, p) = 2;
  HALFTONE_ARG(double, eps) = 1e-6;
  HALFTONE_ARG(bool, swap) = false;
  HALFTONE_ARG(LossReduction, reduction) = kMean;
};

/// Options of TripletMarginWithDistanceLoss: the same with any distance_function of two tensors, the
/// Euclidean distance by default; swap: the nearer of a and p counts for n.
struct TripletMarginWithDistanceLossOptions {
  /// From two batches (N, D) to their distances (N).
  using distance_function_t = std::function<Tensor(const Tensor&, const Tensor&)>;
  HALFTONE_ARG(optional<distance_function_t>, distance_function) = nullopt;
  HALFTONE_ARG(double, margin) = 1;
  HALFTONE_ARG(bool, swap) = false;
  HALFTONE_ARG(LossReduction, reduction) = kMean;
};

/// Options of CTCLoss. blank: the class that stands for no label; zero_infinity: losses of targets that do
/// not fit their input count as 0.
struct CTCLossOptions {
  HALFTONE_ARG(std::int64_t, blank) = 0;
  HALFTONE_ARG(LossReduction, reduction) = kMean;
  HALFTONE_ARG(bool, zero_infinity) = false;
};

/// Options of PoissonNLLLoss: exp(x) - t x (log_input) or x - t log(x + eps); full adds Stirling's term.
struct PoissonNLLLossOptions {
  HALFTONE_ARG(bool, log_input) = true;
  HALFTONE_ARG(bool, full) = false;
  HALFTONE_ARG(double, eps) = 1e-8;
  HALFTONE_ARG(LossReduction, reduction) = kMean;
};

/// Options of MarginRankingLoss: max(0, -target (x1 - x2) + margin).
struct MarginRankingLossOptions {
  HALFTONE_ARG(double, margin) = 0;
  HALFTONE_ARG(LossReduction, reduction) = kMean;
};

namespace functional {
/// Options of the functions that need no more than their layer's.
/// @{
using CrossEntropyFuncOptions = CrossEntropyLossOptions;
using NLLLossFuncOptions = NLLLossOptions;
using MSELossFuncOptions = MSELossOptions;
using L1LossFuncOptions = L1LossOptions;
using SmoothL1LossFuncOptions = SmoothL1LossOptions;
using HuberLossFuncOptions = HuberLossOptions;
using BinaryCrossEntropyFuncOptions = BCELossOptions;
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;
using KLDivFuncOptions = KLDivLossOptions;
using HingeEmbeddingLossFuncOptions = HingeEmbeddingLossOptions;
using MultiMarginLossFuncOptions = MultiMarginLossOptions;
using CosineEmbeddingLossFuncOptions = CosineEmbeddingLossOptions;
using MultilabelMarginLossFuncOptions = MultiLabelMarginLossOptions;
using SoftMarginLossFuncOptions = SoftMarginLossOptions;
using MultilabelSoftMarginLossFuncOptions = MultiLabelSoftMarginLossOptions;
using TripletMarginLossFuncOptions = TripletMarginLossOptions;
using TripletMarginWithDistanceLossFuncOptions = TripletMarginWithDistanceLossOptions;
using CTCLossFuncOptions = CTCLossOptions;
using PoissonNLLLossFuncOptions = PoissonNLLLossOptions;
using MarginRankingLossFuncOptions = MarginRankingLossOptions;
/// @}
}  // namespace functional
}  // namespace halftone::nn
