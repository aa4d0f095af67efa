// Normalisations on the device against the CPU's kernels in fp64: every kind, dtypes, row lengths,
// alignments, given and missing statistics; rows at the ends of fp32's range; results that are the same every
// time.

#include <algorithm>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "halftone/kernels/norm.h"
#include "halftone/tests/cuda/parity.h"

using namespace halftone;
using namespace halftone::testing;

namespace {

using Affine = NormShape::Affine;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::int64_t kLengths[] = {1, 2, 31, 32, 33, 512, 513, 1000, 1025, 5000, 8200};

const NormKernels& host() { return cpu_kernels<NormKernels>(); }
const NormKernels& device() { return kernels_for<NormKernels>(kCUDA); }

Tensor as_double(const Tensor& t) {
  if (!t.defined()) return t;
  const Tensor wide = empty(kDouble, t.sizes().dims());
  for (std::int64_t i = 0; i < t.numel(); ++i) put(wide, i, get(t, i));
  return wide;
}

Tensor upload(const Tensor& t) { return t.defined() ? on_device(t) : t; }

Tensor back(const Tensor& t) {
  const Tensor memory = memory_of(t).cpu();
  return window(memory, t.sizes().dims(), t.strides().dims(), t.storage_offset());
}

NormShape layer(std::int64_t rows, std::int64_t n, bool centered = true) {
  NormShape s;
  s.rows = rows;
  s.length = s.row_step = n;
  s.eps = 1e-3;
  s.centered = centered;
  return s;
}

NormShape group(std::int64_t samples, std::int64_t groups, std::int64_t channels, std::int64_t plane) {
  NormShape s;
  s.affine = Affine::kSegment;
  s.rows = samples * groups;
  s.groups = groups;
  s.segments = channels;
  s.length = s.segment_step = plane;
  s.row_step = channels * plane;
  s.eps = 1e-3;
  return s;
}

NormShape batch(std::int64_t samples, std::int64_t channels, std::int64_t plane) {
  NormShape s;
  s.affine = Affine::kRow;
  s.rows = channels;
  s.segments = samples;
  s.length = s.row_step = plane;
  s.segment_step = channels * plane;
  s.eps = 1e-3;
  return s;
}

std::int64_t numel(const NormShape& s) { return s.rows * s.row_size(); }

/// The row and the weight of element i in memory.
struct Place {
  std::int64_t row, channel;
};

std::vector<Place> places(const NormShape& s) {
  std::vector<Place> all(static_cast<std::size_t>(numel(s)));
  for (std::int64_t r = 0; r < s.rows; ++r) {
    for (std::int64_t k = 0; k < s.segments; ++k) {
      for (std::int64_t i = 0; i < s.length; ++i) {
        const std::int64_t channel = s.affine == Affine::kElement   ? i
                                     : s.affine == Affine::kSegment ? r % s.groups * s.segments + k
                                                                    : r;
        all[static_cast<std::size_t>(r * s.row_step + k * s.segment_step + i)] = {r, channel};
      }
    }
  }
  return all;
}

double smallest_step(ScalarType dtype) {
  return dtype == kHalf ? 0x1p-24 : dtype == kBFloat16 ? 0x1p-133 : dtype == kFloat ? 0x1p-149 : 0;
}

/// `bound(i)` is the error of computing; rounding to the result's dtype comes on top.
template <class F>
void check_close(const char* what, const Tensor& result, const Tensor& exact, F bound) {
  const ScalarType dtype = result.scalar_type();
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    const double got = get(result, i), expected = get(exact, i);
    const double allowed =
        bound(i) + unit_roundoff(dtype) * (std::abs(expected) + bound(i)) + smallest_step(dtype);
    const bool close =
        std::isnan(expected) ? std::isnan(got) : got == expected || std::abs(got - expected) <= allowed;
    if (close) continue;
    CAPTURE(what, i, got, expected, allowed);
    FAIL_CHECK("normalisation differs");
    return;
  }
}

struct Types {
  ScalarType x, out, weight;
};

