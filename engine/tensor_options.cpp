#include "halftone/engine/tensor_options.h"

#include <atomic>

#include "halftone/engine/cuda_backend.h"
#include "halftone/engine/error.h"

namespace halftone {
namespace {

std::atomic<ScalarType> default_dtype{kFloat};
std::atomic<Device> default_device{Device(kCPU)};

}  // namespace

ScalarType get_default_dtype() { return default_dtype.load(std::memory_order_relaxed); }

void set_default_dtype(ScalarType dtype) {
  if (!is_floating_point(dtype)) fail("set_default_dtype", "expected a floating type, got ", dtype);
  default_dtype.store(dtype, std::memory_order_relaxed);
}

void check_layout(const char* op, Layout layout) {
  if (layout != kStrided)
    fail(op, "halftone has no sparse tensors; keep kStrided, and index the nonzero part");
}

void check_memory_format(const char* op, MemoryFormat format) {
  if (format == MemoryFormat::ChannelsLast || format == MemoryFormat::ChannelsLast3d)
    fail(op, "halftone has no channels-last format; permute the dimensions, or keep Contiguous");
}

Device get_default_device() { return default_device.load(std::memory_order_relaxed); }

void set_default_device(Device device) {
  default_device.store(cuda::resolve(device, "set_default_device"), std::memory_order_relaxed);
}

}  // namespace halftone
