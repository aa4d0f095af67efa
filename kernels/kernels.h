#pragma once

#include "halftone/engine/device.h"
#include "halftone/engine/error.h"

namespace halftone {

/// Kernels come in families: a struct of function pointers per family, filled once per device. Operators ask
/// for the family on their tensor's device and know nothing else about devices.
///
/// Specialised in kernels/cpu/<family>.cpp.
template <class Family>
const Family& cpu_kernels();

/// Specialised in kernels/cuda/<family>.cu, which is not part of every build.
template <class Family>
const Family& cuda_kernels();

namespace detail {
/// Set by the CUDA backend where there is one (kernels/cuda/backend.cpp).
template <class Family>
inline constinit const Family* cuda_family = nullptr;
}  // namespace detail

template <class Family>
const Family& kernels_for(Device device) {
  if (device.is_cpu()) [[likely]]
    return cpu_kernels<Family>();
  if (!detail::cuda_family<Family>)
    fail("device", "this halftone was built without its CUDA backend; move the tensors to kCPU");
  return *detail::cuda_family<Family>;
}

}  // namespace halftone
