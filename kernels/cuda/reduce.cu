#include "halftone/kernels/reduce.h"

#include "halftone/kernels/cuda/reduce_kernel.h"
#include "halftone/kernels/cuda/reduce_scan.h"
#include "halftone/kernels/cuda/reduce_walk.h"

namespace halftone::cuda {

namespace {

using detail::I64;
using detail::raw;
using detail::Value;

/// Combines the segments of each output. `results` gets totals if a second pass wants them, else `out` gets
/// results.
template <class A>
__global__ void combine_segments_kernel(ReduceJob job, Combining how, const A* partial, A* results, void* out,
                                        const A* first) {
  const int groups = block_size() / job.lanes, lane = thread_id() % job.lanes;
  for (std::int64_t output0 = block_id() * groups; output0 < job.kept.numel;
       output0 += grid_size() * groups) {
    const std::int64_t output = output0 + thread_id() / job.lanes;
    Value<A> total = combine_identity<Value<A>>(how);
    if (output < job.kept.numel) {
      for (std::int64_t s = lane; s < job.segments; s += job.lanes) {
        total = combine(how, total, Value<A>(partial[output * job.segments + s]));
      }
    }
    for (int step = job.lanes / 2; step > 0; step /= 2) {
      total = combine(how, total, detail::shuffle_xor(total, step));
    }
    if (output < job.kept.numel && lane == 0) {
      if (job.last) {
        detail::write_result(job, output, raw(total), out, first);
      } else {
        results[output] = raw(total);
      }
    }
  }
}

// Host code -----------------------------------------------------------------------------------------------

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The smallest power of two that is at least `wanted`, at most 32.
int lanes_for(std::int64_t wanted) {
  int lanes = 1;
  while (lanes < 32 && lanes < wanted) lanes *= 2;
  return lanes;
}

struct Loops {
  ReduceLoop first, second;  // the same if there is one pass
  Combining combine_first, combine_second;
};

Loops loops_of(ReduceOp op) {
  const auto once = [](ReduceLoop loop, Combining how) { return Loops{loop, loop, how, how}; };
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      break;
    case ReduceOp::kProd:
      return once(ReduceLoop::kProd, Combining::kProd);
    case ReduceOp::kMax:
      return once(ReduceLoop::kMax, Combining::kMax);
    case ReduceOp::kMin:
      return once(ReduceLoop::kMin, Combining::kMin);
    case ReduceOp::kAny:
      return once(ReduceLoop::kAny, Combining::kMax);
    case ReduceOp::kAll:
      return once(ReduceLoop::kAll, Combining::kMin);
    case ReduceOp::kNorm1:
      return once(ReduceLoop::kAbsSum, Combining::kSum);
    case ReduceOp::kNorm2:
      return once(ReduceLoop::kSquareSum, Combining::kSum);
    case ReduceOp::kNormInf:
      return once(ReduceLoop::kAbsMax, Combining::kMax);
    case ReduceOp::kNormP:
      return once(ReduceLoop::kPowSum, Combining::kSum);
    case ReduceOp::kCountNonzero:
      return once(ReduceLoop::kCount, Combining::kSum);
    case ReduceOp::kLogSumExp:
      return {ReduceLoop::kMax, ReduceLoop::kExpSum, Combining::kMax, Combining::kSum};
    case ReduceOp::kVar:
      return {ReduceLoop::kSum, ReduceLoop::kSquareSum, Combining::kSum, Combining::kSum};
  }
  return once(ReduceLoop::kSum, Combining::kSum);
}

/// How the work is divided: along memory, and into segments where the outputs alone would not keep a large
/// device busy. Depends on shapes and strides alone, never on the device.
void divide(ReduceJob& job, bool columns, int pack) {
  const std::int64_t outputs = job.kept.numel, count = job.reduced.numel;
  std::int64_t shortest = 0, items = 0, wanted = 0;
  if (columns) {
    const std::int64_t width = job.kept.sizes[job.kept.rank - 1];
    job.lanes = lanes_for(ceil_div(width, pack));
    shortest = std::int64_t{kThreads / job.lanes} * detail::kRowsPerPart;
    items = outputs / width * ceil_div(width, job.lanes * pack);
    wanted = 512;
  } else {
    job.lanes = lanes_for(ceil_div(count, 8));
    shortest = std::int64_t{job.lanes} * 128;
    items = outputs;
    wanted = 4096;
  }
  const std::int64_t segments =
      std::max<std::int64_t>(1, std::min(ceil_div(count, shortest), wanted / items));
  job.segment = std::max<std::int64_t>(1, ceil_div(ceil_div(count, segments), shortest) * shortest);
  job.segments = std::max<std::int64_t>(1, ceil_div(count, job.segment));
}

/// Every row of elements that are reduced together, or of outputs that are neighbours, can be read in packs
/// of W.
template <int W>
bool reads_in_packs(const Tensor& in, const ReduceJob& job, bool columns) {
  if (!has_packs<W>(in.scalar_type()) || !is_pack_aligned(in.data_ptr(), in.scalar_type(), W)) return false;
  if (columns && job.kept.sizes[job.kept.rank - 1] % W != 0) return false;
  if (!columns && (job.reduced.rank != 1 || job.reduced.strides[0][0] != 1)) return false;
  for (int d = 0; d < job.kept.rank - (columns ? 1 : 0); ++d) {
    if (job.kept.strides[d][1] % W != 0) return false;
  }
  for (int d = 0; columns && d < job.reduced.rank; ++d) {
    if (job.reduced.strides[d][0] % W != 0) return false;
  }
  return true;
}

template <class A>
class Reduction {
 public:
  Reduction(ReduceOp op, const Tensor& out, const Tensor& in, DimMask dims, const Params& params)
      : out_(out), in_(in), loops_(loops_of(op)), two_passes_(loops_.first != loops_.second) {
    job_.op = op;
    job_.in_dtype = in.scalar_type();
    job_.out_dtype = out.scalar_type();
    // The only pass of a norm of squares measures from 0.
    job_.parameter = op == ReduceOp::kNormP || op == ReduceOp::kVar ? params.p[0] : 0;
    const Tensor* const outs[] = {&out};
    job_.kept = kept_walk<2>("reduce", outs, in, dims);
    job_.reduced = reduced_walk(in, dims);
    if (out.numel() == 0) return;
    if constexpr (std::is_same_v<A, double>) {
      // Squares must not overflow, and a variance is a small difference: in double.
      const bool squares = op == ReduceOp::kNorm2 || op == ReduceOp::kVar;
      job_.in_float = in.scalar_type() != kDouble && is_floating_point(in.scalar_type()) && !squares &&
                      reduce_in_float(loops_.first).rows != nullptr;
    }
    const int last = job_.kept.rank - 1;
    columns_ = last >= 0 && job_.kept.strides[last][1] == 1 && job_.kept.sizes[last] >= 8 &&
               (job_.reduced.rank == 0 || job_.reduced.strides[job_.reduced.rank - 1][0] != 1);
    const bool may_pack = is_floating_point(in.scalar_type()) && (job_.in_float || !columns_);
    job_.pack = may_pack && reads_in_packs<8>(in, job_, columns_)   ? 8
                : may_pack && reads_in_packs<4>(in, job_, columns_) ? 4
                                                                    : 1;
    divide(job_, columns_, job_.pack);
  }

