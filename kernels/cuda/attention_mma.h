#pragma once

#include "halftone/kernels/cuda/attention_problem.h"
#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/cuda/mma.h"

// Attention of fp16 and bf16 operands on tensor cores; attention.cu says how the passes work together.
//
// A block has four warps and a tile of 64 rows, 16 for each warp, and walks over tiles of 64 columns (32 at a
// time for the gradients of keys and values, whose rows are keys). Scores and gradients of weights are
// products of 16-bit operands with fp32 sums, so they are what plain fp32 arithmetic gives. The weights that
// come of them stay fp32: as factors of the second products they are split in two tf32 numbers (mma.h).
// Rounding them to 16 bits instead would be up to three times faster, but costs accuracy, and gradients of
// fp16 scores, which carry the loss scale, could overflow.
//
// A lane's part of a sum is at once its part of the left factor of the next product, if the terms of that are
// taken in the order 0, 2, 4, 6, 1, 3, 5, 7: no shuffles, and no weights in shared memory.
namespace halftone::cuda::attention {
inline constexpr int kMmaThreads = 128;
inline constexpr int kWarpRows = 16;
inline constexpr int kPackElements = 8;
inline constexpr int kWidest = 128;  // features

/// Rows of one operand in shared memory. Four words beyond a row's end keep the rows that a warp reads at
/// once in different banks.
template <class T>
struct RowTile {
  T* data;
  int stride;

  __device__ const T* row(int r) const { return data + r * stride; }
};
HALFTONE_HD constexpr std::int64_t row_stride(std::int64_t features) { return features + kPackElements; }

/// Tiles of 64 rows one after another, then the mask and the dropout of a tile.
template <class T>
struct MmaShared {
  T* next;

