// Random numbers, dropout and sequences on the device: the CPU's numbers, bit for bit but where a logarithm
// or a sine may differ in its last bit.

#include <catch2/catch.hpp>
#include <cmath>

#include "halftone/kernels/dropout.h"
#include "halftone/kernels/random.h"
#include "halftone/kernels/sequence.h"
#include "halftone/tests/cuda/parity.h"

using namespace halftone;
using namespace halftone::testing;
using Catch::Matchers::Contains;

namespace {

const RandomKernels& host() { return cpu_kernels<RandomKernels>(); }
const RandomKernels& device() { return kernels_for<RandomKernels>(Device(kCUDA)); }

/// The counter carries into its upper word within the first elements.
const PhiloxState kState{0x123456789abcdef, (std::uint64_t{1} << 32) - 3};

const std::int64_t kSizes[] = {0, 1, 2, 3, 4, 5, 31, 1000, 4099};

/// Contiguous, aligned or not.
Tensor target(ScalarType dtype, std::int64_t n, bool aligned) {
  return filled(dtype, {n}, aligned ? MemoryLayout::kDense : MemoryLayout::kMisaligned, 1);
}

/// Runs `draw(kernels, out)` on both devices and compares all bits.
template <class F>
void check_draws(const char* what, const std::vector<ScalarType>& types, F draw) {
  for (const ScalarType dtype : types) {
    for (const std::int64_t n : kSizes) {
      for (const bool aligned : {true, false}) {
        INFO(what << " " << dtype_name(dtype) << " " << n << (aligned ? "" : " misaligned"));
        const Tensor out = target(dtype, n, aligned), device_out = on_device(out);
        draw(host(), out);
        draw(device(), device_out);
        CHECK(same_memory(out, device_out));
      }
    }
  }
}

const std::vector<ScalarType> kReals(std::begin(kFloatTypes), std::end(kFloatTypes));
const std::vector<ScalarType> kAll(std::begin(kAllTypes), std::end(kAllTypes));

}  // namespace

TEST_CASE("uniform numbers and integers are the CPU's", "[random]") {
  check_draws("uniform", kReals,
              [](const RandomKernels& k, const Tensor& out) { k.uniform(out, -0.7, 2.3, kState); });
  check_draws("uniform", kReals,
              [](const RandomKernels& k, const Tensor& out) { k.uniform(out, 1, 1.01, kState); });
  // Intervals so short that rounding reaches their end, in each of the types.
  for (const double high : {1.0007, 1.005, 1 + 1e-7}) {
    check_draws("short", kReals,
                [&](const RandomKernels& k, const Tensor& out) { k.uniform(out, 1, high, kState); });
  }
  check_draws("integers", kAll,
              [](const RandomKernels& k, const Tensor& out) { k.integers(out, 3, 100, kState); });
  check_draws("integers", {kLong}, [](const RandomKernels& k, const Tensor& out) {
    k.integers(out, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
               kState);
  });
  CHECK_THROWS_WITH(device().uniform(on_device(empty(kLong, {2})), 0, 1, kState), Contains("floating"));
}

