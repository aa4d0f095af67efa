// Matrix products of any dtypes and strides, and what stands before and after a product of cuBLASLt.
//
// The product cuts C into tiles of 64 x 64, one per block of 256 threads; a thread has 4 x 4 elements of its
// tile, 16 rows and columns apart. Per step, 16 rows of A's columns and B's rows are converted into shared
// memory.

#include "halftone/kernels/cuda/device.h"
//
#include <algorithm>

#include "halftone/kernels/cuda/element.h"
#include "halftone/kernels/cuda/functors.h"
#include "halftone/kernels/cuda/gemm_kernels.h"
#include "halftone/kernels/cuda/geometry.h"
#include "halftone/kernels/cuda/launch.h"

namespace halftone::cuda {
namespace {

using i64 = std::int64_t;

constexpr int kTile = 64, kDepth = 16, kSide = 16, kPerThread = kTile / kSide;
static_assert(kSide * kSide == kThreads);

struct Strides {
  Dtype dtype;
  i64 row, col, batch;
  HALFTONE_HD i64 at(i64 matrix, i64 i, i64 j) const { return matrix * batch + i * row + j * col; }
};

template <class Ref>
Strides strides_of(const Ref& x) {
  return {x.dtype, x.row_stride, x.col_stride, x.batch_stride};
}

/// activation(alpha * sum + beta * addend + bias), in C: float, double, or the unsigned number int64 wraps
/// as.
template <class C>
struct Finish {
  C alpha, beta;
  Strides addend;
  Dtype bias_dtype;
  Activation activation;

