// Sorting, flipping and triangles on the device, bit for bit as on the CPU.

#include <catch2/catch.hpp>
#include <limits>

#include "halftone/kernels/index.h"
#include "halftone/tests/cuda/parity.h"

using namespace halftone;
using namespace halftone::testing;

namespace {

const ArrangeKernels& host() { return cpu_kernels<ArrangeKernels>(); }
const ArrangeKernels& device() { return kernels_for<ArrangeKernels>(Device(kCUDA)); }

/// Values with ties, and in floating types NaN, both zeros and infinities among them.
Tensor sortable(ScalarType dtype, const Dims& sizes, MemoryLayout layout, unsigned seed) {
  const Tensor t = filled(dtype, sizes, layout, seed);
  if (!is_floating_point(dtype)) return t;
  const double special[] = {std::nan(""),
                            -std::nan(""),
                            0.0,
                            -0.0,
                            std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity()};
  for (std::int64_t i = 0; i < t.numel(); i += 3) put(t, i, special[i / 3 % 6]);
  return t;
}

void check_sort(ScalarType dtype, const Dims& sizes, MemoryLayout layout, std::int64_t dim,
                std::int64_t wanted) {
  INFO(dtype_name(dtype) << " " << name_of(layout) << " of " << count_elements(sizes) << ", dim " << dim
                         << ", first " << wanted);
  Dims result = sizes;
  if (!result.empty()) result[static_cast<std::size_t>(dim)] = wanted;
  const Tensor self = sortable(dtype, sizes, layout, 1), device_self = on_device(self);
  for (const bool descending : {false, true}) {
    const Tensor values = filled(dtype, result, layout, 2), indices = filled(kLong, result, layout, 3);
    const Tensor device_values = on_device(values), device_indices = on_device(indices);
    host().sort(values, indices, self, dim, descending);
    device().sort(device_values, device_indices, device_self, dim, descending);
    CHECK(same_memory(indices, device_indices));
    CHECK(same_memory(values, device_values));
  }
}

}  // namespace

TEST_CASE("short lines are sorted as on the CPU", "[arrange]") {
  for (const ScalarType dtype : kAllTypes) {
    for (const MemoryLayout layout : kLayouts) {
      check_sort(dtype, {}, layout, 0, 1);
      check_sort(dtype, {1}, layout, 0, 1);
      check_sort(dtype, {3, 0}, layout, 1, 0);
      check_sort(dtype, {3, 4}, layout, 1, 4);
      check_sort(dtype, {33, 3}, layout, 0, 33);
      check_sort(dtype, {2, 100, 3}, layout, 1, 5);
      check_sort(dtype, {700}, layout, 0, 700);
    }
  }
}

TEST_CASE("long lines are sorted as on the CPU", "[arrange]") {
  for (const ScalarType dtype : kAllTypes) {
    check_sort(dtype, {2048}, MemoryLayout::kDense, 0, 2048);
    check_sort(dtype, {2049}, MemoryLayout::kDense, 0, 2049);
    check_sort(dtype, {3, 2500}, MemoryLayout::kReversed, 1, 2500);
    check_sort(dtype, {2100, 2}, MemoryLayout::kDense, 0, 10);
  }
}

TEST_CASE("dimensions are flipped as on the CPU", "[arrange]") {
  for (const ScalarType dtype : kAllTypes) {
    for (const MemoryLayout layout : kLayouts) {
      for (const Dims& dims : std::vector<Dims>{{}, {0}, {1, 2}, {0, 1, 2}}) {
        const Tensor self = filled(dtype, {3, 4, 5}, layout, 1);
        const Tensor out = filled(dtype, {3, 4, 5}, MemoryLayout::kDense, 2), device_out = on_device(out);
        host().flip(out, self, dims);
        device().flip(device_out, on_device(self), dims);
        CHECK(same_memory(out, device_out));
      }
      const Tensor none = filled(dtype, {0, 2}, layout, 1), out = on_device(none);
      device().flip(out, on_device(none), {0, 1});
      CHECK(same_memory(none, out));
    }
  }
}

TEST_CASE("triangles are as on the CPU", "[arrange]") {
  for (const ScalarType dtype : kAllTypes) {
    for (const MemoryLayout layout : kLayouts) {
      for (const Dims& sizes : std::vector<Dims>{{4, 4}, {2, 3, 5}, {7, 2}, {0, 3}}) {
        for (const std::int64_t diagonal : {-9, -1, 0, 2}) {
          for (const bool upper : {false, true}) {
            const Tensor self = filled(dtype, sizes, layout, 1);
            const Tensor out = filled(dtype, sizes, layout, 2), device_out = on_device(out);
            host().triangle(out, self, diagonal, upper);
            device().triangle(device_out, on_device(self), diagonal, upper);
            CHECK(same_memory(out, device_out));
          }
        }
      }
    }
  }
}
