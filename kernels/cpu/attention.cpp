#include "halftone/kernels/attention.h"

#include <cmath>

#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/rows.h"
#include "halftone/kernels/gemm.h"

namespace halftone::cpu {

template <class T>
struct AttentionRows {
  void (*softmax)(T* x, std::int64_t n);
  void (*gradient)(T* g, const T* p, std::int64_t n);
  void (*drop)(T* x, std::int64_t first, std::int64_t n, std::uint32_t threshold, T scale, std::uint64_t seed,
               std::uint64_t offset);
};

}  // namespace halftone::cpu

#define HALFTONE_ISA_BODY "halftone/kernels/cpu/attention.inc"
#include "halftone/kernels/cpu/foreach_isa.h"

namespace halftone::cpu {
namespace {

using i64 = std::int64_t;

/// Query rows whose scores are in memory together, per thread.
constexpr i64 kBlock = 64;

template <class T>
const AttentionRows<T>& row_functions() {
  if constexpr (std::is_same_v<T, float>) {
    return *pick(&baseline::attention_rows_float, &avx2::attention_rows_float, &avx512::attention_rows_float);
  } else {
    return *pick(&baseline::attention_rows_double, &avx2::attention_rows_double,
                 &avx512::attention_rows_double);
  }
}

/// A batch of matrices, numbered in row-major order of the batch dimensions.
class Stack {
 public:
  explicit Stack(const Tensor& x)
      : data_(static_cast<std::byte*>(x.data_ptr())),
        dtype_(x.scalar_type()),
        sizes_(x.sizes().data(), x.sizes().size() - 2),
        strides_(x.strides().data(), x.sizes().size() - 2),
        row_stride_(x.stride(-2)),
        col_stride_(x.stride(-1)) {}

  /// From row `row` of matrix `b` on.
  std::byte* at(i64 b, i64 row) const {
    i64 offset = row * row_stride_;
    for (std::size_t d = sizes_.size(); d-- > 0;) {
      offset += b % sizes_[d] * strides_[d];
      b /= sizes_[d];
    }
    return data_ + offset * static_cast<i64>(element_size(dtype_));
  }
  MatrixRef matrix(i64 b, i64 row = 0) const { return {at(b, row), dtype_, row_stride_, col_stride_, 0}; }
  MatrixRef transposed(i64 b, i64 row = 0) const { return {at(b, row), dtype_, col_stride_, row_stride_, 0}; }
  MutableMatrixRef target(i64 b, i64 row = 0) const {
    return {at(b, row), dtype_, row_stride_, col_stride_, 0};
  }
  i64 col_stride() const { return col_stride_; }

 private:
  std::byte* data_;
  ScalarType dtype_;
  Dims sizes_, strides_;
  i64 row_stride_, col_stride_;
};

void multiply(i64 m, i64 n, i64 k, const MatrixRef& a, const MatrixRef& b, const MutableMatrixRef& c,
              double alpha = 1, bool accumulate = false) {
  Epilogue epilogue;
  epilogue.alpha = alpha;
  if (accumulate) {
    epilogue.beta = 1;
    epilogue.addend = {c.data, c.dtype, c.row_stride, c.col_stride, 0};
  }
  cpu_kernels<GemmKernels>().run(1, m, n, k, a, b, c, epilogue);
}

/// What forward and backward share: the attention weights of a block of query rows.
template <class T>
class Weights {
 public:
  Weights(const Tensor& q, const Tensor& k, const Tensor& mask, const AttentionOptions& options)
      : length_(q.size(-2)),
        keys_(k.size(-2)),
        features_(q.size(-1)),
        q_(q),
        k_(k),
        options_(options),
        drop_scale_(static_cast<T>(1 / (1 - options.dropout_p))),
        drop_threshold_(static_cast<std::uint32_t>(std::ceil(options.dropout_p * 0x1p24))) {
    batch_ = 1;
    for (i64 d = 0; d < q.dim() - 2; ++d) batch_ *= q.size(d);
    if (!mask.defined()) return;
    mask_.emplace(mask);
    load_mask_ = loader<T>(mask.scalar_type());
    keeps_ = mask.scalar_type() == kBool;
  }

