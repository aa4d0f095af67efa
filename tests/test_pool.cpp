// Pooling against plain loops over its definition: geometry, ceil mode, padding, divisors, NaN, ties, dtypes.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "halftone/engine/tensor.h"
#include "halftone/engine/threads.h"
#include "halftone/kernels/kernels.h"
#include "halftone/kernels/pool.h"
#include "halftone/tests/support/pool_shape.h"

using namespace halftone;

namespace {

using i64 = std::int64_t;
using testing::square_pool;

const PoolKernels& pool() { return cpu_kernels<PoolKernels>(); }

/// Memory for a tensor, without any operator.
Tensor make(IntArrayRef sizes, Dtype dtype) {
  const auto bytes = static_cast<std::size_t>(count_elements(sizes)) * element_size(dtype);
  return Tensor(make_intrusive<TensorImpl>(make_intrusive<Storage>(bytes, Device(kCPU)), dtype, sizes,
                                           contiguous_strides(sizes), 0));
}

double get(const Tensor& t, i64 i) {
  return dispatch_all(t.scalar_type(),
                      [&]<class T>() { return static_cast<double>(static_cast<const T*>(t.data_ptr())[i]); });
}

void set(const Tensor& t, i64 i, double value) {
  dispatch_all(t.scalar_type(), [&]<class T>() { static_cast<T*>(t.data_ptr())[i] = static_cast<T>(value); });
}

Tensor filled(IntArrayRef sizes, Dtype dtype, unsigned seed) {
  const Tensor t = make(sizes, dtype);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (i64 i = 0; i < t.numel(); ++i) set(t, i, uniform(random));
  return t;
}

std::vector<PoolShape> shapes() {
  std::vector<PoolShape> all = {square_pool(3, 6, 8, 2, 2),
                                square_pool(2, 7, 7, 3, 2, 1),
                                square_pool(2, 7, 9, 3, 1, 1),
                                square_pool(2, 9, 8, 3, 2, 1, 2),
                                square_pool(2, 7, 10, 2, 2, 0, 1, true),
                                square_pool(2, 7, 10, 3, 3, 1, 1, true),
                                square_pool(40, 30, 31, 2, 2),
                                square_pool(2, 5, 5, 5, 1),
                                square_pool(2, 4, 4, 1, 2)};
  PoolShape line = square_pool(4, 1, 12, 3, 2, 1);
  line.kh = line.stride_h = 1;
  line.pad_h = 0;
  all.push_back(line);
  return all;
}

bool close(double value, double exact, Dtype dtype) {
  const double u = dtype == kDouble ? 1e-14 : 1e-6 + unit_roundoff(dtype);
  return std::fabs(value - exact) <=
         u * (std::fabs(exact) + (dtype == kHalf ? 1e-4 : 1e-6)) + (dtype == kDouble ? 0 : 1e-6);
}

}  // namespace

TEST_CASE("output sizes follow PyTorch") {
  CHECK(square_pool(1, 7, 7, 2, 2).oh() == 3);
  CHECK(square_pool(1, 7, 7, 2, 2, 0, 1, true).oh() == 4);
  CHECK(square_pool(1, 5, 5, 2, 3, 1, 1, true).oh() == 2);  // a third window would start in the right padding
  CHECK(square_pool(1, 2, 2, 3, 1).oh() == 0);
}

