#pragma once

#include <simt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "halftone/tests/simt/control.h"

// For tests of the emulated device itself: launches without the backend, memory, and what was reported.
namespace simt_test {

/// The device as a new process has it, before and after each test that has one.
struct CleanDevice {
  CleanDevice() { reset(); }
  ~CleanDevice() { reset(); }
  CleanDevice(const CleanDevice&) = delete;
  CleanDevice& operator=(const CleanDevice&) = delete;

  static void reset() {
    simt::control::set_order(simt::control::Order::kForward);
    simt::control::set_streams(simt::control::Streams::kEager);
    simt::control::set_defer_pageable(false);
    simt::control::set_device_count(1);
    simt::control::set_device_memory(std::size_t{8} << 30);
    simt::control::fail_allocation(0);
    simt::control::clear_errors();
    simt::control::take_reports();
    simt::control::reset_counters();
  }
};

template <auto K>
struct Launcher;
template <class... P, void (*K)(P...)>
struct Launcher<K> {
  static cudaError_t launch(const cudaLaunchConfig_t& config, P... values) {
    simt::register_kernel<K>(__PRETTY_FUNCTION__);
    void* pointers[sizeof...(P) + 1] = {&values...};
    return cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(K), pointers);
  }
};

/// Where and how large: `launch<K>({blocks, threads}, arguments...)`.
struct Shape {
  dim3 grid;
  dim3 block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
};
template <auto K, class... A>
cudaError_t launch(const Shape& shape, A... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared;
  config.stream = shape.stream;
  return Launcher<K>::launch(config, arguments...);
}

/// Device memory of n elements, freed at the end.
template <class T>
class Array {
 public:
  explicit Array(std::size_t n) : size_(n) {
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&data_), n * sizeof(T)) == cudaSuccess);
  }
  explicit Array(const std::vector<T>& values) : Array(values.size()) {
    REQUIRE(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
  }
  ~Array() { cudaFree(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> result(size_);
    REQUIRE(cudaMemcpy(result.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
    return result;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

/// Whether the latest report has all of these parts.
template <class... Parts>
bool reports(const Parts&... parts) {
  const std::string report = simt::control::last_report();
  const bool all = ((report.find(parts) != std::string::npos) && ...);
  if (!all) UNSCOPED_INFO("the report: " << report);
  return all;
}

/// Runs `body` in a process of its own, which then exits; its exit status and what it wrote to stderr.
struct ChildResult {
  int status;
  std::string text;
  bool says(const std::string& part) const { return text.find(part) != std::string::npos; }
};
template <class Body>
ChildResult run_in_child(Body body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    body();
    std::exit(0);
  }
  close(ends[1]);
  ChildResult result{0, {}};
  char buffer[512];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    result.text.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace simt_test
