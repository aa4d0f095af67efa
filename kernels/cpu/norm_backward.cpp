#include <cmath>

#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/norm_rows.h"

namespace halftone::cpu {
namespace {

/// Gradients of rows, and what they add to the gradients of weight and bias.
template <class T>
class Backward {
 public:
  Backward(const Tensor& gx, const Tensor& g, const Tensor& x, const Tensor& weight, const Tensor& mean,
           const Tensor& rstd, const NormShape& s)
      : s_(s), gx_(gx, s), g_(g, s), x_(x, s), means_(mean), rstds_(rstd), all_weights_(factors<T>(weight)) {}

  /// Layer norm. Rows are cut into pieces whose size depends on the number of rows only; a piece adds up its
  /// weight gradients in T for a few rows and in fp64 beyond.
  void per_element(const Tensor& gw, const Tensor& gb) const {
    constexpr i64 kPieces = 64, kRowsInT = 32;
    const bool affine = gw.defined();
    const i64 n = s_.length, width = padded(n);
    if (n == 0) return;
    const i64 per_piece = std::max(kRowsInT, (s_.rows + kPieces - 1) / kPieces);
    const i64 pieces = (s_.rows + per_piece - 1) / per_piece;
    CachedVector<double> partial(affine ? static_cast<std::size_t>(pieces * 2 * n) : 0);
    parallel_for(pieces, row_grain(per_piece * n), [&](i64 first, i64 last) {
      Factors<T> weights(all_weights_, s_, T(1));
      CachedVector<T> sums(affine ? static_cast<std::size_t>(2 * width) : 0);
      for (i64 piece = first; piece < last; ++piece) {
        const i64 end = std::min(s_.rows, (piece + 1) * per_piece);
        for (i64 r = piece * per_piece; r < end; ++r) {
          row_gradient(r, weights, affine ? sums.data() : nullptr, nullptr);
          const bool flush = affine && ((r + 1) % kRowsInT == 0 || r + 1 == end);
          if (!flush) continue;
          double* total = partial.data() + piece * 2 * n;
          for (i64 i = 0; i < n; ++i) {
            total[i] += static_cast<double>(sums[static_cast<std::size_t>(i)]);
            total[n + i] += static_cast<double>(sums[static_cast<std::size_t>(width + i)]);
          }
          std::fill(sums.begin(), sums.end(), T(0));
        }
      }
    });
    if (!affine) return;
    CachedVector<double> totals(static_cast<std::size_t>(2 * n));
    for (i64 piece = 0; piece < pieces; ++piece) {
      for (i64 i = 0; i < 2 * n; ++i) {
        totals[static_cast<std::size_t>(i)] += partial[static_cast<std::size_t>(piece * 2 * n + i)];
      }
    }
    write(gw, gb, totals);
  }

  /// Group and batch norm: sums per segment, added up in order.
  void per_channel(const Tensor& gw, const Tensor& gb) const {
    CachedVector<NormSums> sums(static_cast<std::size_t>(s_.rows * s_.segments));
    const i64 rows = s_.row_size() == 0 ? 0 : s_.rows;
    parallel_for(rows, row_grain(s_.row_size()), [&](i64 begin, i64 end) {
      Factors<T> weights(all_weights_, s_, T(1));
      for (i64 r = begin; r < end; ++r) row_gradient(r, weights, nullptr, sums.data() + r * s_.segments);
    });
    if (!gw.defined()) return;
    const i64 n = s_.channels();
    CachedVector<double> totals(static_cast<std::size_t>(2 * n));
    for (i64 r = 0; r < s_.rows; ++r) {
      for (i64 segment = 0; segment < s_.segments; ++segment) {
        const i64 c = s_.affine == Affine::kRow ? r : r % s_.groups * s_.segments + segment;
        const NormSums& part = sums[static_cast<std::size_t>(r * s_.segments + segment)];
        totals[static_cast<std::size_t>(c)] += part.second;
        totals[static_cast<std::size_t>(n + c)] += part.first;
      }
    }
    write(gw, gb, totals);
  }

