// Random numbers: one thread per block of the Philox stream, element i from the same words as on the CPU.
// Draws of indices are in random_draw.cu.

#include "halftone/kernels/random.h"

#include <cmath>

#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/cuda/random_draw.h"
#include "halftone/kernels/cuda/random_words.h"

namespace halftone::cuda {
namespace {

/// Elements of T that one block of the stream makes.
template <class T>
inline constexpr int kPerBlock = std::is_same_v<T, double> ? 2 : 4;

/// Bits of a uniform number that the dtype holds without rounding to 1.
template <class T>
inline constexpr int kUniformBits = std::is_same_v<T, Half>       ? 11
                                    : std::is_same_v<T, BFloat16> ? 8
                                                                  : 24;

template <class T>
__device__ inline T between(double unit, double low, double high) {
  const T value = convert_value<T>(low + rounded_product(unit, high - low));
  // Rounding may still reach a bound that is no multiple of the grid: the interval is half open.
  return low < high && static_cast<double>(value) >= high ? convert_value<T>(low) : value;
}

template <class T>
__global__ void uniform_kernel(T* out, std::int64_t n, bool packed, double low, double high,
                               std::uint64_t seed, std::uint64_t offset, const std::uint64_t* base) {
  constexpr int kCount = kPerBlock<T>;
  offset = stream_offset(offset, base);
  for (std::int64_t b = global_id(); b * kCount < n; b += global_size()) {
    const philox::Block block = philox::block(seed, offset + static_cast<std::uint64_t>(b));
    Pack<T, kCount> values;
    HT_UNROLL
    for (int k = 0; k < kCount; ++k) {
      double unit;
      if constexpr (kCount == 2) {
        unit = uniform64(block, k);
      } else {
        unit = (1.0 / (1 << kUniformBits<T>)) * (block.word[k] >> (32 - kUniformBits<T>));
      }
      values.value[k] = between<T>(unit, low, high);
    }
    store_values(out, b * kCount, n, values, packed);
  }
}

/// Two normal numbers with 53 bits each, from one block.
__device__ inline philox::NormalPair wide_normal(const philox::Block& block) {
  const double radius = std::sqrt(-2.0 * std::log1p(-philox::uniform(block.word[0], block.word[1])));
  const double angle = 6.283185307179586477 * philox::uniform(block.word[2], block.word[3]);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

template <class T>
__global__ void normal_kernel(T* out, std::int64_t n, bool packed, double mean, double std,
                              std::uint64_t seed, std::uint64_t offset, const std::uint64_t* base) {
  constexpr int kCount = kPerBlock<T>;
  offset = stream_offset(offset, base);
  for (std::int64_t b = global_id(); b * kCount < n; b += global_size()) {
    const philox::Block block = philox::block(seed, offset + static_cast<std::uint64_t>(b));
    Pack<T, kCount> values;
    HT_UNROLL
    for (int k = 0; k < kCount; k += 2) {
      const philox::NormalPair pair =
          kCount == 2 ? wide_normal(block) : philox::normal(block.word[k], block.word[k + 1]);
      values.value[k] = convert_value<T>(mean + rounded_product(std, pair.first));
      values.value[k + 1] = convert_value<T>(mean + rounded_product(std, pair.second));
    }
    store_values(out, b * kCount, n, values, packed);
  }
}

/// `probabilities`: one per element, or null: all are `p`.
__global__ void bernoulli_kernel(void* out, ScalarType dtype, std::int64_t n, const double* probabilities,
                                 std::int64_t step, double p, std::uint64_t seed, std::uint64_t offset,
                                 const std::uint64_t* base) {
  offset = stream_offset(offset, base);
  for (std::int64_t b = global_id(); b * 4 < n; b += global_size()) {
    const philox::Block block = philox::block(seed, offset + static_cast<std::uint64_t>(b));
    HT_UNROLL
    for (int k = 0; k < 4; ++k) {
      const std::int64_t i = b * 4 + k;
      if (i >= n) continue;
      const double limit = probabilities != nullptr ? probabilities[i * step] : p;
      write<std::int64_t>(out, dtype, i, static_cast<double>(block.word[k]) * 0x1p-32 < limit ? 1 : 0);
    }
  }
}

/// The upper half of a 64 x 64 bit product: maps a random word to 0 .. range-1.
__device__ inline std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t a0 = a & 0xFFFFFFFFu, a1 = a >> 32, b0 = b & 0xFFFFFFFFu, b1 = b >> 32;
  const std::uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
  return a1 * b1 + (middle >> 32) + ((a0 * b1 + (middle & 0xFFFFFFFFu)) >> 32);
}

__global__ void integers_kernel(void* out, ScalarType dtype, std::int64_t n, std::uint64_t low,
                                std::uint64_t range, std::uint64_t seed, std::uint64_t offset,
                                const std::uint64_t* base) {
  offset = stream_offset(offset, base);
  for (std::int64_t b = global_id(); b * 2 < n; b += global_size()) {
    const philox::Block block = philox::block(seed, offset + static_cast<std::uint64_t>(b));
    HT_UNROLL
    for (int k = 0; k < 2; ++k) {
      const std::int64_t i = b * 2 + k;
      if (i < n)
        write(out, dtype, i, static_cast<std::int64_t>(low + multiply_high(word64(block, k), range)));
    }
  }
}

// --------------------------------------------------------------------------------------------------------

template <class F>
void dispatch_floating(const char* op, const Tensor& out, F&& f) {
  if (!out.is_floating_point()) fail(op, "expected a floating tensor, got ", out);
  dispatch_all(out.scalar_type(), [&]<class T>() {
    if constexpr (!std::is_integral_v<T>) f.template operator()<T>(out.data_ptr<T>());
  });
}

/// Blocks of threads for n elements, `per_block` of them from one block of the stream.
unsigned grid_for(std::int64_t n, int per_block) { return blocks_for(stream_blocks(n, per_block)); }

void uniform(const Tensor& out, double low, double high, PhiloxState state) {
  const DeviceScope scope(out.device());
  const std::int64_t n = out.numel();
  dispatch_floating("uniform", out, [&]<class T>(T* data) {
    launch<uniform_kernel<T>>(grid_for(n, kPerBlock<T>), kThreads, 0, data, n, is_pack_aligned(data), low,
                              high, state.seed, state.offset, state.base);
  });
}

void normal(const Tensor& out, double mean, double std, PhiloxState state) {
  const DeviceScope scope(out.device());
  const std::int64_t n = out.numel();
  dispatch_floating("normal", out, [&]<class T>(T* data) {
    launch<normal_kernel<T>>(grid_for(n, kPerBlock<T>), kThreads, 0, data, n, is_pack_aligned(data), mean,
                             std, state.seed, state.offset, state.base);
  });
}

void bernoulli(const Tensor& out, const Tensor& p, PhiloxState state) {
  const DeviceScope scope(out.device());
  const std::int64_t n = out.numel();
  const double* probabilities = p.data_ptr<double>();
  const bool on_host = p.is_cpu();
  if (on_host && p.numel() != 1) fail("bernoulli", "expected probabilities on ", out.device(), ", got ", p);
  launch<bernoulli_kernel>(grid_for(n, 4), kThreads, 0, out.data_ptr(), out.scalar_type(), n,
                           on_host ? nullptr : probabilities, p.numel() == 1 ? 0 : 1,
                           on_host ? *probabilities : 0.0, state.seed, state.offset, state.base);
}

void integers(const Tensor& out, std::int64_t low, std::int64_t high, PhiloxState state) {
  const DeviceScope scope(out.device());
  const std::uint64_t first = static_cast<std::uint64_t>(low),
                      range = static_cast<std::uint64_t>(high) - first;
  launch<integers_kernel>(grid_for(out.numel(), 2), kThreads, 0, out.data_ptr(), out.scalar_type(),
                          out.numel(), first, range, state.seed, state.offset, state.base);
}

}  // namespace
}  // namespace halftone::cuda

namespace halftone {

template <>
const RandomKernels& cuda_kernels<RandomKernels>() {
  static constexpr RandomKernels kernels{&cuda::uniform,  &cuda::normal,      &cuda::bernoulli,
                                         &cuda::integers, &cuda::permutation, &cuda::multinomial};
  return kernels;
}

}  // namespace halftone
