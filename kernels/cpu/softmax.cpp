#include "halftone/kernels/softmax.h"

#include <cmath>

#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/rows.h"

namespace halftone::cpu {

/// Of one row: its largest element, and the logarithm of the sum of e^(x - max).
template <class T>
struct LogSum {
  T max, log;
};

/// The row functions (softmax.inc) of one storage type: what `x` is read from, or `out` is written to.
template <class T>
struct SoftmaxRows {
  T (*exponentials)(T* y, const void* x, std::int64_t n);
  void (*scale)(void* out, const T* y, std::int64_t n, T factor);
  LogSum<T> (*log_sum)(const void* x, std::int64_t n);
  void (*shift)(void* out, const T* x, std::int64_t n, LogSum<T> sum);
  void (*softmax_gradient)(void* out, const T* g, const T* y, std::int64_t n);
  void (*log_softmax_gradient)(void* out, const T* g, const T* y, std::int64_t n);
};

}  // namespace halftone::cpu

#define HALFTONE_ISA_WANT_BF16
#define HALFTONE_ISA_BODY "halftone/kernels/cpu/softmax.inc"
#include "halftone/kernels/cpu/foreach_isa.h"

namespace halftone::cpu {
namespace {

#define HALFTONE_PICK(name) *pick(&baseline::name, &avx2::name, &avx512::name, &avx512_bf16::name)

template <class T>
const SoftmaxRows<T>& row_functions(ScalarType dtype) {
  if constexpr (std::is_same_v<T, double>) {
    return HALFTONE_PICK(softmax_rows_double);
  } else {
    return dtype == kHalf       ? HALFTONE_PICK(softmax_rows_half)
           : dtype == kBFloat16 ? HALFTONE_PICK(softmax_rows_bfloat16)
                                : HALFTONE_PICK(softmax_rows_float);
  }
}

/// Whether row functions read or write the dtype where it lies.
template <class T>
bool has_row_functions(ScalarType dtype) {
  return dtype == dtype_of<T> || (std::is_same_v<T, float> && is_low_precision(dtype));
}

/// One row at a time, read and written where it lies if its elements are neighbours.
template <class T, bool kLog>
void rows_forward(const Tensor& out, const Tensor& x, const Rows<T>& from, const Rows<T>& to) {
  const std::int64_t n = from.length();
  const bool reads = from.is_dense() && has_row_functions<T>(x.scalar_type());
  const bool writes = to.is_dense() && has_row_functions<T>(out.scalar_type());
  const bool in_place = writes && out.scalar_type() == dtype_of<T>;
  const SoftmaxRows<T>& read = row_functions<T>(reads ? x.scalar_type() : dtype_of<T>);
  const SoftmaxRows<T>& write = row_functions<T>(writes ? out.scalar_type() : dtype_of<T>);
  parallel_for(from.count(), row_grain(n), [&](std::int64_t begin, std::int64_t end) {
    CachedVector<T> scratch(static_cast<std::size_t>(padded(n)));
    for (std::int64_t r = begin; r < end; ++r) {
      const void* source = reads ? from.row(r) : nullptr;
      if (!reads || (kLog && x.scalar_type() != dtype_of<T>)) from.load(r, scratch.data(), T(0));
      if (!reads) source = scratch.data();
      void* const target = writes ? static_cast<void*>(to.row(r)) : scratch.data();
      if constexpr (kLog) {
        const bool direct = reads && x.scalar_type() == dtype_of<T>;
        const T* const values = direct ? reinterpret_cast<const T*>(from.row(r)) : scratch.data();
        write.shift(target, values, n, read.log_sum(source, n));
      } else {
        T* const y = in_place ? reinterpret_cast<T*>(to.row(r)) : scratch.data();
        write.scale(target, y, n, read.exponentials(y, source, n));
      }
      if (!writes) to.store(r, scratch.data());
    }
  });
}

/// Neighbouring rows whose elements lie side by side, as many as fit into a second-level cache.
template <bool kLog>
void columns_forward(const Rows<float>& from, const Rows<float>& to) {
  constexpr std::int64_t kMost = 256, kBudget = 65536;  // rows; elements
  const std::int64_t n = from.length();
  const std::int64_t most = std::clamp(kBudget / n / kRowPadding * kRowPadding, kRowPadding, kMost);
  const auto columns = pick(&baseline::softmax_columns<kLog>, &avx2::softmax_columns<kLog>,
                            &avx512::softmax_columns<kLog>, &avx512_bf16::softmax_columns<kLog>);
  const std::int64_t widest = padded(from.group(0, from.count(), most));
  parallel_for(from.count(), row_grain(n), [&](std::int64_t begin, std::int64_t end) {
    CachedVector<float> matrix(static_cast<std::size_t>(n * widest)), row(static_cast<std::size_t>(n));
    for (std::int64_t r = begin, count; r < end; r += count) {
      count = from.group(r, end, most);
      const std::int64_t step = padded(count);
      from.load_columns(r, count, matrix.data(), step);
      columns(matrix.data(), n, step);
      if (to.group(r, r + count, most) == count) {
        to.store_columns(r, count, matrix.data(), step);
        continue;
      }
      for (std::int64_t j = 0; j < count; ++j) {
        for (std::int64_t i = 0; i < n; ++i)
          row[static_cast<std::size_t>(i)] = matrix[static_cast<std::size_t>(i * step + j)];
        to.store(r + j, row.data());
      }
    }
  });
}

template <class T, bool kLog>
void forward_in(const Tensor& out, const Tensor& x, std::int64_t dim) {
  const Rows<T> from(x, dim), to(out, dim);
  if (from.length() == 0) return;
  if constexpr (std::is_same_v<T, float>) {
    if (from.group(0, from.count()) > 1) return columns_forward<kLog>(from, to);
  }
  rows_forward<T, kLog>(out, x, from, to);
}

template <class T>
void backward_in(const Tensor& out, const Tensor& grad, const Tensor& result, std::int64_t dim, bool log) {
  const Rows<T> gradients(grad, dim), results(result, dim), to(out, dim);
  const std::int64_t length = results.length(), n = padded(length), step = group_step(n);
  const std::int64_t group = results.group(0, results.count());
  if (length == 0) return;
  const bool reads_g = gradients.is_dense() && grad.scalar_type() == dtype_of<T>;
  const bool reads_y = results.is_dense() && result.scalar_type() == dtype_of<T>;
  const bool writes = to.is_dense() && has_row_functions<T>(out.scalar_type());
  const SoftmaxRows<T>& functions = row_functions<T>(writes ? out.scalar_type() : dtype_of<T>);
  const auto gradient = log ? functions.log_softmax_gradient : functions.softmax_gradient;
  parallel_for(results.count(), row_grain(n), [&](std::int64_t begin, std::int64_t end) {
    const auto size = static_cast<std::size_t>(group * step);
    CachedVector<T> g(reads_g && writes ? 0 : size), y(reads_y ? 0 : size);
    for (std::int64_t r = begin, count; r < end; r += count) {
      count = std::min(results.group(r, end), gradients.group(r, end));
      if (!reads_g) gradients.load(r, count, g.data(), step, T(0));
      if (!reads_y) results.load(r, count, y.data(), step, T(0));
      for (std::int64_t j = 0; j < count; ++j) {
        const T* const own_g =
            reads_g ? reinterpret_cast<const T*>(gradients.row(r + j)) : g.data() + j * step;
        const T* const own_y = reads_y ? reinterpret_cast<const T*>(results.row(r + j)) : y.data() + j * step;
        void* const target = writes ? static_cast<void*>(to.row(r + j)) : g.data() + j * step;
        gradient(target, own_g, own_y, length);
      }
      if (!writes) to.store(r, count, g.data(), step);
    }
  });
}

bool in_double(std::initializer_list<const Tensor*> tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor* t) { return t->scalar_type() == kDouble; });
}

template <bool kLog>
void forward(const Tensor& out, const Tensor& x, std::int64_t dim) {
  (in_double({&out, &x}) ? forward_in<double, kLog> : forward_in<float, kLog>)(out, x, dim);
}

template <bool kLog>
void backward(const Tensor& out, const Tensor& grad, const Tensor& result, std::int64_t dim) {
  const bool wide = in_double({&out, &grad, &result});
  (wide ? backward_in<double> : backward_in<float>)(out, grad, result, dim, kLog);
}

}  // namespace
}  // namespace halftone::cpu

namespace halftone {

template <>
const SoftmaxKernels& cpu_kernels<SoftmaxKernels>() {
  static const SoftmaxKernels kernels{cpu::forward<false>, cpu::forward<true>, cpu::backward<false>,
                                      cpu::backward<true>};
  return kernels;
}

}  // namespace halftone
