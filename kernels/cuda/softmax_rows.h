#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/cuda/block.h"
#include "halftone/kernels/cuda/element.h"
#include "halftone/kernels/cuda/geometry.h"

// Rows of tensors, read and reduced by teams of threads.
//
// A row is cut into pieces of 512 elements (128 in fp64). In a piece every one of 32 slots holds the same
// elements whatever the layout and the team, and pieces are combined in a fixed order; so a row's result
// depends on its values and its length only, bit for bit.
namespace halftone::cuda {

/// The vectors of N tensors along one dimension, numbered in row-major order of the other dimensions.
template <int N>
struct RowGeometry {
  Geometry<N> rows;
  std::int64_t length = 1;
  std::int64_t stride[N] = {};
};

/// For tensors of the shape `sizes` with the given strides.
template <int N>
RowGeometry<N> make_row_geometry(IntArrayRef sizes, std::int64_t dim, const Dims (&strides)[N]) {
  RowGeometry<N> geometry;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    std::int64_t step[N];
    for (int k = 0; k < N; ++k) step[k] = strides[k][d];
    if (static_cast<std::int64_t>(d) != dim) {
      geometry.rows.add(sizes[d], step);
      continue;
    }
    geometry.length = sizes[d];
    for (int k = 0; k < N; ++k) geometry.stride[k] = step[k];
  }
  return geometry;
}

/// Whether the rows of tensor `k` are best read side by side: neighbouring rows are neighbours in memory, the
/// elements of one row are not.
template <int N>
bool rows_lie_side_by_side(const RowGeometry<N>& geometry, int k) {
  const Geometry<N>& rows = geometry.rows;
  return geometry.length > 1 && geometry.stride[k] != 1 && rows.rank > 0 &&
         rows.strides[rows.rank - 1][k] == 1;
}

/// One row in memory. `Data` is const void* or void*; the dtype is a floating one.
template <class Data>
struct Row {
  Data data;
  ScalarType dtype;
  std::int64_t offset, stride;
};

/// How a piece is shared out: each of 32 slots holds kValues elements, in chunks that fill 16-byte accesses.
template <int kValues>
struct Share {
  static constexpr int kChunk = kValues < 8 ? kValues : 8;
  static constexpr int kChunks = kValues / kChunk;
  static constexpr int kPiece = 32 * kValues;
};
/// Rows up to this length have one element per slot.
inline constexpr std::int64_t kShortRow = 32;
/// Elements per slot of longer rows: two rows fit into registers.
template <class C>
inline constexpr int kPieceValues = std::is_same_v<C, double> ? 4 : 16;
/// Accumulators a row's pieces are dealt out to.
inline constexpr int kAccumulators = 16;

/// Calls f(value, element) for the values of a slot that may lie in the first `left` elements of a piece.
template <int kValues, class F>
__device__ inline void for_share(std::int64_t left, int slot, F f) {
  using S = Share<kValues>;
  HT_UNROLL
  for (int k = 0; k < S::kChunks; ++k) {
    if (k * 32 * S::kChunk >= left) break;
    HT_UNROLL
    for (int j = 0; j < S::kChunk; ++j) f(k * S::kChunk + j, (k * 32 + slot) * S::kChunk + j);
  }
}

/// f.template operator()<T>() for a floating dtype; float64 occurs only where C is double.
template <class C, class F>
__device__ inline void visit_floating(ScalarType dtype, F f) {
  if constexpr (std::is_same_v<C, double>) {
    if (dtype == kDouble) return f.template operator()<double>();
  }
  if (dtype == kHalf) return f.template operator()<Half>();
  if (dtype == kBFloat16) return f.template operator()<BFloat16>();
  f.template operator()<float>();
}

