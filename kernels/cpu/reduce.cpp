#include "halftone/kernels/reduce.h"

#include <algorithm>
#include <cmath>

#include "halftone/engine/cached_containers.h"
#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/convert.h"
#include "halftone/kernels/cpu/reduce_geometry.h"
#include "halftone/kernels/cpu/reduce_loops.h"
#include "halftone/kernels/cpu/scan.h"

namespace halftone::cpu {

namespace {

// The tree of partial results: blocks of one output's elements (or of rows) make a segment, segments make the
// result. Both lengths are fixed, so that threads, which take whole segments or outputs, cannot change a
// result.
constexpr std::int64_t kBlock = 512;
constexpr std::int64_t kSegment = 64 * kBlock;
constexpr std::int64_t kRowBlock = 32;
constexpr std::int64_t kRowSegment = 64 * kRowBlock;
constexpr std::int64_t kTile = 256;  // outputs reduced together in the column-wise layout
constexpr std::int64_t kGrain = 32768;

template <class T, class A>
class Reducer {
 public:
  Reducer(ReduceOp op, const Params& params, const Tensor& in, const ReduceGeometry& geometry)
      : op_(op),
        params_(params),
        geometry_(geometry),
        count_(geometry.reduced.size()),
        bytes_(in.itemsize()),
        direct_(in.scalar_type() == dtype_of<T>),
        load_(loader<T>(in.scalar_type())) {
    switch (op) {
      case ReduceOp::kSum:
      case ReduceOp::kMean:
      case ReduceOp::kVar:
        first_ = reduce_loops<T, A>(LoopKind::kSum);
        break;
      case ReduceOp::kProd:
        first_ = reduce_loops<T, A>(LoopKind::kProd);
        break;
      case ReduceOp::kMax:
      case ReduceOp::kLogSumExp:
        first_ = reduce_loops<T, A>(LoopKind::kMax);
        break;
      case ReduceOp::kMin:
        first_ = reduce_loops<T, A>(LoopKind::kMin);
        break;
      case ReduceOp::kAny:
        first_ = reduce_loops<T, A>(LoopKind::kAny);
        break;
      case ReduceOp::kAll:
        first_ = reduce_loops<T, A>(LoopKind::kAll);
        break;
      case ReduceOp::kNorm1:
        first_ = reduce_loops<T, A>(LoopKind::kAbsSum);
        break;
      case ReduceOp::kNormInf:
        first_ = reduce_loops<T, A>(LoopKind::kAbsMax);
        break;
      case ReduceOp::kCountNonzero:
        first_ = reduce_loops<T, A>(LoopKind::kCount);
        break;
      case ReduceOp::kNorm2:
        if constexpr (std::is_same_v<T, float>) first_ = square_loops();
        if constexpr (std::is_same_v<T, double>) first_ = reduce_loops<T, A>(LoopKind::kSquareSum);
        break;
      case ReduceOp::kNormP:
        if constexpr (!std::is_integral_v<T>) first_ = reduce_loops<T, A>(LoopKind::kPowSum);
        shift_ = static_cast<T>(params.p[0]);
        break;
    }
    if constexpr (!std::is_integral_v<T>) {
      if (op == ReduceOp::kVar) second_ = reduce_loops<T, A>(LoopKind::kSquareSum);
      if (op == ReduceOp::kLogSumExp) second_ = reduce_loops<T, A>(LoopKind::kExpSum);
    }
  }

  void run(const std::byte* in, const Tensor& out) const {
    if (geometry_.columns) {
      run_columns(in, out);
    } else {
      run_outputs(in, out);
    }
  }

 private:
  // One output at a time ------------------------------------------------------------------------------

  void run_outputs(const std::byte* in, const Tensor& out) const {
    std::byte* const to = out.unsafe_impl()->data();
    const Storer<A> store = storer<A>(out.scalar_type());
    const std::int64_t outputs = geometry_.kept.size();
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, count_));
    auto some = [&](std::int64_t begin, std::int64_t end) {
      geometry_.kept.for_each_pair(
          begin, end - begin, [&](const std::int64_t* offset, const std::int64_t* stride, std::int64_t n) {
            for (std::int64_t i = 0; i < n; ++i) {
              const A value = one_output(in + (offset[1] + i * stride[1]) * bytes_);
              store(to + (offset[0] + i * stride[0]) * out.itemsize(), 1, &value, 1);
            }
          });
    };
    if (outputs < 8 && count_ > kSegment) {
      some(0, outputs);  // the threads share each output's segments instead
    } else {
      parallel_for(outputs, grain, some);
    }
  }