  i64 batch() const { return batch_; }
  i64 length() const { return length_; }
  i64 keys() const { return keys_; }
  i64 features() const { return features_; }
  /// Elements from one row of a block to the next.
  i64 stride() const { return padded(keys_); }
  std::size_t block_size() const { return static_cast<std::size_t>(kBlock * stride()); }
  i64 blocks() const { return (length_ + kBlock - 1) / kBlock; }
  i64 rows(i64 block) const { return std::min(kBlock, length_ - block * kBlock); }
  /// Keys that some row of the block may see; the others' weights are zero and not written.
  i64 visible(i64 block) const {
    return options_.causal ? std::min(keys_, block * kBlock + rows(block)) : keys_;
  }

  /// softmax(scale q k^T + mask). `mask_row` holds stride() elements.
  void compute(i64 b, i64 block, T* p, T* mask_row) const {
    const i64 first = block * kBlock, n = visible(block);
    multiply(rows(block), n, features_, q_.matrix(b, first), k_.transposed(b), matrix(p), options_.scale);
    for (i64 r = 0; r < rows(block); ++r) {
      T* row = p + r * stride();
      if (mask_) apply_mask(b, first + r, n, row, mask_row);
      const i64 seen = options_.causal ? std::min(n, first + r + 1) : n;
      std::fill(row + seen, row + padded(seen), -std::numeric_limits<T>::infinity());
      row_functions<T>().softmax(row, padded(seen));
      std::fill(row + padded(seen), row + padded(n), T(0));
    }
  }
  /// Dropout of weights, or of their gradients.
  void drop(i64 b, i64 block, T* p) const {
    if (options_.dropout_p == 0) return;
    for (i64 r = 0; r < rows(block); ++r) {
      const i64 row = b * length_ + block * kBlock + r;
      row_functions<T>().drop(p + r * stride(), row * keys_, visible(block), drop_threshold_, drop_scale_,
                              options_.state.seed, options_.state.offset);
    }
  }
  bool drops() const { return options_.dropout_p != 0; }
  double scale() const { return options_.scale; }

  MutableMatrixRef matrix(T* p) const { return {p, dtype_of<T>, stride(), 1, 0}; }
  MatrixRef matrix(const T* p) const { return {p, dtype_of<T>, stride(), 1, 0}; }
  MatrixRef transposed(const T* p) const { return {p, dtype_of<T>, 1, stride(), 0}; }
  const Stack& q() const { return q_; }
  const Stack& k() const { return k_; }

 private:
  void apply_mask(i64 b, i64 i, i64 n, T* row, T* mask_row) const {
    load_mask_(mask_row, mask_->at(b, i), mask_->col_stride(), n);
    if (keeps_) {
      for (i64 j = 0; j < n; ++j) row[j] = mask_row[j] != 0 ? row[j] : -std::numeric_limits<T>::infinity();
    } else {
      for (i64 j = 0; j < n; ++j) row[j] += mask_row[j];
    }
  }

