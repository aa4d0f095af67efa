// Reading and writing by index tensors on the device, bit for bit as on the CPU.

#include <catch2/catch.hpp>
#include <cmath>

#include "halftone/kernels/index.h"
#include "halftone/tests/cuda/parity.h"

using namespace halftone;
using namespace halftone::testing;
using Catch::Matchers::Contains;

namespace {

const IndexKernels& host() { return cpu_kernels<IndexKernels>(); }
const IndexKernels& device() { return kernels_for<IndexKernels>(Device(kCUDA)); }

struct RowCase {
  Dims self, positions, dims;
};

/// Where the indexed dimensions are adjacent the positions take their place, else they come first.
Dims part_sizes(const RowCase& c) {
  bool adjacent = true;
  for (std::size_t i = 1; i < c.dims.size(); ++i) adjacent = adjacent && c.dims[i] == c.dims[i - 1] + 1;
  Dims sizes;
  for (std::size_t d = 0; d < c.self.size(); ++d) {
    if (std::find(c.dims.begin(), c.dims.end(), static_cast<std::int64_t>(d)) == c.dims.end())
      sizes.push_back(c.self[d]);
  }
  for (std::size_t i = 0; i < c.positions.size(); ++i)
    sizes.insert((adjacent ? static_cast<std::size_t>(c.dims[0]) : 0) + i, c.positions[i]);
  return sizes;
}

std::int64_t places(const RowCase& c) {
  std::int64_t count = 1;
  for (const std::int64_t d : c.dims) count *= c.self[static_cast<std::size_t>(d)];
  return count;
}

const std::vector<RowCase>& row_cases() {
  static const std::vector<RowCase> cases = {
      {{5, 7}, {11}, {0}},     {{5, 7}, {2, 3}, {1}}, {{3, 4, 5}, {6}, {0, 1}},   {{3, 4, 5}, {6}, {0, 2}},
      {{4, 3, 2, 5}, {}, {1}}, {{4, 64}, {9}, {0}},   {{3, 5, 32}, {4}, {1}},     {{6}, {13}, {0}},
      {{5, 0}, {3}, {0}},      {{5, 2}, {0}, {0}},    {{2, 3, 2}, {4}, {0, 1, 2}}};
  return cases;
}

/// What sums are accumulated in.
ScalarType sum_type(ScalarType dtype) { return is_low_precision(dtype) ? kFloat : dtype; }

std::string report(ScalarType dtype, MemoryLayout layout, std::size_t number) {
  return std::string(dtype_name(dtype)) + " " + name_of(layout) + " case " + std::to_string(number);
}

template <class F>
void for_row_cases(F check) {
  for (const ScalarType dtype : kAllTypes) {
    for (const MemoryLayout layout : kLayouts) {
      for (std::size_t i = 0; i < row_cases().size(); ++i) {
        INFO(report(dtype, layout, i));
        const RowCase& c = row_cases()[i];
        check(c, dtype, layout, random_indices(kLong, c.positions, places(c), layout, 3));
      }
    }
  }
}

}  // namespace

TEST_CASE("rows are taken as on the CPU, between any layouts", "[index]") {
  for_row_cases([](const RowCase& c, ScalarType dtype, MemoryLayout layout, const Tensor& positions) {
    const auto check = [&](MemoryLayout from, MemoryLayout to) {
      const Tensor self = filled(dtype, c.self, from, 1), out = filled(dtype, part_sizes(c), to, 2);
      const Tensor device_out = on_device(out);
      host().take(out, self, positions, c.dims);
      device().take(device_out, on_device(self), on_device(positions), c.dims);
      CHECK(same_memory(out, device_out));
    };
    check(layout, layout);
    check(layout, MemoryLayout::kDense);
    check(MemoryLayout::kDense, layout);
  });
}

