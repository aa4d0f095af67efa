// Kernels: registration, limits, launches.

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/tests/simt/device_limits.h"
#include "halftone/tests/simt/device_memory.h"
#include "halftone/tests/simt/engine.h"
#include "halftone/tests/simt/host_memory.h"
#include "halftone/tests/simt/kernel_info.h"
#include "halftone/tests/simt/queue.h"
#include "halftone/tests/simt/runtime.h"

namespace simt {
namespace {

/// All registered kernels, and what cudaFuncSetAttribute was called with.
struct Kernels {
  struct Known {
    KernelInfo info;
    std::string name;
  };
  std::map<const void*, Known> known;
  std::map<const void*, int> dynamic_shared;
};

Kernels& kernels() {
  static auto* const all = new Kernels;
  return *all;
}

/// A launch's own copy of the arguments.
class Arguments {
 public:
  Arguments(const KernelInfo& kernel, void** values) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < kernel.parameter_count; ++i)
      bytes = place(bytes, kernel.parameters[i]) + kernel.parameters[i].size;
    storage_ = std::make_unique<Block[]>(bytes / sizeof(Block) + 1);
    pointers_.reserve(kernel.parameter_count + 1);
    std::size_t end = 0;
    for (std::size_t i = 0; i < kernel.parameter_count; ++i) {
      const Parameter& parameter = kernel.parameters[i];
      const std::size_t start = place(end, parameter);
      void* copy = reinterpret_cast<char*>(storage_.get()) + start;
      std::memcpy(copy, values[i], parameter.size);
      pointers_.push_back(copy);
      end = start + parameter.size;
    }
  }
  void* const* pointers() const { return pointers_.data(); }

 private:
  struct alignas(64) Block {
    char bytes[64];
  };
  static std::size_t place(std::size_t end, const Parameter& parameter) {
    return (end + parameter.alignment - 1) / parameter.alignment * parameter.alignment;
  }

  std::unique_ptr<Block[]> storage_;
  std::vector<void*> pointers_;
};

/// Limits of the device that a launch must keep.
cudaError_t check_limits(const std::string& name, const cudaLaunchConfig_t& config,
                         std::size_t allowed_dynamic) {
  const dim3 block = config.blockDim;
  const dim3 grid = config.gridDim;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > kMaxBlockThreads || block.x > 1024 || block.y > 1024 || block.z > 64) {
    note(format("kernel %s: a block of %u x %u x %u threads; at most 1024, 1024 and 64, and 1024 together",
                name.c_str(), block.x, block.y, block.z));
    return cudaErrorInvalidConfiguration;
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) {
    note(format("kernel %s: a grid of %u x %u x %u blocks; at least 1, at most 2^31 - 1, 65535 and 65535",
                name.c_str(), grid.x, grid.y, grid.z));
    return cudaErrorInvalidConfiguration;
  }
  if (config.dynamicSmemBytes > allowed_dynamic) {
    note(format(
        "kernel %s: %zu bytes of dynamic shared memory; %zu are allowed (cudaFuncSetAttribute raises it)",
        name.c_str(), config.dynamicSmemBytes, allowed_dynamic));
    return cudaErrorInvalidValue;
  }
  if (config.numAttrs != 0) {
    note(format("kernel %s: launch attributes are not emulated", name.c_str()));
    return cudaErrorNotSupported;
  }
  return cudaSuccess;
}

