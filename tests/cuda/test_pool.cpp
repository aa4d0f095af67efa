// Pooling on the device, bit for bit as on the CPU: values, saved places, and gradients summed in the same
// order.

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "halftone/kernels/kernels.h"
#include "halftone/kernels/pool.h"
#include "halftone/tests/cuda/parity.h"
#include "halftone/tests/support/pool_shape.h"

using namespace halftone;
using namespace halftone::testing;

namespace {

const PoolKernels& host() { return cpu_kernels<PoolKernels>(); }
const PoolKernels& device() { return kernels_for<PoolKernels>(Device(kCUDA)); }

std::vector<PoolShape> shapes() {
  std::vector<PoolShape> all = {square_pool(3, 6, 8, 2, 2),
                                square_pool(2, 7, 7, 3, 2, 1),
                                square_pool(2, 7, 9, 3, 1, 1),
                                square_pool(2, 9, 8, 3, 2, 1, 2),
                                square_pool(1, 3, 4, 2, 1, 1, 5),
                                square_pool(2, 7, 10, 2, 2, 0, 1, true),
                                square_pool(2, 7, 10, 3, 3, 1, 1, true),
                                square_pool(9, 20, 21, 2, 2),
                                square_pool(2, 5, 5, 5, 1),
                                square_pool(2, 9, 8, 5, 2, 2),
                                square_pool(2, 4, 4, 1, 2),
                                square_pool(0, 4, 4, 2, 2),
                                square_pool(2, 2, 2, 3, 1)};
  PoolShape line = square_pool(4, 1, 12, 3, 2, 1);
  line.kh = line.stride_h = 1;
  line.pad_h = 0;
  all.push_back(line);
  return all;
}

/// Pairs of dtypes: equal ones, and mixtures.
struct Types {
  ScalarType a, b;
};
const Types kTypes[] = {{kFloat, kFloat},     {kHalf, kHalf},    {kBFloat16, kBFloat16},
                        {kDouble, kDouble},   {kFloat, kHalf},   {kHalf, kFloat},
                        {kDouble, kBFloat16}, {kFloat, kDouble}, {kBFloat16, kHalf}};

template <class F>
void for_shapes(F check) {
  for (const PoolShape& s : shapes()) {
    for (const Types& types : kTypes) {
      INFO(s.h << " x " << s.w << ", window " << s.kh << " x " << s.kw << ", " << dtype_name(types.a)
               << " and " << dtype_name(types.b));
      check(s, types.a, types.b);
    }
  }
}

Tensor dense(ScalarType dtype, const Dims& sizes, unsigned seed) {
  return filled(dtype, sizes, MemoryLayout::kDense, seed);
}

}  // namespace

TEST_CASE("maxima, their places and gradients are those of the CPU", "[pool]") {
  for_shapes([](const PoolShape& s, ScalarType result, ScalarType input) {
    const Dims in{s.planes, s.h, s.w}, out{s.planes, s.oh(), s.ow()};
    const Tensor x = dense(input, in, 1);
    for (std::int64_t i = 0; i < x.numel(); ++i) put(x, i, std::round(get(x, i) / 30));  // ties
    for (std::int64_t i = 5; i < x.numel(); i += 37) put(x, i, std::nan(""));
    for (std::int64_t i = 1; i < x.numel(); i += 7) put(x, i, -std::numeric_limits<double>::infinity());
    const Tensor gy = dense(input, out, 4);
    for (const ScalarType index : {kLong, kByte}) {
      const Dims places{s.planes, s.oh(), index == kLong ? s.ow() : number_bytes(s)};
      const Tensor y = dense(result, out, 2), indices = dense(index, places, 3);
      const Tensor device_y = on_device(y), device_indices = on_device(indices);
      host().max_forward(y, indices, x, s);
      device().max_forward(device_y, device_indices, on_device(x), s);
      CHECK(same_memory(indices, device_indices));
      CHECK(same_memory(y, device_y));

      const Tensor gx = dense(result, in, 5), device_gx = on_device(gx);
      host().max_backward(gx, gy, indices, s);
      device().max_backward(device_gx, on_device(gy), device_indices, s);
      CHECK(same_memory(gx, device_gx));
    }
  });
}

TEST_CASE("averages and their gradients are those of the CPU", "[pool]") {
  for_shapes([](PoolShape s, ScalarType result, ScalarType input) {
    if (s.dil_h != 1) return;
    for (const bool include_pad : {true, false}) {
      for (const std::int64_t divisor : {0, 3}) {
        s.count_include_pad = include_pad;
        s.divisor = divisor;
        const Dims in{s.planes, s.h, s.w}, out{s.planes, s.oh(), s.ow()};
        const Tensor x = dense(input, in, 1), y = dense(result, out, 2), device_y = on_device(y);
        host().avg_forward(y, x, s);
        device().avg_forward(device_y, on_device(x), s);
        CHECK(same_memory(y, device_y));
        const Tensor gy = dense(input, out, 3), gx = dense(result, in, 4), device_gx = on_device(gx);
        host().avg_backward(gx, gy, s);
        device().avg_backward(device_gx, on_device(gy), s);
        CHECK(same_memory(gx, device_gx));
      }
    }
  });
}

TEST_CASE("adaptive averages and their gradients are those of the CPU", "[pool]") {
  struct Size {
    std::int64_t h, w, oh, ow;
  };
  for (const Size z : {Size{7, 7, 1, 1}, Size{8, 10, 3, 4}, Size{5, 3, 7, 3}, Size{1, 12, 1, 5},
                       Size{6, 6, 6, 6}, Size{2, 3, 11, 8}, Size{4, 4, 0, 2}}) {
    for (const Types& types : kTypes) {
      INFO(z.h << " x " << z.w << " to " << z.oh << " x " << z.ow);
      const AdaptivePoolShape s{5, z.h, z.w, z.oh, z.ow};
      const Dims in{5, z.h, z.w}, out{5, z.oh, z.ow};
      const Tensor x = dense(types.b, in, 1), y = dense(types.a, out, 2), device_y = on_device(y);
      host().adaptive_avg_forward(y, x, s);
      device().adaptive_avg_forward(device_y, on_device(x), s);
      CHECK(same_memory(y, device_y));
      const Tensor gy = dense(types.b, out, 3), gx = dense(types.a, in, 4), device_gx = on_device(gx);
      host().adaptive_avg_backward(gx, gy, s);
      device().adaptive_avg_backward(device_gx, on_device(gy), s);
      CHECK(same_memory(gx, device_gx));
    }
  }
}