TEST_CASE("rows are put and added as on the CPU, repeated ones in order", "[index]") {
  for_row_cases([](const RowCase& c, ScalarType dtype, MemoryLayout layout, const Tensor& positions) {
    const Tensor values = filled(dtype, part_sizes(c), layout, 2);
    const Tensor self = filled(dtype, c.self, layout, 1), device_self = on_device(self);
    host().put(self, positions, c.dims, values);
    device().put(device_self, on_device(positions), c.dims, on_device(values));
    CHECK(same_memory(self, device_self));

    const Tensor sums = filled(sum_type(dtype), c.self, layout, 4), device_sums = on_device(sums);
    for (const Scalar& alpha : {Scalar(1), Scalar(-0.3)}) {
      host().add(sums, positions, c.dims, values, alpha);
      device().add(device_sums, on_device(positions), c.dims, on_device(values), alpha);
      CHECK(same_memory(sums, device_sums));
    }
  });
}

TEST_CASE("many sources are sorted by radix and added in their order", "[index]") {
  for (const std::int64_t count : {2048, 2049, 7001}) {
    for (const std::int64_t rows : {1, 97, 70000}) {
      const Tensor positions = random_indices(kLong, {count}, rows, MemoryLayout::kDense, 5);
      const Tensor values = filled(kBFloat16, {count, 2}, MemoryLayout::kDense, 6);
      const Tensor sums = filled(kFloat, {rows, 2}, MemoryLayout::kDense, 7), device_sums = on_device(sums);
      host().add(sums, positions, {0}, values, 0.7);
      device().add(device_sums, on_device(positions), {0}, on_device(values), 0.7);
      CHECK(same_memory(sums, device_sums));
      const Tensor self = filled(kBFloat16, {rows, 2}, MemoryLayout::kDense, 8),
                   device_self = on_device(self);
      host().put(self, positions, {0}, values);
      device().put(device_self, on_device(positions), {0}, on_device(values));
      CHECK(same_memory(self, device_self));
    }
  }
}

TEST_CASE("elements are gathered, scattered and added as on the CPU", "[index]") {
  struct Case {
    Dims self, index;
    std::int64_t dim;
  };
  const std::vector<Case> cases = {
      {{3, 4}, {3, 9}, 1}, {{3, 4}, {7, 2}, 0}, {{3, 2, 5}, {2, 2, 4}, 2}, {{5}, {40}, 0},
      {{}, {}, 0},         {{2, 2}, {0, 2}, 1}, {{3, 1000}, {3, 1500}, 1}, {{1, 3}, {4000, 3}, 0}};
  for (const ScalarType dtype : kAllTypes) {
    for (const MemoryLayout layout : kLayouts) {
      for (std::size_t i = 0; i < cases.size(); ++i) {
        INFO(report(dtype, layout, i));
        const auto& [sizes, index_sizes, dim] = cases[i];
        const std::int64_t limit = sizes.empty() ? 1 : sizes[static_cast<std::size_t>(dim)];
        const Tensor index = random_indices(kLong, index_sizes, limit, layout, 11);
        const Tensor src = filled(dtype, index_sizes, layout, 12);
        const Tensor self = filled(dtype, sizes, layout, 13), device_self = on_device(self);
        const Tensor device_index = on_device(index), device_src = on_device(src);

        const Tensor out = filled(dtype, index_sizes, layout, 14), device_out = on_device(out);
        host().gather(out, self, dim, index);
        device().gather(device_out, device_self, dim, device_index);
        CHECK(same_memory(out, device_out));

        host().scatter(self, dim, index, src);
        device().scatter(device_self, dim, device_index, device_src);
        CHECK(same_memory(self, device_self));

        const Tensor sums = filled(sum_type(dtype), sizes, layout, 15), device_sums = on_device(sums);
        host().scatter_add(sums, dim, index, src);
        device().scatter_add(device_sums, dim, device_index, device_src);
        CHECK(same_memory(sums, device_sums));
      }
    }
  }
}

TEST_CASE("overlapping windows are accumulated in order", "[index]") {
  for (const ScalarType dtype : kAllTypes) {
    for (const std::int64_t windows : {1, 5, 900}) {
      const Tensor src = filled(dtype, {windows, 7}, MemoryLayout::kReversed, 21);
      const Tensor memory = filled(sum_type(dtype), {windows + 6}, MemoryLayout::kDense, 22);
      const Tensor device_memory = on_device(memory);
      host().accumulate(window(memory, {windows, 7}, {1, 1}, 0), src);
      device().accumulate(window(device_memory, {windows, 7}, {1, 1}, 0), on_device(src));
      CHECK(same_memory(memory, device_memory));
    }
  }
}

