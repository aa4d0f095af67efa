// Convolutions and their gradients against plain fp64 loops over the definition: strides, paddings,
// dilations, groups, odd sizes, every dtype, at every instruction set this processor has.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "halftone/engine/tensor.h"
#include "halftone/engine/threads.h"
#include "halftone/kernels/conv.h"
#include "halftone/kernels/cpu/isa.h"
#include "halftone/kernels/kernels.h"
#include "halftone/tests/support/conv_reference.h"

using namespace halftone;

namespace {

using testing::Exact;
using testing::for_each_product;
using testing::i64;

const ConvKernels& conv() { return cpu_kernels<ConvKernels>(); }

template <class F>
void at_every_isa(F f) {
  const cpu::Isa before = cpu::current_isa();
  for (int level = 0; level <= static_cast<int>(cpu::highest_isa()); ++level) {
    cpu::set_isa_for_testing(static_cast<cpu::Isa>(level));
    INFO("isa " << cpu::isa_name(static_cast<cpu::Isa>(level)));
    f();
  }
  cpu::set_isa_for_testing(before);
}

double get(const Tensor& t, i64 i) {
  return dispatch_all(t.scalar_type(),
                      [&]<class T>() { return static_cast<double>(static_cast<const T*>(t.data_ptr())[i]); });
}

void set(const Tensor& t, i64 i, double value) {
  dispatch_all(t.scalar_type(), [&]<class T>() { static_cast<T*>(t.data_ptr())[i] = static_cast<T>(value); });
}

/// Memory for a tensor, without any operator.
Tensor make(IntArrayRef sizes, Dtype dtype) {
  const auto bytes = static_cast<std::size_t>(count_elements(sizes)) * element_size(dtype);
  return Tensor(make_intrusive<TensorImpl>(make_intrusive<Storage>(bytes, Device(kCPU)), dtype, sizes,
                                           contiguous_strides(sizes), 0));
}

Tensor filled(IntArrayRef sizes, Dtype dtype, unsigned seed) {
  const Tensor t = make(sizes, dtype);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (i64 i = 0; i < t.numel(); ++i) set(t, i, uniform(random));
  return t;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.nbytes() == b.nbytes() && std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0;
}

void check(const Tensor& result, const Exact& exact) {
  const Dtype dtype = result.scalar_type();
  const double u = dtype == kDouble ? unit_roundoff(kDouble) : unit_roundoff(kFloat),
               u_out = unit_roundoff(dtype);
  const double tiny = dtype == kHalf ? 0x1p-25 : dtype == kDouble ? 0 : 1e-37;
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
  const Tensor x = filled({s.n, s.c, s.h, s.w}, dx, 1), w = filled({s.oc, s.c / s.groups, s.kh, s.kw}, dw, 2);
  const Tensor bias = filled({s.oc}, dw, 3), gy = filled({s.n, s.oc, s.oh(), s.ow()}, dx, 4);
  const Tensor y = make({s.n, s.oc, s.oh(), s.ow()}, out);
  const Tensor gx = make({s.n, s.c, s.h, s.w}, out);
  const Tensor gw = make({s.oc, s.c / s.groups, s.kh, s.kw}, out);

  Exact forward(y.numel()), input(gx.numel()), weight(gw.numel());
  for_each_product(s, [&](i64 iy, i64 ix, i64 iw) {
    forward.add(iy, get(x, ix) * get(w, iw));
    input.add(ix, get(gy, iy) * get(w, iw));
    weight.add(iw, get(gy, iy) * get(x, ix));
  });
  conv().forward(y, x, w, Tensor(), s);
  check(y, forward);
  conv().grad_input(gx, gy, w, s);
  check(gx, input);
  conv().grad_weight(gw, gy, x, s);
  check(gw, weight);

  for (i64 i = 0; i < y.numel(); ++i) forward.add(i, get(bias, i / (s.oh() * s.ow()) % s.oc));
  conv().forward(y, x, w, bias, s);
  check(y, forward);
}

ConvShape shape(i64 n, i64 c, i64 h, i64 w, i64 oc, i64 kh, i64 kw, i64 stride = 1, i64 pad = 0, i64 dil = 1,
                i64 groups = 1) {
  return {n, c, h, w, oc, kh, kw, stride, stride, pad, pad, dil, dil, groups};
}

std::vector<ConvShape> shapes() {
  std::vector<ConvShape> all = {
      shape(2, 3, 8, 9, 5, 3, 3), shape(2, 3, 8, 9, 5, 3, 3, 1, 1), shape(3, 4, 7, 7, 6, 3, 3, 2, 1),
      shape(1, 2, 11, 10, 3, 2, 3, 3, 2), shape(2, 4, 9, 9, 4, 3, 3, 1, 2, 2),
      shape(2, 4, 12, 12, 4, 3, 3, 2, 2, 2), shape(2, 6, 6, 6, 6, 3, 3, 1, 1, 1, 6),
      shape(2, 6, 6, 7, 4, 3, 3, 2, 1, 1, 2), shape(5, 3, 4, 4, 7, 4, 4), shape(4, 5, 5, 5, 9, 1, 1),
      shape(4, 5, 5, 6, 9, 1, 1, 2), shape(2, 40, 6, 6, 10, 3, 3, 1, 1), shape(3, 2, 1, 30, 4, 1, 5, 1, 0),
      shape(2, 3, 1, 1, 2, 1, 1), shape(70, 2, 3, 3, 3, 3, 3), shape(2, 1, 40, 40, 2, 5, 5, 1, 2),
      shape(1, 2, 30, 30, 3, 3, 3, 5, 1), shape(2, 3, 6, 6, 35, 2, 2, 4, 3, 3),
      shape(9, 60, 5, 5, 3, 3, 3, 1, 1),
      // Enough channels for vectors along them, on either side; sums of several blocks; rows of many groups.
      shape(2, 16, 9, 9, 16, 3, 3), shape(2, 33, 7, 8, 35, 3, 3, 1, 1),
      shape(1, 48, 10, 31, 20, 3, 3, 1, 2, 2), shape(2, 34, 8, 9, 36, 3, 2, 1, 0, 1, 2),
      shape(2, 20, 9, 12, 17, 3, 3, 2, 1), shape(2, 16, 1, 60, 32, 1, 3, 1, 0),
      shape(1, 16, 3, 600, 16, 1, 1), shape(1, 2, 45, 16, 530, 3, 3),
      shape(2, 17, 5, 6, 18, 2, 2, 1, 3),  // rows of the result that no pixel reaches
  };
  ConvShape uneven = shape(2, 4, 10, 13, 6, 3, 2, 1, 0, 1, 2);
  uneven.stride_h = 2;
  uneven.pad_w = 2;
  uneven.dil_w = 3;
  uneven.stride_w = 3;
  all.push_back(uneven);
  return all;
}

}  // namespace

