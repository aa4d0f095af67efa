#pragma once

#include <cmath>
#include <cstdint>

#include "halftone/engine/host_device.h"

namespace halftone::philox {

/// The four random numbers of one counter value.
struct Block {
  std::uint32_t word[4];  ///< uniform, 32 bits each
};

/// One round of Philox 4x32: two 32 x 32 -> 64 multiplications whose halves are crossed and mixed with the
/// key.
HALFTONE_HD constexpr Block round(const Block& x, std::uint32_t key0, std::uint32_t key1) {
  const std::uint64_t a = std::uint64_t{0xD2511F53u} * x.word[0];
  const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * x.word[2];
  return {{static_cast<std::uint32_t>(b >> 32) ^ x.word[1] ^ key0, static_cast<std::uint32_t>(b),
           static_cast<std::uint32_t>(a >> 32) ^ x.word[3] ^ key1, static_cast<std::uint32_t>(a)}};
}

/// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
HALFTONE_HD constexpr Block rounds10(Block counter, std::uint32_t key0, std::uint32_t key1) {
  for (int i = 0; i < 10; ++i) {
    counter = round(counter, key0, key1);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// Block number `index` of the stream `seed`: what PhiloxState's offset counts.
HALFTONE_HD constexpr Block block(std::uint64_t seed, std::uint64_t index) {
  return rounds10({{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), 0, 0}},
                  static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

/// Word number `i` of the stream that starts at block `offset`: element i of a tensor of 32-bit random
/// numbers.
HALFTONE_HD constexpr std::uint32_t word(std::uint64_t seed, std::uint64_t offset, std::uint64_t i) {
  return block(seed, offset + i / 4).word[i % 4];
}

/// Uniform in [0, 1) on a grid of 2^-24: every value is a float, and none rounds up to 1.
HALFTONE_HD constexpr float uniform(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

/// Uniform in [0, 1) on a grid of 2^-53.
HALFTONE_HD constexpr double uniform(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>((std::uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
}

/// Two independent normal numbers (mean 0, variance 1) from two words, by Box and Muller's method.
struct NormalPair {
  double first, second;  ///< from the cosine and the sine
};
HALFTONE_HD inline NormalPair normal(std::uint32_t a, std::uint32_t b) {
  const double radius = std::sqrt(-2.0 * std::log((static_cast<double>(a) + 1.0) * 0x1p-32));  // of (0, 1]
  const double angle = 6.283185307179586477 * 0x1p-32 * static_cast<double>(b);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace halftone::philox
