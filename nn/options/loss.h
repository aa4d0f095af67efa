#pragma once

#include "halftone/engine/arg.h"
#include "halftone/engine/tensor.h"
#include "halftone/nn/enum.h"

namespace halftone::nn {

/// Options of CrossEntropyLoss. weight: one factor per class. Targets equal to ignore_index count for
/// nothing.
struct CrossEntropyLossOptions {
  HALFTONE_ARG(Tensor, weight) = Tensor();
  HALFTONE_ARG(std::int64_t, ignore_index) = -100;
  HALFTONE_ARG(LossReduction, reduction) = kMean;
  HALFTONE_ARG(double, label_smoothing) = 0;
};

/// Options of NLLLoss.
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

/// Options of BCELoss.
struct BCELossOptions {
  HALFTONE_ARG(Tensor, weight) = Tensor();
  HALFTONE_ARG(LossReduction, reduction) = kMean;
};

/// Options of BCEWithLogitsLoss. pos_weight: factors of the positive targets.
struct BCEWithLogitsLossOptions {
  HALFTONE_ARG(Tensor, weight) = Tensor();
  HALFTONE_ARG(LossReduction, reduction) = kMean;
  HALFTONE_ARG(Tensor, pos_weight) = Tensor();
};

/// Options of KLDivLoss. kBatchMean divides the sum by the number of rows, kMean by the number of elements.
struct KLDivLossOptions {
  template <class Reduction = KLDivReduction>
  requires std::is_convertible_v<Reduction, KLDivReduction> KLDivLossOptions(Reduction reduction = kMean)
      : reduction_(reduction) {}
  HALFTONE_ARG(KLDivReduction, reduction);
  HALFTONE_ARG(bool, log_target) = false;
};

namespace functional {
using CrossEntropyFuncOptions = CrossEntropyLossOptions;
using NLLLossFuncOptions = NLLLossOptions;
using MSELossFuncOptions = MSELossOptions;
using L1LossFuncOptions = L1LossOptions;
using SmoothL1LossFuncOptions = SmoothL1LossOptions;
using HuberLossFuncOptions = HuberLossOptions;
using BinaryCrossEntropyFuncOptions = BCELossOptions;
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;
using KLDivFuncOptions = KLDivLossOptions;
}  // namespace functional
}  // namespace halftone::nn
