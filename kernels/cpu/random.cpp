#include "halftone/kernels/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "halftone/engine/philox.h"
#include "halftone/engine/threads.h"
#include "halftone/kernels/convert_value.h"

namespace halftone {
namespace {

constexpr std::int64_t kGrain = 4096;  // elements; a multiple of what one block makes

/// out[i] from its block: `make(block, values)` fills the values of kPerBlock consecutive elements.
template <int kPerBlock, class T, class F>
void generate(T* out, std::int64_t n, PhiloxState state, F make) {
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += kPerBlock) {
      const std::uint64_t index = state.offset + static_cast<std::uint64_t>(i / kPerBlock);
      T values[kPerBlock];
      make(philox::block(state.seed, index), values, i);
      std::copy_n(values, std::min<std::int64_t>(kPerBlock, end - i), out + i);
    }
  });
}

std::uint64_t word64(const philox::Block& block, int i) {
  return std::uint64_t{block.word[2 * i]} << 32 | block.word[2 * i + 1];
}

/// Bits of a uniform number that the dtype holds without rounding to 1.
template <class T>
constexpr int kUniformBits = std::is_same_v<T, Half>       ? 11
                             : std::is_same_v<T, BFloat16> ? 8
                                                           : 24;

template <class T>
T scaled(double unit, double low, double high) {
  const T value = convert_value<T>(low + unit * (high - low));
  // Rounding may still reach a bound that is no multiple of the grid: the interval is half open.
  return low < high && static_cast<double>(value) >= high ? convert_value<T>(low) : value;
}

template <class F>
void dispatch_floating(const char* op, const Tensor& out, F&& f) {
  if (!out.is_floating_point()) fail(op, "expected a floating tensor, got ", out);
  dispatch_all(out.scalar_type(), [&]<class T>() {
    if constexpr (!std::is_integral_v<T>) f.template operator()<T>(out.data_ptr<T>());
  });
}

void uniform(const Tensor& out, double low, double high, PhiloxState state) {
  dispatch_floating("uniform", out, [&]<class T>(T* data) {
    if constexpr (std::is_same_v<T, double>) {
      generate<2>(data, out.numel(), state, [=](const philox::Block& block, T* values, std::int64_t) {
        for (int k = 0; k < 2; ++k) {
          values[k] = scaled<T>(philox::uniform(block.word[2 * k], block.word[2 * k + 1]), low, high);
        }
      });
    } else {
      constexpr int kBits = kUniformBits<T>;
      constexpr double kStep = 1.0 / (1 << kBits);
      generate<4>(data, out.numel(), state, [=](const philox::Block& block, T* values, std::int64_t) {
        for (int k = 0; k < 4; ++k) {
          values[k] = scaled<T>(kStep * (block.word[k] >> (32 - kBits)), low, high);
        }
      });
    }
  });
}

void normal(const Tensor& out, double mean, double std, PhiloxState state) {
  dispatch_floating("normal", out, [&]<class T>(T* data) {
    if constexpr (std::is_same_v<T, double>) {
      generate<2>(data, out.numel(), state, [=](const philox::Block& block, T* values, std::int64_t) {
        const double radius = std::sqrt(-2.0 * std::log1p(-philox::uniform(block.word[0], block.word[1])));
        const double angle = 6.283185307179586477 * philox::uniform(block.word[2], block.word[3]);
        values[0] = mean + std * (radius * std::cos(angle));
        values[1] = mean + std * (radius * std::sin(angle));
      });
    } else {
      generate<4>(data, out.numel(), state, [=](const philox::Block& block, T* values, std::int64_t) {
        for (int k = 0; k < 4; k += 2) {
          const philox::NormalPair pair = philox::normal(block.word[k], block.word[k + 1]);
          values[k] = convert_value<T>(mean + std * pair.first);
          values[k + 1] = convert_value<T>(mean + std * pair.second);
        }
      });
    }
  });
}

void bernoulli(const Tensor& out, const Tensor& p, PhiloxState state) {
  const double* probability = p.data_ptr<double>();
  const std::int64_t step = p.numel() == 1 ? 0 : 1, n = out.numel();
  dispatch_all(out.scalar_type(), [&]<class T>() {
    generate<4>(out.data_ptr<T>(), n, state, [=](const philox::Block& block, T* values, std::int64_t first) {
      for (int k = 0; k < 4; ++k) {
        const double limit = first + k < n ? probability[(first + k) * step] : 0.0;
        values[k] = convert_value<T>(static_cast<double>(block.word[k]) * 0x1p-32 < limit ? 1 : 0);
      }
    });
  });
}

