#pragma once

#include <cstddef>

/// The emulated device: compute capability 8.0, the least that is supported, as its limits are the narrowest.
/// Few multiprocessors, so that grid-stride loops go round.
namespace simt::limits {

inline constexpr int kMajor = 8;
inline constexpr int kMinor = 0;
inline constexpr int kMultiprocessors = 4;
inline constexpr int kThreadsPerMultiprocessor = 2048;
inline constexpr std::size_t kSharedBytes = std::size_t{48} << 10;
inline constexpr std::size_t kSharedOptInBytes = std::size_t{163} << 10;
inline constexpr std::size_t kSharedPerMultiprocessor = std::size_t{164} << 10;
inline constexpr std::size_t kCacheBytes = std::size_t{4} << 20;

}  // namespace simt::limits