TEST_CASE("convolutions of every geometry meet their bound") {
  at_every_isa([] {
    for (const ConvShape& s : shapes())
      for (const Dtype dtype : {kFloat, kBFloat16, kHalf}) check_all(s, dtype, dtype, dtype);
  });
}

TEST_CASE("convolutions mix dtypes") {
  at_every_isa([] {
    for (const Dtype dx : {kFloat, kHalf, kBFloat16})
      for (const Dtype dw : {kFloat, kHalf, kBFloat16})
        for (const Dtype out : {kFloat, kHalf, kBFloat16}) {
          check_all(shape(2, 3, 6, 7, 4, 3, 3, 1, 1), dx, dw, out);
          check_all(shape(2, 4, 7, 7, 4, 3, 3, 2, 1, 1, 2), dx, dw, out);
        }
  });
}

TEST_CASE("float64 convolutions follow the definition") {
  for (const ConvShape& s : shapes()) check_all(s, kDouble, kDouble, kDouble);
}

TEST_CASE("convolutions do not depend on threads or on the rest of the batch") {
  at_every_isa([] {
    for (const Dtype dtype : {kFloat, kBFloat16}) {
      const ConvShape s = shape(6, 8, 12, 11, 20, 3, 3, 1, 1);
      const Tensor x = filled({s.n, s.c, s.h, s.w}, dtype, 5), w = filled({s.oc, s.c, 3, 3}, dtype, 6);
      const Tensor gy = filled({s.n, s.oc, s.oh(), s.ow()}, dtype, 7);
      const auto run = [&](const ConvShape& shape_n, const Tensor& in, const Tensor& g) {
        std::vector<Tensor> results = {make({shape_n.n, s.oc, s.oh(), s.ow()}, kFloat),
                                       make({shape_n.n, s.c, s.h, s.w}, kFloat),
                                       make({s.oc, s.c, 3, 3}, kFloat)};
        conv().forward(results[0], in, w, Tensor(), shape_n);
        conv().grad_input(results[1], g, w, shape_n);
        conv().grad_weight(results[2], g, in, shape_n);
        return results;
      };
      const int before = get_num_threads();
      set_num_threads(1);
      const std::vector<Tensor> alone = run(s, x, gy);
      for (const int threads : {2, 3, 5}) {
        set_num_threads(threads);
        const std::vector<Tensor> other = run(s, x, gy);
        for (std::size_t i = 0; i < other.size(); ++i) CHECK(same_bytes(alone[i], other[i]));
      }
      set_num_threads(before);

      ConvShape one = s;
      one.n = 1;
      for (i64 n = 0; n < s.n; ++n) {
        const Tensor xn = make({1, s.c, s.h, s.w}, dtype);
        const Tensor gn = make({1, s.oc, s.oh(), s.ow()}, dtype);
        for (i64 i = 0; i < xn.numel(); ++i) set(xn, i, get(x, n * xn.numel() + i));
        for (i64 i = 0; i < gn.numel(); ++i) set(gn, i, get(gy, n * gn.numel() + i));
        const std::vector<Tensor> single = run(one, xn, gn);
        for (std::size_t r = 0; r < 2; ++r) {
          const i64 count = single[r].numel();
          CHECK(std::memcmp(single[r].data_ptr<float>(), alone[r].data_ptr<float>() + n * count,
                            single[r].nbytes()) == 0);
        }
      }
    }
  });
}

