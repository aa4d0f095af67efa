#pragma once

#include <bit>
#include <cstdint>

#include "halftone/kernels/cuda/element.h"

// Products of small matrices on tensor cores: sum (16 x 8) += a (16 x n) b (n x 8), spread over the lanes of
// a warp as the PTX manual says for mma.sync. With row = lane / 4 and pair = lane % 4 a lane holds
//
//   sum           rows row, row + 8; columns 2 pair, 2 pair + 1:
//                 {(row, 2 pair), (row, 2 pair + 1), (row + 8, 2 pair), (row + 8, 2 pair + 1)}
//   a of 16 bits  n = 16, two neighbouring columns per register:
//                 {(row, 2 pair ..), (row + 8, 2 pair ..), (row, 2 pair + 8 ..), (row + 8, 2 pair + 8 ..)}
//   b of 16 bits  n = 16, two neighbouring rows per register: {(2 pair .., row), (2 pair + 8 .., row)}
//   a of tf32     n = 8: {(row, pair), (row + 8, pair), (row, pair + 4), (row + 8, pair + 4)}
//   b of tf32     n = 8: {(pair, row), (pair + 4, row)}
//
// All lanes of the warp call these functions. The device must have compute capability 8.0 or more.
namespace halftone::cuda {

/// A lane's part of one product.
struct MmaOperands {
  std::uint32_t a[4], b[2];
};

namespace detail {

#if !defined(__CUDACC__)

/// What a lane of the emulated device brings to mma.sync.
struct MmaLane {
  const MmaOperands* operands;
  float* sum;
};

/// Where an operand has the element of row (a) or column (b) `outer` < 8 and number `k` in the sum: the lane,
/// and the place in the two registers that lane holds of this row or column.
struct MmaSixteenBits {
  static constexpr int kDepth = 16;
  template <class T>
  static float at(std::uint32_t low, std::uint32_t high, int k) {
    const std::uint32_t both = k < 8 ? low : high;
    return static_cast<float>(T::from_bits(static_cast<std::uint16_t>(k % 2 == 0 ? both : both >> 16)));
  }
  static int lane(int outer, int k) { return outer * 4 + k % 8 / 2; }
};
struct MmaTf32 {
  static constexpr int kDepth = 8;
  template <class T>
  static float at(std::uint32_t low, std::uint32_t high, int k) {
    return std::bit_cast<float>((k < 4 ? low : high) & 0xffffe000u);
  }
  static int lane(int outer, int k) { return outer * 4 + k % 4; }
};

template <class Format, class T>
void play_mma(void* const payload[32], unsigned) {
  float a[16][Format::kDepth], b[Format::kDepth][8];
  for (int k = 0; k < Format::kDepth; ++k) {
    for (int outer = 0; outer < 8; ++outer) {
      const std::uint32_t* from = static_cast<MmaLane*>(payload[Format::lane(outer, k)])->operands->a;
      const std::uint32_t* other = static_cast<MmaLane*>(payload[Format::lane(outer, k)])->operands->b;
      a[outer][k] = Format::template at<T>(from[0], from[2], k);
      a[outer + 8][k] = Format::template at<T>(from[1], from[3], k);
      b[k][outer] = Format::template at<T>(other[0], other[1], k);
    }
  }
  for (int row = 0; row < 16; ++row) {
    for (int col = 0; col < 8; ++col) {
      float& sum = static_cast<MmaLane*>(payload[row % 8 * 4 + col / 2])->sum[row / 8 * 2 + col % 2];
      for (int k = 0; k < Format::kDepth; ++k) sum += a[row][k] * b[k][col];
    }
  }
}

#endif

}  // namespace detail

/// Of T = Half or BFloat16. Products are exact, sums fp32.
template <class T>
__device__ inline void mma(float (&sum)[4], const MmaOperands& x) {
#if !defined(__CUDACC__)
  detail::MmaLane lane{&x, sum};
  simt::warp_custom(kFullWarp, &detail::play_mma<detail::MmaSixteenBits, T>, &lane);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<T, Half>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(x.a[0]), "r"(x.a[1]), "r"(x.a[2]), "r"(x.a[3]), "r"(x.b[0]), "r"(x.b[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(x.a[0]), "r"(x.a[1]), "r"(x.a[2]), "r"(x.a[3]), "r"(x.b[0]), "r"(x.b[1]));
  }
#else
  __trap();
#endif
}

/// Of tf32 numbers: floats whose last 13 bits do not count. Products are exact, sums fp32.
__device__ inline void mma_tf32(float (&sum)[4], const MmaOperands& x) {
#if !defined(__CUDACC__)
  detail::MmaLane lane{&x, sum};
  simt::warp_custom(kFullWarp, &detail::play_mma<detail::MmaTf32, float>, &lane);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(x.a[0]), "r"(x.a[1]), "r"(x.a[2]), "r"(x.a[3]), "r"(x.b[0]), "r"(x.b[1]));
#else
  __trap();
#endif
}

/// The result of fp32 arithmetic as the sum of two tf32 numbers, exact to 2^-22: `high` has its upper 11
/// bits, cut off so that `low` is found with one subtraction. Infinity and NaN are in `high` alone.
struct SplitTf32 {
  std::uint32_t high, low;

  __device__ explicit SplitTf32(float x) {
    high = __float_as_uint(x) & 0xffffe000u;
    low = x - x == 0.0f ? __float_as_uint(x - __uint_as_float(high)) + 0x1000u : 0u;
  }
};

/// sum += a b with fp32 a and with b of at most 11 significant bits, fp16 or bf16 numbers: exact to 2^-22 of
/// each product. a and b are spread as for tf32.
__device__ inline void mma_split(float (&sum)[4], const float (&a)[4], const float (&b)[2]) {
  MmaOperands high, low;
  HT_UNROLL
  for (int n = 0; n < 4; ++n) {
    const SplitTf32 parts(a[n]);
    high.a[n] = parts.high;
    low.a[n] = parts.low;
  }
  HT_UNROLL
  for (int n = 0; n < 2; ++n) {
    high.b[n] = __float_as_uint(b[n]);
    low.b[n] = b[n] - b[n] == 0.0f ? high.b[n] : 0u;  // infinity counts once: not infinity - infinity
  }
  mma_tf32(sum, high);
  mma_tf32(sum, low);
}

}  // namespace halftone::cuda
