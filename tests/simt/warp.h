#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>

#include "halftone/tests/simt/builtins.h"

// Collectives of a warp. The last lane of the mask to arrive computes the results of all.

namespace simt {

enum class WarpOp : std::uint8_t {
  kShuffle,
  kShuffleUp,
  kShuffleDown,
  kShuffleXor,
  kSync,
  kBallot,
  kAny,
  kAll,
  kMatchAny,
  kMatchAll,
  kReduceAdd,
  kReduceMinSigned,
  kReduceMinUnsigned,
  kReduceMaxSigned,
  kReduceMaxUnsigned,
  kReduceAnd,
  kReduceOr,
  kReduceXor,
  kCustom,
};

/// A function that plays an instruction of a whole warp; lanes outside the mask have null.
using WarpFunction = void (*)(void* const payload[32], unsigned mask);

/// Waits for the lanes of `mask`, which bring the same operation, and returns this lane's result. `argument`
/// is for shuffles, see shuffle_argument(). Everything fits into registers.
std::uint64_t warp_collective(WarpOp op, unsigned mask, std::uint64_t value, unsigned argument,
                              Location where);

/// The lane, distance or lane mask of a shuffle, of which only the low five bits count, and its width.
constexpr unsigned shuffle_argument(int argument, int width) {
  return (static_cast<unsigned>(argument) & 31u) | static_cast<unsigned>(width) << 8;
}
inline constexpr unsigned kNoShuffle = shuffle_argument(0, 32);

/// What one lane brings to a warp instruction.
struct WarpCall {
  WarpFunction function;
  void* payload;
};

/// Calls `function` once, with the payloads of all lanes, when the last lane of `mask` has arrived. The
/// emulated branch of wrappers around PTX instructions such as mma.sync.
inline void warp_custom(unsigned mask, WarpFunction function, void* payload,
                        Location where = Location::current()) {
  const WarpCall call{function, payload};
  warp_collective(WarpOp::kCustom, mask, reinterpret_cast<std::uintptr_t>(&call), kNoShuffle, where);
}

/// Types that shuffles move on the device.
template <class T>
concept Shuffled = std::is_arithmetic_v<T> || std::is_same_v<T, __half> || std::is_same_v<T, __half2> ||
    std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __nv_bfloat162>;

/// The bytes of a value as a number and back. __half2 and __nv_bfloat162 are not trivially copyable by the
/// letter.
template <Shuffled T>
std::uint64_t to_word(const T& value) {
  std::uint64_t word = 0;
  std::memcpy(&word, static_cast<const void*>(&value), sizeof(T));
  return word;
}
template <Shuffled T>
T from_word(std::uint64_t word) {
  T value;
  std::memcpy(static_cast<void*>(&value), &word, sizeof(T));
  return value;
}

template <Shuffled T>
T shuffle(WarpOp op, unsigned mask, const T& value, int argument, int width, Location where) {
  return from_word<T>(warp_collective(op, mask, to_word(value), shuffle_argument(argument, width), where));
}

template <class T>
T collect(WarpOp op, unsigned mask, T value, Location where) {
  return from_word<T>(warp_collective(op, mask, to_word(value), kNoShuffle, where));
}

}  // namespace simt

template <simt::Shuffled T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32,
              simt::Location where = simt::Location::current()) {
  return simt::shuffle(simt::WarpOp::kShuffle, mask, value, lane, width, where);
}
template <simt::Shuffled T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 simt::Location where = simt::Location::current()) {
  return simt::shuffle(simt::WarpOp::kShuffleUp, mask, value, static_cast<int>(delta), width, where);
}
template <simt::Shuffled T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   simt::Location where = simt::Location::current()) {
  return simt::shuffle(simt::WarpOp::kShuffleDown, mask, value, static_cast<int>(delta), width, where);
}
template <simt::Shuffled T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                  simt::Location where = simt::Location::current()) {
  return simt::shuffle(simt::WarpOp::kShuffleXor, mask, value, lane_mask, width, where);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, simt::Location where = simt::Location::current()) {
  simt::warp_collective(simt::WarpOp::kSync, mask, 0, simt::kNoShuffle, where);
}
inline unsigned __ballot_sync(unsigned mask, int predicate,
                              simt::Location where = simt::Location::current()) {
  return simt::collect(simt::WarpOp::kBallot, mask, predicate != 0 ? 1u : 0u, where);
}
inline int __any_sync(unsigned mask, int predicate, simt::Location where = simt::Location::current()) {
  return simt::collect(simt::WarpOp::kAny, mask, predicate != 0 ? 1 : 0, where);
}
inline int __all_sync(unsigned mask, int predicate, simt::Location where = simt::Location::current()) {
  return simt::collect(simt::WarpOp::kAll, mask, predicate != 0 ? 1 : 0, where);
}

template <class T>
requires std::is_arithmetic_v<T>
unsigned __match_any_sync(unsigned mask, T value, simt::Location where = simt::Location::current()) {
  return static_cast<unsigned>(
      simt::warp_collective(simt::WarpOp::kMatchAny, mask, simt::to_word(value), simt::kNoShuffle, where));
}
template <class T>
requires std::is_arithmetic_v<T>
unsigned __match_all_sync(unsigned mask, T value, int* equal,
                          simt::Location where = simt::Location::current()) {
  const auto lanes = static_cast<unsigned>(
      simt::warp_collective(simt::WarpOp::kMatchAll, mask, simt::to_word(value), simt::kNoShuffle, where));
  *equal = lanes != 0;
  return lanes;
}

inline int __reduce_add_sync(unsigned mask, int value, simt::Location where = simt::Location::current()) {
  return simt::collect(simt::WarpOp::kReduceAdd, mask, value, where);
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value,
                                  simt::Location where = simt::Location::current()) {
  return simt::collect(simt::WarpOp::kReduceAdd, mask, value, where);
}
inline int __reduce_min_sync(unsigned mask, int value, simt::Location where = simt::Location::current()) {
  return simt::collect(simt::WarpOp::kReduceMinSigned, mask, value, where);
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value,
                                  simt::Location where = simt::Location::current()) {
  return simt::collect(simt::WarpOp::kReduceMinUnsigned, mask, value, where);
}
inline int __reduce_max_sync(unsigned mask, int value, simt::Location where = simt::Location::current()) {
  return simt::collect(simt::WarpOp::kReduceMaxSigned, mask, value, where);
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value,
                                  simt::Location where = simt::Location::current()) {
  return simt::collect(simt::WarpOp::kReduceMaxUnsigned, mask, value, where);
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value,
                                  simt::Location where = simt::Location::current()) {
  return simt::collect(simt::WarpOp::kReduceAnd, mask, value, where);
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value,
                                 simt::Location where = simt::Location::current()) {
  return simt::collect(simt::WarpOp::kReduceOr, mask, value, where);
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value,
                                  simt::Location where = simt::Location::current()) {
  return simt::collect(simt::WarpOp::kReduceXor, mask, value, where);
}
