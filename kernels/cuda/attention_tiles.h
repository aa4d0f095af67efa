#pragma once

#include "halftone/kernels/cuda/attention_problem.h"
#include "halftone/kernels/cuda/launch.h"

// Products of 64 x 64 tiles with plain fused multiply-adds, for every dtype and layout. A block of 128
// threads holds a tile of 64 rows and 64 columns in registers: thread t has rows 8 (t / 16) .. + 8 and
// columns 4 (t % 16) .. + 4. Factors lie in shared memory with the summation index outermost, so that a
// thread reads its rows and its columns 16 bytes at a time.
namespace halftone::cuda::attention {

inline constexpr int kTileThreads = 128;
inline constexpr int kRows = 8, kColumns = 4;       // of a thread
inline constexpr int kRowLanes = kTile / kColumns;  // neighbouring lanes with the same rows
inline constexpr int kStride = kTile + 4;
/// Terms of the sum that are staged at once: what fits into 64 KiB of shared memory.
template <class C>
inline constexpr int depth = sizeof(C) == 4 ? 32 : 16;

__device__ inline int first_row() { return thread_id() / kRowLanes * kRows; }
__device__ inline int first_column() { return thread_id() % kRowLanes * kColumns; }

/// A thread's part of a tile.
template <class C>
struct Part {
  C at[kRows][kColumns] = {};
};

/// Shared memory of a block.
static_assert(kStride == kMaskStride);
template <class C>
struct Shared {
  C* left;   ///< (depth, kStride)
  C* right;  ///< (depth, kStride)
  /// (kTile, kStride): the left factor of the product that follows. Before, the mask: a thread reads it where
  /// it then writes its weights.
  C* weights;
  unsigned char* keep;  ///< kKeepBytes

  __device__ explicit Shared(C* memory)
      : left(memory),
        right(left + depth<C> * kStride),
        weights(right + depth<C> * kStride),
        keep(reinterpret_cast<unsigned char*>(weights + kTile * kStride)) {}
  static constexpr std::size_t kBytes = sizeof(C) * (2 * depth<C> + kTile) * kStride + kKeepBytes;
};

/// One matrix (rows, cols) of a batch.
struct Matrix {
  const void* data;
  Layout layout;
  std::int64_t offset, rows, cols;
};

template <class C, class T>
__device__ inline Pack<C, 4> convert_pack(const void* data, std::int64_t at) {
  const Pack<T, 4> from = load_pack<T, 4>(static_cast<const T*>(data) + at);
  Pack<C, 4> to;
  HT_UNROLL
  for (int u = 0; u < 4; ++u) to.value[u] = to_compute<C>(from.value[u]);
  return to;
}

/// Four neighbouring elements.
template <class C>
__device__ inline Pack<C, 4> read_pack(const void* data, ScalarType dtype, std::int64_t at) {
  if (dtype == kHalf) return convert_pack<C, Half>(data, at);
  if (dtype == kBFloat16) return convert_pack<C, BFloat16>(data, at);
  if (dtype == kDouble) return convert_pack<C, double>(data, at);
  return convert_pack<C, float>(data, at);
}

/// tile[k][x] = element at k `k_step` + x `x_step` of the matrix from `offset` on, for k < depth and x <
/// kTile; zero from `k_end` and `x_end` on. The caller synchronises.
template <class C>
__device__ inline void stage(C* tile, const Matrix& m, std::int64_t offset, std::int64_t k_step,
                             std::int64_t x_step, std::int64_t k_end, std::int64_t x_end) {
  if (m.layout.packs && k_step == 1) {
    for (int item = thread_id(); item < depth<C> * kTile / 4; item += kTileThreads) {
      // Eight rows of 16 elements per warp: whole sectors are read, and two lanes at most write to one bank.
      const int k = (item % 4 + item / (4 * kTile) * 4) * 4, x = item / 4 % kTile;
      Pack<C, 4> pack = {};
      if (x < x_end && k < k_end) pack = read_pack<C>(m.data, m.layout.dtype, offset + k + x * x_step);
      HT_UNROLL
      for (int u = 0; u < 4; ++u) tile[(k + u) * kStride + x] = pack.value[u];
    }
  } else if (m.layout.packs && x_step == 1) {
    for (int item = thread_id(); item < depth<C> * kTile / 4; item += kTileThreads) {
      const int k = item / (kTile / 4), x = item % (kTile / 4) * 4;
      Pack<C, 4> pack = {};
      if (x < x_end && k < k_end) pack = read_pack<C>(m.data, m.layout.dtype, offset + k * k_step + x);
      store_pack(tile + k * kStride + x, pack);
    }
  } else {
    for (int item = thread_id(); item < depth<C> * kTile; item += kTileThreads) {
      const int k = k_step == 1 ? item % depth<C> : item / kTile,
                x = k_step == 1 ? item / depth<C> : item % kTile;
      tile[k * kStride + x] =
          k < k_end && x < x_end ? read<C>(m.data, m.layout.dtype, offset + k * k_step + x * x_step) : C(0);
    }
  }
}

/// part += the sum over k < terms of left[k][row] right[k][column].
template <class C>
__device__ inline void multiply_staged(Part<C>& part, const C* left, const C* right, int terms) {
  left += first_row();
  right += first_column();
  for (int k = 0; k < terms; ++k, left += kStride, right += kStride) {
    const Pack<C, 4> upper = load_pack<C, 4>(left), lower = load_pack<C, 4>(left + 4),
                     b = load_pack<C, 4>(right);
    HT_UNROLL
    for (int r = 0; r < 4; ++r) {
      HT_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        part.at[r][c] += upper.value[r] * b.value[c];
        part.at[r + 4][c] += lower.value[r] * b.value[c];
      }
    }
  }
}