TEST_CASE("indices combine to positions, negative ones counted from the end", "[index]") {
  const Tensor positions = random_indices(kLong, {4, 5}, 6, MemoryLayout::kDense, 31),
               device_positions = on_device(positions);
  Tensor index = random_indices(kLong, {5}, 14, MemoryLayout::kGaps, 32);
  for (std::int64_t i = 0; i < 5; ++i) testing::put(index, i, testing::get(index, i) - 7);
  host().combine(positions, index, 7);
  device().combine(device_positions, on_device(index), 7);
  CHECK(same_memory(positions, device_positions));
}

TEST_CASE("an index out of range is reported when the device is waited for, and touches nothing", "[index]") {
  const Tensor index = on_device(from(kLong, {1, 4, 0, -1}));
  device().check_range("gather", index, 4, 2, false);
  CHECK_THROWS_WITH(cuda::synchronize(),
                    Contains("gather") && Contains("out of range for dimension 2 of size 4"));
  CHECK_NOTHROW(cuda::synchronize());
  device().check_range("index", index, 5, 0, true);
  CHECK_NOTHROW(cuda::synchronize());

  // The kernels that follow a report leave out what is wrong.
  const Tensor self = from(kFloat, {10, 11, 12, 13}), values = from(kFloat, {1, 2, 3, 4});
  const Tensor device_self = on_device(self), device_values = on_device(values), out = on_device(values);
  device().gather(out, device_self, 0, index);
  Tensor got = out.cpu();
  CHECK(get(got, 0) == 11);
  CHECK(std::isnan(get(got, 1)));
  CHECK(get(got, 2) == 10);
  CHECK(std::isnan(get(got, 3)));
  device().take(out, device_self, index, {0});
  got = out.cpu();
  CHECK(get(got, 0) == 11);
  CHECK(std::isnan(get(got, 3)));
  device().scatter(device_self, 0, index, device_values);
  device().scatter_add(device_self, 0, index, device_values);
  device().put(device_self, index, {0}, device_values);
  device().add(device_self, index, {0}, device_values, 1);
  CHECK(same_memory(from(kFloat, {6, 2, 12, 13}), device_self));

  const Tensor whole = on_device(from(kInt, {5, 6})), part = on_device(from(kInt, {1, 1, 1, 1}));
  device().take(part, whole, index, {0});
  CHECK(same_memory(from(kInt, {6, 0, 5, 0}), part));
  const Tensor positions = on_device(from(kLong, {0, 0, 0, 0}));
  device().combine(positions, index, 3);
  device().combine(positions, on_device(from(kLong, {1, 1, 1, 1})), 2);
  CHECK(same_memory(from(kLong, {3, -1, 1, 5}), positions));
}

TEST_CASE("elements that are not zero are counted and found in order", "[index]") {
  for (const ScalarType dtype : kAllTypes) {
    for (const MemoryLayout layout : kLayouts) {
      for (const Dims& sizes : std::vector<Dims>{{}, {0}, {1}, {3, 0}, {513}, {3, 4, 5}, {7, 2000}}) {
        INFO(report(dtype, layout, sizes.size()));
        const Tensor self = filled(dtype, sizes, layout, 41);
        for (std::int64_t i = 0; i < self.numel(); ++i) {
          if (i % 3 != 1) testing::put(self, i, i % 2 ? -0.0 : 0.0);
        }
        if (self.numel() > 7 && is_floating_point(dtype)) testing::put(self, 6, std::nan(""));
        const Tensor device_self = on_device(self);
        const std::int64_t count = host().count_nonzero(self);
        REQUIRE(device().count_nonzero(device_self) == count);
        const Tensor out = empty(kLong, {count, self.dim()}), device_out = on_device(out);
        host().nonzero(out, self);
        device().nonzero(device_out, device_self);
        CHECK(same_memory(out, device_out));
      }
    }
  }
}
