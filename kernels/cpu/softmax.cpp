#include "halftone/kernels/softmax.h"

#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/rows.h"

namespace halftone::cpu {

template <class T>
struct SoftmaxRows {
  void (*softmax)(T* x, std::int64_t n);
  void (*log_softmax)(T* x, std::int64_t n);
  void (*softmax_backward)(T* g, const T* y, std::int64_t n);
  void (*log_softmax_backward)(T* g, const T* y, std::int64_t n);
};

}  // namespace halftone::cpu

#define HALFTONE_ISA_BODY "halftone/kernels/cpu/softmax.inc"
#include "halftone/kernels/cpu/foreach_isa.h"

namespace halftone::cpu {
namespace {

template <class T>
const SoftmaxRows<T>& row_functions() {
  if constexpr (std::is_same_v<T, float>) {
    return *pick(&baseline::softmax_rows_float, &avx2::softmax_rows_float, &avx512::softmax_rows_float);
  } else {
    return *pick(&baseline::softmax_rows_double, &avx2::softmax_rows_double, &avx512::softmax_rows_double);
  }
}

template <class T>
void forward_in(const Tensor& out, const Tensor& x, std::int64_t dim, void (*function)(T*, std::int64_t)) {
  const Rows<T> from(x, dim), to(out, dim);
  const std::int64_t n = padded(from.length()), step = group_step(n), group = from.group(0, kRowGroup);
  if (from.length() == 0) return;
  parallel_for(from.count(), row_grain(n), [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> rows(static_cast<std::size_t>(group * step));
    for (std::int64_t r = begin, count; r < end; r += count) {
      count = from.group(r, end);
      from.load(r, count, rows.data(), step, -std::numeric_limits<T>::infinity());
      for (std::int64_t j = 0; j < count; ++j) function(rows.data() + j * step, n);
      to.store(r, count, rows.data(), step);
    }
  });
}

template <class T>
void backward_in(const Tensor& out, const Tensor& grad, const Tensor& result, std::int64_t dim,
                 void (*function)(T*, const T*, std::int64_t)) {
  const Rows<T> gradients(grad, dim), results(result, dim), to(out, dim);
  const std::int64_t n = padded(results.length()), step = group_step(n), group = results.group(0, kRowGroup);
  if (results.length() == 0) return;
  parallel_for(results.count(), row_grain(n), [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> g(static_cast<std::size_t>(group * step)), y(g.size());
    for (std::int64_t r = begin, count; r < end; r += count) {
      count = std::min(results.group(r, end), gradients.group(r, end));
      gradients.load(r, count, g.data(), step, T(0));
      results.load(r, count, y.data(), step, T(0));
      for (std::int64_t j = 0; j < count; ++j) function(g.data() + j * step, y.data() + j * step, n);
      to.store(r, count, g.data(), step);
    }
  });
}

bool in_double(std::initializer_list<const Tensor*> tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor* t) { return t->scalar_type() == kDouble; });
}

void softmax(const Tensor& out, const Tensor& x, std::int64_t dim) {
  if (in_double({&out, &x})) return forward_in<double>(out, x, dim, row_functions<double>().softmax);
  forward_in<float>(out, x, dim, row_functions<float>().softmax);
}

void log_softmax(const Tensor& out, const Tensor& x, std::int64_t dim) {
  if (in_double({&out, &x})) return forward_in<double>(out, x, dim, row_functions<double>().log_softmax);
  forward_in<float>(out, x, dim, row_functions<float>().log_softmax);
}

void softmax_backward(const Tensor& out, const Tensor& grad, const Tensor& result, std::int64_t dim) {
  if (in_double({&out, &grad, &result})) {
    return backward_in<double>(out, grad, result, dim, row_functions<double>().softmax_backward);
  }
  backward_in<float>(out, grad, result, dim, row_functions<float>().softmax_backward);
}

void log_softmax_backward(const Tensor& out, const Tensor& grad, const Tensor& result, std::int64_t dim) {
  if (in_double({&out, &grad, &result})) {
    return backward_in<double>(out, grad, result, dim, row_functions<double>().log_softmax_backward);
  }
  backward_in<float>(out, grad, result, dim, row_functions<float>().log_softmax_backward);
}

}  // namespace
}  // namespace halftone::cpu

namespace halftone {

template <>
const SoftmaxKernels& cpu_kernels<SoftmaxKernels>() {
  static const SoftmaxKernels kernels{cpu::softmax, cpu::log_softmax, cpu::softmax_backward,
                                      cpu::log_softmax_backward};
  return kernels;
}

}  // namespace halftone