__device__ inline bool is_packed(const void* data, std::int64_t stride) {
  return stride == 1 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

/// `count` elements, of which the first `left` exist, as values of C.
template <int kCount, class T, class C>
__device__ inline void load_chunk(const T* from, std::int64_t stride, bool packed, std::int64_t left,
                                  C padding, C* values) {
  if constexpr (kCount % kPackSize<T> == 0) {
    if (packed && left >= kCount) {
      HT_UNROLL
      for (int p = 0; p < kCount; p += kPackSize<T>) {
        const auto pack = load_pack(from + p);
        HT_UNROLL
        for (int j = 0; j < kPackSize<T>; ++j) values[p + j] = to_compute<C>(pack.value[j]);
      }
      return;
    }
  }
  HT_UNROLL
  for (int j = 0; j < kCount; ++j) values[j] = j < left ? to_compute<C>(from[j * stride]) : padding;
}

template <int kCount, class T, class C>
__device__ inline void store_chunk(T* to, std::int64_t stride, bool packed, std::int64_t left,
                                   const C* values) {
  if constexpr (kCount % kPackSize<T> == 0) {
    if (packed && left >= kCount) {
      HT_UNROLL
      for (int p = 0; p < kCount; p += kPackSize<T>) {
        Pack<T, kPackSize<T>> pack;
        HT_UNROLL
        for (int j = 0; j < kPackSize<T>; ++j) pack.value[j] = from_compute<T>(values[p + j]);
        store_pack(to + p, pack);
      }
      return;
    }
  }
  HT_UNROLL
  for (int j = 0; j < kCount; ++j) {
    if (j < left) to[j * stride] = from_compute<T>(values[j]);
  }
}

/// A slot's share of the piece that starts at element `begin` of a row of `n` elements; `padding` beyond its
/// end.
template <int kValues, class C>
__device__ inline void load_share(const Row<const void*>& row, std::int64_t begin, std::int64_t n, int slot,
                                  C padding, C (&values)[kValues]) {
  using S = Share<kValues>;
  visit_floating<C>(row.dtype, [&]<class T>() {
    const T* from = static_cast<const T*>(row.data) + row.offset + begin * row.stride;
    const bool packed = is_packed(from, row.stride);
    HT_UNROLL
    for (int k = 0; k < S::kChunks; ++k) {
      const std::int64_t i = (k * 32 + slot) * S::kChunk;
      load_chunk<S::kChunk>(from + i * row.stride, row.stride, packed, n - begin - i, padding,
                            values + k * S::kChunk);
    }
  });
}

template <int kValues, class C>
__device__ inline void store_share(const Row<void*>& row, std::int64_t begin, std::int64_t n, int slot,
                                   const C (&values)[kValues]) {
  using S = Share<kValues>;
  visit_floating<C>(row.dtype, [&]<class T>() {
    T* to = static_cast<T*>(row.data) + row.offset + begin * row.stride;
    const bool packed = is_packed(to, row.stride);
    HT_UNROLL
    for (int k = 0; k < S::kChunks; ++k) {
      const std::int64_t i = (k * 32 + slot) * S::kChunk;
      store_chunk<S::kChunk>(to + i * row.stride, row.stride, packed, n - begin - i, values + k * S::kChunk);
    }
  });
}

// A team works on one row: `slot` is a thread's place in a piece, it takes pieces first(), first() + step(),
// ... `within` combines over a piece. Of a piece's result the threads that keep it take note; `across` then
// combines over a row. Every thread of the team calls both and gets the result. One thread per row leads.

/// A warp, for rows of one piece.
struct WarpTeam {
  static constexpr int kThreads = 128;
  __device__ static int slot() { return lane_id(); }
  __device__ static bool leads() { return lane_id() == 0; }
  __device__ static int first() { return 0; }
  __device__ static int step() { return 1; }
  __device__ static bool keeps(std::int64_t) { return true; }
  template <class Combine, class T>
  __device__ static T within(T value, Combine combine) {
    return warp_reduce(value, combine);
  }
  template <class Combine, class T>
  __device__ static T across(T value, Combine, T) {
    return value;
  }
  /// Number of this team's first row, the step to its next.
  __device__ static std::int64_t first_row() { return global_id() / 32; }
  __device__ static std::int64_t row_step() { return global_size() / 32; }
  __device__ static std::int64_t row(std::int64_t r) { return r; }
  static constexpr std::int64_t kRowsPerBlock = kThreads / 32;
};

/// A block, a piece per warp: as many warps as the row has pieces, 16 at most.
struct BlockTeam {
  static constexpr int kThreads = 32 * kAccumulators;
  __device__ static int slot() { return lane_id(); }
  __device__ static bool leads() { return thread_id() == 0; }
  __device__ static int first() { return warp_id(); }
  __device__ static int step() { return block_size() / 32; }
  __device__ static bool keeps(std::int64_t) { return true; }
  template <class Combine, class T>
  __device__ static T within(T value, Combine combine) {
    return warp_reduce(value, combine);
  }
  template <class Combine, class T>
  __device__ static T across(T value, Combine combine, T identity) {
    HT_SHARED(T, of_warp, [kAccumulators]);
    if (lane_id() == 0) of_warp[warp_id()] = value;
    __syncthreads();
    value = warp_reduce(lane_id() < step() ? of_warp[lane_id()] : identity, combine);
    __syncthreads();
    return value;
  }
  __device__ static std::int64_t first_row() { return block_id(); }
  __device__ static std::int64_t row_step() { return grid_size(); }
  __device__ static std::int64_t row(std::int64_t r) { return r; }
  static constexpr std::int64_t kRowsPerBlock = 1;
};

/// A block with 16 rows that lie side by side: neighbouring threads read neighbouring rows, so accesses are
/// coalesced.
struct ColumnTeam {
  static constexpr int kRows = 16;
  static constexpr int kThreads = 32 * kRows;
  __device__ static int slot() { return thread_id() / kRows; }
  __device__ static int column() { return thread_id() % kRows; }
  __device__ static bool leads() { return slot() == 0; }
  __device__ static int first() { return 0; }
  __device__ static int step() { return 1; }
  __device__ static bool keeps(std::int64_t piece) { return piece % kAccumulators == slot(); }
  /// The lanes of warp c combine what the slots hold of row c, in the order a WarpTeam would.
  template <class Combine, class T>
  __device__ static T within(T value, Combine combine) {
    HT_SHARED(T, of_slot, [32][kRows + 1]);
    HT_SHARED(T, of_row, [kRows]);
    of_slot[slot()][column()] = value;
    __syncthreads();
    value = warp_reduce(of_slot[lane_id()][warp_id()], combine);
    if (lane_id() == 0) of_row[warp_id()] = value;
    __syncthreads();
    return of_row[column()];
  }
  template <class Combine, class T>
  __device__ static T across(T value, Combine combine, T) {
    return within(value, combine);
  }
  __device__ static std::int64_t first_row() { return block_id() * kRows; }
  __device__ static std::int64_t row_step() { return grid_size() * kRows; }
  /// Of this thread, for the team whose first row is `r`.
  __device__ static std::int64_t row(std::int64_t r) { return r + column(); }
  static constexpr std::int64_t kRowsPerBlock = kRows;
};

/// Sum of what the threads noted of their pieces.
template <class Team>
__device__ inline double sum_across(double value) {
  return Team::across(value, Sum(), 0.0);
}

template <class T>
__device__ inline bool is_finite(T x) {
  return x - x == T(0);
}

/// sum(e^(x - max)): the elements equal to the maximum count exactly one each and are kept apart, so that the
/// logarithm stays accurate when the others are tiny.
template <class C>
struct ExpSum {
  C max = -std::numeric_limits<C>::infinity();
  double ties = 0, rest = 0;

  /// About another maximum, which is no smaller.
  __device__ void rescale(C top) {
    if (max == top) return;
    rest = (ties + rest) * static_cast<double>(std::exp(max - top));
    ties = 0;
    max = top;
  }
  __device__ void add(ExpSum other) {
    const C top = Max()(max, other.max);
    rescale(top);
    other.rescale(top);
    ties += other.ties;
    rest += other.rest;
  }
  __device__ double total() const { return ties + rest; }
  __device__ C log() const {
    return ties == 1 ? std::log1p(static_cast<C>(rest)) : std::log(static_cast<C>(ties + rest));
  }
  /// What is to be subtracted from the elements: NaN for rows whose maximum is not finite, so that all
  /// results are.
  __device__ C top() const { return is_finite(max) ? max : std::numeric_limits<C>::quiet_NaN(); }
};

/// Of one piece, padded with -infinity.
template <class Team, int kValues, class C>
__device__ inline ExpSum<C> sum_exponentials(const C (&values)[kValues], std::int64_t left) {
  C top = values[0];
  for_share<kValues>(left, Team::slot(), [&](int j, int) { top = Max()(top, values[j]); });
  top = Team::within(top, Max());
  C ties = 0, rest = 0;
  for_share<kValues>(left, Team::slot(), [&](int j, int) {
    const bool tie = values[j] == top;
    ties += tie ? C(1) : C(0);
    rest += tie ? C(0) : std::exp(values[j] - top);
  });
  ties = Team::within(ties, Sum());
  rest = Team::within(rest, Sum());
  return {top, static_cast<double>(ties), static_cast<double>(rest)};
}

/// Of a row of `n` elements, of which this thread may read the first `readable` (n, or 0 where its row is not
/// to be read). `values` holds the thread's last piece afterwards.
template <class Team, int kValues, class C>
__device__ inline ExpSum<C> sum_row_exponentials(const Row<const void*>& x, std::int64_t n,
                                                 std::int64_t readable, C (&values)[kValues]) {
  constexpr std::int64_t kSize = Share<kValues>::kPiece;
  ExpSum<C> sums;
  for (std::int64_t piece = Team::first(); piece * kSize < n; piece += Team::step()) {
    load_share(x, piece * kSize, readable, Team::slot(), -std::numeric_limits<C>::infinity(), values);
    const ExpSum<C> part = sum_exponentials<Team>(values, n - piece * kSize);
    if (Team::keeps(piece)) sums.add(part);
  }
  sums.rescale(Team::across(sums.max, Max(), -std::numeric_limits<C>::infinity()));
  sums.ties = sum_across<Team>(sums.ties);
  sums.rest = sum_across<Team>(sums.rest);
  return sums;
}

/// Whether every thread of the team has one piece, which then stays in registers.
template <class Team, int kValues>
__device__ inline bool keeps_row(std::int64_t n) {
  if constexpr (std::is_same_v<Team, WarpTeam>) return true;
  return n <= std::int64_t{Team::step()} * Share<kValues>::kPiece;
}

}  // namespace halftone::cuda
