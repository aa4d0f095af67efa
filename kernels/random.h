#pragma once

#include "halftone/engine/generator.h"
#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"

namespace halftone {

/// Random numbers from a Philox stream, written to a contiguous tensor. Element i depends on the seed, the
/// offset and i only: never on threads or the device. `blocks_*` say how many Philox blocks a call with n
/// elements reads.
struct RandomKernels {
  /// Uniform on [low, high) in a floating type: 24 random bits (11 for float16, 8 for bfloat16, 53 for
  /// float64), so that rounding never reaches 1. Four elements per block, two for float64.
  void (*uniform)(const Tensor& out, double low, double high, PhiloxState state);
  /// Normal (Box and Muller 1958): computed in fp32, in fp64 for float64; rounded once. Blocks as for
  /// uniform.
  void (*normal)(const Tensor& out, double mean, double std, PhiloxState state);
  /// 1 with the probability p, else 0, in any dtype; `p` is one element or shaped like out, contiguous
  /// float64. Four elements per block.
  void (*bernoulli)(const Tensor& out, const Tensor& p, PhiloxState state);
  /// Integers on [low, high), in any dtype; 64 random bits each. Two elements per block.
  void (*integers)(const Tensor& out, std::int64_t low, std::int64_t high, PhiloxState state);
  /// 0 .. n-1 in random order, int64: the indices sorted by 64 random bits each. Two elements per block.
  void (*permutation)(const Tensor& out, PhiloxState state);
  /// out (rows, k) int64: indices into the rows of weights (rows, n), contiguous float64, none negative, each
  /// row's sum positive. With replacement: k blocks per row, two draws each being independent; without: the k
  /// smallest of independent exponential waiting times, n blocks per row.
  void (*multinomial)(const Tensor& out, const Tensor& weights, bool replacement, PhiloxState state);
};

/// Philox blocks that n elements of `dtype` take.
constexpr std::uint64_t random_blocks(std::int64_t n, std::int64_t per_block) {
  return static_cast<std::uint64_t>((n + per_block - 1) / per_block);
}

template <>
const RandomKernels& cpu_kernels<RandomKernels>();

}  // namespace halftone
