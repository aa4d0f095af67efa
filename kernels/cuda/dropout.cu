// Dropout: element i is dropped by word i of the Philox stream, so backward draws the mask again instead of
// storing it.

#include "halftone/kernels/dropout.h"

#include <cmath>

#include "halftone/kernels/cuda/geometry.h"
#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/cuda/random_words.h"

namespace halftone::cuda {
namespace {

/// Drops where the upper 24 bits of the word are below `threshold`.
template <class C>
__device__ inline C drop(C x, std::uint32_t word, std::uint32_t threshold, C scale) {
  return (word >> 8) < threshold ? C(0) : x * scale;
}

/// Elements of a thread: 16 bytes or more, and whole blocks of the stream.
template <class T>
inline constexpr int kGroup = kPackSize<T> < 4 ? 4 : kPackSize<T>;

/// Aligned, contiguous, one dtype. Groups that are whole; the rest is left to `drop_any_kernel`.
template <class T>
__global__ void drop_packs_kernel(T* out, const T* x, std::int64_t groups, std::uint32_t threshold,
                                  Compute<T> scale, std::uint64_t seed, std::uint64_t offset,
                                  const std::uint64_t* base) {
  using C = Compute<T>;
  constexpr int kPacks = kGroup<T> / kPackSize<T>, kBlocks = kGroup<T> / 4;
  offset = stream_offset(offset, base);
  for (std::int64_t group = global_id(); group < groups; group += global_size()) {
    philox::Block block[kBlocks];
    HT_UNROLL
    for (int b = 0; b < kBlocks; ++b)
      block[b] = philox::block(seed, offset + static_cast<std::uint64_t>(group * kBlocks + b));
    HT_UNROLL
    for (int p = 0; p < kPacks; ++p) {
      const std::int64_t first = group * kGroup<T> + p * kPackSize<T>;
      auto pack = load_pack(x + first);
      HT_UNROLL
      for (int k = 0; k < kPackSize<T>; ++k) {
        const int i = p * kPackSize<T> + k;
        pack.value[k] =
            from_compute<T>(drop(to_compute<C>(pack.value[k]), block[i / 4].word[i % 4], threshold, scale));
      }
      store_pack(out + first, pack);
    }
  }
}

/// Any strides and dtypes, elements `begin` (a multiple of 4) and on: one thread per block of the stream.
template <class C>
__global__ void drop_any_kernel(void* out, ScalarType out_dtype, const void* x, ScalarType x_dtype,
                                Geometry<2> geometry, std::int64_t begin, std::uint32_t threshold, C scale,
                                std::uint64_t seed, std::uint64_t offset, const std::uint64_t* base) {
  offset = stream_offset(offset, base);
  for (std::int64_t b = begin / 4 + global_id(); b * 4 < geometry.numel; b += global_size()) {
    const philox::Block block = philox::block(seed, offset + static_cast<std::uint64_t>(b));
    HT_UNROLL
    for (int k = 0; k < 4; ++k) {
      const std::int64_t i = b * 4 + k;
      if (i >= geometry.numel) continue;
      const auto offsets = geometry.offsets(i);
      const C value = drop(read<C>(x, x_dtype, offsets.at[1]), block.word[k], threshold, scale);
      write(out, out_dtype, offsets.at[0], value);
    }
  }
}

// --------------------------------------------------------------------------------------------------------

/// Elements done in packs, from the first on.
template <class T>
std::int64_t drop_packs(const Tensor& out, const Tensor& x, std::uint32_t threshold, Compute<T> scale,
                        const PhiloxState& state) {
  const std::int64_t groups = x.numel() / kGroup<T>;
  launch<drop_packs_kernel<T>>(blocks_for(groups), kThreads, 0, out.data_ptr<T>(), x.data_ptr<T>(), groups,
                               threshold, scale, state.seed, state.offset, state.base);
  return groups * kGroup<T>;
}

std::int64_t drop_aligned(const Tensor& out, const Tensor& x, std::uint32_t threshold, double scale,
                          const PhiloxState& state) {
  const bool packs = out.scalar_type() == x.scalar_type() && out.is_contiguous() && x.is_contiguous() &&
                     is_pack_aligned(out.data_ptr()) && is_pack_aligned(x.data_ptr());
  if (!packs) return 0;
  const auto narrow = static_cast<float>(scale);
  switch (x.scalar_type()) {
    case kFloat:
      return drop_packs<float>(out, x, threshold, narrow, state);
    case kHalf:
      return drop_packs<Half>(out, x, threshold, narrow, state);
    case kBFloat16:
      return drop_packs<BFloat16>(out, x, threshold, narrow, state);
    case kDouble:
      return drop_packs<double>(out, x, threshold, scale, state);
    default:
      return 0;
  }
}

void run(const Tensor& out, const Tensor& x, double p, PhiloxState state) {
  const DeviceScope scope(out.device());
  const auto threshold = static_cast<std::uint32_t>(std::ceil(p * 0x1p24));  // philox::uniform(word) < p
  const double scale = 1 / (1 - p);
  const std::int64_t begin = drop_aligned(out, x, threshold, scale, state);
  const unsigned blocks = blocks_for(stream_blocks(x.numel() - begin, 4));
  const auto drop_any = [&]<class C>(C factor) {
    launch<drop_any_kernel<C>>(blocks, kThreads, 0, out.data_ptr(), out.scalar_type(), x.data_ptr(),
                               x.scalar_type(), make_geometry(x.sizes(), out, x), begin, threshold, factor,
                               state.seed, state.offset, state.base);
  };
  if (x.scalar_type() == kDouble)
    drop_any(scale);
  else
    drop_any(static_cast<float>(scale));
}

}  // namespace
}  // namespace halftone::cuda

namespace halftone {

template <>
const DropoutKernels& cuda_kernels<DropoutKernels>() {
  static constexpr DropoutKernels kernels{cuda::run};
  return kernels;
}

}  // namespace halftone
