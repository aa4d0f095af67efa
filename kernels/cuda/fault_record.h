#pragma once

#include <cstdint>

namespace halftone::cuda {

/// What can be wrong with data that only the device sees.
enum class Fault : std::uint32_t {
  kNone,
  kIndexOutOfRange,  // an index outside dimension `dim`, of size `limit`
  kRowOutOfRange,    // an index outside a table of `limit` rows
  kPlaceOutOfRange,  // an index outside a plane of `limit` elements
  kClassOutOfRange,  // a class label that is neither one of `limit` classes nor ignore_index
  kZeroDivisor,      // of integers
  kNoProbability,    // a number outside [0, 1]; `value` holds its bits as a double
};

/// The first fault of a device since it was last looked at. Lies in memory that host and device see, so
/// looking costs no copy. The host throws it as an Error where it next waits for the device: item(), copies
/// to the host, synchronize().
struct FaultRecord {
  std::uint32_t kind;  // Fault; written last
  std::uint32_t taken;
  std::int64_t value;
  std::int64_t limit;
  std::int64_t dim;
  const char* op;  // a literal of the host
};

/// Where kernels report on the current device, and what goes with the report.
struct FaultSink {
  FaultRecord* record;
  const char* op;
  std::int64_t dim;
};
FaultSink fault_sink(const char* op, std::int64_t dim = 0);

/// Throws, once, what kernels of `device` reported. To be called when the device has been waited for.
void throw_fault(int device);

}  // namespace halftone::cuda