template <class C>
__device__ inline int staged_terms(std::int64_t left) {
  return static_cast<int>(left < depth<C> ? left : depth<C>);
}

/// The tile of a b^T with rows from `a_first` and columns from `b_first` on. What was written to shared
/// memory before can be read afterwards: there is a barrier in between, and one at the end.
template <class C>
__device__ inline Part<C> multiply_rows(const Shared<C>& shared, const Matrix& a, std::int64_t a_first,
                                        const Matrix& b, std::int64_t b_first) {
  Part<C> part;
  for (std::int64_t e = 0; e == 0 || e < a.cols; e += depth<C>) {
    stage(shared.left, a, a.offset + a_first * a.layout.row + e * a.layout.col, a.layout.col, a.layout.row,
          a.cols - e, a.rows - a_first);
    stage(shared.right, b, b.offset + b_first * b.layout.row + e * b.layout.col, b.layout.col, b.layout.row,
          b.cols - e, b.rows - b_first);
    __syncthreads();
    multiply_staged(part, shared.left, shared.right, staged_terms<C>(a.cols - e));
    __syncthreads();
  }
  return part;
}

/// Writes the factor of `multiply_weights`. The caller sees to barriers before it; there is one in
/// `multiply_weights`.
template <class C>
__device__ inline void store_weights(const Shared<C>& shared, const Part<C>& part) {
  HT_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    C* to = shared.weights + (first_column() + c) * kStride + first_row();
    HT_UNROLL
    for (int r = 0; r < kRows; r += 4) {
      store_pack(to + r,
                 Pack<C, 4>{{part.at[r][c], part.at[r + 1][c], part.at[r + 2][c], part.at[r + 3][c]}});
    }
  }
}

/// part += weights b, with the rows of b from `first` to `end` (64 at most) and its columns from `column` on.
/// Ends with a barrier.
template <class C>
__device__ inline void multiply_weights(Part<C>& part, const Shared<C>& shared, const Matrix& b,
                                        std::int64_t first, std::int64_t end, std::int64_t column) {
  for (int k = 0; k < kTile && first + k < end; k += depth<C>) {
    stage(shared.right, b, b.offset + (first + k) * b.layout.row + column * b.layout.col, b.layout.row,
          b.layout.col, end - first - k, b.cols - column);
    __syncthreads();
    multiply_staged(part, shared.weights + k * kStride, shared.right, staged_terms<C>(end - first - k));
    __syncthreads();
  }
}

/// Rows from `first` and columns from `column` on of matrix `b` of a contiguous batch of matrices (rows,
/// cols).
template <class C>
__device__ inline void write_part(void* out, ScalarType dtype, const Part<C>& part, std::int64_t b,
                                  std::int64_t rows, std::int64_t cols, std::int64_t first,
                                  std::int64_t column) {
  HT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t row = first + first_row() + r;
    HT_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      const std::int64_t col = column + first_column() + c;
      if (row < rows && col < cols) write(out, dtype, (b * rows + row) * cols + col, part.at[r][c]);
    }
  }
}

/// One block's place: the matrix of the batch and its first query or key.
struct Place {
  std::int64_t b, first, column;
};
__device__ inline Place place(std::int64_t tiles) {
  return {block_id() / tiles, block_id() % tiles * kTile, static_cast<std::int64_t>(blockIdx.y) * kTile};
}

/// The operands of one matrix of the batch.
struct Operands {
  Matrix query, key, value, grad;
};
__device__ inline Operands operands(const Problem& p, std::int64_t b, const void* q, const void* k,
                                    const void* v, const void* g) {
  const auto offset = p.batch.offsets(b);
  return {{q, p.query, offset.at[kQuery], p.length, p.features},
          {k, p.key, offset.at[kKey], p.keys, p.features},
          {v, p.value, offset.at[kValue], p.keys, p.value_features},
          {g, p.grad, offset.at[kGrad], p.length, p.value_features}};
}

/// Products become scores; `rows` learn of them. Returns what the rows' sums so far are to be multiplied
/// with.
template <class C>
__device__ inline void meet_scores(Part<C>& part, OnlineRow<C> (&rows)[kRows], C (&factor)[kRows],
                                   const TileRule<C, true>& rule, const TileBounds& bounds) {
  HT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    C greatest = -std::numeric_limits<C>::infinity();
    HT_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      part.at[r][c] = rule.score(part.at[r][c], first_row() + r, first_column() + c, bounds);
      greatest = Max()(greatest, part.at[r][c]);
    }
    factor[r] = rows[r].meet(group_reduce<kRowLanes>(greatest, Max()));
    C sum = 0;
    HT_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      part.at[r][c] = std::exp(part.at[r][c] - rows[r].base());
      sum += part.at[r][c];
    }
    rows[r].sum += group_reduce<kRowLanes>(sum, Sum());
  }
}

/// Blocks for `tiles` tiles of every matrix of the batch, and for `columns` columns, at least one.
inline dim3 grid_for(const Problem& p, std::int64_t tiles, std::int64_t columns) {
  const std::int64_t slices = columns <= kTile ? 1 : (columns + kTile - 1) / kTile;
  return {static_cast<unsigned>(p.batches * tiles), static_cast<unsigned>(slices), 1};
}

template <auto K, class C, class... A>
void launch_tiles(dim3 grid, A&&... args) {
  constexpr std::size_t bytes = Shared<C>::kBytes;
  if constexpr (bytes > std::size_t{48} * 1024) allow_shared<K>(bytes);
  launch<K>(grid, kTileThreads, bytes, std::forward<A>(args)...);
}

}  // namespace halftone::cuda::attention
