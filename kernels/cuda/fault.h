#pragma once

#include <cstdint>

#include "halftone/kernels/cuda/device.h"

namespace halftone::cuda {

/// What can be wrong with data that only the device sees.
enum class Fault : std::uint32_t {
  kNone,
  kIndexOutOfRange,  // an index outside 0 .. size - 1
  kClassOutOfRange,  // a class label that is neither a class nor ignore_index
};

/// The first fault of a device since it was last looked at. Lies in memory that host and device see, so looking costs no
/// copy. The host throws it as an Error where it next waits for the device: item(), copies to the host, synchronize().
struct FaultRecord {
  std::uint32_t kind;  // Fault; written last
  std::uint32_t taken;
  std::int64_t value;
  std::int64_t limit;
  const char* op;  // a literal of the host
};

/// Where kernels report on the current device, and the name that goes with the report.
struct FaultSink {
  FaultRecord* record;
  const char* op;
};
FaultSink fault_sink(const char* op);

/// Notes a fault unless one is noted already. The caller then goes on with something harmless: it writes NaN or zero,
/// and touches no memory outside its tensors.
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
