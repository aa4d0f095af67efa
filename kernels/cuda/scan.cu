#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/cuda/reduce_kernel.h"
#include "halftone/kernels/cuda/reduce_scan.h"
#include "halftone/kernels/cuda/reduce_walk.h"

// The index of the largest or smallest element along a dimension, and running sums and products. Both in a
// fixed order.
namespace halftone::cuda {

namespace {

using detail::raw;
using detail::Value;

// The first extreme element ---------------------------------------------------------------------------------

/// Where the elements along the dimension lie, and what becomes of the winners.
struct ArgJob {
  Geometry<3> kept;  // index, value, input
  std::int64_t length, stride;
  bool largest;
  ScalarType index_dtype, in_dtype;
  int lanes;  // threads per output: up to a warp, or the block
};

template <class C>
struct Winner {
  C value{};
  std::int64_t index = -1;  // none yet
};

/// NaN beats everything else.
template <class C>
__device__ inline bool beats(bool largest, C x, C y) {
  return (largest ? x > y : x < y) || (x != x && y == y);
}

/// Equal elements: the first.
template <class C>
__device__ inline Winner<C> winner_of(bool largest, const Winner<C>& a, const Winner<C>& b) {
  if (a.index < 0) return b;
  if (b.index < 0 || beats(largest, a.value, b.value)) return a;
  return beats(largest, b.value, a.value) || b.index < a.index ? b : a;
}

template <class C>
__global__ void arg_kernel(ArgJob job, void* out_index, void* out_value, const void* in) {
  HT_SHARED(C, values, [32]);
  HT_SHARED(std::int64_t, indices, [32]);
  const int groups = block_size() / job.lanes, lane = thread_id() % job.lanes;
  for (std::int64_t output0 = block_id() * groups; output0 < job.kept.numel;
       output0 += grid_size() * groups) {
    const std::int64_t output = output0 + thread_id() / job.lanes;
    Winner<C> best;
    const auto offsets = job.kept.offsets(output < job.kept.numel ? output : 0);
    for (std::int64_t i = lane; i < job.length; i += job.lanes) {
      const C x = read<C>(in, job.in_dtype, offsets.at[2] + i * job.stride);
      if (best.index < 0 || beats(job.largest, x, best.value)) {
        best.value = x;
        best.index = i;
      }
    }
    for (int step = (job.lanes < 32 ? job.lanes : 32) / 2; step > 0; step /= 2) {
      Winner<C> other;
      other.value = __shfl_xor_sync(kFullWarp, best.value, step);
      other.index = __shfl_xor_sync(kFullWarp, best.index, step);
      best = winner_of(job.largest, best, other);
    }
    if (job.lanes > 32) {
      if (lane_id() == 0) {
        values[warp_id()] = best.value;
        indices[warp_id()] = best.index;
      }
      __syncthreads();
      for (int w = 0; w < block_size() / 32 && thread_id() == 0; ++w) {
        Winner<C> other;
        other.value = values[w];
        other.index = indices[w];
        best = winner_of(job.largest, best, other);
      }
      __syncthreads();
    }
    if (lane == 0 && output < job.kept.numel) {
      write(out_index, job.index_dtype, offsets.at[0], best.index);
      if (out_value != nullptr) write(out_value, job.in_dtype, offsets.at[1], best.value);
    }
  }
}

// Running sums and products
// -----------------------------------------------------------------------------------

struct ScanJob {
  Geometry<2> lines;  // output, input
  std::int64_t length;
  std::int64_t out_first, out_step, in_first, in_step;  // along a line, backwards if reversed
  ScalarType out_dtype, in_dtype;
  Combining how;  // kSum, kProd or kLogSumExp
};

/// A line per thread, for short lines or very many.
template <class T>
__global__ void scan_lines_kernel(ScanJob job, void* out, const void* in) {
  using V = Value<T>;
  for (std::int64_t line = global_id(); line < job.lines.numel; line += global_size()) {
    const auto offsets = job.lines.offsets(line);
    std::int64_t to = offsets.at[0] + job.out_first, from = offsets.at[1] + job.in_first;
    V total = combine_identity<V>(job.how);
    for (std::int64_t i = 0; i < job.length; ++i, to += job.out_step, from += job.in_step) {
      total = combine(job.how, total, V(read<T>(in, job.in_dtype, from)));
      write(out, job.out_dtype, to, raw(total));
    }
  }
}

inline constexpr int kItems = 4;  // of one thread

__device__ inline double shuffle_up(double x, int step) { return __shfl_up_sync(kFullWarp, x, step); }
__device__ inline math::I64 shuffle_up(math::I64 x, int step) {
  return math::I64(__shfl_up_sync(kFullWarp, x.v, step));
}

/// A line per block, in tiles of kThreads x kItems. Elements are read and written by the same thread, so the
/// output may be the input.
template <class T>
__global__ void scan_blocks_kernel(ScanJob job, void* out, const void* in) {
  using V = Value<T>;
  HT_SHARED(T, warp_totals, [kThreads / 32]);
  const V identity = combine_identity<V>(job.how);
  for (std::int64_t line = block_id(); line < job.lines.numel; line += grid_size()) {
    const auto offsets = job.lines.offsets(line);
    const std::int64_t to = offsets.at[0] + job.out_first, from = offsets.at[1] + job.in_first;
    V carry = identity;
    for (std::int64_t tile = 0; tile < job.length; tile += kThreads * kItems) {
      const std::int64_t first = tile + thread_id() * kItems;
      V x[kItems];
      HT_UNROLL
      for (int j = 0; j < kItems; ++j) {
        x[j] = first + j < job.length ? V(read<T>(in, job.in_dtype, from + (first + j) * job.in_step))
                                      : identity;
        if (j > 0) x[j] = combine(job.how, x[j - 1], x[j]);
      }
      V inclusive = x[kItems - 1];  // of the warp's threads up to this one
      HT_UNROLL
      for (int step = 1; step < 32; step *= 2) {
        const V below = shuffle_up(inclusive, step);
        if (lane_id() >= step) inclusive = combine(job.how, below, inclusive);
      }
      const V exclusive = shuffle_up(inclusive, 1);
      if (lane_id() == 31) warp_totals[warp_id()] = raw(inclusive);
      __syncthreads();
      V before = carry;
      for (int w = 0; w < kThreads / 32; ++w) {
        const V total(warp_totals[w]);
        if (w < warp_id()) before = combine(job.how, before, total);
        carry = combine(job.how, carry, total);
      }
      if (lane_id() > 0) before = combine(job.how, before, exclusive);
      HT_UNROLL
      for (int j = 0; j < kItems; ++j) {
        if (first + j >= job.length) continue;
        write(out, job.out_dtype, to + (first + j) * job.out_step, raw(combine(job.how, before, x[j])));
      }
      __syncthreads();
    }
  }
}

// Linear recurrences
// ------------------------------------------------------------------------------------------

/// A line per thread, in double.
__global__ void recurrence_kernel(Geometry<3> lines, std::int64_t length, std::int64_t first,
                                  std::int64_t sign, std::int64_t out_stride, std::int64_t in_stride,
                                  std::int64_t factor_stride, void* out, ScalarType out_dtype, const void* in,
                                  ScalarType in_dtype, const void* factors, ScalarType factor_dtype) {
  for (std::int64_t line = global_id(); line < lines.numel; line += global_size()) {
    const auto offsets = lines.offsets(line);
    double total = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t k = first + sign * i;
      const double x = read<double>(in, in_dtype, offsets.at[1] + k * in_stride);
      const double f = read<double>(factors, factor_dtype, offsets.at[2] + k * factor_stride);
      total = i == 0 ? x : x + rounded_product(f, total);
      write(out, out_dtype, offsets.at[0] + k * out_stride, total);
    }
  }
}

// The extreme element so far
// ----------------------------------------------------------------------------------

/// A line per thread: the comparisons of a line hang together, and few are long.
template <class C>
__global__ void running_extreme_kernel(Geometry<3> lines, bool largest, std::int64_t length,
                                       std::int64_t value_step, std::int64_t index_step, std::int64_t in_step,
                                       void* values, std::int64_t* indices, const void* in,
                                       ScalarType dtype) {
  for (std::int64_t line = global_id(); line < lines.numel; line += global_size()) {
    const auto offsets = lines.offsets(line);
    Winner<C> best;
    for (std::int64_t i = 0; i < length; ++i) {
      const C x = read<C>(in, dtype, offsets.at[2] + i * in_step);
      if (best.index < 0 || !beats(largest, best.value, x)) {
        best.value = x;
        best.index = i;
      }
      write(values, dtype, offsets.at[0] + i * value_step, best.value);
      indices[offsets.at[1] + i * index_step] = best.index;
    }
  }
}

// Host code
// ---------------------------------------------------------------------------------------------------

void check_dim(std::string_view op, const Tensor& in, std::int64_t dim) {
  if (dim < 0 || dim >= in.dim()) fail(op, "dimension ", dim, " of ", in, " does not exist");
}

template <class T>
void launch_scan(const ScanJob& job, const Tensor& out, const Tensor& in) {
  constexpr std::int64_t kShort = 64, kMany = 16384;
  if (job.length <= kShort || job.lines.numel >= kMany) {
    launch<scan_lines_kernel<T>>(blocks_for(job.lines.numel), kThreads, 0, job, out.data_ptr(),
                                 in.data_ptr());
  } else {
    launch<scan_blocks_kernel<T>>(blocks_for(job.lines.numel, 1), kThreads, 0, job, out.data_ptr(),
                                  in.data_ptr());
  }
}

}  // namespace

