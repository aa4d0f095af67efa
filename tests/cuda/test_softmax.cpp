// Softmax on the device against the CPU's kernels in fp64, for every dtype, layout and length; the rows that
// give NaN; and results that depend on values only, bit for bit.

#include <algorithm>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "halftone/kernels/softmax.h"
#include "halftone/tests/cuda/parity.h"

using namespace halftone;
using namespace halftone::testing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::int64_t kLengths[] = {1, 31, 32, 33, 127, 512, 513, 1000, 1025, 5000, 8200};

const SoftmaxKernels& host() { return cpu_kernels<SoftmaxKernels>(); }
const SoftmaxKernels& device() { return kernels_for<SoftmaxKernels>(kCUDA); }

Tensor as_double(const Tensor& t) {
  const Tensor wide = empty(kDouble, t.sizes().dims());
  for (std::int64_t i = 0; i < t.numel(); ++i) put(wide, i, get(t, i));
  return wide;
}

Tensor like(const Tensor& t) { return empty(kDouble, t.sizes().dims()); }

Tensor back(const Tensor& t) {
  const Tensor memory = memory_of(t).cpu();
  return window(memory, t.sizes().dims(), t.strides().dims(), t.storage_offset());
}

double smallest_step(ScalarType dtype) {
  return dtype == kHalf ? 0x1p-24 : dtype == kBFloat16 ? 0x1p-133 : dtype == kFloat ? 0x1p-149 : 0;
}

/// Unit roundoff of what the kernel computes in; twice that in fp64, where the reference has its own errors.
double roundoff(bool wide) { return wide ? 0x1p-52 : 0x1p-24; }

/// `bound(i)` is the error of computing; rounding to the result's dtype comes on top.
template <class F>
void check_close(const Tensor& result, const Tensor& exact, F bound) {
  const ScalarType dtype = result.scalar_type();
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    const double got = get(result, i), expected = get(exact, i);
    const double allowed =
        bound(i) + unit_roundoff(dtype) * (std::abs(expected) + bound(i)) + smallest_step(dtype);
    const bool close =
        std::isnan(expected) ? std::isnan(got) : got == expected || std::abs(got - expected) <= allowed;
    if (close) continue;
    CAPTURE(i, got, expected, allowed);
    FAIL_CHECK("softmax differs");
    return;
  }
}

/// Roundings on the way into a sum of a row: 16 in a thread, 5 in a warp, a few more in scaling.
constexpr double kSumRoundings = 32;
/// Of e^x - max where the difference is at most `range`: its rounding, and 2 ulp of the exponential.
double exponential_error(double range) { return range + 4; }

void check_forward(ScalarType x_dtype, ScalarType out_dtype, const Dims& sizes, std::int64_t dim,
                   MemoryLayout layout, double range) {
  CAPTURE(dtype_name(x_dtype), dtype_name(out_dtype), IntArrayRef(sizes).vec(), dim, name_of(layout), range);
  const Tensor x = numbers(x_dtype, sizes, layout, -range, range, 1), wide = as_double(x), exact = like(x);
  const double u = roundoff(x_dtype == kDouble || out_dtype == kDouble);
  const Tensor x_device = on_device(x);
  const Tensor out = on_device(numbers(out_dtype, sizes, layout, 0, 0, 2));
  host().softmax(exact, wide, dim);
  device().softmax(out, x_device, dim);
  check_close(back(out), exact, [&](std::int64_t i) {
    return u * (2 * exponential_error(2 * range) + kSumRoundings) * get(exact, i);
  });
  host().log_softmax(exact, wide, dim);
  device().log_softmax(out, x_device, dim);
  // The logarithm of the sum is no larger than the result, and its error is relative.
  check_close(back(out), exact, [&](std::int64_t i) {
    return u * (exponential_error(2 * range) + kSumRoundings + 4) * std::abs(get(exact, i));
  });
}

