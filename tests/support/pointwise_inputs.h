#pragma once

// What the tests of pointwise kernels feed them.

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "halftone/kernels/pointwise.h"
#include "halftone/tests/support/kernel_tensors.h"

namespace halftone::testing {

inline const Params kParams{{0.75, 1.25, -0.5, 0}};

inline bool integers_only(Fn fn) {
  return fn == Fn::kBitwiseAnd || fn == Fn::kBitwiseOr || fn == Fn::kBitwiseXor || fn == Fn::kBitwiseNot ||
         fn == Fn::kShiftLeft || fn == Fn::kShiftRight;
}

/// Every formula that takes floating operands.
inline std::vector<Fn> floating_fns() {
  std::vector<Fn> fns;
  for (int i = 0; i < kFnCount; ++i) {
    if (!integers_only(static_cast<Fn>(i))) fns.push_back(static_cast<Fn>(i));
  }
  return fns;
}

/// Ordinary values, with those that need care mixed in if asked. `huge`, the largest of these: a device may
/// keep a product that leaves fp32 in a fused multiply-add, so its tests stay below.
inline std::vector<Tensor> pointwise_inputs(ScalarType dtype, int count, std::int64_t n, bool special,
                                            unsigned seed, double huge = 1e30) {
  const double inf = std::numeric_limits<double>::infinity();
  const double extra[] = {0, -0.0, inf, -inf, std::nan(""), 1, -1, 1e-7, -65504, huge, 0.5, 700, -1e-40};
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 2);
  std::vector<Tensor> all;
  for (int k = 0; k < count; ++k) {
    Tensor t = empty(dtype, {n});
    for (std::int64_t i = 0; i < n; ++i)
      put(t, i, special && random() % 4 == 0 ? extra[random() % 13] : normal(random));
    all.push_back(t);
  }
  return all;
}

}  // namespace halftone::testing
