// Copies on the device and between host and device: every dtype to every dtype in every layout, bit for bit
// as on the CPU, with nothing else touched.

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "halftone/kernels/copy.h"
#include "halftone/tests/cuda/parity.h"

using namespace halftone;
using namespace halftone::testing;

namespace {

const CopyKernels& host() { return cpu_kernels<CopyKernels>(); }
const CopyKernels& device() { return kernels_for<CopyKernels>(kCUDA); }

/// Values that are rounded, saturated or lost by some conversion.
Tensor demanding(ScalarType dtype, const Dims& sizes, MemoryLayout layout, unsigned seed) {
  const double special[] = {0,
                            -0.0,
                            1,
                            -1,
                            255,
                            256,
                            3e9,
                            -3e9,
                            1e30,
                            -1e30,
                            65519,
                            65520,
                            0.5,
                            -2.5,
                            1e-8,
                            1e-40,
                            std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity()};
  const Tensor t = laid_out(dtype, sizes, layout), memory = memory_of(t);
  std::mt19937 random(seed);
  for (std::int64_t i = 0; i < memory.numel(); ++i) {
    put(memory, i,
        random() % 3 == 0 ? special[random() % 18] : static_cast<double>(random() % 1000) / 8 - 60);
  }
  return t;
}

}  // namespace

TEST_CASE("device: copies convert every dtype to every dtype in every layout", "[cuda]") {
  for (const Dims& sizes : {Dims{3, 9, 16}, Dims{2, 13, 11}}) {
    for (const ScalarType from_type : kAllTypes) {
      for (const ScalarType to_type : kAllTypes) {
        for (const MemoryLayout from_layout : kLayouts) {
          const Tensor src = demanding(from_type, sizes, from_layout, 1), there = on_device(src);
          for (const MemoryLayout to_layout : kLayouts) {
            const Tensor dst = filled(to_type, sizes, to_layout, 2), copy = on_device(dst);
            host().copy(dst, src);
            device().copy(copy, there);
            INFO(dtype_name(from_type) << " " << name_of(from_layout) << " to " << dtype_name(to_type) << " "
                                       << name_of(to_layout));
            REQUIRE(same_memory(dst, copy));
          }
        }
      }
    }
  }
}

TEST_CASE("device: NaN is converted as on the CPU", "[cuda]") {
  for (const ScalarType from_type : kFloatTypes) {
    for (const ScalarType to_type : kAllTypes) {
      const Tensor src = from(from_type, {std::nan(""), 1, std::nan("")});
      const Tensor dst = empty(to_type, {3}), copy = on_device(dst);
      host().copy(dst, src);
      device().copy(copy, on_device(src));
      const Tensor got = copy.cpu();
      for (std::int64_t i = 0; i < 3; ++i) {
        const double want = get(dst, i);
        CHECK((std::isnan(want) ? std::isnan(get(got, i)) : get(got, i) == want));
      }
    }
  }
}

TEST_CASE("device: transpositions of any size go through tiles", "[cuda]") {
  for (const ScalarType dtype : {kByte, kHalf, kFloat, kDouble}) {
    for (const auto& [batches, rows, columns] :
         {std::tuple<int, int, int>{1, 8, 8}, {1, 33, 64}, {3, 100, 31}, {2, 7, 40}, {1, 1, 1000}}) {
      const Tensor src = window(filled(dtype, {batches, columns, rows}, MemoryLayout::kDense, 4),
                                {batches, rows, columns}, {rows * columns, 1, rows}, 0);
      const Tensor dst = empty(dtype, {batches, rows, columns}),
                   copy = on_device(filled(dtype, {batches, rows, columns}, MemoryLayout::kDense, 5));
      host().copy(dst, src);
      device().copy(copy, on_device(src));
      INFO(dtype_name(dtype) << " " << batches << " x " << rows << " x " << columns);
      CHECK(same_memory(dst, copy));
    }
  }
}