/// Sum of |values| over the rows, for every element.
Tensor row_sums(const Tensor& values, std::int64_t dim) {
  const Tensor sums = like(values);
  std::int64_t inner = 1;
  for (std::int64_t d = dim + 1; d < values.dim(); ++d) inner *= values.size(d);
  const std::int64_t n = values.dim() == 0 ? 1 : values.size(dim);
  for (std::int64_t r = 0; r < values.numel() / std::max<std::int64_t>(n, 1); ++r) {
    const std::int64_t begin = r / inner * inner * n + r % inner;
    double sum = 0;
    for (std::int64_t c = 0; c < n; ++c) sum += std::abs(get(values, begin + c * inner));
    for (std::int64_t c = 0; c < n; ++c) put(sums, begin + c * inner, sum);
  }
  return sums;
}

void check_backward(ScalarType g_dtype, ScalarType y_dtype, ScalarType out_dtype, const Dims& sizes,
                    std::int64_t dim, MemoryLayout layout) {
  CAPTURE(dtype_name(g_dtype), dtype_name(y_dtype), dtype_name(out_dtype), IntArrayRef(sizes).vec(), dim,
          name_of(layout));
  const double u = roundoff(g_dtype == kDouble || y_dtype == kDouble || out_dtype == kDouble);
  const Tensor g = numbers(g_dtype, sizes, layout, -1, 1, 3), g_wide = as_double(g), g_device = on_device(g);
  const Tensor out = on_device(numbers(out_dtype, sizes, layout, 0, 0, 4)), exact = like(g);

  const Tensor y = numbers(y_dtype, sizes, layout, 0, 1, 5), y_wide = as_double(y), products = like(g);
  for (std::int64_t i = 0; i < g.numel(); ++i) put(products, i, get(g_wide, i) * get(y_wide, i));
  const Tensor dots = row_sums(products, dim);
  host().softmax_backward(exact, g_wide, y_wide, dim);
  device().softmax_backward(out, g_device, on_device(y), dim);
  check_close(back(out), exact, [&](std::int64_t i) {
    return u * (kSumRoundings * get(dots, i) + 3 * std::abs(get(g_wide, i))) * std::abs(get(y_wide, i));
  });

  const Tensor logs = numbers(y_dtype, sizes, layout, -4, 0, 6), logs_wide = as_double(logs);
  const Tensor sums = row_sums(g_wide, dim);
  host().log_softmax_backward(exact, g_wide, logs_wide, dim);
  device().log_softmax_backward(out, g_device, on_device(logs), dim);
  check_close(back(out), exact, [&](std::int64_t i) {
    return u *
           ((kSumRoundings + 4) * get(sums, i) * std::exp(get(logs_wide, i)) + 2 * std::abs(get(g_wide, i)));
  });
}

Tensor vector(ScalarType dtype, const std::vector<double>& values) { return from(dtype, values); }

/// Of a list of numbers on the device.
Tensor softmax_of(const Tensor& x, bool logarithm) {
  const Tensor out = on_device(empty(x.scalar_type(), x.sizes().dims()));
  (logarithm ? device().log_softmax : device().softmax)(out, on_device(x), 0);
  return back(out);
}

}  // namespace

TEST_CASE("softmax of rows of every length and dtype") {
  for (const std::int64_t n : kLengths) {
    for (const ScalarType dtype : kFloatTypes)
      check_forward(dtype, dtype, {3, n}, 1, MemoryLayout::kDense, 4);
  }
  check_forward(kFloat, kFloat, {7, 200}, 1, MemoryLayout::kDense, 60);
}

TEST_CASE("softmax in every layout and along every dimension") {
  for (const MemoryLayout layout : kLayouts) {
    for (const ScalarType dtype : kFloatTypes) {
      for (std::int64_t dim = 0; dim < 3; ++dim) {
        check_forward(dtype, dtype, {5, 33, 18}, dim, layout, 4);
        check_backward(dtype, dtype, dtype, {5, 33, 18}, dim, layout);
      }
    }
    check_forward(kHalf, kFloat, {2, 1100, 3}, 1, layout, 4);
    check_backward(kFloat, kFloat, kHalf, {2, 1100, 3}, 1, layout);
  }
  check_forward(kFloat, kFloat, {9000, 17}, 0, MemoryLayout::kDense, 4);
}

TEST_CASE("softmax with mixed dtypes") {
  for (const ScalarType x : kFloatTypes) {
    for (const ScalarType out : kFloatTypes) {
      check_forward(x, out, {2, 77}, 1, MemoryLayout::kDense, 4);
      check_backward(x, out, x, {2, 77}, 1, MemoryLayout::kDense);
      check_backward(out, out, x, {2, 600}, 1, MemoryLayout::kDense);
    }
  }
}