TEST_CASE("normal numbers are the CPU's within the last bit", "[random]") {
  for (const ScalarType dtype : kFloatTypes) {
    for (const std::int64_t n : kSizes) {
      for (const bool aligned : {true, false}) {
        const Tensor out = target(dtype, n, aligned), device_out = on_device(out);
        host().normal(out, 0.5, 2, kState);
        device().normal(device_out, 0.5, 2, kState);
        const Tensor got = device_out.cpu();
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          // Logarithm, root, sine and product: a few roundings of numbers up to 20, then that to the dtype.
          const double expected = get(out, i),
                       bound = 2 * unit_roundoff(dtype) * std::abs(expected) + 20 * 0x1p-50;
          wrong += !(std::abs(get(got, i) - expected) <= bound);
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("trials with one probability or one each are the CPU's", "[random]") {
  for (const bool on_host : {true, false}) {
    const Tensor one = from(kDouble, {0.3}), device_one = on_host ? one : on_device(one);
    check_draws("bernoulli", kAll, [&](const RandomKernels& k, const Tensor& out) {
      k.bernoulli(out, out.is_cpu() ? one : device_one, kState);
    });
  }
  for (const std::int64_t n : {2, 5, 1001}) {
    const Tensor p = empty(kDouble, {n}), out = empty(kByte, {n}), device_out = on_device(out);
    for (std::int64_t i = 0; i < n; ++i) put(p, i, static_cast<double>(i) / static_cast<double>(n));
    host().bernoulli(out, p, kState);
    device().bernoulli(device_out, on_device(p), kState);
    CHECK(same_memory(out, device_out));
    CHECK_THROWS_WITH(device().bernoulli(device_out, p, kState), Contains("probabilities"));
  }
}

TEST_CASE("permutations are the CPU's", "[random]") {
  check_draws("permutation", {kLong},
              [](const RandomKernels& k, const Tensor& out) { k.permutation(out, kState); });
}

TEST_CASE("draws by weight are the CPU's", "[random]") {
  for (const bool replacement : {true, false}) {
    for (const std::int64_t n : {1, 7, 40, 3000}) {
      const std::int64_t rows = n > 1000 ? 2 : 5,
                         draws = replacement ? 65 : std::min<std::int64_t>(n / 2 + 1, 30);
      const Tensor weights = empty(kDouble, {rows, n});
      for (std::int64_t i = 0; i < rows * n; ++i)
        put(weights, i, n > 2 && i % 3 == 0 ? 0.0 : 0.1 * static_cast<double>(i % 11) + 0.05);
      const Tensor out = empty(kLong, {rows, draws}), device_out = on_device(out);
      host().multinomial(out, weights, replacement, kState);
      device().multinomial(device_out, on_device(weights), replacement, kState);
      CHECK(same_memory(out, device_out));
    }
  }
}

TEST_CASE("a sum of weights so small that draws round to it never gives an index of weight 0", "[random]") {
  const Tensor weights =
      window(from(kDouble, {std::numeric_limits<double>::denorm_min(), 0}), {1, 2}, {2, 1}, 0);
  const Tensor out = empty(kLong, {1, 40}), device_out = on_device(out);
  host().multinomial(out, weights, true, kState);
  device().multinomial(device_out, on_device(weights), true, kState);
  CHECK(same_memory(out, device_out));
}

TEST_CASE("a base in device memory moves every stream", "[random]") {
  const Tensor base = on_device(from(kLong, {5}));
  const PhiloxState moved{kState.seed, kState.offset + 5};
  const PhiloxState based{kState.seed, kState.offset,
                          reinterpret_cast<const std::uint64_t*>(base.data_ptr())};
  const Tensor weights = from(kDouble, {1, 2, 3}), device_weights = on_device(weights);
  const auto check = [&](ScalarType dtype, const Dims& sizes, auto draw) {
    const Tensor expected = on_device(empty(dtype, sizes)), got = on_device(empty(dtype, sizes));
    draw(expected, moved);
    draw(got, based);
    CHECK(same_memory(expected.cpu(), got));
  };
  check(kFloat, {9}, [](const Tensor& out, PhiloxState state) { device().uniform(out, 0, 1, state); });
  check(kFloat, {9}, [](const Tensor& out, PhiloxState state) { device().normal(out, 0, 1, state); });
  check(kByte, {90},
        [](const Tensor& out, PhiloxState state) { device().bernoulli(out, from(kDouble, {0.5}), state); });
  check(kLong, {9}, [](const Tensor& out, PhiloxState state) { device().integers(out, 0, 1000, state); });
  check(kLong, {99}, [](const Tensor& out, PhiloxState state) { device().permutation(out, state); });
  for (const bool replacement : {true, false}) {
    check(kLong, {1, 3}, [&](const Tensor& out, PhiloxState state) {
      device().multinomial(out, window(device_weights, {1, 3}, {3, 1}, 0), replacement, state);
    });
  }
  for (const MemoryLayout layout : {MemoryLayout::kDense, MemoryLayout::kGaps}) {
    const Tensor x = on_device(filled(kHalf, {40, 3}, layout, 1));
    check(kHalf, {40, 3}, [&](const Tensor& out, PhiloxState state) {
      kernels_for<DropoutKernels>(Device(kCUDA)).run(out, x, 0.5, state);
    });
  }
}

TEST_CASE("dropout drops what the CPU drops, in every dtype and layout", "[random]") {
  const auto& host = cpu_kernels<DropoutKernels>();
  const auto& device = kernels_for<DropoutKernels>(Device(kCUDA));
  for (const ScalarType x_dtype : kFloatTypes) {
    for (const ScalarType out_dtype : kFloatTypes) {
      for (const MemoryLayout layout : kLayouts) {
        for (const Dims& sizes : std::vector<Dims>{{}, {0}, {7}, {8}, {3, 5, 4}, {41, 50}}) {
          for (const double p : {0.3, 1.0}) {
            INFO(dtype_name(x_dtype) << " to " << dtype_name(out_dtype) << " " << name_of(layout));
            const Tensor x = filled(x_dtype, sizes, layout, 1);
            const Tensor out = filled(out_dtype, sizes, MemoryLayout::kDense, 2), device_out = on_device(out);
            host.run(out, x, p, kState);
            device.run(device_out, on_device(x), p, kState);
            CHECK(same_memory(out, device_out));
          }
        }
      }
    }
    const Tensor x = filled(x_dtype, {1003}, MemoryLayout::kGaps, 3), device_x = on_device(x);
    host.run(x, x, 0.4, kState);
    device.run(device_x, device_x, 0.4, kState);
    CHECK(same_memory(x, device_x));
  }
}

TEST_CASE("sequences are the CPU's", "[random]") {
  const auto& host = cpu_kernels<SequenceKernels>();
  const auto& device = kernels_for<SequenceKernels>(Device(kCUDA));
  for (const ScalarType dtype : kAllTypes) {
    for (const std::int64_t n : kSizes) {
      const auto check = [&](auto run) {
        const Tensor out = target(dtype, n, true), device_out = on_device(out);
        run(host, out);
        run(device, device_out);
        CHECK(same_memory(out, device_out));
      };
      check([](const SequenceKernels& k, const Tensor& out) { k.arange(out, 3, -7); });
      check([](const SequenceKernels& k, const Tensor& out) { k.arange(out, 0.1, 0.3); });
      check([](const SequenceKernels& k, const Tensor& out) { k.linspace(out, -1.7, 2.9); });
    }
  }
}

TEST_CASE("bernoulli_ draws where the tensor is, whatever the default device", "[random]") {
  const Device before = get_default_device();
  for (const DeviceType by_default : {kCPU, kCUDA}) {
    set_default_device(by_default);
    manual_seed(1);
    const Tensor here = empty({1000}, TensorOptions(kFloat).device(kCPU)).bernoulli_(0.3);
    manual_seed(1);
    const Tensor there = empty({1000}, TensorOptions(kFloat).device(kCUDA)).bernoulli_(0.3);
    CHECK(equal(here, there.cpu()));
  }
  set_default_device(before);
}
