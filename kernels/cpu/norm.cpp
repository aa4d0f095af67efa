#include "halftone/kernels/norm.h"

#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/rows.h"

namespace halftone::cpu {

/// A row is worked on in blocks of this many elements: small sums stay accurate in fp32, half inputs are widened a
/// block at a time.
inline constexpr std::int64_t kNormBlock = 512;

/// Two sums that are formed together.
struct NormSums {
  double first = 0, second = 0;
};

/// Statistics of a row. `mean_rest` is what rounding the mean to T cut off.
template <class T>
struct NormRow {
  T mean = 0, mean_rest = 0, rstd = 0;
};

template <class T>
struct NormBlocks {
  double (*sum)(const T* x, std::int64_t n, T shift);
  NormSums (*moments)(const T* x, std::int64_t n, T center);
  void (*apply)(T* x, const T* weight, const T* bias, std::int64_t n, const NormRow<T>& row);
  NormSums (*products)(const T* g, const T* x, const T* weight, std::int64_t n, const NormRow<T>& row);
  void (*accumulate)(T* gw, T* gb, const T* g, const T* x, std::int64_t n, const NormRow<T>& row);
  void (*gradient)(T* g, const T* x, const T* weight, std::int64_t n, const NormRow<T>& row, T mean_h, T mean_hx);
};

}  // namespace halftone::cpu

#define HALFTONE_ISA_BODY "halftone/kernels/cpu/norm.inc"
#include "halftone/kernels/cpu/foreach_isa.h"

namespace halftone::cpu {
namespace {

using i64 = std::int64_t;
using Affine = NormShape::Affine;

template <class T>
const NormBlocks<T>& block_functions() {
  if constexpr (std::is_same_v<T, float>) {
    return *pick(&baseline::norm_blocks_float, &avx2::norm_blocks_float, &avx512::norm_blocks_float);
  } else {
    return *pick(&baseline::norm_blocks_double, &avx2::norm_blocks_double, &avx512::norm_blocks_double);
  }
}

template <class T>
struct alignas(64) Block {
  T at[kNormBlock];
};

/// A run of elements of one row.
struct Run {
  i64 row, segment, begin, count;
};

/// Reads and writes runs of a contiguous tensor.
template <class T>
class Runs {
 public:
  Runs(const Tensor& x, const NormShape& shape)
      : data_(static_cast<std::byte*>(x.data_ptr())),
        element_size_(static_cast<i64>(x.element_size())),
        shape_(shape),
        load_(loader<T>(x.scalar_type())),
        store_(storer<T>(x.scalar_type())) {}

  void load(const Run& run, Block<T>& block, T padding) const {
    load_(block.at, address(run), shape_.element_step, run.count);
    std::fill(block.at + run.count, block.at + padded(run.count), padding);
  }
  void store(const Run& run, const Block<T>& block) const {
    store_(address(run), shape_.element_step, block.at, run.count);
  }

 private:
  std::byte* address(const Run& run) const {
    return data_ + (run.row * shape_.row_step + run.segment * shape_.segment_step + run.begin * shape_.element_step) *
                       element_size_;
  }

