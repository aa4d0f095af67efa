#pragma once

// The emulated CUDA device, as kernels see it. kernels/cuda/device.h includes this file where the compiler is
// not nvcc, so that the same kernel sources run on the CPU: every CUDA thread is a fiber, blocks run one
// after another, barriers and warp collectives are real, device memory is guarded and poisoned.
//
// Overview of the directory:
//   simt.h, builtins.h, warp.h, atomics.h, intrinsics.h, half_intrinsics.h   what kernels use
//   kernel_info.h             registration of a kernel: its name and the types of its parameters
//   engine.*, collective.cpp, shared_memory.*, fiber.*   execution of a grid
//   device_memory.*, host_memory.*, fault_handler.*      address spaces and illegal accesses
//   runtime.h, queue.*, capture.*, launch.cpp, state.*   streams, graphs, launches: the device's host side
//   cudart_*.cpp              the functions of the CUDA runtime, defined with the toolkit's own declarations
//   control.h                 what tests may ask of the emulator: order, deferral, failures, reports
// The toolkit's headers give types and prototypes; libcudart is not linked.

// First the toolkit, then the decorations: the toolkit defines some of them itself.
#include <cuda_runtime_api.h>
//
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector_functions.h>
#include <vector_types.h>

#undef __host__
#undef __device__
#undef __global__
#undef __shared__
#undef __constant__
#undef __managed__
#undef __grid_constant__
#undef __launch_bounds__
#define __host__
#define __device__
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
// What the emulated device has no use for, or another spelling, does not compile.
#define __shared__ declare_shared_memory_with_HT_SHARED_or_HT_DYN_SHARED
#define __constant__ constant_memory_is_not_emulated
#define __managed__ managed_memory_is_not_emulated

#include "halftone/tests/simt/atomics.h"
#include "halftone/tests/simt/builtins.h"
#include "halftone/tests/simt/half_intrinsics.h"
#include "halftone/tests/simt/intrinsics.h"
#include "halftone/tests/simt/kernel_info.h"
#include "halftone/tests/simt/warp.h"

/// `HT_SHARED(float, tile, [16][17]);` declares a shared array, once per block, filled with NaN.
#define HT_SHARED(T, name, ...)                                                       \
  static char name##_site_;                                                           \
  auto& name = *static_cast<std::type_identity_t<T __VA_ARGS__>*>(                    \
      ::simt::shared_slot(&name##_site_, sizeof(std::type_identity_t<T __VA_ARGS__>), \
                          alignof(std::type_identity_t<T __VA_ARGS__>), #name))
/// `HT_DYN_SHARED(float, row);` names the dynamic shared memory of the launch, aligned to 16 bytes.
#define HT_DYN_SHARED(T, name) T* name = static_cast<T*>(::simt::dynamic_shared)
#define HT_UNROLL
