#pragma once

#include <bit>

#include "halftone/kernels/cuda/element.h"

// W neighbouring elements of a dtype known at run time only, as one access of up to 16 bytes: W is 8 where
// all tensors of a kernel have elements of at most two bytes, else 4. Loading and converting are two steps,
// so that the loads of all operands are on their way before the first is waited for.
namespace halftone::cuda {

/// The bytes of W elements, in memory order.
using RawPack = Pack<std::uint32_t, 4>;

/// element_size, without its table: on the device that would lie in local memory.
HALFTONE_HD constexpr std::int64_t element_bytes(ScalarType dtype) {
  if (dtype == kByte || dtype == kBool) return 1;
  if (dtype == kHalf || dtype == kBFloat16) return 2;
  return dtype == kFloat || dtype == kInt ? 4 : 8;
}

/// Whether packs of W elements of `dtype` can be moved.
template <int W>
constexpr bool has_packs(ScalarType dtype) {
  return dtype != kLong && dtype != kInt && dtype != kDouble && element_bytes(dtype) * W <= 16;
}

/// Whether `data` is where a pack of W elements may begin.
inline bool is_pack_aligned(const void* data, ScalarType dtype, int W) {
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(element_bytes(dtype) * W) == 0;
}

/// Elements `i` .. `i + W - 1`; `i` is a multiple of W.
template <int W>
__device__ inline RawPack load_raw(const void* data, ScalarType dtype, std::int64_t i) {
  const std::int64_t bytes = element_bytes(dtype);
  const auto* const from = reinterpret_cast<const std::uint32_t*>(static_cast<const char*>(data) + i * bytes);
  RawPack raw{};
  if (bytes * W == 16) {
    raw = load_pack<std::uint32_t, 4>(from);
  } else if (bytes * W == 8) {
    const Pack<std::uint32_t, 2> half = load_pack<std::uint32_t, 2>(from);
    raw.value[0] = half.value[0];
    raw.value[1] = half.value[1];
  } else {
    raw.value[0] = *from;
  }
  return raw;
}

template <int W>
__device__ inline void store_raw(void* data, ScalarType dtype, std::int64_t i, const RawPack& raw) {
  const std::int64_t bytes = element_bytes(dtype);
  auto* const to = reinterpret_cast<std::uint32_t*>(static_cast<char*>(data) + i * bytes);
  if (bytes * W == 16) {
    store_pack(to, raw);
  } else if (bytes * W == 8) {
    store_pack(to, Pack<std::uint32_t, 2>{{raw.value[0], raw.value[1]}});
  } else {
    *to = raw.value[0];
  }
}

/// The elements of a pack, converted to C.
template <int W, class C>
__device__ inline void unpack(C (&to)[W], const RawPack& raw, ScalarType dtype) {
  switch (dtype) {
    case kHalf:
      HT_UNROLL
      for (int j = 0; j < W; ++j) {
        const std::uint32_t bits = raw.value[j / 2] >> (j % 2 * 16);
        to[j] = to_compute<C>(Half::from_bits(static_cast<std::uint16_t>(bits)));
      }
      return;
    case kBFloat16:
      HT_UNROLL
      for (int j = 0; j < W; ++j) {
        const std::uint32_t bits = raw.value[j / 2] >> (j % 2 * 16);
        to[j] = to_compute<C>(BFloat16::from_bits(static_cast<std::uint16_t>(bits)));
      }
      return;
    case kFloat:
      if constexpr (W == 4) {
        HT_UNROLL
        for (int j = 0; j < W; ++j) to[j] = to_compute<C>(std::bit_cast<float>(raw.value[j]));
      }
      return;
    default:  // kByte, kBool
      HT_UNROLL
      for (int j = 0; j < W; ++j) {
        to[j] = to_compute<C>(static_cast<std::uint8_t>(raw.value[j / 4] >> (j % 4 * 8)));
      }
  }
}

/// The pack of W results, each rounded once.
template <int W>
__device__ inline RawPack pack(const float (&from)[W], ScalarType dtype) {
  RawPack raw{};
  switch (dtype) {
    case kHalf:
      HT_UNROLL
      for (int j = 0; j < W; ++j) {
        raw.value[j / 2] |= static_cast<std::uint32_t>(from_compute<Half>(from[j]).bits) << (j % 2 * 16);
      }
      break;
    case kBFloat16:
      HT_UNROLL
      for (int j = 0; j < W; ++j) {
        raw.value[j / 2] |= static_cast<std::uint32_t>(from_compute<BFloat16>(from[j]).bits) << (j % 2 * 16);
      }
      break;
    case kFloat:
      if constexpr (W == 4) {
        HT_UNROLL
        for (int j = 0; j < W; ++j) raw.value[j] = std::bit_cast<std::uint32_t>(from[j]);
      }
      break;
    default:
      HT_UNROLL
      for (int j = 0; j < W; ++j) {
        const std::uint8_t element = dtype == kBool ? static_cast<std::uint8_t>(from_compute<bool>(from[j]))
                                                    : from_compute<std::uint8_t>(from[j]);
        raw.value[j / 4] |= static_cast<std::uint32_t>(element) << (j % 4 * 8);
      }
  }
  return raw;
}

}  // namespace halftone::cuda
