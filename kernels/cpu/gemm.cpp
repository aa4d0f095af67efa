#include "halftone/kernels/gemm.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>

#include "halftone/engine/error.h"
#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/gemm_passes.h"
#include "halftone/kernels/cpu/gemm_plan.h"
#include "halftone/kernels/cpu/isa.h"
#include "halftone/kernels/kernels.h"

#define HALFTONE_ISA_WANT_BF16
#define HALFTONE_ISA_WANT_AMX
#define HALFTONE_ISA_BODY "halftone/kernels/cpu/gemm.inc"
#include "halftone/kernels/cpu/foreach_isa.h"

namespace halftone::cpu {
namespace {

using i64 = std::int64_t;

constexpr i64 kFlopsPerTask = 1'000'000;

constexpr i64 round_up(i64 value, i64 unit) { return (value + unit - 1) / unit * unit; }

/// Elements in whole panels of `unit` columns, a power of two.
constexpr i64 in_panels(i64 cols, i64 unit) { return (cols + unit - 1) & -unit; }

/// The aligned memory behind GemmBuffers.
class BufferMemory {
 public:
  BufferMemory() {
    // Packers store whole vectors: a little room behind each part.
    constexpr std::size_t a = kGemmBlockM * kGemmStrideA, b = kGemmTileN * kGemmBlockK + 64,
                          sum = kGemmTileM * kGemmTileN + 64;
    memory_ = static_cast<float*>(::operator new((a + b + sum) * sizeof(float), kAlignment));
    buffers_ = {memory_, memory_ + a, memory_ + a + b};
  }
  ~BufferMemory() { ::operator delete(memory_, kAlignment); }
  BufferMemory(const BufferMemory&) = delete;
  BufferMemory& operator=(const BufferMemory&) = delete;

  GemmBuffers& get() { return buffers_; }

