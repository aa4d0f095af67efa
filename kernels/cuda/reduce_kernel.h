#pragma once

#include "halftone/kernels/cuda/geometry.h"
#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/cuda/pointwise_pack.h"
#include "halftone/kernels/cuda/reduce_ops.h"
#include "halftone/kernels/reduce.h"

// Reductions over any dimensions. The elements of one output are cut into segments whose number depends on
// the shape alone; a segment is reduced by a group of threads of one warp ("rows": elements of one output lie
// together) or by a block that does many neighbouring outputs at once ("columns"). Each thread combines up to
// 32 elements in C, then adds that to its total of type A, double or int64; totals are combined in a fixed
// tree. A second kernel combines the segments. So results are the same from run to run, and the error of a
// long sum does not grow with its length.
namespace halftone::cuda {

/// What a reduction's kernels need to know, besides the addresses. C is what elements are mapped in: float,
/// double or int64.
struct ReduceJob {
  ReduceOp op;
  bool in_float;  // C is float
  bool last;      // the results are wanted, not the mean or the maximum for a second pass
  int pack;       // elements read together: 8, 4 or 1
  ScalarType in_dtype, out_dtype;
  double parameter;  // p of a norm, correction of a variance
  Geometry<2> kept;  // output, input
  Geometry<1> reduced;
  std::int64_t segments, segment;  // how many, and elements in each but the last
  int lanes;                       // rows: threads per segment; columns: threads side by side
};

/// The type of totals.
template <class C>
using Total = std::conditional_t<std::is_integral_v<C>, std::int64_t, double>;

/// `partial` gets the totals of the segments if these are not yet results; `first` are the results of the
/// pass before.
template <class A>
using ReduceLaunch = void (*)(const ReduceJob& job, const void* in, void* out, A* partial, const A* first);

/// The kernels of one operation. `columns` for packs of 8 elements, of 4 and for single ones.
template <class A>
struct ReduceEntry {
  ReduceLaunch<A> rows;
  ReduceLaunch<A> columns[3];
};

// Each in its own file, for the time nvcc takes. Float has the operations that training spends its time in;
// the others of float elements are done in double, where columns are read as single elements.
ReduceEntry<double> reduce_in_float(ReduceLoop loop);
ReduceEntry<double> reduce_in_double(ReduceLoop loop);
ReduceEntry<std::int64_t> reduce_in_integers(ReduceLoop loop);

namespace detail {

using math::I64;

/// The value type of numbers of type T.
template <class T>
using Value = std::conditional_t<std::is_integral_v<T>, I64, T>;

__device__ inline std::int64_t min_of(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

__device__ inline double total_of(double x) { return x; }
__device__ inline double total_of(float x) { return x; }
__device__ inline I64 total_of(I64 x) { return x; }
__device__ inline double raw(double x) { return x; }
__device__ inline std::int64_t raw(I64 x) { return x.v; }

__device__ inline double shuffle_xor(double x, int step) { return __shfl_xor_sync(kFullWarp, x, step); }
__device__ inline I64 shuffle_xor(I64 x, int step) { return I64(__shfl_xor_sync(kFullWarp, x.v, step)); }

/// What elements are mapped with: the mean for a variance, the maximum for a sum of exponentials, the
/// exponent of a norm.
template <class A>
__device__ inline double shift_of(const ReduceJob& job, const A* first, std::int64_t output) {
  if (first == nullptr) return job.parameter;
  double shift = static_cast<double>(first[output]);
  if (job.op == ReduceOp::kVar) {
    shift /= static_cast<double>(job.reduced.numel);
  } else if (shift - shift != 0) {
    shift = 0;  // infinities go through the exponential
  }
  return job.in_float ? static_cast<double>(static_cast<float>(shift)) : shift;
}

/// From a total to the result.
template <class A>
__device__ inline A finish(const ReduceJob& job, A total, const A* first, std::int64_t output) {
  const double n = static_cast<double>(job.reduced.numel), x = static_cast<double>(total);
  switch (job.op) {
    case ReduceOp::kMean:
      return static_cast<A>(x / n);
    case ReduceOp::kNorm2:
      return static_cast<A>(std::sqrt(x));
    case ReduceOp::kNormP:
      return static_cast<A>(std::pow(x, 1 / job.parameter));
    case ReduceOp::kLogSumExp:
      return static_cast<A>(std::log(x) + shift_of(job, first, output));
    case ReduceOp::kVar: {
      // The mean was rounded to C: what that adds to every square is taken out again.
      const double rest = static_cast<double>(first[output]) / n - shift_of(job, first, output);
      return static_cast<A>(std::fmax(x - n * rest * rest, 0 * x) / std::fmax(n - job.parameter, 0.0));
    }
    default:
      return total;
  }
}

template <class A>
__device__ inline void write_result(const ReduceJob& job, std::int64_t output, A total, void* out,
                                    const A* first) {
  write(out, job.out_dtype, job.kept.offsets(output).at[0], finish(job, total, first, output));
}

template <class A>
__device__ inline void deliver(const ReduceJob& job, std::int64_t output, std::int64_t segment, A total,
                               void* out, A* partial, const A* first) {
  if (job.last && job.segments == 1) {
    write_result(job, output, total, out, first);
  } else {
    partial[output * job.segments + segment] = total;
  }
}

// Rows ----------------------------------------------------------------------------------------------------

inline constexpr int kPacksInFlight = 4;
inline constexpr int kElementsInFlight = 4;

/// Element `i` of the elements of types that are mapped in C, converted: fewer cases than `read` has, which
/// is many times in a kernel.
template <class C>
__device__ inline C read_element(const void* data, ScalarType dtype, std::int64_t i) {
  if constexpr (std::is_same_v<C, float>) {
    if (dtype == kHalf) return to_compute<float>(static_cast<const Half*>(data)[i]);
    if (dtype == kBFloat16) return to_compute<float>(static_cast<const BFloat16*>(data)[i]);
    return static_cast<const float*>(data)[i];
  } else if constexpr (std::is_same_v<C, std::int64_t>) {
    if (dtype == kLong) return static_cast<const std::int64_t*>(data)[i];
    if (dtype == kInt) return static_cast<const std::int32_t*>(data)[i];
    return static_cast<const std::uint8_t*>(data)[i];
  } else {
    return read<C>(data, dtype, i);
  }
}

/// Elements `begin` .. `end` of the output whose elements start at `base`, combined with `total`: this thread
/// takes every `lanes`-th run of W.
template <class Op, class C, int W>
__device__ inline Value<Total<C>> add_packs(Value<Total<C>> total, const ReduceJob& job, const void* in,
                                            std::int64_t base, std::int64_t begin, std::int64_t end, int lane,
                                            Value<C> shift) {
  using V = Value<C>;
  const std::int64_t step = std::int64_t{job.lanes} * W;
  for (std::int64_t i = begin + lane * W; i < end; i += kPacksInFlight * step) {
    RawPack raw[kPacksInFlight] = {};
    HT_UNROLL
    for (int u = 0; u < kPacksInFlight; ++u) {
      if (i + u * step < end) raw[u] = load_raw<W>(in, job.in_dtype, base + i + u * step);
    }
    V part[W];
    HT_UNROLL
    for (int j = 0; j < W; ++j) part[j] = V(Op::kIdentity);
    HT_UNROLL
    for (int u = 0; u < kPacksInFlight; ++u) {
      if (i + u * step >= end) continue;
      C x[W];
      unpack<W>(x, raw[u], job.in_dtype);
      HT_UNROLL
      for (int j = 0; j < W; ++j) part[j] = combine(Op::kCombining, part[j], Op::map(V(x[j]), shift));
    }
    HT_UNROLL
    for (int half = W / 2; half > 0; half /= 2) {
      HT_UNROLL
      for (int j = 0; j < half; ++j) part[j] = combine(Op::kCombining, part[j], part[j + half]);
    }
    total = combine(Op::kCombining, total, total_of(part[0]));
  }
  return total;
}

/// The same of single elements, wherever they lie.
template <class Op, class C>
__device__ inline Value<Total<C>> add_elements(Value<Total<C>> total, const ReduceJob& job, const void* in,
                                               std::int64_t base, std::int64_t begin, std::int64_t end,
                                               int lane, Value<C> shift) {
  using V = Value<C>;
  for (std::int64_t i = begin + lane; i < end; i += kElementsInFlight * job.lanes) {
    C x[kElementsInFlight];
    HT_UNROLL
    for (int u = 0; u < kElementsInFlight; ++u) {
      const std::int64_t at = i + u * job.lanes;
      if (at < end) x[u] = read_element<C>(in, job.in_dtype, base + job.reduced.offsets(at).at[0]);
    }
    V part(Op::kIdentity);
    HT_UNROLL
    for (int u = 0; u < kElementsInFlight; ++u) {
      if (i + u * job.lanes < end) part = combine(Op::kCombining, part, Op::map(V(x[u]), shift));
    }
    total = combine(Op::kCombining, total, total_of(part));
  }
  return total;
}

template <class Op, class C>
__global__ void reduce_rows_kernel(ReduceJob job, const void* in, void* out, Total<C>* partial,
                                   const Total<C>* first) {
  using T = Value<Total<C>>;
  const int groups = block_size() / job.lanes, lane = thread_id() % job.lanes;
  const std::int64_t items = job.kept.numel * job.segments;
  for (std::int64_t item0 = block_id() * groups; item0 < items; item0 += grid_size() * groups) {
    const std::int64_t item = item0 + thread_id() / job.lanes;
    const std::int64_t output = item / job.segments, segment = item % job.segments;
    T total(Op::kIdentity);
    if (item < items) {
      const std::int64_t base = job.kept.offsets(output).at[1], begin = segment * job.segment;
      const std::int64_t end = min_of(begin + job.segment, job.reduced.numel);
      const auto shift = static_cast<Value<C>>(shift_of(job, first, output));
      std::int64_t packed_end = begin;
      if constexpr (!std::is_integral_v<C>) {
        if (job.pack != 1) packed_end = end - (end - begin) % job.pack;
        if (job.pack == 8) total = add_packs<Op, C, 8>(total, job, in, base, begin, packed_end, lane, shift);
        if (job.pack == 4) total = add_packs<Op, C, 4>(total, job, in, base, begin, packed_end, lane, shift);
      }
      total = add_elements<Op, C>(total, job, in, base, packed_end, end, lane, shift);
    }
    for (int step = job.lanes / 2; step > 0; step /= 2) {
      total = combine(Op::kCombining, total, shuffle_xor(total, step));
    }
    if (item < items && lane == 0) deliver(job, output, segment, raw(total), out, partial, first);
  }
}

// Columns -------------------------------------------------------------------------------------------------

inline constexpr int kRowsInFlight = 4;
inline constexpr int kRowsPerPart = 16;

/// A block reduces job.lanes x W neighbouring outputs; thread (x, y) takes W of them and every (kThreads /
/// lanes)-th row.
template <class Op, class C, int W>
__global__ void reduce_columns_kernel(ReduceJob job, const void* in, void* out, Total<C>* partial,
                                      const Total<C>* first) {
  using V = Value<C>;
  using T = Value<Total<C>>;
  HT_SHARED(Total<C>, shared, [W][kThreads]);
  const int x = thread_id() % job.lanes, y = thread_id() / job.lanes, height = kThreads / job.lanes;
  const std::int64_t columns = job.kept.sizes[job.kept.rank - 1];
  const std::int64_t tiles = (columns + job.lanes * W - 1) / (job.lanes * W);
  const std::int64_t items = job.kept.numel / columns * tiles * job.segments;
  for (std::int64_t item = block_id(); item < items; item += grid_size()) {
    const std::int64_t segment = item % job.segments, tile = item / job.segments % tiles;
    const std::int64_t row_of_outputs = item / job.segments / tiles * columns;
    const std::int64_t column = (tile * job.lanes + x) * W, width = columns - column;
    const std::int64_t base = job.kept.offsets(row_of_outputs).at[1] + column, begin = segment * job.segment;
    const std::int64_t end = min_of(begin + job.segment, job.reduced.numel);
    V shift[W];
    T total[W];
    HT_UNROLL
    for (int j = 0; j < W; ++j) {
      shift[j] = V(0.0);
      if (j < width) shift[j] = static_cast<V>(shift_of(job, first, row_of_outputs + column + j));
      total[j] = T(Op::kIdentity);
    }
    for (std::int64_t part_row = begin + y; part_row < end && width > 0; part_row += kRowsPerPart * height) {
      V part[W];
      HT_UNROLL
      for (int j = 0; j < W; ++j) part[j] = V(Op::kIdentity);
      for (int u0 = 0; u0 < kRowsPerPart; u0 += kRowsInFlight) {
        C element[kRowsInFlight][W];
        RawPack raw[kRowsInFlight] = {};
        HT_UNROLL
        for (int u = 0; u < kRowsInFlight; ++u) {
          const std::int64_t row = part_row + (u0 + u) * height;
          if (row >= end) continue;
          const std::int64_t at = base + job.reduced.offsets(row).at[0];
          if constexpr (W > 1) {
            raw[u] = load_raw<W>(in, job.in_dtype, at);
          } else {
            element[u][0] = read_element<C>(in, job.in_dtype, at);
          }
        }
        HT_UNROLL
        for (int u = 0; u < kRowsInFlight; ++u) {
          if (part_row + (u0 + u) * height >= end) continue;
          if constexpr (W > 1) unpack<W>(element[u], raw[u], job.in_dtype);
          HT_UNROLL
          for (int j = 0; j < W; ++j) {
            part[j] = combine(Op::kCombining, part[j], Op::map(V(element[u][j]), shift[j]));
          }
        }
      }
      HT_UNROLL
      for (int j = 0; j < W; ++j) total[j] = combine(Op::kCombining, total[j], total_of(part[j]));
    }
    HT_UNROLL
    for (int j = 0; j < W; ++j) shared[j][thread_id()] = raw(total[j]);
    __syncthreads();
    for (int step = height / 2; step > 0; step /= 2) {
      if (y < step) {
        HT_UNROLL
        for (int j = 0; j < W; ++j) {
          Total<C>& mine = shared[j][thread_id()];
          mine = raw(combine(Op::kCombining, T(mine), T(shared[j][thread_id() + step * job.lanes])));
        }
      }
      __syncthreads();
    }
    const std::int64_t done = tile * job.lanes * W + thread_id();  // this thread's column from here on
    if (thread_id() < job.lanes * W && done < columns) {
      deliver(job, row_of_outputs + done, segment, shared[thread_id() % W][thread_id() / W], out, partial,
              first);
    }
    __syncthreads();
  }
}

// Host code -----------------------------------------------------------------------------------------------

template <class Op, class C>
void launch_rows(const ReduceJob& job, const void* in, void* out, Total<C>* partial, const Total<C>* first) {
  launch<reduce_rows_kernel<Op, C>>(blocks_for(job.kept.numel * job.segments, kThreads / job.lanes), kThreads,
                                    0, job, in, out, partial, first);
}

template <class Op, class C, int W>
void launch_columns(const ReduceJob& job, const void* in, void* out, Total<C>* partial,
                    const Total<C>* first) {
  const std::int64_t columns = job.kept.sizes[job.kept.rank - 1];
  const std::int64_t tiles = (columns + job.lanes * W - 1) / (job.lanes * W);
  launch<reduce_columns_kernel<Op, C, W>>(blocks_for(job.kept.numel / columns * tiles * job.segments, 1),
                                          kThreads, 0, job, in, out, partial, first);
}

/// The kernels of the operation among Ops that `loop` names; null if it is none of them.
template <class C, class... Ops>
ReduceEntry<Total<C>> find_entry(ReduceLoop loop) {
  ReduceEntry<Total<C>> found{};
  const auto look_at = [&]<class Op>() {
    if (loop != Op::kLoop) return;
    found.rows = &launch_rows<Op, C>;
    if constexpr (std::is_same_v<C, float>) {
      found.columns[0] = &launch_columns<Op, C, 8>;
      found.columns[1] = &launch_columns<Op, C, 4>;
    }
    found.columns[2] = &launch_columns<Op, C, 1>;
  };
  (look_at.template operator()<Ops>(), ...);
  return found;
}

}  // namespace detail

}  // namespace halftone::cuda
