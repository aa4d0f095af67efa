#pragma once

#include <algorithm>
#include <cmath>

#include "halftone/kernels/cpu/rows.h"
#include "halftone/kernels/norm.h"

// What the forward and backward passes of the normalisations share: rows read in blocks, and their
// statistics.

namespace halftone::cpu {

/// A row is worked on in blocks of this many elements: small sums stay accurate in fp32, half inputs are
/// widened a block at a time.
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
  void (*apply)(T* out, const T* x, const T* weight, const T* bias, std::int64_t n, const NormRow<T>& row);
  NormSums (*products)(const T* g, const T* x, const T* weight, std::int64_t n, const NormRow<T>& row);
  void (*accumulate)(T* gw, T* gb, const T* g, const T* x, std::int64_t n, const NormRow<T>& row);
  void (*gradient)(T* out, const T* g, const T* x, const T* weight, std::int64_t n, const NormRow<T>& row,
                   T mean_h, T mean_hx);
};

/// The functions of the current instruction set. T is float or double.
template <class T>
const NormBlocks<T>& norm_blocks();

using i64 = std::int64_t;
using Affine = NormShape::Affine;

template <class T>
struct alignas(64) Block {
  T at[kNormBlock];
};

/// A run of elements of one row.
struct Run {
  i64 row, segment, begin, count;
};

/// Reads and writes runs of a contiguous tensor: where they lie, if they are whole vectors of T.
template <class T>
class Runs {
 public:
  Runs(const Tensor& x, const NormShape& shape)
      : data_(static_cast<std::byte*>(x.data_ptr())),
        element_size_(static_cast<i64>(x.element_size())),
        shape_(shape),
        is_direct_(x.scalar_type() == dtype_of<T>),
        load_(loader<T>(x.scalar_type())),
        store_(storer<T>(x.scalar_type())) {}

  /// The run's elements and `padding` up to a whole vector, in `block` if they have to be copied.
  const T* load(const Run& run, Block<T>& block, T padding) const {
    if (is_direct(run)) return reinterpret_cast<const T*>(address(run));
    load_(block.at, address(run), 1, run.count);
    std::fill(block.at + run.count, block.at + padded(run.count), padding);
    return block.at;
  }
  /// Where to write the run's elements and padding; store() follows.
  T* target(const Run& run, Block<T>& block) const {
    return is_direct(run) ? reinterpret_cast<T*>(address(run)) : block.at;
  }
  void store(const Run& run, const T* values) const {
    if (!is_direct(run)) store_(address(run), 1, values, run.count);
  }

 private:
  bool is_direct(const Run& run) const { return is_direct_ && run.count % kRowPadding == 0; }
  std::byte* address(const Run& run) const {
    return data_ +
           (run.row * shape_.row_step + run.segment * shape_.segment_step + run.begin) * element_size_;
  }

  std::byte* data_;
  i64 element_size_;
  const NormShape& shape_;
  bool is_direct_;
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
      const T* const values = x.load(run, block, T(0));
      for (i64 i = 0; i < run.count; ++i) m.mean += static_cast<double>(values[i]);
    });
    m.mean /= n;
  }
  for_each_block(s, row, [&](const Run& run) {
    const T* const values = x.load(run, block, T(0));
    for (i64 i = 0; i < run.count; ++i) {
      const double d = static_cast<double>(values[i]) - m.mean;
      m.var += d * d;
    }
  });
  m.var /= n;
  return m;
}

/// In one pass over memory: each block's mean and its squares about that while it is in the first-level
/// cache, blocks put together in fp64 (Chan, Golub and LeVeque 1983).
template <class T>
Moments moments(const Runs<T>& x, const NormShape& s, i64 row) {
  constexpr double kSmallestSum = 1e-25;  // below, squares lost bits to underflow
  const auto n = static_cast<double>(s.row_size());
  const NormBlocks<T>& blocks = norm_blocks<T>();
  Block<T> block;
  double seen = 0, mean = 0, squares = 0;  // squares about the mean of what was seen
  for_each_block(s, row, [&](const Run& run) {
    const auto count = static_cast<double>(run.count);
    T* const copy = block.at;
    const T* const values = x.load(run, block, T(0));
    const auto pad = [&](T padding) {
      if (values == copy) std::fill(copy + run.count, copy + padded(run.count), padding);
    };
    if (!s.centered) {
      squares += blocks.moments(values, padded(run.count), T(0)).second;
      return;
    }
    const T shift = values[0];
    pad(shift);
    const T center =
        static_cast<T>(static_cast<double>(shift) + blocks.sum(values, padded(run.count), shift) / count);
    pad(center);
    const NormSums sums = blocks.moments(values, padded(run.count), center);
    const double rest = sums.first / count, delta = static_cast<double>(center) + rest - mean;
    mean += delta * (count / (seen + count));
    squares += sums.second - sums.first * rest + delta * delta * (seen * count / (seen + count));
    seen += count;
  });
  if (std::is_same_v<T, float> && !(squares >= kSmallestSum && std::isfinite(squares))) {
    return exact_moments(x, s, row);
  }
  return {mean, std::max(squares / n, 0.0)};
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
CachedVector<T> factors(const Tensor& t) {
  return t.defined() ? elements<T>(t) : CachedVector<T>();
}

/// The weights or biases of a block: per element as they are, else one number repeated.
template <class T>
class Factors {
 public:
  Factors(const CachedVector<T>& values, const NormShape& shape, T absent)
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
  const CachedVector<T>& values_;
  const NormShape& shape_;
  bool per_element_;
  Block<T> repeated_;
};

inline bool any_double(std::initializer_list<const Tensor*> tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor* t) { return t->defined() && t->scalar_type() == kDouble; });
}

void norm_backward(const Tensor& gx, const Tensor& gw, const Tensor& gb, const Tensor& g, const Tensor& x,
                   const Tensor& weight, const Tensor& mean, const Tensor& rstd, const NormShape& s);

}  // namespace halftone::cpu
