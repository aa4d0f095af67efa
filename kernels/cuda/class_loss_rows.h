#pragma once

#include "halftone/kernels/cuda/fault.h"
#include "halftone/kernels/cuda/softmax_rows.h"
#include "halftone/kernels/loss.h"

// What the classification losses share: what kernels know of the operands, labels, and a row's class masses.
namespace halftone::cuda {

/// Offsets in the geometry.
enum ClassOperand { kScores, kTarget, kResult, kGrad, kClassOperands };

/// Everything about the operands but their addresses. `result` and `grad` take part in backward only.
struct ClassProblem {
  RowGeometry<kClassOperands> geometry;
  ScalarType scores, target, weight, result, grad;
  std::int64_t weight_stride;
  std::int64_t ignore_index;
  double label_smoothing;
  double smoothing;  // what it adds to every class
  double divisor;    // of the mean where the host knows it, else 1
  bool has_shares;   // the target holds probabilities

  HALFTONE_HD std::int64_t rows() const { return geometry.rows.numel; }
  HALFTONE_HD std::int64_t classes() const { return geometry.length; }
};

/// The class of a row, or what is to be done without one.
struct Label {
  static constexpr std::int64_t kNone = -1;
  std::int64_t value = kNone;
  bool counts = true;  // false: ignored, or wrong
  bool wrong = false;
};

/// Of the target's element `at`. Reports a wrong one if asked: once per row, by one thread.
__device__ inline Label read_label(const void* target, ScalarType dtype, std::int64_t at,
                                   std::int64_t classes, std::int64_t ignore_index, FaultSink sink,
                                   bool report) {
  Label label;
  label.value = read<std::int64_t>(target, dtype, at);
  const bool ignored = label.value == ignore_index;
  label.wrong = !ignored && (label.value < 0 || label.value >= classes);
  label.counts = !ignored && !label.wrong;
  if (label.wrong && report) report_fault(sink, Fault::kClassOutOfRange, label.value, classes);
  return label;
}

template <class C>
__device__ inline double class_weight(const void* weight, ScalarType dtype, std::int64_t stride,
                                      std::int64_t c) {
  return weight ? static_cast<double>(read<C>(weight, dtype, c * stride)) : 1.0;
}

/// A slot's share of the masses q of a piece: weight * ((1 - smoothing) share + smoothing / C) for
/// probabilities, else the weights themselves. 0 beyond the row.
template <class Team, int kValues, class C>
__device__ inline void load_masses(const ClassProblem& p, const Row<const void*>& shares, const void* weight,
                                   std::int64_t begin, std::int64_t readable, C (&q)[kValues]) {
  const std::int64_t left = readable - begin;
  if (p.has_shares) {
    load_share(shares, begin, readable, Team::slot(), C(0), q);
    const C keep = static_cast<C>(1 - p.label_smoothing), add = static_cast<C>(p.smoothing);
    for_share<kValues>(left, Team::slot(),
                       [&](int j, int i) { q[j] = i < left ? std::fma(q[j], keep, add) : C(0); });
  } else {
    HT_UNROLL
    for (int j = 0; j < kValues; ++j) q[j] = 0;
    for_share<kValues>(left, Team::slot(), [&](int j, int i) { q[j] = i < left ? C(1) : C(0); });
  }
  if (!weight) return;
  C w[kValues];
  load_share(Row<const void*>{weight, p.weight, 0, p.weight_stride}, begin, readable, Team::slot(), C(0), w);
  HT_UNROLL
  for (int j = 0; j < kValues; ++j) q[j] *= w[j];
}

}  // namespace halftone::cuda
