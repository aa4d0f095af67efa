#pragma once

#include "halftone/kernels/cuda/device.h"
#include "halftone/kernels/cuda/fault_record.h"

namespace halftone::cuda {

/// Notes a fault unless one is noted already. The caller then goes on with something harmless: it writes NaN
/// or zero, and touches no memory outside its tensors.
__device__ inline void report_fault(const FaultSink& sink, Fault kind, std::int64_t value,
                                    std::int64_t limit) {
  FaultRecord* const record = sink.record;
  if (atomicCAS(&record->taken, 0u, 1u) != 0u) return;
  record->op = sink.op;
  record->dim = sink.dim;
  record->value = value;
  record->limit = limit;
  __threadfence_system();
  record->kind = static_cast<std::uint32_t>(kind);
}

}  // namespace halftone::cuda