TEST_CASE("device: rows and parts of rows are copied at any alignment", "[cuda]") {
  for (const ScalarType dtype : {kByte, kHalf, kFloat, kLong}) {
    for (const std::int64_t offset : {0, 1, 2, 8}) {
      for (const std::int64_t width : {1, 6, 8, 16, 31}) {
        const Tensor src =
            window(filled(dtype, {12 * 48}, MemoryLayout::kDense, 1), {12, width}, {48, 1}, offset);
        const Tensor dst =
            window(filled(dtype, {12 * 64}, MemoryLayout::kDense, 2), {12, width}, {64, 1}, 2 * offset);
        const Tensor copy = on_device(dst);
        host().copy(dst, src);
        device().copy(copy, on_device(src));
        INFO(dtype_name(dtype) << " " << offset << " " << width);
        CHECK(same_memory(dst, copy));
      }
    }
  }
}

TEST_CASE("copies between host and device convert, broadcast and keep layouts", "[cuda]") {
  const Dims sizes{4, 6, 10};
  for (const ScalarType from_type : {kHalf, kFloat, kDouble, kLong, kBool}) {
    for (const ScalarType to_type : {kHalf, kFloat, kLong, kByte}) {
      for (const MemoryLayout from_layout : kLayouts) {
        for (const MemoryLayout to_layout : kLayouts) {
          INFO(dtype_name(from_type) << " " << name_of(from_layout) << " to " << dtype_name(to_type) << " "
                                     << name_of(to_layout));
          for (const Dims& from_sizes : {sizes, Dims{6, 1}}) {
            const Tensor src = demanding(from_type, from_sizes, from_layout, 1);
            const Tensor want = filled(to_type, sizes, to_layout, 2), uploaded = on_device(want);
            const Tensor downloaded = filled(to_type, sizes, to_layout, 2);
            host().copy(want, src);
            device().copy(uploaded, src);
            REQUIRE(same_memory(want, uploaded));
            device().copy(downloaded, on_device(src));
            REQUIRE(std::memcmp(memory_of(want).data_ptr(), memory_of(downloaded).data_ptr(),
                                memory_of(want).nbytes()) == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("copies from one CUDA device to another", "[cuda]") {
  if (cuda::device_count() < 2) return;
  for (const ScalarType to_type : {kFloat, kHalf}) {
    for (const MemoryLayout layout : kLayouts) {
      const Tensor src = filled(kFloat, {5, 7, 9}, layout, 1), want = filled(to_type, {5, 7, 9}, layout, 2);
      const Tensor there = on_device(src), memory = memory_of(want).to(Device(kCUDA, 1));
      const Tensor copy = window(memory, want.sizes().dims(), want.strides().dims(), want.storage_offset());
      host().copy(want, src);
      device().copy(copy, there);
      CHECK(same_memory(want, copy));
    }
  }
}

TEST_CASE("device: fill", "[cuda]") {
  for (const ScalarType dtype : kAllTypes) {
    for (const Dims& sizes : {Dims{}, Dims{1}, Dims{37}, Dims{5, 16}, Dims{0, 3}}) {
      for (const MemoryLayout layout : kLayouts) {
        const Tensor want = filled(dtype, sizes, layout, 3), copy = on_device(want);
        host().fill(want, 1.0 + 0x1p-8 + 0x1p-40, (std::int64_t{1} << 53) + 1);
        device().fill(copy, 1.0 + 0x1p-8 + 0x1p-40, (std::int64_t{1} << 53) + 1);
        INFO(dtype_name(dtype) << " " << name_of(layout) << " " << sizes.size());
        CHECK(same_memory(want, copy));
      }
    }
  }
}

TEST_CASE("device: copies of nothing, to themselves, and errors", "[cuda]") {
  const Tensor t = on_device(filled(kFloat, {4, 3}, MemoryLayout::kDense, 1));
  device().copy(t, t);
  CHECK(same_memory(filled(kFloat, {4, 3}, MemoryLayout::kDense, 1), t));
  const Tensor none = on_device(empty(kFloat, {0, 3}));
  device().copy(none, on_device(empty(kHalf, {0, 3})));
  device().copy(none, on_device(empty(kHalf, {3})));
  REQUIRE_THROWS_WITH(device().copy(t, on_device(empty(kFloat, {2}))), Catch::Contains("cannot broadcast"));
  REQUIRE_THROWS_WITH(device().copy(t, empty(kFloat, {2})), Catch::Contains("cannot broadcast"));
  REQUIRE_THROWS_WITH(device().fill(window(t, {4}, {0}, 0), 1, 1), Catch::Contains("expanded"));
}
