// Launches: limits of the device, arguments, order of execution, devices.

#include <set>

#include "halftone/tests/simt/sanitizer.h"
#include "halftone/tests/simt/test_device.h"

using namespace simt_test;

namespace {

void nothing_kernel() {}
void set_kernel(int* data, int value) { data[0] = value; }
void name_kernel(int* data, const char* name) { data[0] = name != nullptr ? 1 : 0; }
void trap_kernel(int n) {
  if (static_cast<int>(threadIdx.x) == n) __trap();
}

struct Wide {
  char letter;
  double number;
  int list[3];
};
void wide_kernel(double* out, char letter, Wide wide, short last) {
  out[0] = letter + wide.number + wide.list[2] + last;
}

void coordinates_kernel(int* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  out[block * threads + thread] = static_cast<int>(block * 1000 + thread);
}

/// The order in which threads come.
void arrival_kernel(int* out, unsigned* counter) {
  out[atomicAdd(counter, 1u)] = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

/// All threads write the same place: the last one wins.
void conflict_kernel(int* out) { out[0] = static_cast<int>(threadIdx.x); }

void unregistered_kernel() {}

std::vector<int> arrivals(simt::control::Order order, std::uint64_t seed) {
  simt::control::set_order(order, seed);
  const Array<int> out(12);
  const Array<unsigned> counter(std::vector<unsigned>{0});
  REQUIRE(launch<arrival_kernel>({3, 4}, out.data(), counter.data()) == cudaSuccess);
  return out.values();
}

}  // namespace

TEST_CASE("arguments of any size arrive as they were at the call", "[simt]") {
  const CleanDevice clean;
  const Array<double> out(1);
  Wide wide{'x', 0.25, {1, 2, 3}};
  REQUIRE(launch<wide_kernel>({1, 1}, out.data(), 'a', wide, static_cast<short>(1000)) == cudaSuccess);
  CHECK(out.values()[0] == 'a' + 0.25 + 3 + 1000);
}

TEST_CASE("every thread of every block runs once, with its coordinates", "[simt]") {
  const CleanDevice clean;
  using simt::control::Order;
  for (const Order order : {Order::kForward, Order::kReverse, Order::kRandom}) {
    simt::control::set_order(order, 5);
    const Array<int> out(24 * 30);
    REQUIRE(launch<coordinates_kernel>({dim3(4, 3, 2), dim3(5, 3, 2)}, out.data()) == cudaSuccess);
    const std::vector<int> values = out.values();
    for (int i = 0; i < 24 * 30; ++i) CHECK(values[static_cast<std::size_t>(i)] == i / 30 * 1000 + i % 30);
  }
}

TEST_CASE("blocks and threads run forward, in reverse or at random by seed", "[simt]") {
  const CleanDevice clean;
  using simt::control::Order;
  const std::vector<int> forward = arrivals(Order::kForward, 1);
  for (int i = 0; i < 12; ++i) CHECK(forward[static_cast<std::size_t>(i)] == i);
  const std::vector<int> reverse = arrivals(Order::kReverse, 1);
  for (int i = 0; i < 12; ++i) CHECK(reverse[static_cast<std::size_t>(i)] == 11 - i);
  const std::vector<int> random = arrivals(Order::kRandom, 1);
  CHECK(std::set<int>(random.begin(), random.end()).size() == 12);
  CHECK(random == arrivals(Order::kRandom, 1));
  CHECK(random != arrivals(Order::kRandom, 2));
  CHECK(random != forward);
}

TEST_CASE("conflicting writes show as different results in different orders", "[simt]") {
  const CleanDevice clean;
  if (simt::sanitizer::is_thread_sanitizer()) return;  // it reports the race itself
  const Array<int> out(1);
  std::set<int> results;
  using simt::control::Order;
  for (const Order order : {Order::kForward, Order::kReverse}) {
    simt::control::set_order(order);
    REQUIRE(launch<conflict_kernel>({1, 64}, out.data()) == cudaSuccess);
    results.insert(out.values()[0]);
  }
  CHECK(results.size() == 2);
}

TEST_CASE("launches beyond the limits of the device are refused and explained", "[simt]") {
  const CleanDevice clean;
  CHECK(launch<nothing_kernel>({1, 1025}) == cudaErrorInvalidConfiguration);
  CHECK(reports("nothing_kernel", "a block of 1025 x 1 x 1 threads"));
  CHECK(launch<nothing_kernel>({1, dim3(1, 1, 65)}) == cudaErrorInvalidConfiguration);
  CHECK(launch<nothing_kernel>({1, dim3(32, 32, 2)}) == cudaErrorInvalidConfiguration);
  CHECK(launch<nothing_kernel>({0, 32}) == cudaErrorInvalidConfiguration);
  CHECK(launch<nothing_kernel>({dim3(1, 65536), 32}) == cudaErrorInvalidConfiguration);
  CHECK(reports("a grid of 1 x 65536 x 1 blocks"));
  CHECK(launch<nothing_kernel>({1, dim3(16, 8, 8)}) == cudaSuccess);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
}

TEST_CASE("dynamic shared memory needs to be asked for above 48 KiB, and has a limit", "[simt]") {
  const CleanDevice clean;
  constexpr std::size_t kMore = 100 << 10;
  CHECK(launch<nothing_kernel>({1, 1, 48 << 10}) == cudaSuccess);
  CHECK(launch<nothing_kernel>({1, 1, kMore}) == cudaErrorInvalidValue);
  CHECK(reports("nothing_kernel", "102400 bytes of dynamic shared memory; 49152 are allowed"));
  const auto* function = reinterpret_cast<const void*>(&nothing_kernel);
  int limit = 0;
  REQUIRE(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0) == cudaSuccess);
  CHECK(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, limit + 1) ==
        cudaErrorInvalidValue);
  REQUIRE(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, limit) == cudaSuccess);
  CHECK(launch<nothing_kernel>({1, 1, kMore}) == cudaSuccess);
  cudaFuncAttributes attributes{};
  REQUIRE(cudaFuncGetAttributes(&attributes, function) == cudaSuccess);
  CHECK(attributes.maxDynamicSharedSizeBytes == limit);
  cudaGetLastError();
}