TEST_CASE("an output channel does not depend on how many there are") {
  at_every_isa([] {
    for (const Dtype dtype : {kFloat, kBFloat16, kHalf}) {
      const ConvShape many = shape(2, 36, 9, 11, 37, 3, 3, 1, 1), few = shape(2, 36, 9, 11, 2, 3, 3, 1, 1);
      const Tensor x = filled({2, 36, 9, 11}, dtype, 10), w = filled({37, 36, 3, 3}, dtype, 11);
      const Tensor first = make({2, 36, 3, 3}, dtype);
      for (i64 i = 0; i < first.numel(); ++i) set(first, i, get(w, i));
      const Tensor all = make({2, 37, 9, 11}, kFloat), two = make({2, 2, 9, 11}, kFloat);
      conv().forward(all, x, w, Tensor(), many);
      conv().forward(two, x, first, Tensor(), few);
      for (i64 n = 0; n < 2; ++n)
        CHECK(std::memcmp(two.data_ptr<float>() + n * 2 * 99, all.data_ptr<float>() + n * 37 * 99,
                          2 * 99 * sizeof(float)) == 0);
    }
  });
}

TEST_CASE("empty convolutions") {
  const ConvShape s = shape(0, 3, 5, 5, 4, 3, 3);
  const Tensor x = make({0, 3, 5, 5}, kFloat), w = filled({4, 3, 3, 3}, kFloat, 8),
               y = make({0, 4, 3, 3}, kFloat);
  conv().forward(y, x, w, Tensor(), s);
  conv().grad_input(x, y, w, s);
  const Tensor gw = filled({4, 3, 3, 3}, kFloat, 9);
  conv().grad_weight(gw, y, x, s);
  for (i64 i = 0; i < gw.numel(); ++i) CHECK(get(gw, i) == 0);
}
