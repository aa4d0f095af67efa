#pragma once

#include "halftone/kernels/cuda/device.h"
#include "halftone/kernels/cuda/fault_record.h"

namespace halftone::cuda {

/// Notes a fault unless one is noted already. The caller then goes on with something harmless: it writes NaN
/// or zero, and touches no memory outside its tensors.
__device__ inline void report_fault(FaultRecord* record, const char* op, Fault kind, std::int64_t value,
                                    std::int64_t limit) {
  if (atomicCAS(&record->taken, 0u, 1u) != 0u) return;
  record->op = op;
  record->value = value;
  record->limit = limit;
  __threadfence_system();
  record->kind = static_cast<std::uint32_t>(kind);
}

}  // namespace halftone::cuda