 private:
  /// `weight_sums`: padded gw and gb to add to, per element. `segments`: sums of g and g * xhat per segment.
  void row_gradient(i64 r, Factors<T>& weights, T* weight_sums, NormSums* segments) const {
    const NormBlocks<T>& blocks = norm_blocks<T>();
    const bool per_segment = s_.affine != Affine::kElement;
    NormRow<T> row;
    if (rstds_.defined()) {
      row.mean = s_.centered || s_.frozen ? means_.get(r) : T(0);
      row.rstd = rstds_.get(r);
    } else {
      row = normalizer<T>(moments(x_, s_, r), s_.eps);
    }
    Block<T> grad_block, value_block, written;
    const T *grad = nullptr, *values = nullptr;
    const auto load = [&](const Run& run) {
      grad = g_.load(run, grad_block, T(0));
      values = x_.load(run, value_block, T(0));
    };
    double sum_h = 0, sum_hx = 0;
    if (!s_.frozen || segments) {
      for_each_block(s_, r, [&](const Run& run) {
        load(run);
        if (per_segment) {
          const NormSums part = blocks.products(grad, values, ones(), padded(run.count), row);
          segments[run.segment].first += part.first;
          segments[run.segment].second += part.second;
          sum_h += part.first * static_cast<double>(weights.of(run));
          sum_hx += part.second * static_cast<double>(weights.of(run));
        } else {
          const NormSums part = blocks.products(grad, values, weights.block(run), padded(run.count), row);
          sum_h += part.first;
          sum_hx += part.second;
        }
      });
    }
    const auto n = static_cast<double>(s_.row_size());
    const T mean_h = s_.centered && !s_.frozen ? static_cast<T>(sum_h / n) : T(0);
    const T mean_hx = s_.frozen ? T(0) : static_cast<T>(sum_hx / n);
    const bool one_block = s_.segments == 1 && s_.length <= kNormBlock && grad != nullptr;
    for_each_block(s_, r, [&](const Run& run) {
      if (!one_block) load(run);
      if (weight_sums) {
        blocks.accumulate(weight_sums + run.begin, weight_sums + padded(s_.length) + run.begin, grad, values,
                          padded(run.count), row);
      }
      T* const result = gx_.target(run, written);
      blocks.gradient(result, grad, values, weights.block(run), padded(run.count), row, mean_h, mean_hx);
      gx_.store(run, result);
    });
  }

  static const T* ones() {
    static const Block<T> block = [] {
      Block<T> all;
      std::fill_n(all.at, kNormBlock, T(1));
      return all;
    }();
    return block.at;
  }

  void write(const Tensor& gw, const Tensor& gb, const CachedVector<double>& totals) const {
    const i64 n = s_.channels();
    const PerRow<T> weight(gw), bias(gb);
    for (i64 i = 0; i < n; ++i) {
      weight.set(i, totals[static_cast<std::size_t>(i)]);
      bias.set(i, totals[static_cast<std::size_t>(n + i)]);
    }
  }

  const NormShape& s_;
  Runs<T> gx_, g_, x_;
  PerRow<T> means_, rstds_;
  CachedVector<T> all_weights_;
};

template <class T>
void backward_in(const Tensor& gx, const Tensor& gw, const Tensor& gb, const Tensor& g, const Tensor& x,
                 const Tensor& weight, const Tensor& mean, const Tensor& rstd, const NormShape& s) {
  const Backward<T> backward(gx, g, x, weight, mean, rstd, s);
  s.affine == Affine::kElement ? backward.per_element(gw, gb) : backward.per_channel(gw, gb);
}

}  // namespace

void norm_backward(const Tensor& gx, const Tensor& gw, const Tensor& gb, const Tensor& g, const Tensor& x,
                   const Tensor& weight, const Tensor& mean, const Tensor& rstd, const NormShape& s) {
  const bool wide = any_double({&gx, &g, &x, &weight});
  (wide ? backward_in<double> : backward_in<float>)(gx, gw, gb, g, x, weight, mean, rstd, s);
}

}  // namespace halftone::cpu
