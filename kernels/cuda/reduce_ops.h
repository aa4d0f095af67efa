#pragma once

#include <limits>

#include "halftone/kernels/cuda/functors.h"

// What a reduction does with each element (and a value `s` of its output: the mean, the maximum or an
// exponent) and with two results, for values V: float, double or I64. The operations of
// kernels/cpu/reduce.inc.
namespace halftone::cuda {

enum class ReduceLoop : std::uint8_t {
  kSum,
  kProd,
  kMax,
  kMin,
  kCount,
  kAny,
  kAll,
  kAbsSum,
  kAbsMax,
  kExpSum,
  kSquareSum,
  kPowSum,
};

/// How results are combined: all that is left of an operation once its elements are mapped.
enum class Combining : std::uint8_t { kSum, kProd, kMax, kMin, kLogSumExp };

namespace reduce_ops {

using namespace math;

constexpr double infinity() { return std::numeric_limits<double>::infinity(); }

template <Combining C>
struct Op {
  static constexpr Combining kCombining = C;
  static constexpr double kIdentity = 0;  // what no elements reduce to
  template <class V>
  static __device__ V map(V x, V) {
    return x;
  }
};

struct SumOp : Op<Combining::kSum> {
  static constexpr ReduceLoop kLoop = ReduceLoop::kSum;
};
struct ProdOp : Op<Combining::kProd> {
  static constexpr ReduceLoop kLoop = ReduceLoop::kProd;
  static constexpr double kIdentity = 1;
};
struct MaxOp : Op<Combining::kMax> {
  static constexpr ReduceLoop kLoop = ReduceLoop::kMax;
  static constexpr double kIdentity = -infinity();
};
struct MinOp : Op<Combining::kMin> {
  static constexpr ReduceLoop kLoop = ReduceLoop::kMin;
  static constexpr double kIdentity = infinity();
};
struct AbsSumOp : SumOp {
  static constexpr ReduceLoop kLoop = ReduceLoop::kAbsSum;
  template <class V>
  static __device__ V map(V x, V) {
    return abs(x);
  }
};
struct AbsMaxOp : MaxOp {
  static constexpr ReduceLoop kLoop = ReduceLoop::kAbsMax;
  static constexpr double kIdentity = 0;
  template <class V>
  static __device__ V map(V x, V) {
    return abs(x);
  }
};
struct CountOp : SumOp {
  static constexpr ReduceLoop kLoop = ReduceLoop::kCount;
  template <class V>
  static __device__ V map(V x, V) {
    return select(x != V(0.0), V(1.0), V(0.0));
  }
};
struct AnyOp : MaxOp {
  static constexpr ReduceLoop kLoop = ReduceLoop::kAny;
  static constexpr double kIdentity = 0;
  template <class V>
  static __device__ V map(V x, V s) {
    return CountOp::map(x, s);
  }
};
struct AllOp : MinOp {
  static constexpr ReduceLoop kLoop = ReduceLoop::kAll;
  static constexpr double kIdentity = 1;
  template <class V>
  static __device__ V map(V x, V s) {
    return CountOp::map(x, s);
  }
};
struct ExpSumOp : SumOp {
  static constexpr ReduceLoop kLoop = ReduceLoop::kExpSum;
  template <class V>
  static __device__ V map(V x, V s) {
    return exp(x - s);
  }
};
struct SquareSumOp : SumOp {
  static constexpr ReduceLoop kLoop = ReduceLoop::kSquareSum;
  // of distances from s
  template <class V>
  static __device__ V map(V x, V s) {
    return (x - s) * (x - s);
  }
};
struct PowSumOp : SumOp {
  static constexpr ReduceLoop kLoop = ReduceLoop::kPowSum;
  template <class V>
  static __device__ V map(V x, V s) {
    return pow(abs(x), s);
  }
};

}  // namespace reduce_ops

/// Leaves any value unchanged.
template <class V>
__device__ inline V combine_identity(Combining how) {
  constexpr double kInfinity = reduce_ops::infinity();
  switch (how) {
    case Combining::kSum:
      return V(0.0);
    case Combining::kProd:
      return V(1.0);
    case Combining::kMax:
    case Combining::kLogSumExp:
      return V(-kInfinity);
    case Combining::kMin:
      break;
  }
  return V(kInfinity);
}

template <class V>
__device__ inline V combine(Combining how, V a, V b) {
  switch (how) {
    case Combining::kSum:
      return a + b;
    case Combining::kProd:
      return a * b;
    case Combining::kMax:
      return math::max(a, b);
    case Combining::kLogSumExp:
      if constexpr (!math::kIsInteger<V>) return math::LogAddExp{}(a, b);
      break;
    case Combining::kMin:
      break;
  }
  return math::min(a, b);
}

}  // namespace halftone::cuda
