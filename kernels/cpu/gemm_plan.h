#pragma once

#include <cstdint>

#include "halftone/kernels/gemm.h"

/// What gemm.cpp, conv.cpp and their per-ISA bodies agree on; not part of the interface.
namespace halftone::cpu {

/// Largest depth of a block of k, in 32-bit words: floats, or pairs of bfloat16. A multiple of 16. See
/// gemm_core.inc.
inline constexpr std::int64_t kGemmBlockK = 288;
/// Rows of A packed at a time: a multiple of the vector micro-kernels' rows (4, 6, 12).
inline constexpr std::int64_t kGemmBlockM = 264;
/// Rows and columns of C that one task computes at most: bounds the buffers, nothing else. Whole multiples of
/// what every micro-kernel takes (4, 6, 12 and 32 rows).
inline constexpr std::int64_t kGemmTileM = 576;
inline constexpr std::int64_t kGemmTileN = 512;
/// Packed rows of A are this far apart: not a multiple of 4 KiB, so rows do not evict each other from L1.
inline constexpr std::int64_t kGemmStrideA = kGemmBlockK + 16;

/// Rows and columns of the register tile of the current ISA's micro-kernel, and columns of one vector.
struct MicroTile {
  std::int64_t rows, cols, lanes;
};
MicroTile gemm_micro_tile();

/// A part of one result: rows i0 .. i0 + rows, columns j0 .. j0 + cols.
struct GemmTile {
  std::int64_t i0, rows, j0, cols;
};

/// One product: every pointer already at its matrix of the batch.
struct GemmProblem {
  std::int64_t m, n, k;
  MatrixRef a, b;
  MutableMatrixRef c;
  const void* bias;  // null for none
  Dtype bias_dtype;
  std::int64_t bias_row_stride, bias_col_stride;  // one is 1, the other 0
  MatrixRef addend;                               // data null for none
  float alpha, beta;
  Activation activation;
};

/// Packed operands and partial sums of the task a thread is working on. Kept for the thread's lifetime.
struct GemmBuffers {
  float* a;    // kGemmBlockM rows, kGemmStrideA apart
  float* b;    // kGemmTileN columns in panels, kGemmBlockK deep
  float* sum;  // kGemmTileM x kGemmTileN in micro tiles
};
GemmBuffers& gemm_buffers();

/// Tiles have whole multiples of `unit` rows and columns (but for the last), and at most `most`, about.
struct TileLimits {
  std::int64_t unit_rows, unit_cols, most_rows, most_cols;
};
/// Of a product: whole micro-kernels, and what GemmBuffers hold.
TileLimits gemm_tile_limits();

/// Cuts an (m, n) result into tiles, at least `wanted` of them where its size allows.
struct GemmGrid {
  std::int64_t m, n, tile_m, tile_n, count_m, count_n;
  GemmGrid(std::int64_t m, std::int64_t n, std::int64_t wanted,
           const TileLimits& limits = gemm_tile_limits());
  std::int64_t count() const { return count_m * count_n; }
  GemmTile tile(std::int64_t index) const;
};

/// How many tasks `flops` are worth: a task that takes less than some ten microseconds costs more than it
/// gains.
std::int64_t useful_tasks(double flops);
/// Tiles to cut each of `batch` results into, so that all tasks divide evenly among the threads.
std::int64_t tiles_per_matrix(std::int64_t batch, std::int64_t threads);

/// float64 operands (any mixture with a float64) and integers: gemm_reference.cpp.
void gemm_float64(const GemmProblem& problem, double alpha, double beta);
void gemm_integer(const GemmProblem& problem, std::int64_t alpha, std::int64_t beta);

}  // namespace halftone::cpu