/// The upper half of a 64 x 64 bit product: maps a random word to 0 .. range-1.
std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t a0 = a & 0xFFFFFFFFu, a1 = a >> 32, b0 = b & 0xFFFFFFFFu, b1 = b >> 32;
  const std::uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
  return a1 * b1 + (middle >> 32) + ((a0 * b1 + (middle & 0xFFFFFFFFu)) >> 32);
}

void integers(const Tensor& out, std::int64_t low, std::int64_t high, PhiloxState state) {
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  dispatch_all(out.scalar_type(), [&]<class T>() {
    generate<2>(out.data_ptr<T>(), out.numel(), state,
                [=](const philox::Block& block, T* values, std::int64_t) {
                  for (int k = 0; k < 2; ++k) {
                    const std::uint64_t value =
                        static_cast<std::uint64_t>(low) + multiply_high(word64(block, k), range);
                    values[k] = convert_value<T>(static_cast<std::int64_t>(value));
                  }
                });
  });
}

void permutation(const Tensor& out, PhiloxState state) {
  const std::int64_t n = out.numel();
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(n));
  generate<2>(keys.data(), n, state, [](const philox::Block& block, std::uint64_t* values, std::int64_t) {
    for (int k = 0; k < 2; ++k) values[k] = word64(block, k);
  });
  std::int64_t* order = out.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < n; ++i) order[i] = i;
  std::sort(order, order + n, [&](std::int64_t a, std::int64_t b) {
    const std::uint64_t x = keys[static_cast<std::size_t>(a)], y = keys[static_cast<std::size_t>(b)];
    return x != y ? x < y : a < b;
  });
}

void draw_with_replacement(std::int64_t* out, std::int64_t draws, const std::vector<double>& running,
                           PhiloxState state) {
  generate<2>(out, draws, state, [&](const philox::Block& block, std::int64_t* values, std::int64_t) {
    for (int k = 0; k < 2; ++k) {
      const double at = philox::uniform(block.word[2 * k], block.word[2 * k + 1]) * running.back();
      // The first running sum above `at`: never an index of weight 0. Rounding may put `at` on the total.
      const auto found =
          std::upper_bound(running.begin(), running.end(), std::min(at, std::nextafter(running.back(), 0.0)));
      values[k] = found - running.begin();
    }
  });
}

void draw_without_replacement(std::int64_t* out, std::int64_t draws, const double* weights, std::int64_t n,
                              PhiloxState state) {
  std::vector<double> waiting(static_cast<std::size_t>(n));
  generate<2>(waiting.data(), n, state, [&](const philox::Block& block, double* values, std::int64_t first) {
    for (int k = 0; k < 2; ++k) {
      const double weight = first + k < n ? weights[first + k] : 0.0;
      const double time = -std::log1p(-philox::uniform(block.word[2 * k], block.word[2 * k + 1]));
      values[k] = weight > 0 ? time / weight : std::numeric_limits<double>::infinity();
    }
  });
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
  std::partial_sort(order.begin(), order.begin() + draws, order.end(), [&](std::int64_t a, std::int64_t b) {
    const double x = waiting[static_cast<std::size_t>(a)], y = waiting[static_cast<std::size_t>(b)];
    return x != y ? x < y : a < b;
  });
  std::copy_n(order.begin(), draws, out);
}

void multinomial(const Tensor& out, const Tensor& weights, bool replacement, PhiloxState state) {
  const std::int64_t rows = weights.size(0), n = weights.size(1), draws = out.size(1);
  const std::uint64_t blocks = static_cast<std::uint64_t>(((replacement ? draws : n) + 1) / 2);
  std::vector<double> running(static_cast<std::size_t>(n));
  for (std::int64_t row = 0; row < rows; ++row) {
    const double* weight = weights.data_ptr<double>() + row * n;
    std::int64_t* drawn = out.data_ptr<std::int64_t>() + row * draws;
    const PhiloxState at{state.seed, state.offset + static_cast<std::uint64_t>(row) * blocks};
    if (replacement) {
      double sum = 0;
      for (std::int64_t i = 0; i < n; ++i) running[static_cast<std::size_t>(i)] = sum += weight[i];
      draw_with_replacement(drawn, draws, running, at);
    } else {
      draw_without_replacement(drawn, draws, weight, n, at);
    }
  }
}

}  // namespace

template <>
const RandomKernels& cpu_kernels<RandomKernels>() {
  static constexpr RandomKernels kernels{&uniform,  &normal,      &bernoulli,
                                         &integers, &permutation, &multinomial};
  return kernels;
}

}  // namespace halftone