  __device__ RowTile<T> tile(std::int64_t features) {
    RowTile<T> result{next, static_cast<int>(row_stride(features))};
    next += kTile * result.stride;
    return result;
  }
  __device__ float* mask() { return reinterpret_cast<float*>(next); }
  __device__ unsigned char* keep(const Problem& p) {
    return reinterpret_cast<unsigned char*>(mask() + (p.has_mask ? kMaskElements : 0));
  }
};

/// `tiles_of_features` tiles of rows of queries or keys, and `tiles_of_values` of values or gradients.
inline std::size_t shared_bytes(const Problem& p, int tiles_of_features, int tiles_of_values) {
  const std::int64_t elements =
      kTile * (tiles_of_features * row_stride(p.features) + tiles_of_values * row_stride(p.value_features));
  return static_cast<std::size_t>(elements) * sizeof(Half) +
         (p.has_mask ? sizeof(float) * kMaskElements : 0) + (p.drops ? kKeepBytes : 0);
}

/// Up to 64 rows from `first` on; zeros after the last of `rows`.
template <class T>
__device__ inline void stage_rows(const RowTile<T>& tile, const T* from, std::int64_t row, std::int64_t first,
                                  std::int64_t rows, std::int64_t features) {
  const int packs = static_cast<int>(features) / kPackElements;
  for (int item = thread_id(); item < kTile * packs; item += kMmaThreads) {
    const int r = item / packs, e = item % packs * kPackElements;
    Pack<T, kPackElements> pack = {};
    if (first + r < rows) pack = load_pack(from + (first + r) * row + e);
    store_pack(tile.data + r * tile.stride + e, pack);
  }
}

template <class T>
__device__ inline std::uint32_t load_pair(const T* from) {
  return *reinterpret_cast<const std::uint32_t*>(from);
}

/// Coordinates of a lane, see mma.h.
__device__ inline int mma_row() { return lane_id() / 4; }
__device__ inline int mma_pair() { return lane_id() % 4; }
/// Row and column of element `n` of a lane's part of a 16 x 8 sum.
__device__ inline int sum_row(int n) { return mma_row() + n / 2 * 8; }
__device__ inline int sum_column(int n) { return 2 * mma_pair() + n % 2; }

/// 16 rows of sums, spread over a warp: kGroups groups of eight columns.
template <int kGroups>
struct Sums {
  float at[kGroups][4] = {};
};

/// The products of the warp's 16 rows from `a` on and of 8 kGroups rows from `b` on, of which `count` matter.
template <int kGroups, class T>
__device__ inline Sums<kGroups> multiply_rows(const RowTile<T>& a, int a_first, const RowTile<T>& b,
                                              int b_first, int count, std::int64_t features) {
  Sums<kGroups> sums;
  const T* left = a.row(a_first + mma_row()) + 2 * mma_pair();
  const T* right = b.row(b_first + mma_row()) + 2 * mma_pair();
  for (int e = 0; e < static_cast<int>(features); e += 16) {
    MmaOperands x;
    x.a[0] = load_pair(left + e);
    x.a[1] = load_pair(left + 8 * a.stride + e);
    x.a[2] = load_pair(left + e + 8);
    x.a[3] = load_pair(left + 8 * a.stride + e + 8);
    HT_UNROLL
    for (int n = 0; n < kGroups; ++n) {
      if (8 * n >= count) continue;
      x.b[0] = load_pair(right + 8 * n * b.stride + e);
      x.b[1] = load_pair(right + 8 * n * b.stride + e + 8);
      mma<T>(sums.at[n], x);
    }
  }
  return sums;
}

/// result += weights b, with the rows of b from `b_first` on.
template <int kWidth, int kGroups, class T>
__device__ inline void multiply_weights(Sums<kWidth / 8>& result, const Sums<kGroups>& weights,
                                        const RowTile<T>& b, int b_first, int count, std::int64_t features) {
  HT_UNROLL
  for (int n = 0; n < kGroups; ++n) {
    if (8 * n >= count) continue;
    const float(&w)[4] = weights.at[n];
    const float a[4] = {w[0], w[2], w[1], w[3]};
    const T* from = b.row(b_first + 8 * n + 2 * mma_pair()) + mma_row();
    HT_UNROLL
    for (int c = 0; c < kWidth / 8; ++c) {
      if (8 * c >= features) continue;
      const float terms[2] = {to_compute<float>(from[8 * c]), to_compute<float>(from[b.stride + 8 * c])};
      mma_split(result.at[c], a, terms);
    }
  }
}

/// The warp's 16 rows of a result, times a factor for rows row and row + 8 of each lane; zeros from row `end`
/// on.
template <int kWidth, class T>
__device__ inline void write_rows(T* out, const Sums<kWidth / 8>& sums, const float (&factor)[2],
                                  std::int64_t first, std::int64_t end, std::int64_t rows,
                                  std::int64_t features) {
  HT_UNROLL
  for (int half = 0; half < 2; ++half) {
    const std::int64_t row = first + mma_row() + 8 * half;
    HT_UNROLL
    for (int c = 0; c < kWidth / 8; ++c) {
      if (row >= rows || 8 * c >= features) continue;
      const float low = row < end ? sums.at[c][2 * half] * factor[half] : 0.0f;
      const float high = row < end ? sums.at[c][2 * half + 1] * factor[half] : 0.0f;
      store_pack(out + row * features + 8 * c + 2 * mma_pair(),
                 Pack<T, 2>{{from_compute<T>(low), from_compute<T>(high)}});
    }
  }
}

/// Products become e^(score - top); `rows` (row and row + 8 of the lane) learn of them. `factor`: what the
/// rows' sums so far are to be multiplied with. `row`: of the lane, in the tile.
__device__ inline void meet_scores(Sums<kTile / 8>& sums, OnlineRow<float> (&rows)[2], float (&factor)[2],
                                   const TileRule<float, true>& rule, const TileBounds& bounds,
                                   int warp_row) {
  float greatest[2] = {-std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
  HT_UNROLL
  for (int c = 0; c < kTile / 8; ++c) {
    HT_UNROLL
    for (int n = 0; n < 4; ++n) {
      sums.at[c][n] = rule.score(sums.at[c][n], warp_row + sum_row(n), 8 * c + sum_column(n), bounds);
      greatest[n / 2] = Max()(greatest[n / 2], sums.at[c][n]);
    }
  }
  HT_UNROLL
  for (int half = 0; half < 2; ++half) {
    factor[half] = rows[half].meet(group_reduce<4>(greatest[half], Max()));
    float sum = 0;
    HT_UNROLL
    for (int c = 0; c < kTile / 8; ++c) {
      HT_UNROLL
      for (int n = 2 * half; n < 2 * half + 2; ++n) {
        sums.at[c][n] = std::exp(sums.at[c][n] - rows[half].base());
        sum += sums.at[c][n];
      }
    }
    rows[half].sum += group_reduce<4>(sum, Sum());
  }
}

/// One block's place: the matrix of the batch and its first query or key.
struct Place {
  std::int64_t b, first;
  int warp_row;  // the warp's first row of the tile
};
__device__ inline Place place(std::int64_t tiles) {
  return {block_id() / tiles, block_id() % tiles * kTile, warp_id() * kWarpRows};
}

/// `tiles` blocks per matrix of the batch.
template <auto K, class... A>
void launch_tiles(const Problem& p, std::int64_t tiles, std::size_t bytes, A&&... args) {
  if (bytes > std::size_t{48} * 1024) allow_shared<K>(bytes);
  launch<K>(static_cast<unsigned>(p.batches * tiles), kMmaThreads, bytes, std::forward<A>(args)...);
}

/// Calls f.operator()<T, kWidth>() with the element type and the least number of features that kernels are
/// made for.
template <class F>
void for_mma(const Problem& p, ScalarType dtype, F f) {
  const bool narrow = p.features <= kWidest / 2 && p.value_features <= kWidest / 2;
  const auto run = [&]<class T>() {
    narrow ? f.template operator()<T, kWidest / 2>() : f.template operator()<T, kWidest>();
  };
  dtype == kHalf ? run.template operator()<Half>() : run.template operator()<BFloat16>();
}

}  // namespace halftone::cuda::attention