/// Roundings of a thread's sum of 16 numbers, and of what else makes a statistic.
constexpr double kSumRoundings = 24;
/// The mean's error, in roundings of 1: the row's values differ by 4 from the first one at most, so each
/// difference is off by 4, and each of a thread's 16 partial sums by what it holds, 4 * 8.5 on average.
constexpr double kMeanError = 4 * 9.5;

/// Inputs are spread over [low, low + 4]. `given`: backward gets the statistics of forward.
void check(const NormShape& s, Types types, MemoryLayout layout, bool affine, bool given, double low = -2) {
  CAPTURE(dtype_name(types.x), dtype_name(types.out), dtype_name(types.weight), name_of(layout), affine,
          given, low, static_cast<int>(s.affine), s.rows, s.segments, s.length, s.centered, s.frozen);
  const bool wide = types.x == kDouble || types.out == kDouble || (affine && types.weight == kDouble);
  const ScalarType statistic = wide ? kDouble : kFloat;
  const double u = wide ? 0x1p-51 : 0x1p-24;
  const std::int64_t n = s.row_size();
  const std::vector<Place> all = places(s);
  const auto place = [&](std::int64_t i) { return all[static_cast<std::size_t>(i)]; };

  const Tensor x = numbers(types.x, {numel(s)}, layout, low, low + 4, 1), x_device = on_device(x);
  const MemoryLayout any = layout == MemoryLayout::kMisaligned ? MemoryLayout::kGaps : layout;
  const Tensor weight = affine ? numbers(types.weight, {s.channels()}, any, 0.5, 2, 2) : Tensor();
  const Tensor bias = affine ? numbers(types.weight, {s.channels()}, any, -1, 1, 3) : Tensor();
  const Tensor weight_device = upload(weight), bias_device = upload(bias);
  Tensor mean = empty(kDouble, {s.rows}), rstd = empty(kDouble, {s.rows}), var = empty(kDouble, {s.rows});
  if (s.frozen) {
    mean = as_double(numbers(kFloat, {s.rows}, MemoryLayout::kDense, low, low + 4, 4));
    rstd = as_double(numbers(kFloat, {s.rows}, MemoryLayout::kDense, 0.5, 2, 5));
  }
  const auto converted = [&](const Tensor& t) {
    const Tensor copy = empty(statistic, t.sizes().dims());
    for (std::int64_t i = 0; i < t.numel(); ++i) put(copy, i, get(t, i));
    return on_device(copy);
  };
  const Tensor mean_device = converted(mean), rstd_device = converted(rstd), var_device = converted(var);
  const Tensor y = empty(kDouble, {numel(s)});
  const Tensor y_device = on_device(numbers(types.out, {numel(s)}, layout, 0, 0, 6));

  host().forward(y, mean, rstd, s.frozen ? Tensor() : var, as_double(x), as_double(weight), as_double(bias),
                 s);
  device().forward(y_device, mean_device, rstd_device, s.frozen ? Tensor() : var_device, x_device,
                   weight_device, bias_device, s);
  const auto factor = [&](const Tensor& t, std::int64_t i, double absent) {
    return t.defined() ? get(t, place(i).channel) : absent;
  };
  const auto xhat = [&](std::int64_t i) {
    const double center = s.centered || s.frozen ? get(mean, place(i).row) : 0;
    return (get(x, i) - center) * get(rstd, place(i).row);
  };
  // x - mean is rounded once, rstd is off by the sum's roundings, and both products once more.
  check_close("y", back(y_device), y, [&](std::int64_t i) {
    const double size = std::abs(xhat(i) * factor(weight, i, 1));
    const double center = s.centered && !s.frozen ? kMeanError * get(rstd, place(i).row) : 0;
    return u *
           ((kSumRoundings + 6) * size + center * factor(weight, i, 1) + 2 * std::abs(factor(bias, i, 0)));
  });
  if (n > 0 && !s.frozen) {
    if (s.centered)
      check_close("mean", back(mean_device), mean, [&](std::int64_t) { return kMeanError * u; });
    check_close("rstd", back(rstd_device), rstd,
                [&](std::int64_t r) { return kSumRoundings * u * get(rstd, r); });
    check_close("var", back(var_device), var,
                [&](std::int64_t r) { return kSumRoundings * u * get(var, r); });
  }

  const Tensor g = numbers(types.out, {numel(s)}, layout, -1, 1, 7), g_device = on_device(g);
  const Tensor gx = empty(kDouble, {numel(s)}), gw = empty(kDouble, {s.channels()});
  const Tensor gb = empty(kDouble, {s.channels()});
  const Tensor gx_device = on_device(numbers(types.x, {numel(s)}, layout, 0, 0, 8));
  const Tensor gw_device = on_device(empty(types.weight, {s.channels()}));
  const Tensor gb_device = on_device(empty(types.weight, {s.channels()}));
  const bool take = given || s.frozen;
  const Tensor none;
  host().backward(gx, gw, gb, as_double(g), as_double(x), as_double(weight), take ? mean : none,
                  take ? rstd : none, s);
  device().backward(gx_device, affine ? gw_device : none, affine ? gb_device : none, g_device, x_device,
                    weight_device, take && s.centered ? mean_device : none, take ? rstd_device : none, s);

  // Sizes of the terms of the row's means and of the channel's sums.
  std::vector<double> of_h(static_cast<std::size_t>(s.rows)), of_hx = of_h;
  std::vector<double> of_gb(static_cast<std::size_t>(s.channels())), of_gw = of_gb;
  for (std::int64_t i = 0; i < numel(s); ++i) {
    const auto r = static_cast<std::size_t>(place(i).row), c = static_cast<std::size_t>(place(i).channel);
    const double grad = std::abs(get(g, i)), h = grad * factor(weight, i, 1);
    of_h[r] += h / static_cast<double>(n);
    of_hx[r] += std::abs(h * xhat(i)) / static_cast<double>(n);
    of_gb[c] += grad;
    of_gw[c] += std::abs(grad * xhat(i));
  }
  // The backward pass takes the rounded mean: xhat is off by a rounding of the mean times rstd.
  const auto shift = [&](std::int64_t r) { return (std::abs(low) + 4) * get(rstd, r); };
  check_close("gx", back(gx_device), gx, [&](std::int64_t i) {
    const std::int64_t r = place(i).row;
    const auto at = static_cast<std::size_t>(r);
    const double h = std::abs(get(g, i)) * factor(weight, i, 1), size = std::abs(xhat(i)) + shift(r);
    return (kSumRoundings + 10) * u * get(rstd, r) *
           (h + (s.frozen ? 0 : of_h[at] + (of_hx[at] + shift(r) * of_h[at]) * size));
  });
  if (!affine) return;
  double largest_shift = 0;
  for (std::int64_t r = 0; r < s.rows && n > 0; ++r) largest_shift = std::max(largest_shift, shift(r));
  check_close("gw", back(gw_device), gw, [&](std::int64_t c) {
    const auto at = static_cast<std::size_t>(c);
    return (kSumRoundings + 36) * u * (of_gw[at] + largest_shift * of_gb[at]);
  });
  check_close("gb", back(gb_device), gb,
              [&](std::int64_t c) { return 36 * u * of_gb[static_cast<std::size_t>(c)]; });
}