void arg_extreme(bool largest, const Tensor& out_index, const Tensor* out_value, const Tensor& in,
                 std::int64_t dim) {
  const char* const op = largest ? "argmax" : "argmin";
  check_dim(op, in, dim);
  if (out_index.numel() == 0) return;
  if (in.numel() == 0) fail(op, "dimension ", dim, " of ", in, " is empty");
  if (out_value != nullptr && out_value->scalar_type() != in.scalar_type()) {
    fail(op, "values of ", in, " do not go into ", *out_value);
  }
  const Tensor* const outs[] = {&out_index, out_value != nullptr ? out_value : &out_index};
  ArgJob job{};
  job.kept = kept_walk<3>(op, outs, in, DimMask{1} << dim);
  job.length = in.size(dim);
  job.stride = in.stride(dim);
  job.largest = largest;
  job.index_dtype = out_index.scalar_type();
  job.in_dtype = in.scalar_type();
  job.lanes = 1;
  while (job.lanes < 32 && job.lanes < job.length) job.lanes *= 2;
  if (job.length > 1024) job.lanes = kThreads;
  const auto start = [&]<class C>() {
    launch<arg_kernel<C>>(blocks_for(job.kept.numel, kThreads / job.lanes), kThreads, 0, job,
                          out_index.data_ptr(), out_value != nullptr ? out_value->data_ptr() : nullptr,
                          in.data_ptr());
  };
  const DeviceScope scope(in.device());
  switch (accumulate_type(in.scalar_type())) {
    case kDouble:
      return start.operator()<double>();
    case kFloat:
      return start.operator()<float>();
    default:
      return start.operator()<std::int64_t>();
  }
}