TEST_CASE("max pooling takes the first maximum and remembers where it was") {
  for (const PoolShape& s : shapes())
    for (const Dtype dtype : {kFloat, kHalf, kBFloat16, kDouble}) {
      const i64 oh = s.oh(), ow = s.ow();
      const Tensor x = filled({s.planes, s.h, s.w}, dtype, 1), gy = filled({s.planes, oh, ow}, dtype, 2);
      for (i64 i = 0; i < x.numel(); ++i) set(x, i, std::round(get(x, i) * 8) / 8);  // ties
      const Tensor y = make({s.planes, oh, ow}, dtype), index = make({s.planes, oh, ow}, kLong);
      const Tensor gx = make({s.planes, s.h, s.w}, dtype);
      pool().max_forward(y, index, x, s);
      pool().max_backward(gx, gy, index, s);

      std::vector<double> expected(static_cast<std::size_t>(gx.numel()), 0.0);
      bool all = true;
      for (i64 p = 0, o = 0; p < s.planes; ++p)
        for (i64 oy = 0; oy < oh; ++oy)
          for (i64 ox = 0; ox < ow; ++ox, ++o) {
            double best = -1e9;
            i64 at = -1;
            for (i64 ky = 0; ky < s.kh; ++ky)
              for (i64 kx = 0; kx < s.kw; ++kx) {
                const i64 yy = oy * s.stride_h - s.pad_h + ky * s.dil_h,
                          xx = ox * s.stride_w - s.pad_w + kx * s.dil_w;
                if (yy < 0 || yy >= s.h || xx < 0 || xx >= s.w) continue;
                const double v = get(x, (p * s.h + yy) * s.w + xx);
                if (v > best) best = v, at = yy * s.w + xx;
              }
            all = all && get(y, o) == best && index.data_ptr<i64>()[o] == at;
            expected[static_cast<std::size_t>(p * s.h * s.w + at)] += get(gy, o);
          }
      CHECK(all);
      for (i64 i = 0; i < gx.numel(); ++i)
        all = all && close(get(gx, i), expected[static_cast<std::size_t>(i)], dtype);
      CHECK(all);

      // Packed to the number in the window: the same maxima and gradients.
      const Tensor number = make({s.planes, oh, number_bytes(s)}, kByte),
                   packed_y = make({s.planes, oh, ow}, dtype);
      const Tensor packed_gx = make({s.planes, s.h, s.w}, dtype);
      pool().max_forward(packed_y, number, x, s);
      pool().max_backward(packed_gx, gy, number, s);
      CHECK(std::memcmp(packed_y.data_ptr(), y.data_ptr(), y.nbytes()) == 0);
      CHECK(std::memcmp(packed_gx.data_ptr(), gx.data_ptr(), gx.nbytes()) == 0);
    }
}

TEST_CASE("a NaN wins, and a window of -inf is -inf at its first place") {
  const Tensor x = make({1, 2, 4}, kFloat), y = make({1, 1, 2}, kFloat), index = make({1, 1, 2}, kLong);
  const double inf = std::numeric_limits<double>::infinity();
  const double values[] = {1, NAN, -inf, -inf, 5, 7, -inf, -inf};
  for (i64 i = 0; i < 8; ++i) set(x, i, values[i]);
  pool().max_forward(y, index, x, square_pool(1, 2, 4, 2, 2));
  CHECK(std::isnan(get(y, 0)));
  CHECK(index.data_ptr<i64>()[0] == 1);
  CHECK(get(y, 1) == -inf);
  CHECK(index.data_ptr<i64>()[1] == 2);
}

TEST_CASE("average pooling divides as asked") {
  for (PoolShape s : shapes()) {
    if (s.dil_h != 1) continue;
    for (const bool include_pad : {true, false})
      for (const i64 divisor : {0, 3})
        for (const Dtype dtype : {kFloat, kHalf, kBFloat16, kDouble}) {
          s.count_include_pad = include_pad;
          s.divisor = divisor;
          const i64 oh = s.oh(), ow = s.ow();
          const Tensor x = filled({s.planes, s.h, s.w}, dtype, 3), gy = filled({s.planes, oh, ow}, dtype, 4);
          const Tensor y = make({s.planes, oh, ow}, dtype), gx = make({s.planes, s.h, s.w}, dtype);
          pool().avg_forward(y, x, s);
          pool().avg_backward(gx, gy, s);

          std::vector<double> expected(static_cast<std::size_t>(gx.numel()), 0.0);
          bool all = true;
          for (i64 p = 0, o = 0; p < s.planes; ++p)
            for (i64 oy = 0; oy < oh; ++oy)
              for (i64 ox = 0; ox < ow; ++ox, ++o) {
                const i64 top = oy * s.stride_h - s.pad_h, left = ox * s.stride_w - s.pad_w;
                const i64 bottom = std::min(top + s.kh, s.h + s.pad_h),
                          right = std::min(left + s.kw, s.w + s.pad_w);
                std::vector<i64> inside;
                for (i64 yy = std::max<i64>(top, 0); yy < std::min(bottom, s.h); ++yy)
                  for (i64 xx = std::max<i64>(left, 0); xx < std::min(right, s.w); ++xx)
                    inside.push_back((p * s.h + yy) * s.w + xx);
                const double over = divisor != 0  ? static_cast<double>(divisor)
                                    : include_pad ? static_cast<double>((bottom - top) * (right - left))
                                                  : static_cast<double>(inside.size());
                double sum = 0;
                for (const i64 i : inside) sum += get(x, i);
                for (const i64 i : inside) expected[static_cast<std::size_t>(i)] += get(gy, o) / over;
                all = all && close(get(y, o), inside.empty() ? 0 : sum / over, dtype);
              }
          CHECK(all);
          for (i64 i = 0; i < gx.numel(); ++i)
            all = all && close(get(gx, i), expected[static_cast<std::size_t>(i)], dtype);
          CHECK(all);
        }
  }
}