TEST_CASE("a host pointer as argument of a kernel is reported at the launch", "[simt]") {
  const CleanDevice clean;
  int host = 0;
  CHECK(launch<set_kernel>({1, 1}, &host, 3) == cudaErrorInvalidValue);
  CHECK(reports("argument 0 of kernel", "set_kernel", "is a host pointer"));
  const Array<int> data(1);
  CHECK(launch<set_kernel>({1, 1}, data.data() + 2, 3) == cudaErrorInvalidValue);
  CHECK(reports("no memory in use", "of 4 bytes, offset 8"));
  // Names are not followed by kernels.
  CHECK(launch<name_kernel>({1, 1}, data.data(), "name") == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("a trap and an unknown kernel are reported", "[simt]") {
  const CleanDevice clean;
  CHECK(launch<trap_kernel>({1, 64}, 33) == cudaSuccess);
  CHECK(reports("trap_kernel", "thread (33,0,0)", "trap at", "test_launch.cpp:"));
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  simt::control::clear_errors();
  void* none = nullptr;
  const auto* function = reinterpret_cast<const void*>(&unregistered_kernel);
  CHECK(cudaLaunchKernel(function, dim3(1), dim3(1), &none, 0, nullptr) == cudaErrorInvalidDeviceFunction);
}

TEST_CASE("without a device every call says why", "[simt]") {
  const CleanDevice clean;
  simt::control::set_device_count(0);
  int count = -1;
  void* data = nullptr;
  CHECK(cudaGetDeviceCount(&count) == cudaErrorInsufficientDriver);
  CHECK(count == -1);
  CHECK(cudaMalloc(&data, 16) == cudaErrorInsufficientDriver);
  CHECK(launch<nothing_kernel>({1, 1}) == cudaErrorInsufficientDriver);
  int version = -1;
  CHECK(cudaDriverGetVersion(&version) == cudaSuccess);
  CHECK(version == 0);
  simt::control::set_device_count(0, 100);
  CHECK(cudaGetDeviceCount(&count) == cudaErrorNoDevice);
  CHECK(std::string(cudaGetErrorString(cudaErrorNoDevice)) == "no CUDA-capable device is detected");
}

TEST_CASE("devices have memory and streams of their own", "[simt]") {
  const CleanDevice clean;
  simt::control::set_device_count(2);
  int count = 0;
  REQUIRE(cudaGetDeviceCount(&count) == cudaSuccess);
  CHECK(count == 2);
  const Array<int> first(std::vector<int>{5});
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice);
  {
    const Array<int> second(1);
    CHECK(launch<set_kernel>({1, 1}, second.data(), 3) == cudaSuccess);
    CHECK(launch<set_kernel>({1, 1}, first.data(), 3) == cudaErrorInvalidValue);
    CHECK(reports("set_kernel", "memory of another device"));
    CHECK(cudaMemcpyPeerAsync(second.data(), 1, first.data(), 0, 4, nullptr) == cudaSuccess);
    CHECK(second.values()[0] == 5);
    cudaStream_t stream = nullptr;
    REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
    CHECK(launch<set_kernel>({1, 1, 0, stream}, first.data(), 3) == cudaErrorInvalidResourceHandle);
    REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  }
  cudaGetLastError();
}
