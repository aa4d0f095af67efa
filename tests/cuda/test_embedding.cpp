// Embedding on the device, bit for bit as on the CPU; wrong indices are reported when the device is waited
// for.

#include <catch2/catch.hpp>
#include <cmath>

#include "halftone/kernels/embedding.h"
#include "halftone/tests/cuda/parity.h"

using namespace halftone;
using namespace halftone::testing;
using Catch::Matchers::Contains;

namespace {

const EmbeddingKernels& host() { return cpu_kernels<EmbeddingKernels>(); }
const EmbeddingKernels& device() { return kernels_for<EmbeddingKernels>(Device(kCUDA)); }

struct Case {
  std::int64_t rows, features;
  Dims indices;
};
const std::vector<Case> kCases = {{5, 3, {7}}, {5, 16, {2, 3}}, {300, 1, {40, 8}}, {9, 33, {}},
                                  {4, 0, {3}}, {4, 2, {0}},     {1, 8, {30}}};

template <class F>
void for_cases(F check) {
  for (const ScalarType dtype : kFloatTypes) {
    for (const ScalarType index_dtype : {kLong, kInt}) {
      for (const MemoryLayout layout : kLayouts) {
        for (const Case& c : kCases) {
          INFO(dtype_name(dtype) << " " << name_of(layout) << " rows " << c.rows << " features "
                                 << c.features);
          check(c, dtype, layout, random_indices(index_dtype, c.indices, c.rows, layout, 1));
        }
      }
    }
  }
}

Dims with_features(Dims sizes, std::int64_t features) {
  sizes.push_back(features);
  return sizes;
}

}  // namespace

TEST_CASE("rows are looked up as on the CPU", "[embedding]") {
  for_cases([](const Case& c, ScalarType dtype, MemoryLayout layout, const Tensor& indices) {
    const Tensor table = filled(dtype, {c.rows, c.features}, layout, 2);
    const Tensor out = filled(dtype, with_features(c.indices, c.features), MemoryLayout::kDense, 3);
    const Tensor device_out = on_device(out);
    host().forward(out, table, indices);
    device().forward(device_out, on_device(table), on_device(indices));
    CHECK(same_memory(out, device_out));
  });
}

TEST_CASE("gradients are summed as on the CPU, by position", "[embedding]") {
  for_cases([](const Case& c, ScalarType dtype, MemoryLayout layout, const Tensor& indices) {
    const Tensor grad = filled(dtype, with_features(c.indices, c.features), layout, 4);
    for (const ScalarType out_dtype : {dtype, kFloat}) {
      for (const bool by_frequency : {false, true}) {
        for (const std::int64_t padding : {std::int64_t{-1}, c.rows / 2}) {
          const Tensor out = filled(out_dtype, {c.rows, c.features}, layout, 5), device_out = on_device(out);
          host().backward(out, grad, indices, padding, by_frequency);
          device().backward(device_out, on_device(grad), on_device(indices), padding, by_frequency);
          CHECK(same_memory(out, device_out));
        }
      }
    }
  });
}

TEST_CASE("gradients of many positions are sorted by radix and summed in their order", "[embedding]") {
  for (const ScalarType dtype : kFloatTypes) {
    for (const std::int64_t rows : {1, 300, 70000}) {
      const Tensor indices = random_indices(kLong, {41, 80}, rows, MemoryLayout::kDense, 7);
      const Tensor grad = filled(dtype, {41, 80, 2}, MemoryLayout::kDense, 8);
      const Tensor out = filled(dtype, {rows, 2}, MemoryLayout::kDense, 9), device_out = on_device(out);
      host().backward(out, grad, indices, 17, true);
      device().backward(device_out, on_device(grad), on_device(indices), 17, true);
      CHECK(same_memory(out, device_out));
    }
  }
}

TEST_CASE("factors are those of the CPU", "[embedding]") {
  for_cases([](const Case& c, ScalarType dtype, MemoryLayout, const Tensor& indices) {
    for (const bool by_frequency : {false, true}) {
      const Tensor out = filled(dtype, c.indices, MemoryLayout::kDense, 6), device_out = on_device(out);
      host().factors(out, indices, c.rows, c.rows / 2, by_frequency);
      device().factors(device_out, on_device(indices), c.rows, c.rows / 2, by_frequency);
      CHECK(same_memory(out, device_out));
    }
  });
}

TEST_CASE("an index out of range is reported and counts nowhere", "[embedding]") {
  const Tensor table = from(kFloat, {1, 2, 3, 4, 5, 6}),
               device_table = window(on_device(table), {3, 2}, {2, 1}, 0);
  const Tensor indices = on_device(from(kLong, {2, 3, -1}));
  const Tensor out = on_device(empty(kFloat, {3, 2})),
               sums = on_device(filled(kFloat, {3, 2}, MemoryLayout::kDense, 1));
  const Tensor factors = on_device(from(kFloat, {9, 9, 9}));
  const auto reported = [] {
    CHECK_THROWS_WITH(cuda::synchronize(), Contains("embedding") && Contains("out of range"));
    CHECK_NOTHROW(cuda::synchronize());
  };
  device().forward(out, device_table, indices);
  reported();
  const Tensor got = out.cpu();
  CHECK(get(got, 0) == 5);
  CHECK(get(got, 1) == 6);
  for (std::int64_t i = 2; i < 6; ++i) CHECK(std::isnan(get(got, i)));
  device().backward(sums, window(device_table, {3, 2}, {2, 1}, 0), indices, -1, false);
  reported();
  CHECK(same_memory(from(kFloat, {0, 0, 0, 0, 1, 2}), sums));
  device().factors(factors, indices, 3, -1, true);
  reported();
  CHECK(same_memory(from(kFloat, {1, 0, 0}), factors));
}
