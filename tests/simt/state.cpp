// Settings, errors and counters: the state of the device that control.h shows to tests.

#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <thread>

#include "halftone/tests/simt/capture.h"
#include "halftone/tests/simt/device_memory.h"
#include "halftone/tests/simt/queue.h"
#include "halftone/tests/simt/runtime.h"
#include "halftone/tests/simt/settings.h"

namespace simt {
namespace {

cudaError_t sticky = cudaSuccess;
thread_local cudaError_t last_error = cudaSuccess;
thread_local int device = 0;

/// "name" or "name:SEED" of an environment variable.
struct Choice {
  std::string_view name;
  std::uint64_t seed = 1;
};
Choice choice_of(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return {};
  const std::string_view whole(text);
  const std::size_t colon = whole.find(':');
  if (colon == std::string_view::npos) return {whole, 1};
  return {whole.substr(0, colon), std::strtoull(text + colon + 1, nullptr, 10)};
}

[[noreturn]] void reject(const char* variable) {
  std::fprintf(stderr, "simt: %s=%s is not understood\n", variable, std::getenv(variable));
  std::exit(2);
}

Settings settings_of_environment() {
  Settings chosen;
  const Choice order = choice_of("HALFTONE_SIMT_ORDER");
  chosen.order_seed = order.seed;
  if (order.name == "reverse") {
    chosen.order = control::Order::kReverse;
  } else if (order.name == "random") {
    chosen.order = control::Order::kRandom;
  } else if (!order.name.empty() && order.name != "forward") {
    reject("HALFTONE_SIMT_ORDER");
  }
  const Choice streams = choice_of("HALFTONE_SIMT_STREAMS");
  chosen.streams_seed = streams.seed;
  if (streams.name == "lazy") {
    chosen.streams = control::Streams::kLazy;
  } else if (streams.name == "random") {
    chosen.streams = control::Streams::kRandom;
  } else if (!streams.name.empty() && streams.name != "eager") {
    reject("HALFTONE_SIMT_STREAMS");
  }
  chosen.host_guard = chosen.streams != control::Streams::kEager;
  if (const char* count = std::getenv("HALFTONE_SIMT_DEVICES")) chosen.device_count = std::atoi(count);
  return chosen;
}

}  // namespace

Settings& settings() {
  static Settings chosen = settings_of_environment();
  return chosen;
}

std::recursive_mutex& runtime_lock() {
  static auto* const lock = new std::recursive_mutex;
  return *lock;
}

control::Counters& counters() {
  static control::Counters all;
  return all;
}

void set_sticky_error(cudaError_t error) {
  if (sticky == cudaSuccess) sticky = error;
}
cudaError_t sticky_error() { return sticky; }

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t device_status() {
  if (settings().device_count == 0) return static_cast<cudaError_t>(settings().absence_reason);
  static const bool prepared = [] {
    DeviceMemory::instance().set_guarded(settings().host_guard);
    return true;
  }();
  static_cast<void>(prepared);
  if (settings().host_guard) install_fault_handler();  // the host may be at fault without any operation
  return sticky;
}

int current_device() { return device; }

namespace control {

void set_order(Order order, std::uint64_t seed) {
  const std::lock_guard lock(runtime_lock());
  settings().order = order;
  settings().order_seed = seed;
  settings().grids = 0;
}

void set_streams(Streams streams, std::uint64_t seed) {
  const std::lock_guard lock(runtime_lock());
  synchronize_all();
  settings().streams = streams;
  settings().streams_seed = seed;
  seed_queues(seed);
  set_host_guard(streams != Streams::kEager);
}

void set_host_guard(bool on) {
  const std::lock_guard lock(runtime_lock());
  settings().host_guard = on;
  DeviceMemory::instance().set_guarded(on);
}

void set_defer_pageable(bool on) {
  const std::lock_guard lock(runtime_lock());
  settings().defer_pageable = on;
}

void set_device_count(int count, int reason) {
  const std::lock_guard lock(runtime_lock());
  settings().device_count = count;
  settings().absence_reason = reason;
}

void set_device_memory(std::size_t bytes) {
  const std::lock_guard lock(runtime_lock());
  settings().device_memory = bytes;
}

void fail_allocation(std::uint64_t n) {
  const std::lock_guard lock(runtime_lock());
  settings().failing_allocation = n;
}

void clear_errors() {
  const std::lock_guard lock(runtime_lock());
  sticky = cudaSuccess;
  last_error = cudaSuccess;
}

Counters counters() {
  const std::lock_guard lock(runtime_lock());
  return simt::counters();
}

void reset_counters() {
  const std::lock_guard lock(runtime_lock());
  simt::counters() = Counters();
}

}  // namespace control
}  // namespace simt

using namespace simt;

extern "C" {

cudaError_t cudaGetLastError() {
  const std::lock_guard lock(runtime_lock());
  const cudaError_t error = sticky != cudaSuccess ? sticky : last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  const std::lock_guard lock(runtime_lock());
  return sticky != cudaSuccess ? sticky : last_error;
}

cudaError_t cudaGetDevice(int* number) {
  return api_call([&] {
    *number = device;
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int number) {
  return api_call([&] {
    if (number < 0 || number >= settings().device_count) return cudaErrorInvalidDevice;
    device = number;
    return cudaSuccess;
  });
}

}  // extern "C"