 private:
  static constexpr std::align_val_t kAlignment{4096};
  float* memory_;
  GemmBuffers buffers_;
};

MatrixRef transposed(MatrixRef x) {
  std::swap(x.row_stride, x.col_stride);
  return x;
}

const void* advance(const void* data, Dtype dtype, i64 elements) {
  return static_cast<const char*>(data) + elements * static_cast<i64>(element_size(dtype));
}

/// The product C^T = B^T A^T: the same sums, with rows and columns in each other's place.
void swap_sides(GemmProblem& p) {
  std::swap(p.m, p.n);
  const MatrixRef a = p.a;
  p.a = transposed(p.b);
  p.b = transposed(a);
  std::swap(p.c.row_stride, p.c.col_stride);
  std::swap(p.bias_row_stride, p.bias_col_stride);
  p.addend = transposed(p.addend);
}

/// Panels span columns, and C is stored along them: better the side whose panels are fuller, then the one
/// whose rows are contiguous.
bool should_swap(const GemmProblem& p, const MicroTile& micro) {
  const i64 as_is = p.m * in_panels(p.n, micro.cols), swapped = p.n * in_panels(p.m, micro.cols);
  if (p.c.col_stride != 1 && p.c.row_stride == 1) return swapped <= as_is + as_is / 4;
  return swapped + swapped / 4 < as_is;
}

/// A batch of products with one B is one product with more rows, if the rows are evenly spaced.
void fold_batch(GemmProblem& p, i64& batch) {
  const bool rows_follow = p.a.batch_stride == p.m * p.a.row_stride &&
                           p.c.batch_stride == p.m * p.c.row_stride &&
                           (p.addend.data == nullptr || p.addend.batch_stride == p.m * p.addend.row_stride);
  if (batch == 1 || p.b.batch_stride != 0 || !rows_follow) return;
  p.m *= batch;
  batch = 1;
}

void gemm_float(i64 batch, GemmProblem& p) {
  const MicroTile micro = gemm_micro_tile();
  fold_batch(p, batch);
  if (should_swap(p, micro)) swap_sides(p);

  const auto multiply =
      pick(baseline::multiply, avx2::multiply, avx512::multiply, avx512_bf16::multiply, amx::multiply);
  const bool one_tile = batch == 1 && p.m <= kGemmTileM && p.n <= kGemmTileN;
  if (one_tile && 2 * p.m * p.n * p.k < kFlopsPerTask) return multiply(p, {0, p.m, 0, p.n});

  const auto run_one = [&](i64 matrix, const GemmTile& tile) {
    GemmProblem one = p;
    one.a.data = advance(p.a.data, p.a.dtype, matrix * p.a.batch_stride);
    one.b.data = advance(p.b.data, p.b.dtype, matrix * p.b.batch_stride);
    one.c.data = const_cast<void*>(advance(p.c.data, p.c.dtype, matrix * p.c.batch_stride));
    if (p.addend.data != nullptr)
      one.addend.data = advance(p.addend.data, p.addend.dtype, matrix * p.addend.batch_stride);
    multiply(one, tile);
  };
  const double flops =
      2.0 * static_cast<double>(batch * p.m * p.n) * static_cast<double>(std::max<i64>(p.k, 1));
  const i64 useful = useful_tasks(flops);
  const i64 threads = std::min<i64>(get_num_threads(), useful);
  const GemmGrid grid(p.m, p.n, tiles_per_matrix(batch, threads));
  const i64 tasks = batch * grid.count();
  parallel_for(tasks, threads > 1 ? std::max<i64>(1, tasks / useful) : tasks, [&](i64 begin, i64 end) {
    for (i64 task = begin; task < end; ++task) run_one(task / grid.count(), grid.tile(task % grid.count()));
  });
}

void check(const MatrixRef& x, const char* name) {
  if (x.data == nullptr) fail("gemm", name, " has no data");
}

void run(i64 batch, i64 m, i64 n, i64 k, const MatrixRef& a, const MatrixRef& b, const MutableMatrixRef& c,
         const Epilogue& epilogue) {
  if (batch < 0 || m < 0 || n < 0 || k < 0)
    fail("gemm", "negative size: batch ", batch, ", m ", m, ", n ", n, ", k ", k);
  if (takes_more_passes(epilogue)) return run_in_passes(batch, m, n, k, a, b, c, epilogue);
  if (batch == 0 || m == 0 || n == 0) return;
  if (k > 0) check(a, "A"), check(b, "B");
  if (c.data == nullptr) fail("gemm", "C has no data");

  GemmProblem p{m,
                n,
                k,
                a,
                b,
                c,
                epilogue.bias,
                epilogue.bias_dtype,
                0,
                1,
                epilogue.addend,
                static_cast<float>(epilogue.alpha),
                static_cast<float>(epilogue.beta),
                epilogue.activation};
  if (epilogue.beta == 0) p.addend.data = nullptr;
  if (epilogue.beta != 0) check(epilogue.addend, "the addend (beta is not 0)");

  const bool floats = is_floating_point(a.dtype) && is_floating_point(b.dtype);
  if (floats && a.dtype != kDouble && b.dtype != kDouble) {
    if (!is_floating_point(c.dtype)) fail("gemm", "a product of floats cannot be stored as ", c.dtype);
    return gemm_float(batch, p);
  }
  if (is_floating_point(a.dtype) != is_floating_point(b.dtype) ||
      is_floating_point(a.dtype) != is_floating_point(c.dtype))
    fail("gemm", "floats and integers do not mix: A is ", a.dtype, ", B ", b.dtype, ", C ", c.dtype);
  for (i64 i = 0; i < batch; ++i) {
    GemmProblem one = p;
    one.a.data = advance(a.data, a.dtype, i * a.batch_stride);
    one.b.data = advance(b.data, b.dtype, i * b.batch_stride);
    one.c.data = const_cast<void*>(advance(c.data, c.dtype, i * c.batch_stride));
    if (p.addend.data != nullptr)
      one.addend.data = advance(p.addend.data, p.addend.dtype, i * p.addend.batch_stride);
    if (floats)
      gemm_float64(one, epilogue.alpha, epilogue.beta);
    else
      gemm_integer(one, static_cast<i64>(epilogue.alpha), static_cast<i64>(epilogue.beta));
  }
}

}  // namespace

MicroTile gemm_micro_tile() {
  static constexpr MicroTile tiles[kIsaCount] = {baseline::kMicroTile, avx2::kMicroTile, avx512::kMicroTile,
                                                 avx512_bf16::kMicroTile, amx::kMicroTile};
  return tiles[static_cast<int>(current_isa())];
}

std::int64_t useful_tasks(double flops) { return static_cast<i64>(std::min(flops / kFlopsPerTask, 1e6)) + 1; }

std::int64_t tiles_per_matrix(i64 batch, i64 threads) {
  return batch < 8 * threads ? threads / std::gcd(batch, threads) : 1;
}

GemmBuffers& gemm_buffers() {
  thread_local BufferMemory memory;
  return memory.get();
}

TileLimits gemm_tile_limits() {
  const MicroTile micro = gemm_micro_tile();
  return {micro.rows, micro.cols, kGemmTileM, kGemmTileN};
}

GemmGrid::GemmGrid(i64 rows, i64 cols, i64 wanted, const TileLimits& limits) : m(rows), n(cols) {
  count_m = (m + limits.most_rows - 1) / limits.most_rows;
  count_n = (n + limits.most_cols - 1) / limits.most_cols;
  const auto tile_size = [](i64 size, i64 count, i64 unit) {
    return round_up((size + count - 1) / count, unit);
  };
  // Enough tiles, in a multiple of `wanted`, so that every thread gets as many as the others.
  while (count_m * count_n % wanted != 0 || count_m * count_n < wanted) {
    const i64 next_m = tile_size(m, count_m, limits.unit_rows);
    const i64 next_n = tile_size(n, count_n, limits.unit_cols);
    if (next_m <= limits.unit_rows && next_n <= limits.unit_cols) break;
    if (next_m >= next_n || next_n <= limits.unit_cols)
      ++count_m;
    else
      ++count_n;
  }
  tile_m = tile_size(m, count_m, limits.unit_rows);
  tile_n = tile_size(n, count_n, limits.unit_cols);
  count_m = (m + tile_m - 1) / tile_m;
  count_n = (n + tile_n - 1) / tile_n;
}

GemmTile GemmGrid::tile(i64 index) const {
  const i64 i = index / count_n * tile_m, j = index % count_n * tile_n;
  return {i, std::min(tile_m, m - i), j, std::min(tile_n, n - j)};
}

}  // namespace halftone::cpu

namespace halftone {
template <>
const GemmKernels& cpu_kernels<GemmKernels>() {
  static const GemmKernels kernels{cpu::run};
  return kernels;
}
}  // namespace halftone
