#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halftone/kernels/cuda/device.h"
#include "halftone/kernels/cuda/runtime.h"

namespace halftone::cuda {

inline constexpr int kThreads = 256;

/// Blocks of `threads` for `count` elements or rows, at most as many as keep the device busy: kernels walk
/// the rest with a grid-stride loop. 0 for nothing to do.
inline unsigned blocks_for(std::int64_t count, int threads = kThreads) {
  const std::int64_t wanted = (count + threads - 1) / threads;
  const std::int64_t enough = std::int64_t{32} * multiprocessor_count();
  return static_cast<unsigned>(wanted < enough ? wanted : enough);
}

namespace detail {

template <auto K>
struct Kernel;

template <class... P, void (*K)(P...)>
struct Kernel<K> {
  static_assert((std::is_trivially_copyable_v<P> && ...) && !(std::is_reference_v<P> || ...),
                "kernel parameters are copied to the device as bytes");

  template <class... A>
  static cudaError_t launch(dim3 grid, dim3 block, std::size_t shared, A&&... args) {
#if !defined(__CUDACC__)
    simt::register_kernel<K>(__PRETTY_FUNCTION__);
#endif
    std::tuple<P...> values{static_cast<P>(std::forward<A>(args))...};
    return std::apply(
        [&](P&... value) {
          void* pointers[sizeof...(P) + 1] = {&value...};
          cudaLaunchConfig_t config{};
          config.gridDim = grid;
          config.blockDim = block;
          config.dynamicSmemBytes = shared;
          config.stream = current_stream();
          return cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(K), pointers);
        },
        values);
  }
};

}  // namespace detail

/// Enqueues kernel K on the current stream: `launch<fill_kernel<float>>(blocks_for(n), kThreads, 0, data,
/// n)`. `shared`: bytes of dynamic shared memory. An empty grid does nothing. Throws Error when the launch is
/// refused.
template <auto K, class... A>
void launch(dim3 grid, dim3 block, std::size_t shared, A&&... args) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  check(detail::Kernel<K>::launch(grid, block, shared, std::forward<A>(args)...), "kernel launch");
}

/// Lets kernel K have more than the default 48 KiB of dynamic shared memory.
template <auto K>
void allow_shared(std::size_t bytes) {
  check(cudaFuncSetAttribute(reinterpret_cast<const void*>(K), cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)),
        "cudaFuncSetAttribute");
}

}  // namespace halftone::cuda