/// y, and the row's gradient for g = 1, 2, 3, ..., of a few numbers.
Tensor layer_norm_of(const std::vector<double>& row, bool centered = true, double eps = 1e-5) {
  NormShape s = layer(1, static_cast<std::int64_t>(row.size()), centered);
  s.eps = eps;
  const Tensor x = on_device(from(kFloat, row)), y = on_device(empty(kFloat, {s.length}));
  device().forward(y, {}, {}, {}, x, {}, {}, s);
  return back(y);
}

}  // namespace

TEST_CASE("layer and rms norm over rows of every length and dtype") {
  for (const std::int64_t n : kLengths) {
    for (const ScalarType dtype : kFloatTypes) {
      check(layer(3, n), {dtype, dtype, dtype}, MemoryLayout::kDense, true, true);
      check(layer(3, n, false), {dtype, dtype, kFloat}, MemoryLayout::kDense, true, false);
    }
  }
}

TEST_CASE("norms with mixed dtypes, misaligned data and weights of any layout") {
  for (const ScalarType x : kFloatTypes) {
    for (const ScalarType out : kFloatTypes) {
      for (const ScalarType weight : {kHalf, kFloat, kDouble}) {
        check(layer(2, 100), {x, out, weight}, MemoryLayout::kDense, true, true);
        check(group(2, 2, 3, 8), {x, out, weight}, MemoryLayout::kDense, true, true);
      }
    }
    for (const MemoryLayout layout : {MemoryLayout::kDense, MemoryLayout::kMisaligned}) {
      check(layer(4, 35), {x, x, x}, layout, true, false);
      check(layer(4, 1100), {x, x, x}, layout, false, true);
      check(group(2, 3, 2, 7), {x, x, x}, layout, true, true);
      check(batch(3, 4, 9), {x, x, x}, layout, true, true);
    }
  }
}

