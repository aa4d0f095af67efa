// Deferred work: what the host or another stream sees before it has synchronised, and after.

#include <thread>

#include "halftone/tests/simt/test_device.h"

using namespace simt_test;
using simt::control::Streams;

namespace {

void set_kernel(int* data, int value) { data[0] = value; }
void add_kernel(int* data, int value) { data[0] += value; }

cudaStream_t make_stream() {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  return stream;
}

/// Pinned memory of one number.
struct Pinned {
  int* value = nullptr;
  Pinned() {
    REQUIRE(cudaHostAlloc(reinterpret_cast<void**>(&value), sizeof(int), cudaHostAllocMapped) == cudaSuccess);
    *value = -7;
  }
  ~Pinned() { cudaFreeHost(value); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
};

cudaError_t copy_to_host(int* host, const int* data, cudaStream_t stream) {
  return cudaMemcpyAsync(host, data, sizeof(int), cudaMemcpyDeviceToHost, stream);
}

}  // namespace

TEST_CASE("a host that reads before it waits sees old data, with lazy streams", "[simt]") {
  const CleanDevice clean;
  const cudaStream_t stream = make_stream();
  const Pinned host;
  const Array<int> data(1);
  for (const Streams streams : {Streams::kEager, Streams::kLazy}) {
    simt::control::set_streams(streams);
    *host.value = -7;
    REQUIRE(launch<set_kernel>({1, 1, 0, stream}, data.data(), 3) == cudaSuccess);
    REQUIRE(copy_to_host(host.value, data.data(), stream) == cudaSuccess);
    CHECK(*host.value == (streams == Streams::kLazy ? -7 : 3));
    CHECK(cudaStreamQuery(stream) == (streams == Streams::kLazy ? cudaErrorNotReady : cudaSuccess));
    REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(*host.value == 3);
    CHECK(cudaStreamQuery(stream) == cudaSuccess);
  }
  CHECK(cudaGetLastError() == cudaErrorNotReady);
  cudaStreamDestroy(stream);
}

TEST_CASE("streams are ordered by events only", "[simt]") {
  const CleanDevice clean;
  simt::control::set_streams(Streams::kLazy);
  const cudaStream_t one = make_stream();
  const cudaStream_t other = make_stream();
  cudaEvent_t event = nullptr;
  REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess);
  const Array<int> data(std::vector<int>{1});
  const Pinned host;
  REQUIRE(launch<set_kernel>({1, 1, 0, one}, data.data(), 3) == cudaSuccess);
  REQUIRE(copy_to_host(host.value, data.data(), other) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(other) == cudaSuccess);
  CHECK(*host.value == 1);

  REQUIRE(cudaEventRecord(event, one) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaErrorNotReady);
  REQUIRE(cudaStreamWaitEvent(other, event, 0) == cudaSuccess);
  // Later work of the first stream is not waited for.
  REQUIRE(launch<set_kernel>({1, 1, 0, one}, data.data(), 4) == cudaSuccess);
  REQUIRE(copy_to_host(host.value, data.data(), other) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(other) == cudaSuccess);
  CHECK(*host.value == 3);
  CHECK(cudaEventQuery(event) == cudaSuccess);
  REQUIRE(cudaEventSynchronize(event) == cudaSuccess);
  cudaGetLastError();
  cudaEventDestroy(event);
  cudaStreamDestroy(one);
  cudaStreamDestroy(other);
}

TEST_CASE("the default stream is ordered with blocking streams only", "[simt]") {
  const CleanDevice clean;
  simt::control::set_streams(Streams::kLazy);
  cudaStream_t blocking = nullptr;
  REQUIRE(cudaStreamCreate(&blocking) == cudaSuccess);
  const cudaStream_t apart = make_stream();
  const Array<int> data(std::vector<int>{1, 1});
  const Pinned host;
  REQUIRE(launch<set_kernel>({1, 1, 0, blocking}, data.data(), 3) == cudaSuccess);
  REQUIRE(launch<set_kernel>({1, 1, 0, apart}, data.data() + 1, 3) == cudaSuccess);
  REQUIRE(copy_to_host(host.value, data.data(), nullptr) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(nullptr) == cudaSuccess);
  CHECK(*host.value == 3);
  REQUIRE(copy_to_host(host.value, data.data() + 1, nullptr) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(nullptr) == cudaSuccess);
  CHECK(*host.value == 1);
  cudaStreamDestroy(blocking);
  cudaStreamDestroy(apart);
}

TEST_CASE("pageable memory is read and written at the call, pinned memory later", "[simt]") {
  const CleanDevice clean;
  simt::control::set_streams(Streams::kLazy);
  const cudaStream_t stream = make_stream();
  const Array<int> data(2);
  const Pinned pinned;
  int pageable = 5;
  *pinned.value = 5;
  REQUIRE(cudaMemcpyAsync(data.data(), &pageable, 4, cudaMemcpyHostToDevice, stream) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(data.data() + 1, pinned.value, 4, cudaMemcpyHostToDevice, stream) == cudaSuccess);
  pageable = 6;
  *pinned.value = 6;
  REQUIRE(copy_to_host(&pageable, data.data(), stream) == cudaSuccess);
  CHECK(pageable == 5);
  REQUIRE(copy_to_host(&pageable, data.data() + 1, stream) == cudaSuccess);
  CHECK(pageable == 6);
  simt::control::set_defer_pageable(true);
  REQUIRE(launch<set_kernel>({1, 1, 0, stream}, data.data(), 9) == cudaSuccess);
  REQUIRE(copy_to_host(&pageable, data.data(), stream) == cudaSuccess);
  CHECK(pageable == 6);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(pageable == 9);
  cudaStreamDestroy(stream);
}