TEST_CASE("softmax's gradients for rows of every length") {
  for (const std::int64_t n : kLengths) {
    for (const ScalarType dtype : kFloatTypes) {
      check_backward(dtype, dtype, dtype, {3, n}, 1, MemoryLayout::kDense);
    }
  }
}

TEST_CASE("softmax of nothing, and of one number") {
  for (const Dims& sizes : {Dims{0}, Dims{0, 5}, Dims{5, 0}, Dims{2, 0, 3}}) {
    check_forward(kFloat, kFloat, sizes, static_cast<std::int64_t>(sizes.size()) - 1, MemoryLayout::kDense,
                  1);
    check_backward(kFloat, kHalf, kHalf, sizes, 0, MemoryLayout::kDense);
  }
  check_forward(kFloat, kFloat, {}, 0, MemoryLayout::kDense, 1);
  check_backward(kFloat, kFloat, kFloat, {}, 0, MemoryLayout::kDense);
}

TEST_CASE("rows without a finite maximum give NaN, masked elements give 0, on the device too") {
  for (const std::int64_t n : kLengths) {
    for (const ScalarType dtype : {kFloat, kHalf, kDouble}) {
      CAPTURE(n, dtype_name(dtype));
      const auto row = [&](double fill, double last) {
        std::vector<double> values(static_cast<std::size_t>(n), fill);
        values.back() = last;
        return vector(dtype, values);
      };
      for (const Tensor& x :
           {row(-kInf, -kInf), row(0, kInf), row(0, std::nan("")), row(-kInf, std::nan(""))}) {
        for (const bool logarithm : {false, true}) {
          const Tensor y = softmax_of(x, logarithm);
          std::int64_t count = 0;
          for (std::int64_t i = 0; i < n; ++i) count += std::isnan(get(y, i));
          CHECK(count == n);
        }
      }
      const Tensor masked = softmax_of(row(-kInf, 3), false), logs = softmax_of(row(-kInf, 3), true);
      CHECK(get(masked, n - 1) == 1);
      CHECK(get(logs, n - 1) == 0);
      if (n > 1) CHECK(get(masked, 0) == 0);
      if (n > 1) CHECK(get(logs, 0) == -kInf);
    }
  }
  // A confident class keeps its own logarithm, -log(1 + e^-20), and a shift changes nothing, however large.
  CHECK(get(softmax_of(vector(kFloat, {0, 20}), true), 1) == Approx(-2.0611536e-9).epsilon(1e-6));
  CHECK(get(softmax_of(vector(kFloat, {1e30, 1e30}), false), 0) == 0.5);
}

TEST_CASE("softmax gives the same bits in every layout, and every time") {
  for (const ScalarType dtype : kFloatTypes) {
    for (const std::int64_t n : {7, 32, 40, 700, 1500}) {
      CAPTURE(dtype_name(dtype), n);
      const Dims sizes{3, n, 18};
      Tensor first[4];
      for (const MemoryLayout layout :
           {MemoryLayout::kDense, MemoryLayout::kReversed, MemoryLayout::kGaps, MemoryLayout::kMisaligned}) {
        const Tensor x = on_device(numbers(dtype, sizes, layout, -5, 5, 7));
        const Tensor g = on_device(numbers(dtype, sizes, layout, -1, 1, 8));
        void (*const backward[])(const Tensor&, const Tensor&, const Tensor&, std::int64_t) = {
            device().softmax_backward, device().log_softmax_backward};
        for (int k = 0; k < 4; ++k) {
          const Tensor out = on_device(numbers(dtype, sizes, layout, 0, 0, 9));
          if (k < 2) {
            (k == 0 ? device().softmax : device().log_softmax)(out, x, 1);
          } else {
            backward[k - 2](out, g, x, 1);
          }
          const Tensor y = back(out);
          if (!first[k].defined()) first[k] = y;
          std::int64_t different = 0;
          for (std::int64_t i = 0; i < y.numel(); ++i) different += !same_bits(y, i, first[k], i);
          CAPTURE(k, name_of(layout));
          CHECK(different == 0);
        }
      }
    }
  }
}