  void run() {
    if (out_.numel() == 0) return;
    const DeviceScope scope(out_.device());
    job_.last = !two_passes_;
    Tensor first;
    if (two_passes_) first = scratch(job_.kept.numel);
    pass(loops_.first, loops_.combine_first, two_passes_ ? first.data_ptr<A>() : nullptr, nullptr);
    if (!two_passes_) return;
    job_.last = true;
    pass(loops_.second, loops_.combine_second, nullptr, first.data_ptr<A>());
  }

 private:
  Tensor scratch(std::int64_t elements) const {
    return empty({elements}, TensorOptions(dtype_of<A>).device(out_.device()));
  }

  ReduceEntry<A> entry(ReduceLoop loop) const {
    if constexpr (std::is_same_v<A, std::int64_t>) {
      return reduce_in_integers(loop);
    } else {
      return job_.in_float ? reduce_in_float(loop) : reduce_in_double(loop);
    }
  }

  /// The totals go to `results` if given, else results go to the output.
  void pass(ReduceLoop loop, Combining how, A* results, const A* first) {
    const ReduceEntry<A> kernels = entry(loop);
    const ReduceLaunch<A> run_segments = columns_ ? kernels.columns[job_.pack == 8   ? 0
                                                                    : job_.pack == 4 ? 1
                                                                                     : 2]
                                                  : kernels.rows;
    if (job_.segments == 1) return run_segments(job_, in_.data_ptr(), out_.data_ptr(), results, first);
    const Tensor partial = scratch(job_.kept.numel * job_.segments);
    run_segments(job_, in_.data_ptr(), out_.data_ptr(), partial.data_ptr<A>(), first);
    ReduceJob combining = job_;
    combining.lanes = lanes_for(job_.segments);
    launch<combine_segments_kernel<A>>(blocks_for(job_.kept.numel, kThreads / combining.lanes), kThreads, 0,
                                       combining, how, static_cast<const A*>(partial.data_ptr<A>()), results,
                                       out_.data_ptr(), first);
  }

  const Tensor& out_;
  const Tensor& in_;
  const Loops loops_;
  const bool two_passes_;
  bool columns_ = false;
  ReduceJob job_{};
};

void run(ReduceOp op, const Tensor& out, const Tensor& in, DimMask dims, const Params& params) {
  if (!is_floating_point(in.scalar_type()) && has_integer_form(op)) {
    Reduction<std::int64_t>(op, out, in, dims, params).run();
  } else {
    Reduction<double>(op, out, in, dims, params).run();
  }
}

}  // namespace

}  // namespace halftone::cuda

namespace halftone {

template <>
const ReduceKernels& cuda_kernels<ReduceKernels>() {
  static constexpr ReduceKernels kernels{&cuda::run, &cuda::arg_extreme, &cuda::cumulative, &cuda::recurrence,
                                         &cuda::running_extreme};
  return kernels;
}

}  // namespace halftone