  std::byte* data_;
  i64 element_size_;
  const NormShape& shape_;
  Loader<T> load_;
  Storer<T> store_;
};

/// Calls f(run) for the blocks of a row, in order.
template <class F>
void for_each_block(const NormShape& s, i64 row, F f) {
  for (i64 segment = 0; segment < s.segments; ++segment) {
    for (i64 begin = 0; begin < s.length; begin += kNormBlock) {
      f(Run{row, segment, begin, std::min(kNormBlock, s.length - begin)});
    }
  }
}

struct Moments {
  double mean, var;
};

/// In fp64 throughout: for values whose squares leave the range of fp32.
template <class T>
Moments exact_moments(const Runs<T>& x, const NormShape& s, i64 row) {
  const auto n = static_cast<double>(s.row_size());
  Block<T> block;
  Moments m{0, 0};
  if (s.centered) {
    for_each_block(s, row, [&](const Run& run) {
      x.load(run, block, T(0));
      for (i64 i = 0; i < run.count; ++i) m.mean += static_cast<double>(block.at[i]);
    });
    m.mean /= n;
  }
  for_each_block(s, row, [&](const Run& run) {
    x.load(run, block, T(0));
    for (i64 i = 0; i < run.count; ++i) {
      const double d = static_cast<double>(block.at[i]) - m.mean;
      m.var += d * d;
    }
  });
  m.var /= n;
  return m;
}

template <class T>
Moments moments(const Runs<T>& x, const NormShape& s, i64 row) {
  constexpr double kSmallestSum = 1e-25;  // below, squares lost bits to underflow
  const auto n = static_cast<double>(s.row_size());
  const NormBlocks<T>& blocks = block_functions<T>();
  Block<T> block;
  T center = 0;
  double mean = 0;
  if (s.centered) {
    x.load(Run{row, 0, 0, 1}, block, T(0));
    const T shift = block.at[0];
    double sum = 0;
    for_each_block(s, row, [&](const Run& run) {
      x.load(run, block, shift);
      sum += blocks.sum(block.at, padded(run.count), shift);
    });
    mean = static_cast<double>(shift) + sum / n;
    center = static_cast<T>(mean);
  }
  NormSums sums;
  for_each_block(s, row, [&](const Run& run) {
    x.load(run, block, center);
    const NormSums part = blocks.moments(block.at, padded(run.count), center);
    sums.first += part.first;
    sums.second += part.second;
  });
  if (std::is_same_v<T, float> && !(sums.second >= kSmallestSum && std::isfinite(sums.second))) {
    return exact_moments(x, s, row);
  }
  // About the rounded mean; corrected to the mean itself.
  const double var = s.centered ? (sums.second - sums.first * sums.first / n) / n : sums.second / n;
  return {mean, std::max(var, 0.0)};
}

/// One number per row in a contiguous tensor, which may be undefined.
template <class T>
class PerRow {
 public:
  explicit PerRow(const Tensor& t) {
    if (!t.defined()) return;
    data_ = static_cast<std::byte*>(t.data_ptr());
    element_size_ = static_cast<i64>(t.element_size());
    load_ = loader<T>(t.scalar_type());
    store_ = storer<T>(t.scalar_type());
  }
  bool defined() const { return data_ != nullptr; }
  T get(i64 row) const {
    T value;
    load_(&value, data_ + row * element_size_, 1, 1);
    return value;
  }
  void set(i64 row, double value) const {
    if (!defined()) return;
    const T rounded = static_cast<T>(value);
    store_(data_ + row * element_size_, 1, &rounded, 1);
  }

 private:
  std::byte* data_ = nullptr;
  i64 element_size_ = 0;
  Loader<T> load_ = nullptr;
  Storer<T> store_ = nullptr;
};

template <class T>
NormRow<T> normalizer(const Moments& m, double eps) {
  NormRow<T> row;
  row.mean = static_cast<T>(m.mean);
  row.mean_rest = static_cast<T>(m.mean - static_cast<double>(row.mean));
  row.rstd = static_cast<T>(1 / std::sqrt(m.var + eps));
  return row;
}

/// Weights or biases in T; none if undefined.
template <class T>
std::vector<T> factors(const Tensor& t) {
  return t.defined() ? elements<T>(t) : std::vector<T>();
}

/// The weights or biases of a block: per element as they are, else one number repeated.
template <class T>
class Factors {
 public:
  Factors(const std::vector<T>& values, const NormShape& shape, T absent)
      : values_(values), shape_(shape), per_element_(shape.affine == Affine::kElement && !values.empty()) {
    std::fill_n(repeated_.at, kNormBlock, absent);
  }
  T of(const Run& run) const {
    if (values_.empty()) return repeated_.at[0];
    const i64 channel =
        shape_.affine == Affine::kRow ? run.row : run.row % shape_.groups * shape_.segments + run.segment;
    return values_[static_cast<std::size_t>(channel)];
  }
  /// Readable for padded(run.count) elements, until the next call.
  const T* block(const Run& run) {
    if (per_element_) return values_.data() + run.begin;
    if (!values_.empty()) std::fill_n(repeated_.at, padded(run.count), of(run));
    return repeated_.at;
  }