  i64 batch_ = 1, length_, keys_, features_;
  Stack q_, k_;
  std::optional<Stack> mask_;
  Loader<T> load_mask_ = nullptr;
  bool keeps_ = false;
  AttentionOptions options_;
  T drop_scale_;
  std::uint32_t drop_threshold_;
};

/// Tasks per piece of parallel work, each of about `flops`.
i64 task_grain(i64 flops) { return std::max<i64>(1, (i64{1} << 18) / std::max<i64>(flops, 1)); }

template <class T>
void forward_in(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                const AttentionOptions& options) {
  const Weights<T> weights(q, k, mask, options);
  const Stack values(v), results(out);
  const i64 ev = v.size(-1), flops = kBlock * weights.keys() * (weights.features() + ev);
  parallel_for(weights.batch() * weights.blocks(), task_grain(flops), [&](i64 begin, i64 end) {
    CachedVector<T> p(weights.block_size()), mask_row(static_cast<std::size_t>(weights.stride()));
    for (i64 task = begin; task < end; ++task) {
      const i64 b = task / weights.blocks(), block = task % weights.blocks();
      weights.compute(b, block, p.data(), mask_row.data());
      weights.drop(b, block, p.data());
      multiply(weights.rows(block), ev, weights.visible(block), weights.matrix(std::as_const(p).data()),
               values.matrix(b), results.target(b, block * kBlock));
    }
  });
}

/// Rows (rows, n) of T into matrix `b` of a stack.
template <class T>
void store_rows(const Tensor& out, const Stack& stack, i64 b, i64 first, i64 rows, i64 n, const T* values,
                i64 stride) {
  const Storer<T> store = storer<T>(out.scalar_type());
  for (i64 r = 0; r < rows; ++r) store(stack.at(b, first + r), stack.col_stride(), values + r * stride, n);
}

/// One matrix of the batch: blocks of query rows in order, so sums over queries have one order.
template <class T>
void backward_in(const Tensor& gq, const Tensor& gk, const Tensor& gv, const Tensor& gmask, const Tensor& g,
                 const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                 const AttentionOptions& options) {
  const Weights<T> weights(q, k, mask, options);
  const Stack grads(g), values(v), to_q(gq), to_k(gk), to_v(gv);
  const i64 s = weights.keys(), e = weights.features(), ev = v.size(-1);
  const i64 flops = weights.length() * s * (3 * e + 2 * ev);
  parallel_for(weights.batch(), task_grain(flops), [&](i64 begin, i64 end) {
    CachedVector<T> p(weights.block_size()), ds(weights.block_size()),
        dropped(weights.drops() ? p.size() : 0);
    CachedVector<T> mask_row(static_cast<std::size_t>(weights.stride()));
    CachedVector<T> sum_k(static_cast<std::size_t>(s * e)), sum_v(static_cast<std::size_t>(s * ev));
    const MutableMatrixRef dk{sum_k.data(), dtype_of<T>, e, 1, 0}, dv{sum_v.data(), dtype_of<T>, ev, 1, 0};
    for (i64 b = begin; b < end; ++b) {
      std::fill(sum_k.begin(), sum_k.end(), T(0));
      std::fill(sum_v.begin(), sum_v.end(), T(0));
      for (i64 block = 0; block < weights.blocks(); ++block) {
        const i64 first = block * kBlock, rows = weights.rows(block), n = weights.visible(block);
        weights.compute(b, block, p.data(), mask_row.data());
        const T* applied = p.data();
        if (weights.drops()) {
          dropped = p;
          weights.drop(b, block, dropped.data());
          applied = dropped.data();
        }
        multiply(n, ev, rows, weights.transposed(applied), grads.matrix(b, first), dv, 1, true);
        multiply(rows, n, ev, grads.matrix(b, first), values.transposed(b), weights.matrix(ds.data()));
        weights.drop(b, block, ds.data());
        for (i64 r = 0; r < rows; ++r) {
          T* row = ds.data() + r * weights.stride();
          std::fill(row + n, row + padded(n), T(0));
          row_functions<T>().gradient(row, p.data() + r * weights.stride(), padded(n));
        }
        const T* scores = ds.data();
        multiply(rows, e, n, weights.matrix(scores), weights.k().matrix(b), to_q.target(b, first),
                 options.scale);
        multiply(n, e, rows, weights.transposed(scores), weights.q().matrix(b, first), dk, options.scale,
                 true);
        if (gmask.defined()) {
          for (i64 r = 0; r < rows; ++r) std::fill_n(ds.data() + r * weights.stride() + n, s - n, T(0));
          store_rows(gmask, Stack(gmask), b, first, rows, s, scores, weights.stride());
        }
      }
      store_rows(gk, to_k, b, 0, s, e, sum_k.data(), e);
      store_rows(gv, to_v, b, 0, s, ev, sum_v.data(), ev);
    }
  });
}

bool in_double(std::initializer_list<const Tensor*> tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor* t) { return t->scalar_type() == kDouble; });
}

void forward(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
             const AttentionOptions& options) {
  (in_double({&out, &q, &k, &v}) ? forward_in<double> : forward_in<float>)(out, q, k, v, mask, options);
}

void backward(const Tensor& gq, const Tensor& gk, const Tensor& gv, const Tensor& gmask, const Tensor& g,
              const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
              const AttentionOptions& options) {
  (in_double({&g, &q, &k, &v}) ? backward_in<double> : backward_in<float>)(gq, gk, gv, gmask, g, q, k, v,
                                                                           mask, options);
}

}  // namespace
}  // namespace halftone::cpu

namespace halftone {

template <>
const AttentionKernels& cpu_kernels<AttentionKernels>() {
  static const AttentionKernels kernels{cpu::forward, cpu::backward};
  return kernels;
}

}  // namespace halftone
