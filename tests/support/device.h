#pragma once

// Tests that run on any device: which one it is, and waiting for it.

#include "halftone/engine/cuda.h"
#include "halftone/engine/tensor_options.h"

namespace halftone::test {

/// The kind of device the tests run on: what amp::Autocast is to be given.
inline DeviceType device_type() { return get_default_device().type(); }

inline bool on_cpu() { return device_type() == kCPU; }

/// `cpu` when the tests run on the CPU, else `device`.
template <class T>
T by_device(T cpu, T device) {
  return on_cpu() ? cpu : device;
}

/// Calls `f` and waits for the device: what a kernel finds wrong with the data is thrown only then.
template <class F>
void finish(F f) {
  f();
  if (!on_cpu()) cuda::synchronize();
}

}  // namespace halftone::test