/// Every pointer parameter must point into memory that `device` can reach.
cudaError_t check_pointers(const std::string& name, const KernelInfo& kernel, void** values, int device) {
  for (std::size_t i = 0; i < kernel.parameter_count; ++i) {
    if (!kernel.parameters[i].is_pointer) continue;
    const void* pointer = nullptr;
    std::memcpy(&pointer, values[i], sizeof(pointer));
    if (pointer == nullptr || is_pinned_range(pointer, 0)) continue;
    const Allocation* allocation = DeviceMemory::instance().find(pointer);
    if (allocation == nullptr) {
      report(format("argument %zu of kernel %s is a host pointer (%p)", i, name.c_str(), pointer));
      return cudaErrorInvalidValue;
    }
    const bool is_in_use = is_device_range(pointer, 0);
    if (is_in_use && allocation->device == device) continue;
    const char* where = allocation->freed ? "freed memory" : "no memory in use";
    if (is_in_use) where = "memory of another device";
    report(format("argument %zu of kernel %s points to %s: allocation #%llu of %zu bytes, offset %ld", i,
                  name.c_str(), where, static_cast<unsigned long long>(allocation->number), allocation->bytes,
                  static_cast<long>(static_cast<const char*>(pointer) - allocation->data)));
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

cudaError_t launch(const cudaLaunchConfig_t& config, const void* function, void** values) {
  const auto found = kernels().known.find(function);
  if (found == kernels().known.end()) {
    note("a kernel was launched that was never registered");
    return cudaErrorInvalidDeviceFunction;
  }
  const KernelInfo& kernel = found->second.info;
  const std::string& name = found->second.name;
  const auto raised = kernels().dynamic_shared.find(function);
  const bool is_raised = raised != kernels().dynamic_shared.end();
  const std::size_t allowed = is_raised ? static_cast<std::size_t>(raised->second) : limits::kSharedBytes;
  const Stream* stream = find_stream(config.stream);
  if (stream == nullptr || stream->device != current_device()) {
    note(format("kernel %s: the stream is not one of the current device", name.c_str()));
    return cudaErrorInvalidResourceHandle;
  }
  cudaError_t status = check_limits(name, config, allowed);
  if (status == cudaSuccess) status = check_pointers(name, kernel, values, stream->device);
  if (status != cudaSuccess) return status;

  Grid grid;
  grid.kernel = kernel;
  grid.grid = config.gridDim;
  grid.block = config.blockDim;
  grid.dynamic_shared = config.dynamicSmemBytes;
  const std::size_t room =
      (is_raised ? limits::kSharedOptInBytes : limits::kSharedBytes) - config.dynamicSmemBytes;
  grid.static_shared_limit = room < limits::kSharedBytes ? room : limits::kSharedBytes;
  auto arguments = std::make_shared<const Arguments>(kernel, values);
  grid.arguments = arguments->pointers();
  ++counters().launches;
  return enqueue(config.stream, [grid, arguments] {
    if (!Engine::current().run(grid)) set_sticky_error(cudaErrorLaunchFailure);
  });
}

}  // namespace

void add_kernel(const KernelInfo& kernel) {
  const std::lock_guard lock(runtime_lock());
  kernels().known[kernel.function] = {kernel, kernel_name(kernel.signature)};
}

std::string kernel_name(const char* signature) {
  // g++: "... [with ...; void (* K)(P ...) = name<...>; ...]" or "... [with auto K = name<...>; ...]"; clang:
  // "... [K = &name<...>, ...]".
  const std::string_view text(signature);
  std::size_t start = text.find(" K)(");
  if (start == std::string_view::npos) start = text.find("K = ");
  if (start != std::string_view::npos) start = text.find("= ", start);
  if (start == std::string_view::npos) return signature;
  start += 2;
  if (text[start] == '&') ++start;
  int depth = 0;
  std::size_t end = start;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (depth == 0 && (c == ';' || c == ']' || c == ',')) break;
    if (c == '<' || c == '(' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == ']') --depth;
  }
  return std::string(text.substr(start, end - start));
}

}  // namespace simt

using namespace simt;

extern "C" {

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  return api_call([&] { return launch(*config, function, arguments); });
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  return cudaLaunchKernelExC(&config, function, arguments);
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return api_call([&] {
    switch (attribute) {
      case cudaFuncAttributeMaxDynamicSharedMemorySize:
        if (value < 0 || static_cast<std::size_t>(value) > limits::kSharedOptInBytes)
          return cudaErrorInvalidValue;
        kernels().dynamic_shared[function] = value;
        return cudaSuccess;
      case cudaFuncAttributePreferredSharedMemoryCarveout:
        return cudaSuccess;
      default:
        return cudaErrorNotSupported;
    }
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return api_call([&] {
    *attributes = cudaFuncAttributes{};
    attributes->maxThreadsPerBlock = kMaxBlockThreads;
    attributes->numRegs = 32;
    attributes->ptxVersion = attributes->binaryVersion = 10 * limits::kMajor + limits::kMinor;
    const auto raised = kernels().dynamic_shared.find(function);
    attributes->maxDynamicSharedSizeBytes =
        raised != kernels().dynamic_shared.end() ? raised->second : static_cast<int>(limits::kSharedBytes);
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads,
                                                          std::size_t dynamic_shared) {
  return api_call([&] {
    if (threads <= 0 || threads > kMaxBlockThreads) return cudaErrorInvalidValue;
    *blocks = limits::kThreadsPerMultiprocessor / threads;
    if (dynamic_shared > 0) {
      const auto by_memory = static_cast<int>(limits::kSharedOptInBytes / dynamic_shared);
      *blocks = by_memory < *blocks ? by_memory : *blocks;
    }
    return cudaSuccess;
  });
}

}  // extern "C"
