#pragma once

#include <cstdint>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"

namespace halftone {

/// What every element of a tensor has to be.
enum class ValueRule : std::uint8_t {
  kDivisor,      ///< not 0: integers have no infinity to answer x / 0 with
  kProbability,  ///< in [0, 1]; not NaN
};

/// Checks of values that shapes and dtypes do not tell.
struct CheckKernels {
  /// On the CPU, throws Error naming `op` and a wrong value if there is one. On a device the host does not
  /// wait: the kernel reports the value, and the error is thrown where the host next waits. `x` has any dtype
  /// and strides.
  void (*values)(const char* op, ValueRule rule, const Tensor& x);
};

template <>
const CheckKernels& cpu_kernels<CheckKernels>();

}  // namespace halftone