void recurrence(const Tensor& out, const Tensor& in, const Tensor& factors, std::int64_t dim, bool reverse) {
  check_dim("linear_recurrence", in, dim);
  if (in.numel() == 0) return;
  Geometry<3> lines;
  for (std::int64_t d = 0; d < in.dim(); ++d) {
    if (d != dim) lines.add(in.size(d), {out.stride(d), in.stride(d), factors.stride(d)});
  }
  const DeviceScope scope(in.device());
  launch<recurrence_kernel>(blocks_for(lines.numel), kThreads, 0, lines, in.size(dim),
                            reverse ? in.size(dim) - 1 : 0, reverse ? -1 : 1, out.stride(dim), in.stride(dim),
                            factors.stride(dim), out.data_ptr(), out.scalar_type(), in.data_ptr(),
                            in.scalar_type(), factors.data_ptr(), factors.scalar_type());
}

void running_extreme(bool largest, const Tensor& values, const Tensor& indices, const Tensor& in,
                     std::int64_t dim) {
  check_dim(largest ? "cummax" : "cummin", in, dim);
  if (in.numel() == 0) return;
  Geometry<3> lines;
  for (std::int64_t d = 0; d < in.dim(); ++d) {
    if (d != dim) lines.add(in.size(d), {values.stride(d), indices.stride(d), in.stride(d)});
  }
  const auto start = [&]<class C>() {
    launch<running_extreme_kernel<C>>(blocks_for(lines.numel), kThreads, 0, lines, largest, in.size(dim),
                                      values.stride(dim), indices.stride(dim), in.stride(dim),
                                      values.data_ptr(), indices.data_ptr<std::int64_t>(), in.data_ptr(),
                                      in.scalar_type());
  };
  const DeviceScope scope(in.device());
  switch (accumulate_type(in.scalar_type())) {
    case kDouble:
      return start.operator()<double>();
    case kFloat:
      return start.operator()<float>();
    default:
      return start.operator()<std::int64_t>();
  }
}

void cumulative(Cumulative op, const Tensor& out, const Tensor& in, std::int64_t dim, bool reverse) {
  const char* const name = op == Cumulative::kSum    ? "cumsum"
                           : op == Cumulative::kProd ? "cumprod"
                                                     : "logcumsumexp";
  check_dim(name, in, dim);
  if (out.sizes() != in.sizes()) fail(name, "the output ", out, " has not the sizes of ", in);
  if (in.numel() == 0) return;
  ScanJob job{};
  for (std::int64_t d = 0; d < in.dim(); ++d) {
    if (d != dim) job.lines.add(in.size(d), {out.stride(d), in.stride(d)});
  }
  job.length = in.size(dim);
  job.out_step = reverse ? -out.stride(dim) : out.stride(dim);
  job.in_step = reverse ? -in.stride(dim) : in.stride(dim);
  job.out_first = reverse ? (job.length - 1) * out.stride(dim) : 0;
  job.in_first = reverse ? (job.length - 1) * in.stride(dim) : 0;
  job.out_dtype = out.scalar_type();
  job.in_dtype = in.scalar_type();
  job.how = op == Cumulative::kSum    ? Combining::kSum
            : op == Cumulative::kProd ? Combining::kProd
                                      : Combining::kLogSumExp;
  const DeviceScope scope(in.device());
  if (is_floating_point(in.scalar_type()) || is_floating_point(out.scalar_type()) ||
      op == Cumulative::kLogSumExp) {
    launch_scan<double>(job, out, in);
  } else {
    launch_scan<std::int64_t>(job, out, in);
  }
}

}  // namespace halftone::cuda