TEST_CASE("adaptive average pooling covers PyTorch's bins") {
  struct Size {
    i64 h, w, oh, ow;
  };
  for (const Size z :
       {Size{7, 7, 1, 1}, Size{8, 10, 3, 4}, Size{5, 3, 7, 3}, Size{1, 12, 1, 5}, Size{6, 6, 6, 6}})
    for (const Dtype dtype : {kFloat, kHalf, kBFloat16, kDouble}) {
      const i64 planes = 5;
      const AdaptivePoolShape s{planes, z.h, z.w, z.oh, z.ow};
      const Tensor x = filled({planes, z.h, z.w}, dtype, 5), gy = filled({planes, z.oh, z.ow}, dtype, 6);
      const Tensor y = make({planes, z.oh, z.ow}, dtype), gx = make({planes, z.h, z.w}, dtype);
      pool().adaptive_avg_forward(y, x, s);
      pool().adaptive_avg_backward(gx, gy, s);
      std::vector<double> expected(static_cast<std::size_t>(gx.numel()), 0.0);
      bool all = true;
      for (i64 p = 0, o = 0; p < planes; ++p)
        for (i64 oy = 0; oy < z.oh; ++oy)
          for (i64 ox = 0; ox < z.ow; ++ox, ++o) {
            const i64 y0 = oy * z.h / z.oh, y1 = (oy * z.h + z.h + z.oh - 1) / z.oh;
            const i64 x0 = ox * z.w / z.ow, x1 = (ox * z.w + z.w + z.ow - 1) / z.ow;
            const double over = static_cast<double>((y1 - y0) * (x1 - x0));
            double sum = 0;
            for (i64 yy = y0; yy < y1; ++yy)
              for (i64 xx = x0; xx < x1; ++xx) {
                sum += get(x, (p * z.h + yy) * z.w + xx);
                expected[static_cast<std::size_t>((p * z.h + yy) * z.w + xx)] += get(gy, o) / over;
              }
            all = all && close(get(y, o), sum / over, dtype);
          }
      CHECK(all);
      for (i64 i = 0; i < gx.numel(); ++i)
        all = all && close(get(gx, i), expected[static_cast<std::size_t>(i)], dtype);
      CHECK(all);
    }
}

TEST_CASE("pooling does not depend on threads") {
  const PoolShape s = square_pool(64, 33, 31, 3, 2, 1);
  const Tensor x = filled({64, 33, 31}, kBFloat16, 7), index = make({64, s.oh(), s.ow()}, kLong);
  const int before = get_num_threads();
  std::vector<Tensor> results;
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    const Tensor y = make({64, s.oh(), s.ow()}, kBFloat16), gx = make({64, 33, 31}, kBFloat16);
    pool().max_forward(y, index, x, s);
    pool().max_backward(gx, y, index, s);
    results.push_back(gx);
    CHECK(std::memcmp(gx.data_ptr(), results[0].data_ptr(), gx.nbytes()) == 0);
  }
  set_num_threads(before);
}
