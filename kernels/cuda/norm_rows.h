#pragma once

#include <cmath>

#include "halftone/kernels/cuda/softmax_rows.h"
#include "halftone/kernels/norm.h"

// Rows of a normalisation: where their elements, weights and biases are, and their statistics. Teams and
// shares are those of softmax_rows.h.
namespace halftone::cuda {

/// A shape as kernels use it: row r is runs of `run` elements, `run_step` apart. Segments that lie one behind
/// the other are one run.
struct NormGeometry {
  NormShape shape;
  std::int64_t n = 0;  // elements of a row
  std::int64_t run = 0, run_step = 0;

  explicit NormGeometry(const NormShape& s) : shape(s), n(s.row_size()) {
    const bool together = s.segments == 1 || s.segment_step == s.length;
    run = together ? n : s.length;
    run_step = together ? 0 : s.segment_step;
  }
  HALFTONE_HD std::int64_t row_begin(std::int64_t row) const { return row * shape.row_step; }
};

/// Quotient of numbers that are not negative; cheaper where they are small.
__device__ inline std::int64_t divide(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 31) == 0) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  return a / b;
}

/// Where element i of a row stands, walked in order: the run or segment, and the place in it.
struct RunWalk {
  std::int64_t run, length, at;

  __device__ RunWalk(std::int64_t i, std::int64_t run_length)
      : run(divide(i, run_length)), length(run_length), at(i - run * run_length) {}
  __device__ void next() {
    if (++at < length) return;
    at = 0;
    ++run;
  }
};

/// Calls f(k, chunk, i): the chunks of a slot's share of the piece that starts at `begin`, chunk k starting
/// at element i of the row.
template <int kValues, class F>
__device__ inline void for_chunks(std::int64_t begin, int slot, F f) {
  using S = Share<kValues>;
  HT_UNROLL
  for (int k = 0; k < S::kChunks; ++k) f(k, begin + (k * 32 + slot) * S::kChunk);
}

/// A slot's share of a row; 0 beyond its end.
template <int kValues, class C>
__device__ inline void load_norm(const void* data, ScalarType dtype, const NormGeometry& p, std::int64_t row,
                                 std::int64_t begin, int slot, C (&values)[kValues]) {
  using S = Share<kValues>;
  const std::int64_t base = p.row_begin(row);
  if (p.run == p.n) {
    load_share(Row<const void*>{data, dtype, base, 1}, begin, p.n, slot, C(0), values);
    return;
  }
  visit_floating<C>(dtype, [&]<class T>() {
    const T* from = static_cast<const T*>(data) + base;
    for_chunks<kValues>(begin, slot, [&](int k, std::int64_t i) {
      RunWalk walk(i, p.run);
      const T* chunk = from + walk.run * p.run_step + walk.at;
      if (walk.at + S::kChunk <= p.run) {
        load_chunk<S::kChunk>(chunk, 1, is_packed(chunk, 1), p.n - i, C(0), values + k * S::kChunk);
        return;
      }
      HT_UNROLL
      for (int j = 0; j < S::kChunk; ++j, walk.next()) {
        values[k * S::kChunk + j] = i + j < p.n ? to_compute<C>(from[walk.run * p.run_step + walk.at]) : C(0);
      }
    });
  });
}

template <int kValues, class C>
__device__ inline void store_norm(void* data, ScalarType dtype, const NormGeometry& p, std::int64_t row,
                                  std::int64_t begin, int slot, const C (&values)[kValues]) {
  using S = Share<kValues>;
  const std::int64_t base = p.row_begin(row);
  if (p.run == p.n) {
    store_share(Row<void*>{data, dtype, base, 1}, begin, p.n, slot, values);
    return;
  }
  visit_floating<C>(dtype, [&]<class T>() {
    T* to = static_cast<T*>(data) + base;
    for_chunks<kValues>(begin, slot, [&](int k, std::int64_t i) {
      RunWalk walk(i, p.run);
      T* chunk = to + walk.run * p.run_step + walk.at;
      if (walk.at + S::kChunk <= p.run) {
        store_chunk<S::kChunk>(chunk, 1, is_packed(chunk, 1), p.n - i, values + k * S::kChunk);
        return;
      }
      HT_UNROLL
      for (int j = 0; j < S::kChunk; ++j, walk.next()) {
        if (i + j < p.n) to[walk.run * p.run_step + walk.at] = from_compute<T>(values[k * S::kChunk + j]);
      }
    });
  });
}

/// The weights or biases of a slot's share of a row, from a contiguous tensor or `absent`.
template <int kValues, class C>
__device__ inline void load_factors(const void* data, ScalarType dtype, const NormGeometry& p,
                                    std::int64_t row, std::int64_t begin, int slot, C absent,
                                    C (&values)[kValues]) {
  using S = Share<kValues>;
  const NormShape& s = p.shape;
  if (!data || s.affine == NormShape::Affine::kRow) {
    const C same = data ? read<C>(data, dtype, row) : absent;
    HT_UNROLL
    for (int j = 0; j < kValues; ++j) values[j] = same;
  } else if (s.affine == NormShape::Affine::kElement) {
    load_share(Row<const void*>{data, dtype, 0, 1}, begin, p.n, slot, absent, values);
  } else {
    visit_floating<C>(dtype, [&]<class T>() {
      const T* from = static_cast<const T*>(data) + row % s.groups * s.segments;
      for_chunks<kValues>(begin, slot, [&](int k, std::int64_t i) {
        RunWalk walk(i, s.length);
        HT_UNROLL
        for (int j = 0; j < S::kChunk; ++j, walk.next()) {
          values[k * S::kChunk + j] = i + j < p.n ? to_compute<C>(from[walk.run]) : absent;
        }
      });
    });
  }
}

