#include "halftone/kernels/cuda/fault_record.h"

#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <new>

#include "halftone/engine/error.h"
#include "halftone/kernels/cuda/runtime.h"

namespace halftone::cuda {
namespace {

/// The record of one device, seen by host and device; made at first use and never freed.
FaultRecord* record_of(int device) {
  static std::array<std::atomic<FaultRecord*>, kMaxDevices> records{};
  static std::mutex mutex;
  std::atomic<FaultRecord*>& slot = records[static_cast<std::size_t>(device)];
  if (FaultRecord* known = slot.load(std::memory_order_acquire)) return known;
  std::lock_guard lock(mutex);
  if (!slot.load(std::memory_order_relaxed)) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, sizeof(FaultRecord), cudaHostAllocMapped | cudaHostAllocPortable),
          "cudaHostAlloc");
    slot.store(new (memory) FaultRecord{}, std::memory_order_release);
  }
  return slot.load(std::memory_order_relaxed);
}

}  // namespace

FaultSink fault_sink(const char* op, std::int64_t dim) {
  void* on_device = nullptr;
  check(cudaHostGetDevicePointer(&on_device, record_of(current_device_index()), 0),
        "cudaHostGetDevicePointer");
  return {static_cast<FaultRecord*>(on_device), op, dim};
}

void throw_fault(int device) {
  FaultRecord& record = *record_of(device);
  const auto kind = static_cast<Fault>(std::atomic_ref(record.kind).load(std::memory_order_acquire));
  if (kind == Fault::kNone) return;
  const FaultRecord found = record;
  record = FaultRecord{};
  constexpr const char* kNote = " (found on the device; the results since are not valid)";
  switch (kind) {
    case Fault::kNone:
      return;
    case Fault::kIndexOutOfRange:
      fail(found.op, "index ", found.value, " is out of range for dimension ", found.dim, " of size ",
           found.limit, kNote);
    case Fault::kRowOutOfRange:
      fail(found.op, "index ", found.value, " is out of range for a table of ", found.limit, " rows", kNote);
    case Fault::kPlaceOutOfRange:
      fail(found.op, "index ", found.value, " is out of range for a plane of ", found.limit, " elements",
           kNote);
    case Fault::kClassOutOfRange:
      fail(found.op, "class ", found.value, " is out of range: expected 0 .. ", found.limit - 1, kNote);
    case Fault::kZeroDivisor:
      fail(found.op, "integer division by zero: the divisor holds a 0", kNote);
    case Fault::kNoProbability:
      fail(found.op, "expected probabilities in [0, 1], found ", std::bit_cast<double>(found.value), kNote);
  }
}

}  // namespace halftone::cuda
