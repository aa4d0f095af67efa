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

template <class Family>
const Family& kernels_for(Device device) {
  if (!device.is_cpu())
    fail("device", "this halftone was built without its CUDA backend; move the tensors to kCPU");
  return cpu_kernels<Family>();
}

}  // namespace halftone