/// Sum over the threads of a team, in fp64; every thread gets it.
template <class Team>
__device__ inline double team_sum(double value) {
  if constexpr (std::is_same_v<Team, WarpTeam>) {
    return warp_reduce(value, Sum());
  } else {
    return block_sum(value);
  }
}

struct Moments {
  double mean = 0, var = 0;
};

/// Statistics of a row as they are applied. `mean_rest` is what rounding the mean to C cut off.
template <class C>
struct NormRow {
  C mean = 0, mean_rest = 0, rstd = 0;

  __device__ static NormRow of(const Moments& m, double eps) {
    NormRow row;
    row.mean = static_cast<C>(m.mean);
    row.mean_rest = static_cast<C>(m.mean - static_cast<double>(row.mean));
    row.rstd = static_cast<C>(1 / std::sqrt(m.var + eps));
    return row;
  }
};

/// In fp64 throughout: for values whose squares leave the range of fp32.
template <class Team>
__device__ inline Moments exact_moments(const void* x, ScalarType dtype, const NormGeometry& p,
                                        std::int64_t row) {
  const std::int64_t base = p.row_begin(row), first = Team::first() * 32 + lane_id(),
                     step = 32 * Team::step();
  const double n = static_cast<double>(p.n);
  const auto value = [&](std::int64_t i) {
    const RunWalk walk(i, p.run);
    return read<double>(x, dtype, base + walk.run * p.run_step + walk.at);
  };
  Moments m;
  if (p.shape.centered) {
    double sum = 0;
    for (std::int64_t i = first; i < p.n; i += step) sum += value(i);
    m.mean = team_sum<Team>(sum) / n;
  }
  double squares = 0;
  for (std::int64_t i = first; i < p.n; i += step) {
    const double d = value(i) - m.mean;
    squares += d * d;
  }
  m.var = team_sum<Team>(squares) / n;
  return m;
}

/// Pieces `begin` .. `end` of a row.
struct Pieces {
  std::int64_t begin, end;
};
template <int kValues>
HALFTONE_HD Pieces all_pieces(const NormGeometry& p) {
  return {0, (p.n + Share<kValues>::kPiece - 1) / Share<kValues>::kPiece};
}

/// Below, sums of squares lost bits to underflow.
inline constexpr double kSmallestSum = 1e-25;

/// A thread's sums of x - center and of its square over pieces of a row: a piece in C, pieces in fp64.
/// `values` holds the thread's last piece afterwards, and before if `kept`.
struct Deviations {
  double first = 0, second = 0;

  template <class Team, int kValues, class C>
  __device__ void add(const void* x, ScalarType dtype, const NormGeometry& p, std::int64_t row, Pieces pieces,
                      bool kept, C center, C (&values)[kValues]) {
    constexpr std::int64_t kSize = Share<kValues>::kPiece;
    for (std::int64_t piece = pieces.begin + Team::first(); piece < pieces.end; piece += Team::step()) {
      const std::int64_t left = p.n - piece * kSize;
      if (!kept) load_norm(x, dtype, p, row, piece * kSize, Team::slot(), values);
      C sum = 0, squares = 0;
      for_share<kValues>(left, Team::slot(), [&](int j, int i) {
        const C d = i < left ? values[j] - center : C(0);
        sum += d;
        squares = std::fma(d, d, squares);
      });
      first += static_cast<double>(sum);
      second += static_cast<double>(squares);
    }
  }
};

/// From the sums about a rounded mean, which they correct. Nothing where squares have left the range of C.
template <class C>
__device__ inline bool moments_of(const Deviations& sums, double mean, double n, bool centered, Moments& m) {
  if (std::is_same_v<C, float> && !(sums.second >= kSmallestSum && is_finite(sums.second))) return false;
  const double var = centered ? (sums.second - sums.first * sums.first / n) / n : sums.second / n;
  m = {mean, var > 0 ? var : var != var ? var : 0.0};
  return true;
}

/// Two passes over the row, shifted by its first element, then about the rounded mean. `values` holds the
/// thread's last piece afterwards.
template <class Team, int kValues, class C>
__device__ inline Moments row_moments(const void* x, ScalarType dtype, const NormGeometry& p,
                                      std::int64_t row, C (&values)[kValues]) {
  constexpr std::int64_t kSize = Share<kValues>::kPiece;
  const double n = static_cast<double>(p.n);
  const bool kept = keeps_row<Team, kValues>(p.n), centered = p.shape.centered;
  if (kept) load_norm(x, dtype, p, row, Team::first() * kSize, Team::slot(), values);
  double mean = 0;
  if (centered) {
    const C shift = read<C>(x, dtype, p.row_begin(row));
    double sum = 0;
    for (std::int64_t piece = Team::first(); piece * kSize < p.n; piece += Team::step()) {
      const std::int64_t left = p.n - piece * kSize;
      if (!kept) load_norm(x, dtype, p, row, piece * kSize, Team::slot(), values);
      C part = 0;
      for_share<kValues>(left, Team::slot(),
                         [&](int j, int i) { part += i < left ? values[j] - shift : C(0); });
      sum += static_cast<double>(part);
    }
    mean = static_cast<double>(shift) + team_sum<Team>(sum) / n;
  }
  Deviations sums;
  sums.add<Team>(x, dtype, p, row, all_pieces<kValues>(p), kept, static_cast<C>(mean), values);
  sums = {team_sum<Team>(sums.first), team_sum<Team>(sums.second)};
  Moments m;
  return moments_of<C>(sums, mean, n, centered, m) ? m : exact_moments<Team>(x, dtype, p, row);
}

}  // namespace halftone::cuda