  A one_output(const std::byte* base) const {
    const A total = all_segments(first_, base, shift_);
    if (second_.block == nullptr) return finish(total, total, shift_);
    const T shift = shift_for_second(total);
    return finish(all_segments(second_, base, shift), total, shift);
  }

  A all_segments(const Loops<T, A>& loops, const std::byte* base, T shift) const {
    if (count_ <= kSegment) return segment(loops, base, 0, count_, shift);
    CachedVector<A> partial(static_cast<std::size_t>((count_ + kSegment - 1) / kSegment));
    parallel_for(static_cast<std::int64_t>(partial.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t s = begin; s < end; ++s) {
        const std::int64_t n = std::min(kSegment, count_ - s * kSegment);
        partial[static_cast<std::size_t>(s)] = segment(loops, base, s * kSegment, n, shift);
      }
    });
    A total = loops.identity;
    for (const A part : partial) total = loops.combine(total, part);
    return total;
  }

  A segment(const Loops<T, A>& loops, const std::byte* base, std::int64_t begin, std::int64_t n,
            T shift) const {
    alignas(64) T scratch[kBlock];
    A total = loops.identity;
    for (std::int64_t end = begin + n; begin < end; begin += kBlock) {
      const std::int64_t length = std::min(kBlock, end - begin);
      const T* x = scratch;
      if (direct_ && geometry_.reduced.is_dense(0)) {
        x = reinterpret_cast<const T*>(base) + begin;
      } else {
        T* fill = scratch;
        geometry_.reduced.for_each_run(0, begin, length,
                                       [&](std::int64_t offset, std::int64_t stride, std::int64_t run) {
                                         load_(fill, base + offset * bytes_, stride, run);
                                         fill += run;
                                       });
      }
      total = loops.combine(total, loops.block(x, length, shift));
    }
    return total;
  }

  // Neighbouring outputs together, whose elements lie side by side ------------------------------------

  struct Totals {
    alignas(64) A value[kTile];
  };

  void run_columns(const std::byte* in, const Tensor& out) const {
    std::byte* const to = out.unsafe_impl()->data();
    const Storer<A> store = storer<A>(out.scalar_type());
    const std::int64_t inner = geometry_.kept.inner_size();
    const std::int64_t tiles_per_run = (inner + kTile - 1) / kTile;
    const std::int64_t tiles = geometry_.kept.size() / inner * tiles_per_run;
    auto some = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        const std::int64_t j = t % tiles_per_run * kTile;
        geometry_.kept.for_each_pair(
            t / tiles_per_run * inner + j, std::min(kTile, inner - j),
            [&](const std::int64_t* offset, const std::int64_t* stride, std::int64_t n) {
              Totals totals;
              one_tile(in + offset[1] * bytes_, n, totals);
              store(to + offset[0] * out.itemsize(), stride[0], totals.value, n);
            });
      }
    };
    if (tiles < 8 && count_ > kRowSegment) {
      some(0, tiles);
    } else {
      parallel_for(tiles, std::max<std::int64_t>(1, kGrain / (kTile * std::max<std::int64_t>(1, count_))),
                   some);
    }
  }

  void one_tile(const std::byte* base, std::int64_t n, Totals& totals) const {
    alignas(64) T shifts[kTile];
    std::fill(shifts, shifts + kTile, shift_);
    all_row_segments(first_, base, n, shifts, totals);
    if (second_.row == nullptr) {
      for (std::int64_t j = 0; j < n; ++j) totals.value[j] = finish(totals.value[j], totals.value[j], shift_);
      return;
    }
    for (std::int64_t j = 0; j < n; ++j) shifts[j] = shift_for_second(totals.value[j]);
    Totals second;
    all_row_segments(second_, base, n, shifts, second);
    for (std::int64_t j = 0; j < n; ++j)
      totals.value[j] = finish(second.value[j], totals.value[j], shifts[j]);
  }

  void all_row_segments(const Loops<T, A>& loops, const std::byte* base, std::int64_t n, const T* shifts,
                        Totals& totals) const {
    if (count_ <= kRowSegment) return row_segment(loops, base, 0, count_, n, shifts, totals);
    CachedVector<Totals> partial(static_cast<std::size_t>((count_ + kRowSegment - 1) / kRowSegment));
    parallel_for(static_cast<std::int64_t>(partial.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t s = begin; s < end; ++s) {
        row_segment(loops, base, s * kRowSegment, std::min(kRowSegment, count_ - s * kRowSegment), n, shifts,
                    partial[static_cast<std::size_t>(s)]);
      }
    });
    std::fill_n(totals.value, n, loops.identity);
    for (const Totals& part : partial) {
      for (std::int64_t j = 0; j < n; ++j) totals.value[j] = loops.combine(totals.value[j], part.value[j]);
    }
  }

  void row_segment(const Loops<T, A>& loops, const std::byte* base, std::int64_t begin, std::int64_t rows,
                   std::int64_t n, const T* shifts, Totals& totals) const {
    alignas(64) T sums[kTile], scratch[kTile];
    std::fill_n(totals.value, n, loops.identity);
    for (std::int64_t end = begin + rows; begin < end; begin += kRowBlock) {
      std::fill_n(sums, kTile, static_cast<T>(loops.identity));
      geometry_.reduced.for_each_run(0, begin, std::min(kRowBlock, end - begin),
                                     [&](std::int64_t offset, std::int64_t stride, std::int64_t run) {
                                       for (std::int64_t i = 0; i < run; ++i) {
                                         const std::byte* const row = base + (offset + i * stride) * bytes_;
                                         if (direct_) {
                                           loops.row(sums, reinterpret_cast<const T*>(row), shifts, n);
                                         } else {
                                           load_(scratch, row, 1, n);
                                           loops.row(sums, scratch, shifts, n);
                                         }
                                       }
                                     });
      for (std::int64_t j = 0; j < n; ++j)
        totals.value[j] = loops.combine(totals.value[j], static_cast<A>(sums[j]));
    }
  }

  // The last step -------------------------------------------------------------------------------------

  /// The mean for a variance, the maximum for a sum of exponentials.
  T shift_for_second(A total) const {
    if (op_ == ReduceOp::kVar)
      return static_cast<T>(static_cast<double>(total) / static_cast<double>(count_));
    const double maximum = static_cast<double>(total);
    return static_cast<T>(maximum - maximum == 0 ? maximum : 0);  // infinities go through the exponential
  }

  A finish(A total, A first, T shift) const {
    const double n = static_cast<double>(count_), x = static_cast<double>(total);
    switch (op_) {
      case ReduceOp::kMean:
        return static_cast<A>(x / n);
      case ReduceOp::kNorm2:
        return static_cast<A>(std::sqrt(x));
      case ReduceOp::kNormP:
        return static_cast<A>(std::pow(x, 1 / params_.p[0]));
      case ReduceOp::kLogSumExp:
        return static_cast<A>(std::log(x) + static_cast<double>(shift));
      case ReduceOp::kVar: {
        // The mean was rounded to T: what that adds to every square is taken out again.
        const double rest = static_cast<double>(first) / n - static_cast<double>(shift);
        return static_cast<A>(std::fmax(x - n * rest * rest, 0 * x) / std::fmax(n - params_.p[0], 0));
      }
      default:
        return total;
    }
  }

  const ReduceOp op_;
  const Params& params_;
  const ReduceGeometry& geometry_;
  const std::int64_t count_;  // elements per output
  const std::int64_t bytes_;
  const bool direct_;
  const Loader<T> load_;
  Loops<T, A> first_{};
  Loops<T, A> second_{};
  T shift_ = 0;
};

void run(ReduceOp op, const Tensor& out, const Tensor& in, DimMask dims, const Params& params) {
  const ReduceGeometry geometry("reduce", out, in, dims);
  if (out.numel() == 0) return;
  const std::byte* const data = in.unsafe_impl()->data();
  const ScalarType dtype = in.scalar_type();
  const bool in_double = dtype == kDouble || !is_floating_point(dtype) || op == ReduceOp::kNormP ||
                         (op == ReduceOp::kNorm2 && geometry.columns);
  if (!is_floating_point(dtype) && has_integer_form(op)) {
    Reducer<std::int64_t, std::int64_t>(op, params, in, geometry).run(data, out);
  } else if (in_double) {
    Reducer<double, double>(op, params, in, geometry).run(data, out);
  } else {
    Reducer<float, double>(op, params, in, geometry).run(data, out);
  }
}

}  // namespace

}  // namespace halftone::cpu

namespace halftone {

template <>
const ReduceKernels& cpu_kernels<ReduceKernels>() {
  static constexpr ReduceKernels kernels{&cpu::run, &cpu::arg_extreme, &cpu::cumulative, &cpu::recurrence,
                                         &cpu::running_extreme};
  return kernels;
}

}  // namespace halftone