  /// What the activation is applied to.
  template <class Read>
  __device__ C sum(C product, const void* addend_data, i64 addend_at, const void* bias_data,
                   i64 column) const {
    C value = alpha * product;
    if (addend_data) value += beta * static_cast<C>(read<Read>(addend_data, addend.dtype, addend_at));
    if (bias_data) value += static_cast<C>(read<Read>(bias_data, bias_dtype, column));
    return value;
  }
  __device__ C activate(C value) const {
    if constexpr (std::is_floating_point_v<C>) {
      if (activation == Activation::kRelu && value < C(0)) return C(0);  // a NaN stays
      if (activation == Activation::kGeluTanh) return math::GeluTanh{}(value);
    }
    return value;
  }
};

struct TileGrid {
  i64 batch, m, n, k, tiles_m, tiles_n;
  HALFTONE_HD i64 count() const { return batch * tiles_m * tiles_n; }
};

/// Brings depth k0 .. k0 + kDepth of 64 rows (or columns) into shared memory, zeros where the matrix has
/// ended. Neighbouring threads follow the smaller stride.
template <class C, class Read>
__device__ void load_tile(C (&tile)[kDepth][kTile + 1], const void* data, Dtype dtype, i64 start,
                          i64 line_stride, i64 depth_stride, i64 lines, i64 depths) {
  const bool along_depth =
      (depth_stride < 0 ? -depth_stride : depth_stride) < (line_stride < 0 ? -line_stride : line_stride);
  for (int e = thread_id(); e < kDepth * kTile; e += kThreads) {
    const int depth = along_depth ? e % kDepth : e / kTile, line = along_depth ? e / kDepth : e % kTile;
    const bool inside = line < lines && depth < depths;
    tile[depth][line] =
        inside ? static_cast<C>(read<Read>(data, dtype, start + line * line_stride + depth * depth_stride))
               : C(0);
  }
}

template <class C, class Read>
__global__ void tiled_product_kernel(const void* a, const void* b, void* c, const void* addend,
                                     const void* bias, void* before_activation, TileGrid grid, Strides sa,
                                     Strides sb, Strides sc, Finish<C> finish) {
  HT_SHARED(C, tile_a, [kDepth][kTile + 1]);
  HT_SHARED(C, tile_b, [kDepth][kTile + 1]);
  const int row = thread_id() / kSide, col = thread_id() % kSide;

  for (i64 tile = block_id(); tile < grid.count(); tile += grid_size()) {
    const i64 matrix = tile / (grid.tiles_m * grid.tiles_n), place = tile % (grid.tiles_m * grid.tiles_n);
    const i64 i0 = place / grid.tiles_n * kTile, j0 = place % grid.tiles_n * kTile;
    C sum[kPerThread][kPerThread] = {};

    for (i64 k0 = 0; k0 < grid.k; k0 += kDepth) {
      load_tile<C, Read>(tile_a, a, sa.dtype, sa.at(matrix, i0, k0), sa.row, sa.col, grid.m - i0,
                         grid.k - k0);
      load_tile<C, Read>(tile_b, b, sb.dtype, sb.at(matrix, k0, j0), sb.col, sb.row, grid.n - j0,
                         grid.k - k0);
      __syncthreads();
      for (int k = 0; k < kDepth; ++k) {
        C left[kPerThread], right[kPerThread];
        HT_UNROLL
        for (int x = 0; x < kPerThread; ++x) {
          left[x] = tile_a[k][row + x * kSide];
          right[x] = tile_b[k][col + x * kSide];
        }
        HT_UNROLL
        for (int x = 0; x < kPerThread; ++x) {
          HT_UNROLL
          for (int y = 0; y < kPerThread; ++y) sum[x][y] += left[x] * right[y];
        }
      }
      __syncthreads();
    }

    HT_UNROLL
    for (int x = 0; x < kPerThread; ++x) {
      HT_UNROLL
      for (int y = 0; y < kPerThread; ++y) {
        const i64 i = i0 + row + x * kSide, j = j0 + col + y * kSide;
        if (i >= grid.m || j >= grid.n) continue;
        const C value = finish.template sum<Read>(sum[x][y], addend, finish.addend.at(matrix, i, j), bias, j);
        const i64 at = sc.at(matrix, i, j);
        if (before_activation) write<Read>(before_activation, sc.dtype, at, static_cast<Read>(value));
        write<Read>(c, sc.dtype, at, static_cast<Read>(finish.activate(value)));
      }
    }
  }
}

template <class C>
__global__ void copy_matrices_kernel(const void* from, Dtype from_dtype, void* to, Dtype to_dtype,
                                     Geometry<2> geometry) {
  for (i64 i = global_id(); i < geometry.numel; i += global_size()) {
    const auto offsets = geometry.offsets(i);
    write<C>(to, to_dtype, offsets.at[1], read<C>(from, from_dtype, offsets.at[0]));
  }
}

template <class C>
__global__ void finish_kernel(const void* sums, Dtype sums_dtype, void* c, Dtype c_dtype, const void* addend,
                              const void* bias, void* before_activation, Geometry<4> geometry,
                              Finish<C> finish) {
  for (i64 i = global_id(); i < geometry.numel; i += global_size()) {
    const auto offsets = geometry.offsets(i);
    const C product = read<C>(sums, sums_dtype, offsets.at[0]);
    const C value = finish.template sum<C>(product, addend, offsets.at[2], bias, offsets.at[3]);
    if (before_activation) write<C>(before_activation, c_dtype, offsets.at[1], value);
    write<C>(c, c_dtype, offsets.at[1], finish.activate(value));
  }
}

template <class C>
Finish<C> finish_of(const Epilogue& e) {
  using Number = std::conditional_t<std::is_floating_point_v<C>, C, i64>;
  return {static_cast<C>(static_cast<Number>(e.alpha)), static_cast<C>(static_cast<Number>(e.beta)),
          strides_of(e.addend), e.bias_dtype, e.activation};
}

template <class C, class Read>
void launch_tiled(const GemmProblem& p) {
  const TileGrid grid{p.batch, p.m, p.n, p.k, (p.m + kTile - 1) / kTile, (p.n + kTile - 1) / kTile};
  launch<tiled_product_kernel<C, Read>>(blocks_for(grid.count(), 1), kThreads, 0, p.a.data, p.b.data,
                                        p.c.data, p.epilogue.addend.data, p.epilogue.bias,
                                        p.epilogue.before_activation, grid, strides_of(p.a), strides_of(p.b),
                                        strides_of(p.c), finish_of<C>(p.epilogue));
}

/// The walk over `batch` matrices of N operands, in the order in which the last one lies in memory.
template <int N>
Geometry<N> walk(i64 batch, i64 rows, i64 cols, const i64 (&batches)[N], const i64 (&row)[N],
                 const i64 (&col)[N], bool rows_inside) {
  Geometry<N> geometry;
  geometry.add(batch, batches);
  if (!rows_inside) geometry.add(rows, row);
  geometry.add(cols, col);
  if (rows_inside) geometry.add(rows, row);
  return geometry;
}

}  // namespace

void multiply_tiled(const GemmProblem& p) {
  if (!is_floating_point(p.a.dtype)) return launch_tiled<std::uint64_t, i64>(p);
  if (p.a.dtype == kDouble || p.b.dtype == kDouble) return launch_tiled<double, double>(p);
  launch_tiled<float, float>(p);
}

void copy_matrices(i64 batch, i64 rows, i64 cols, const MatrixRef& from, const MutableMatrixRef& to) {
  const Geometry<2> geometry =
      walk<2>(batch, rows, cols, {from.batch_stride, to.batch_stride}, {from.row_stride, to.row_stride},
              {from.col_stride, to.col_stride}, to.row_stride < to.col_stride);
  const unsigned blocks = blocks_for(geometry.numel);
  if (from.dtype == kDouble || to.dtype == kDouble)
    launch<copy_matrices_kernel<double>>(blocks, kThreads, 0, from.data, from.dtype, to.data, to.dtype,
                                         geometry);
  else
    launch<copy_matrices_kernel<float>>(blocks, kThreads, 0, from.data, from.dtype, to.data, to.dtype,
                                        geometry);
}

void finish(const GemmProblem& p, const MatrixRef& sums) {
  const MatrixRef& addend = p.epilogue.addend;
  const Geometry<4> geometry =
      walk<4>(p.batch, p.m, p.n, {sums.batch_stride, p.c.batch_stride, addend.batch_stride, 0},
              {sums.row_stride, p.c.row_stride, addend.row_stride, 0},
              {sums.col_stride, p.c.col_stride, addend.col_stride, 1}, p.c.row_stride < p.c.col_stride);
  const auto go = [&]<class C>(Finish<C> last) {
    launch<finish_kernel<C>>(blocks_for(geometry.numel), kThreads, 0, sums.data, sums.dtype, p.c.data,
                             p.c.dtype, addend.data, p.epilogue.bias, p.epilogue.before_activation, geometry,
                             last);
  };
  sums.dtype == kDouble ? go(finish_of<double>(p.epilogue)) : go(finish_of<float>(p.epilogue));
}

}  // namespace halftone::cuda