TEST_CASE("random streams keep every order they must, and a seed gives the same again", "[simt]") {
  const CleanDevice clean;
  const auto run = [](std::uint64_t seed) {
    simt::control::set_streams(Streams::kRandom, seed);
    const cudaStream_t streams[2] = {make_stream(), make_stream()};
    const Array<int> data(std::vector<int>{0, 0});
    const Pinned host;
    std::vector<int> seen;
    for (int i = 1; i <= 20; ++i) {
      for (int s = 0; s < 2; ++s) {
        REQUIRE(launch<add_kernel>({1, 1, 0, streams[s]}, data.data() + s, i) == cudaSuccess);
      }
      // On the other stream and without an event: any of the sums so far.
      REQUIRE(copy_to_host(host.value, data.data(), streams[1]) == cudaSuccess);
      REQUIRE(cudaStreamSynchronize(streams[1]) == cudaSuccess);
      seen.push_back(*host.value);
    }
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(data.values() == std::vector<int>{210, 210});
    cudaStreamDestroy(streams[0]);
    cudaStreamDestroy(streams[1]);
    return seen;
  };
  const std::vector<int> first = run(3);
  CHECK(run(3) == first);
  CHECK(run(4) != first);
}

TEST_CASE("kernels reach pinned memory, and the device pointer of it", "[simt]") {
  const CleanDevice clean;
  const Pinned host;
  void* device = nullptr;
  REQUIRE(cudaHostGetDevicePointer(&device, host.value, 0) == cudaSuccess);
  REQUIRE(launch<set_kernel>({1, 1}, static_cast<int*>(device), 12) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(*host.value == 12);
  cudaPointerAttributes attributes{};
  REQUIRE(cudaPointerGetAttributes(&attributes, host.value) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeHost);
  int plain = 0;
  REQUIRE(cudaPointerGetAttributes(&attributes, &plain) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeUnregistered);
  CHECK(cudaHostGetDevicePointer(&device, &plain, 0) == cudaErrorInvalidValue);
}

TEST_CASE("time passes between events, and host functions run in their turn", "[simt]") {
  const CleanDevice clean;
  simt::control::set_streams(Streams::kLazy);
  const cudaStream_t stream = make_stream();
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  REQUIRE(cudaEventCreate(&begin) == cudaSuccess);
  REQUIRE(cudaEventCreate(&end) == cudaSuccess);
  int turn = 0;
  REQUIRE(cudaEventRecord(begin, stream) == cudaSuccess);
  REQUIRE(cudaLaunchHostFunc(
              stream, [](void* data) { *static_cast<int*>(data) = 1; }, &turn) == cudaSuccess);
  REQUIRE(cudaEventRecord(end, stream) == cudaSuccess);
  CHECK(turn == 0);
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end) == cudaErrorNotReady);
  REQUIRE(cudaEventSynchronize(end) == cudaSuccess);
  CHECK(turn == 1);
  REQUIRE(cudaEventElapsedTime(&milliseconds, begin, end) == cudaSuccess);
  CHECK(milliseconds >= 0);
  cudaGetLastError();
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaStreamDestroy(stream);
}

TEST_CASE("waits and copies are counted", "[simt]") {
  const CleanDevice clean;
  const Array<int> data(1);
  const Pinned host;
  simt::control::reset_counters();
  REQUIRE(launch<set_kernel>({1, 1}, data.data(), 3) == cudaSuccess);
  REQUIRE(copy_to_host(host.value, data.data(), nullptr) == cudaSuccess);
  CHECK(simt::control::counters().launches == 1);
  CHECK(simt::control::counters().copies_to_host == 1);
  CHECK(simt::control::counters().synchronizations == 0);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(simt::control::counters().synchronizations == 1);
}

TEST_CASE("several host threads use the device at once", "[simt]") {
  const CleanDevice clean;
  constexpr int kThreads = 4;
  for (const Streams streams : {Streams::kEager, Streams::kLazy, Streams::kRandom}) {
    simt::control::set_streams(streams);
    const Array<int> data(std::vector<int>(kThreads, 0));
    std::vector<cudaStream_t> own;
    for (int i = 0; i < kThreads; ++i) own.push_back(make_stream());
    std::vector<int> failures(kThreads, 0);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        const auto at = static_cast<std::size_t>(i);
        for (int turn = 1; turn <= 50; ++turn) {
          const bool ok = launch<add_kernel>({1, 1, 0, own[at]}, data.data() + i, turn) == cudaSuccess;
          failures[at] += ok ? 0 : 1;
          if (turn % 10 == 0) failures[at] += cudaStreamSynchronize(own[at]) == cudaSuccess ? 0 : 1;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(failures == std::vector<int>(kThreads, 0));
    CHECK(data.values() == std::vector<int>(kThreads, 1275));
    for (const cudaStream_t stream : own) cudaStreamDestroy(stream);
  }
}

TEST_CASE("handles that are none are refused", "[simt]") {
  const CleanDevice clean;
  const cudaStream_t stream = make_stream();
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventQuery(nullptr) == cudaErrorInvalidResourceHandle);
  const Array<int> data(1);
  CHECK(launch<set_kernel>({1, 1, 0, stream}, data.data(), 3) == cudaErrorInvalidResourceHandle);
}
