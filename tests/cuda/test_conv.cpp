// Convolutions and their gradients on the device against fp64 loops over the definition: geometries, groups,
// dtypes, in one part and in many; and against the CPU's kernels.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "halftone/engine/functions.h"
#include "halftone/engine/tensor.h"
#include "halftone/kernels/conv.h"
#include "halftone/kernels/cuda/conv_kernels.h"
#include "halftone/kernels/kernels.h"
#include "halftone/tests/support/conv_reference.h"

using namespace halftone;

namespace {

using testing::Exact;
using testing::for_each_product;
using testing::i64;

const ConvKernels& conv() { return kernels_for<ConvKernels>(kCUDA); }

double get(const Tensor& t, i64 i) {
  return dispatch_all(t.scalar_type(),
                      [&]<class T>() { return static_cast<double>(static_cast<const T*>(t.data_ptr())[i]); });
}

Tensor make(IntArrayRef sizes, Dtype dtype, Device device = kCUDA) {
  return empty(sizes, TensorOptions(dtype).device(device));
}

/// On the CPU.
Tensor filled(IntArrayRef sizes, Dtype dtype, unsigned seed) {
  const Tensor t = make(sizes, dtype, kCPU);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  dispatch_all(dtype, [&]<class T>() {
    for (i64 i = 0; i < t.numel(); ++i) static_cast<T*>(t.data_ptr())[i] = static_cast<T>(uniform(random));
  });
  return t;
}

/// Twice the error per addition that rounding makes: tensor cores may cut off instead.
void check(const Tensor& on_device, const Exact& exact, Dtype sums) {
  const Tensor result = on_device.cpu();
  const double u = 2 * unit_roundoff(sums), u_out = unit_roundoff(result.scalar_type());
  const double tiny = result.scalar_type() == kHalf ? 0x1p-25 : result.scalar_type() == kDouble ? 0 : 1e-37;
  for (i64 i = 0; i < result.numel(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double bound = static_cast<double>(exact.terms[at] + 3) * u * exact.size[at] +
                         u_out * std::fabs(exact.value[at]) * (1 + u) + tiny;
    if (!(std::fabs(get(result, i) - exact.value[at]) <= bound)) {
      CAPTURE(i, get(result, i), exact.value[at], bound);
      FAIL("convolution out of bounds");
    }
  }
}

void check_all(const ConvShape& s, Dtype dx, Dtype dw, Dtype out) {
  CAPTURE(s.n, s.c, s.h, s.w, s.oc, s.kh, s.kw, s.stride_h, s.stride_w, s.pad_h, s.pad_w, s.dil_h, s.dil_w,
          s.groups);
  CAPTURE(dtype_name(dx), dtype_name(dw), dtype_name(out));
  const auto sum_dtype = [&](Dtype left, Dtype right) {
    return left == kDouble || right == kDouble || out == kDouble ? kDouble : kFloat;
  };
  const Dtype sums = sum_dtype(dx, dw), weight_sums = sum_dtype(dx, dx);
  const Tensor x = filled({s.n, s.c, s.h, s.w}, dx, 1), w = filled({s.oc, s.c / s.groups, s.kh, s.kw}, dw, 2);
  const Tensor bias = filled({s.oc}, dw, 3), gy = filled({s.n, s.oc, s.oh(), s.ow()}, dx, 4);
  const Tensor x_device = x.to(kCUDA), w_device = w.to(kCUDA), gy_device = gy.to(kCUDA);
  const Tensor y = make({s.n, s.oc, s.oh(), s.ow()}, out), gx = make({s.n, s.c, s.h, s.w}, out);
  const Tensor gw = make({s.oc, s.c / s.groups, s.kh, s.kw}, out);

  Exact forward(y.numel()), input(gx.numel()), weight(gw.numel());
  for_each_product(s, [&](i64 iy, i64 ix, i64 iw) {
    forward.add(iy, get(x, ix) * get(w, iw));
    input.add(ix, get(gy, iy) * get(w, iw));
    weight.add(iw, get(gy, iy) * get(x, ix));
  });
  conv().forward(y, x_device, w_device, Tensor(), s);
  check(y, forward, sums);
  conv().grad_input(gx, gy_device, w_device, s);
  check(gx, input, sums);
  conv().grad_weight(gw, gy_device, x_device, s);
  check(gw, weight, weight_sums);

  for (i64 i = 0; i < y.numel(); ++i) forward.add(i, get(bias, i / (s.oh() * s.ow()) % s.oc));
  conv().forward(y, x_device, w_device, bias.to(kCUDA), s);
  check(y, forward, sums);
}

ConvShape shape(i64 n, i64 c, i64 h, i64 w, i64 oc, i64 kh, i64 kw, i64 stride = 1, i64 pad = 0, i64 dil = 1,
                i64 groups = 1) {
  return {n, c, h, w, oc, kh, kw, stride, stride, pad, pad, dil, dil, groups};
}

std::vector<ConvShape> shapes() {
  std::vector<ConvShape> all = {
      shape(2, 3, 8, 9, 5, 3, 3),
      shape(2, 3, 8, 9, 5, 3, 3, 1, 1),
      shape(3, 4, 7, 7, 6, 3, 3, 2, 1),
      shape(1, 2, 11, 10, 3, 2, 3, 3, 2),
      shape(2, 4, 9, 9, 4, 3, 3, 1, 2, 2),
      shape(2, 6, 6, 6, 6, 3, 3, 1, 1, 1, 6),    // depthwise
      shape(2, 6, 6, 7, 4, 3, 3, 2, 1, 1, 2),    // thin groups
      shape(2, 12, 6, 7, 10, 3, 3, 2, 1, 1, 2),  // groups as products
      shape(5, 3, 4, 4, 7, 4, 4),
      shape(4, 5, 5, 5, 9, 1, 1),  // the patches are the input
      shape(4, 5, 5, 6, 9, 1, 1, 2),
      shape(2, 20, 6, 6, 10, 3, 3, 1, 1),
      shape(3, 2, 1, 30, 4, 1, 5, 1, 0),
      shape(2, 3, 1, 1, 2, 1, 1),
      shape(1, 2, 30, 30, 3, 3, 3, 5, 1),
      shape(2, 3, 6, 6, 35, 2, 2, 4, 3, 3),
      shape(2, 3, 4, 4, 2, 5, 5, 1, 0),  // no output
  };
  ConvShape uneven = shape(2, 4, 10, 13, 6, 3, 2, 1, 0, 1, 2);
  uneven.stride_h = 2;
  uneven.pad_w = 2;
  uneven.dil_w = 3;
  uneven.stride_w = 3;
  all.push_back(uneven);
  return all;
}

/// While alive, scratch memory is bounded by `bytes`.
class ScratchLimit {
 public:
  explicit ScratchLimit(i64 bytes) : before_(cuda::conv_scratch_limit()) {
    cuda::set_conv_scratch_limit_for_testing(bytes);
  }
  ~ScratchLimit() { cuda::set_conv_scratch_limit_for_testing(before_); }
  ScratchLimit(const ScratchLimit&) = delete;
  ScratchLimit& operator=(const ScratchLimit&) = delete;

 private:
  i64 before_;
};

}  // namespace

TEST_CASE("device convolutions of every geometry meet their bound") {
  for (const ConvShape& s : shapes())
    for (const Dtype dtype : {kFloat, kBFloat16, kHalf, kDouble}) check_all(s, dtype, dtype, dtype);
}

TEST_CASE("device convolutions mix dtypes") {
  for (const Dtype dx : {kFloat, kHalf, kDouble})
    for (const Dtype dw : {kFloat, kBFloat16, kDouble})
      for (const Dtype out : {kFloat, kHalf, kDouble}) {
        check_all(shape(2, 3, 6, 7, 4, 3, 3, 1, 1), dx, dw, out);
        check_all(shape(1, 4, 5, 5, 4, 3, 3, 2, 1, 1, 2), dx, dw, out);
      }
}

TEST_CASE("device convolutions come in parts of images, positions and channels") {
  // From all images at once down to less than one channel, which the direct kernels take.
  for (const i64 limit : {40000, 9000, 4000, 1000, 100}) {
    CAPTURE(limit);
    const ScratchLimit bounded(limit);
    for (const Dtype dtype : {kFloat, kHalf, kDouble}) {
      check_all(shape(5, 3, 8, 9, 5, 3, 3, 1, 1), dtype, dtype, dtype);
      check_all(shape(3, 12, 6, 7, 10, 3, 3, 2, 1, 1, 2), dtype, dtype, dtype);
    }
  }
}

TEST_CASE("device convolutions agree with the CPU's") {
  const ConvShape s = shape(3, 8, 12, 11, 20, 3, 3, 1, 1);
  for (const Dtype dtype : {kFloat, kHalf, kBFloat16}) {
    const Tensor x = filled({s.n, s.c, s.h, s.w}, dtype, 5), w = filled({s.oc, s.c, 3, 3}, dtype, 6);
    const Tensor bias = filled({s.oc}, dtype, 7), y = make({s.n, s.oc, s.oh(), s.ow()}, dtype);
    const Tensor y_cpu = make({s.n, s.oc, s.oh(), s.ow()}, dtype, kCPU);
    conv().forward(y, x.to(kCUDA), w.to(kCUDA), bias.to(kCUDA), s);
    cpu_kernels<ConvKernels>().forward(y_cpu, x, w, bias, s);
    const Tensor result = y.cpu();
    // Sums of 73 terms of at most 1 on either side, and a rounding each.
    const double sums = 2 * 75 * 3 * unit_roundoff(kFloat) * 75, rounding = 2 * unit_roundoff(dtype);
    for (i64 i = 0; i < result.numel(); ++i) {
      const double a = get(result, i), b = get(y_cpu, i);
      REQUIRE(std::fabs(a - b) <= sums + rounding * std::fmax(std::fabs(a), std::fabs(b)));
    }
  }
}

TEST_CASE("device convolutions give the same bits every time") {
  const ConvShape s = shape(4, 6, 9, 8, 10, 3, 3, 2, 1);
  const Tensor x = filled({s.n, s.c, s.h, s.w}, kFloat, 8).to(kCUDA);
  const Tensor w = filled({s.oc, s.c, 3, 3}, kFloat, 9).to(kCUDA);
  const Tensor gy = filled({s.n, s.oc, s.oh(), s.ow()}, kFloat, 10).to(kCUDA);
  std::vector<Tensor> runs[2];
  for (auto& results : runs) {
    results = {make({s.n, s.oc, s.oh(), s.ow()}, kFloat), make({s.n, s.c, s.h, s.w}, kFloat),
               make({s.oc, s.c, 3, 3}, kFloat)};
    conv().forward(results[0], x, w, Tensor(), s);
    conv().grad_input(results[1], gy, w, s);
    conv().grad_weight(results[2], gy, x, s);
    for (Tensor& result : results) result = result.cpu();
  }
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(std::memcmp(runs[0][i].data_ptr(), runs[1][i].data_ptr(), runs[0][i].nbytes()) == 0);
}

TEST_CASE("padding takes part as zeros in device convolutions") {
  for (const i64 groups : {1, 2}) {
    const ConvShape s = shape(1, 2, 2, 2, 2, 3, 3, 1, 1, 1, groups);
    const Tensor x = filled({1, 2, 2, 2}, kFloat, 11), w = filled({2, 2 / groups, 3, 3}, kFloat, 12);
    static_cast<float*>(w.data_ptr())[0] = std::numeric_limits<float>::infinity();
    const Tensor y = make({1, 2, 2, 2}, kFloat);
    conv().forward(y, x.to(kCUDA), w.to(kCUDA), Tensor(), s);
    const Tensor result = y.cpu();
    for (i64 i = 0; i < 3; ++i) CHECK(std::isnan(get(result, i)));
    CHECK(std::isinf(get(result, 3)));
  }
}

TEST_CASE("empty device convolutions") {
  for (const i64 groups : {1, 3}) {
    const ConvShape s = shape(0, 3, 5, 5, 6, 3, 3, 1, 0, 1, groups);
    const Tensor x = make({0, 3, 5, 5}, kFloat), y = make({0, 6, 3, 3}, kFloat);
    const Tensor w = filled({6, 3 / groups, 3, 3}, kFloat, 13).to(kCUDA);
    conv().forward(y, x, w, Tensor(), s);
    conv().grad_input(x, y, w, s);
    const Tensor gw = filled({6, 3 / groups, 3, 3}, kFloat, 14).to(kCUDA);
    conv().grad_weight(gw, y, x, s);
    const Tensor result = gw.cpu();
    for (i64 i = 0; i < result.numel(); ++i) CHECK(get(result, i) == 0);
  }
}
