#pragma once

#include <cstdint>

namespace halftone::cuda {

/// What can be wrong with data that only the device sees.
enum class Fault : std::uint32_t {
  kNone,
  kIndexOutOfRange,  // an index outside 0 .. limit - 1
  kClassOutOfRange,  // a class label that is neither a class nor ignore_index
};

/// The first fault of a device since it was last looked at. Lies in memory that host and device see, so
/// looking costs no copy. The host throws it as an Error where it next waits for the device: item(), copies
/// to the host, synchronize().
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

/// Throws, once, what kernels of `device` reported. To be called when the device has been waited for.
void throw_fault(int device);

}  // namespace halftone::cuda