TEST_CASE("group norm: groups, channels and planes of many sizes") {
  for (const ScalarType dtype : {kFloat, kHalf, kDouble}) {
    for (const std::int64_t plane : {1, 3, 8, 49, 300}) {
      check(group(2, 3, 2, plane), {dtype, dtype, kFloat}, MemoryLayout::kDense, true, true);
      check(group(3, 1, 5, plane), {dtype, kFloat, kFloat}, MemoryLayout::kDense, true, false);
      check(group(40, 4, 1, plane), {dtype, kFloat, dtype}, MemoryLayout::kDense, false, true);
    }
  }
  check(group(2, 2, 40, 300), {kHalf, kFloat, kFloat}, MemoryLayout::kDense, true, true);
}

TEST_CASE("batch norm: images and vectors, with its own and with frozen statistics") {
  for (const ScalarType dtype : {kFloat, kBFloat16, kDouble}) {
    for (const std::int64_t plane : {1, 8, 49, 64, 300}) {
      for (const bool frozen : {false, true}) {
        NormShape s = batch(5, 3, plane);
        s.frozen = frozen;
        check(s, {dtype, dtype, kFloat}, MemoryLayout::kDense, true, true);
        check(s, {dtype, dtype, dtype}, MemoryLayout::kDense, false, true);
        NormShape vectors = batch(1, 3, plane + 1);
        vectors.frozen = frozen;
        check(vectors, {dtype, kFloat, kFloat}, MemoryLayout::kDense, true, true);
      }
    }
    check(batch(5, 3, 40), {dtype, dtype, kFloat}, MemoryLayout::kDense, true, false);
  }
  check(batch(30, 2, 300), {kHalf, kHalf, kFloat}, MemoryLayout::kDense, true, true);
}

TEST_CASE("batch norm of few channels that are long: several blocks for each") {
  NormShape s = batch(7, 2, 7000);
  check(s, {kFloat, kFloat, kFloat}, MemoryLayout::kDense, true, true);
  check(s, {kHalf, kHalf, kFloat}, MemoryLayout::kMisaligned, true, false);
  check(s, {kFloat, kBFloat16, kFloat}, MemoryLayout::kDense, false, true, 4096);
  s.frozen = true;
  check(s, {kFloat, kFloat, kFloat}, MemoryLayout::kDense, true, true);
  check(batch(1, 1, 50001), {kBFloat16, kFloat, kFloat}, MemoryLayout::kDense, true, true);
  check(batch(40, 1, 500), {kDouble, kDouble, kDouble}, MemoryLayout::kDense, true, true);
}

