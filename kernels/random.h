#pragma once

#include "halftone/engine/generator.h"
#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"

namespace halftone {

/// Random numbers from a Philox stream, written to a contiguous tensor. Element i depends on the seed, the
/// offset and i only: never on threads or the device. Each function says how many elements one Philox block
/// of the stream makes.
struct RandomKernels {
  /// Uniform on [low, high) in a floating type, on a grid that its rounding keeps below 1: 11 random bits for
  /// float16, 8 for bfloat16, 24 for float32, 53 for float64. Four elements per block, two for float64.
  void (*uniform)(const Tensor& out, double low, double high, PhiloxState state);
  /// Normal, in a floating type (Box and Muller 1958): computed in double, rounded once. Four elements per
  /// block from 32 random bits each; two for float64, from 64.
  void (*normal)(const Tensor& out, double mean, double std, PhiloxState state);
  /// 1 with probability p, else 0, in any dtype; `p` is contiguous float64, one element or one per element of
  /// `out`. Four elements per block.
  void (*bernoulli)(const Tensor& out, const Tensor& p, PhiloxState state);
  /// Integers on [low, high), in any dtype, from 64 random bits each. Two elements per block.
  void (*integers)(const Tensor& out, std::int64_t low, std::int64_t high, PhiloxState state);
  /// 0 .. n-1 in random order, int64: indices sorted by 64 random bits each. Two elements per block.
  void (*permutation)(const Tensor& out, PhiloxState state);
  /// Draws of indices 0 .. n-1 with probabilities proportional to `weights` (rows, n), contiguous float64,
  /// none negative, each row with a positive sum; `out` (rows, k) is int64. With replacement: by the inverse
  /// of the running sum, two draws per block. Without: the k smallest of exponential waiting times, two
  /// indices per block; a row needs k positive weights.
  void (*multinomial)(const Tensor& out, const Tensor& weights, bool replacement, PhiloxState state);
};

template <>
const RandomKernels& cpu_kernels<RandomKernels>();

}  // namespace halftone