 private:
  const std::vector<T>& values_;
  const NormShape& shape_;
  bool per_element_;
  Block<T> repeated_;
};

template <class T>
void forward_in(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& var, const Tensor& x,
                const Tensor& weight, const Tensor& bias, const NormShape& s) {
  const Runs<T> from(x, s), to(out, s);
  const PerRow<T> means(mean), rstds(rstd), vars(var);
  const NormBlocks<T>& blocks = block_functions<T>();
  const std::vector<T> all_weights = factors<T>(weight), all_biases = factors<T>(bias);
  parallel_for(s.rows, row_grain(s.row_size()), [&](i64 begin, i64 end) {
    Factors<T> weights(all_weights, s, T(1)), biases(all_biases, s, T(0));
    Block<T> block;
    for (i64 r = begin; r < end; ++r) {
      NormRow<T> row;
      if (s.frozen) {
        row.mean = means.get(r);
        row.rstd = rstds.get(r);
      } else {
        const Moments m = moments(from, s, r);
        row = normalizer<T>(m, s.eps);
        means.set(r, m.mean);
        rstds.set(r, static_cast<double>(row.rstd));
        vars.set(r, m.var);
      }
      for_each_block(s, r, [&](const Run& run) {
        from.load(run, block, row.mean);
        blocks.apply(block.at, weights.block(run), biases.block(run), padded(run.count), row);
        to.store(run, block);
      });
    }
  });
}

/// Gradients of rows, and what they add to the gradients of weight and bias.
template <class T>
class Backward {
 public:
  Backward(const Tensor& gx, const Tensor& g, const Tensor& x, const Tensor& weight, const Tensor& mean,
           const Tensor& rstd, const NormShape& s)
      : s_(s), gx_(gx, s), g_(g, s), x_(x, s), means_(mean), rstds_(rstd), all_weights_(factors<T>(weight)) {}