TEST_CASE("long channels whose squares leave fp32's range, or hold a NaN") {
  const NormShape s = batch(1, 2, 40000);
  for (const double large : {1e30, std::nan("")}) {
    const Tensor x = numbers(kFloat, {numel(s)}, MemoryLayout::kDense, -1, 1, 1);
    for (std::int64_t i = 0; i < s.length; ++i) put(x, i, i % 2 == 0 ? large : -large);
    const Tensor y = on_device(empty(kFloat, {numel(s)})), var = on_device(empty(kFloat, {2}));
    device().forward(y, {}, {}, var, on_device(x), {}, {}, s);
    const Tensor result = back(y), variance = back(var);
    for (const std::int64_t i : {std::int64_t{0}, std::int64_t{39998}}) {
      if (std::isnan(large)) {
        CHECK(std::isnan(get(result, i)));
      } else {
        CHECK(get(result, i) == Approx(1));
      }
    }
    CHECK(std::isfinite(get(result, 40000)));
    CHECK(get(variance, 1) == Approx(1 / 3.0).epsilon(0.05));
  }
}

TEST_CASE("weight gradients of many rows") {
  check(layer(5000, 3), {kFloat, kFloat, kFloat}, MemoryLayout::kDense, true, true);
  check(layer(300, 70), {kHalf, kFloat, kFloat}, MemoryLayout::kDense, true, true);
}

TEST_CASE("norms of nothing") {
  for (const NormShape& s :
       {layer(0, 4), layer(3, 0), group(0, 2, 2, 3), group(2, 2, 2, 0), batch(0, 3, 4)}) {
    check(s, {kFloat, kFloat, kFloat}, MemoryLayout::kDense, true, false);
    check(s, {kHalf, kHalf, kFloat}, MemoryLayout::kDense, false, false);
  }
}

TEST_CASE("rows far from zero and near the ends of fp32's range, on the device") {
  CHECK(get(layer_norm_of({1e30, 2e30, 3e30, 4e30}), 3) == Approx(1.3416407));
  CHECK(get(layer_norm_of({1e-30, 2e-30, 3e-30, 4e-30}, true, 0), 0) == Approx(-1.3416407));
  CHECK(get(layer_norm_of({3e38, -3e38}), 0) == Approx(1));
  CHECK(get(layer_norm_of({1e30, 1e30}, false), 0) == Approx(1));
  CHECK(get(layer_norm_of(std::vector<double>(2000, 1e-30), false, 0), 1999) == Approx(1));
  CHECK(get(layer_norm_of({0, 0, 0}, true, 1e-12), 1) == 0);
  for (const double bad : {kInf, -kInf, std::nan("")}) {
    const Tensor y = layer_norm_of({1, 2, bad, 3});
    for (std::int64_t i = 0; i < 4; ++i) CHECK(std::isnan(get(y, i)));
  }
  // A common offset that a sum of squares would drown in.
  for (const std::int64_t n : {300, 3000}) {
    check(layer(3, n), {kFloat, kFloat, kFloat}, MemoryLayout::kDense, true, true, 4096);
  }
}

TEST_CASE("norms and their gradients are the same every time") {
  const NormShape s = GENERATE(layer(300, 700), batch(3, 1, 20000));
  const Tensor x = on_device(numbers(kHalf, {numel(s)}, MemoryLayout::kDense, -2, 2, 1));
  const Tensor g = on_device(numbers(kFloat, {numel(s)}, MemoryLayout::kDense, -1, 1, 2));
  const Tensor weight = on_device(numbers(kFloat, {s.channels()}, MemoryLayout::kDense, 0.5, 2, 3));
  std::vector<Tensor> first;
  for (int repeat = 0; repeat < 2; ++repeat) {
    const Tensor y = on_device(empty(kFloat, {numel(s)})), gx = on_device(empty(kHalf, {numel(s)}));
    const Tensor gw = on_device(empty(kFloat, {s.channels()})), gb = on_device(empty(kFloat, {s.channels()}));
    device().forward(y, {}, {}, {}, x, weight, {}, s);
    device().backward(gx, gw, gb, g, x, weight, {}, {}, s);
    const std::vector<Tensor> results = {y, gx, gw, gb};
    if (first.empty()) {
      for (const Tensor& t : results) first.push_back(back(t));
    }
    for (std::size_t k = 0; k < results.size(); ++k) CHECK(same_memory(first[k], results[k]));
  }
}