  /// Layer norm. Rows are cut into pieces whose size depends on the number of rows only; a piece adds up its weight
  /// gradients in T for a few rows and in fp64 beyond.
  void per_element(const Tensor& gw, const Tensor& gb) const {
    constexpr i64 kPieces = 64, kRowsInT = 32;
    const bool affine = gw.defined();
    const i64 n = s_.length, width = padded(n);
    if (n == 0) return;
    const i64 per_piece = std::max(kRowsInT, (s_.rows + kPieces - 1) / kPieces);
    const i64 pieces = (s_.rows + per_piece - 1) / per_piece;
    std::vector<double> partial(affine ? static_cast<std::size_t>(pieces * 2 * n) : 0);
    parallel_for(pieces, row_grain(per_piece * n), [&](i64 first, i64 last) {
      Factors<T> weights(all_weights_, s_, T(1));
      std::vector<T> sums(affine ? static_cast<std::size_t>(2 * width) : 0);
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
    std::vector<double> totals(static_cast<std::size_t>(2 * n));
    for (i64 piece = 0; piece < pieces; ++piece) {
      for (i64 i = 0; i < 2 * n; ++i) {
        totals[static_cast<std::size_t>(i)] += partial[static_cast<std::size_t>(piece * 2 * n + i)];
      }
    }
    write(gw, gb, totals);
  }

  /// Group and batch norm: sums per segment, added up in order.
  void per_channel(const Tensor& gw, const Tensor& gb) const {
    std::vector<NormSums> sums(static_cast<std::size_t>(s_.rows * s_.segments));
    const i64 rows = s_.row_size() == 0 ? 0 : s_.rows;
    parallel_for(rows, row_grain(s_.row_size()), [&](i64 begin, i64 end) {
      Factors<T> weights(all_weights_, s_, T(1));
      for (i64 r = begin; r < end; ++r) row_gradient(r, weights, nullptr, sums.data() + r * s_.segments);
    });
    if (!gw.defined()) return;
    const i64 n = s_.channels();
    std::vector<double> totals(static_cast<std::size_t>(2 * n));
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
    const NormBlocks<T>& blocks = block_functions<T>();
    const bool per_segment = s_.affine != Affine::kElement;
    NormRow<T> row;
    if (rstds_.defined()) {
      row.mean = s_.centered || s_.frozen ? means_.get(r) : T(0);
      row.rstd = rstds_.get(r);
    } else {
      row = normalizer<T>(moments(x_, s_, r), s_.eps);
    }
    Block<T> grad, values;
    const auto load = [&](const Run& run) {
      g_.load(run, grad, T(0));
      x_.load(run, values, T(0));
    };
    double sum_h = 0, sum_hx = 0;
    if (!s_.frozen || segments) {
      for_each_block(s_, r, [&](const Run& run) {
        load(run);
        if (per_segment) {
          const NormSums part = blocks.products(grad.at, values.at, ones(), padded(run.count), row);
          segments[run.segment].first += part.first;
          segments[run.segment].second += part.second;
          sum_h += part.first * static_cast<double>(weights.of(run));
          sum_hx += part.second * static_cast<double>(weights.of(run));
        } else {
          const NormSums part = blocks.products(grad.at, values.at, weights.block(run), padded(run.count), row);
          sum_h += part.first;
          sum_hx += part.second;
        }
      });
    }
    const auto n = static_cast<double>(s_.row_size());
    const T mean_h = s_.centered && !s_.frozen ? static_cast<T>(sum_h / n) : T(0);
    const T mean_hx = s_.frozen ? T(0) : static_cast<T>(sum_hx / n);
    for_each_block(s_, r, [&](const Run& run) {
      load(run);
      if (weight_sums) {
        blocks.accumulate(weight_sums + run.begin, weight_sums + padded(s_.length) + run.begin, grad.at, values.at,
                          padded(run.count), row);
      }
      blocks.gradient(grad.at, values.at, weights.block(run), padded(run.count), row, mean_h, mean_hx);
      gx_.store(run, grad);
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

  void write(const Tensor& gw, const Tensor& gb, const std::vector<double>& totals) const {
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
  std::vector<T> all_weights_;
};

template <class T>
void backward_in(const Tensor& gx, const Tensor& gw, const Tensor& gb, const Tensor& g, const Tensor& x,
                 const Tensor& weight, const Tensor& mean, const Tensor& rstd, const NormShape& s) {
  const Backward<T> backward(gx, g, x, weight, mean, rstd, s);
  s.affine == Affine::kElement ? backward.per_element(gw, gb) : backward.per_channel(gw, gb);
}

bool in_double(std::initializer_list<const Tensor*> tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor* t) { return t->defined() && t->scalar_type() == kDouble; });
}

void forward(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& var, const Tensor& x,
             const Tensor& weight, const Tensor& bias, const NormShape& s) {
  if (s.row_size() == 0) return;
  const bool wide = in_double({&out, &x, &weight, &bias});
  (wide ? forward_in<double> : forward_in<float>)(out, mean, rstd, var, x, weight, bias, s);
}

void backward(const Tensor& gx, const Tensor& gw, const Tensor& gb, const Tensor& g, const Tensor& x,
              const Tensor& weight, const Tensor& mean, const Tensor& rstd, const NormShape& s) {
  const bool wide = in_double({&gx, &g, &x, &weight});
  (wide ? backward_in<double> : backward_in<float>)(gx, gw, gb, g, x, weight, mean, rstd, s);
}

}  // namespace
}  // namespace halftone::cpu

namespace halftone {

template <>
const NormKernels& cpu_kernels<NormKernels>() {
  static const NormKernels kernels{cpu::forward, cpu::backward};
  return kernels;
}

}  // namespace halftone
