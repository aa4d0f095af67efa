// Guards of device and shared memory. Illegal accesses end the process, so these run in processes of their
// own.

#include <cmath>

#include "halftone/tests/simt/sanitizer.h"
#include "halftone/tests/simt/test_device.h"

using namespace simt_test;

namespace {

void write_kernel(float* data, int i) { data[i] = 1.0f; }
void read_kernel(float* out, const float* data, int i) { out[0] = data[i]; }

void static_poison_kernel(float* out) {
  HT_SHARED(float, slot, [4]);
  out[blockIdx.x] = slot[1];
  slot[1] = 1.0f;
}
void dynamic_poison_kernel(float* out) {
  HT_DYN_SHARED(float, slot);
  out[blockIdx.x] = slot[1];
  slot[1] = 1.0f;
}
void dynamic_overflow_kernel(int n) {
  HT_DYN_SHARED(float, slot);
  slot[n] = 1.0f;
}
void much_shared_kernel(float* out) {
  HT_SHARED(float, big, [13][1024]);
  big[0][0] = 1.0f;
  out[0] = big[0][0];
}
void two_sites_kernel(float* out) {
  HT_SHARED(double, a, [3]);
  HT_SHARED(char, b, [3]);
  HT_SHARED(float, c, [2]);
  a[0] = 1.0;
  b[0] = 2;
  c[0] = 4.0f;
  out[0] = static_cast<float>(a[0]) + static_cast<float>(b[0]) + c[0];
  out[1] = reinterpret_cast<std::uintptr_t>(&a) % 16 == 0 ? 1.0f : 0.0f;
}

int deep(int n) {
  volatile char frame[512];
  frame[n % 512] = static_cast<char>(n);
  return n == 0 ? frame[0] : deep(n - 1) + frame[n % 512];
}
void deep_kernel(int* out, int n) { out[0] = deep(n); }

constexpr int kIllegal = simt::control::kIllegalAccessExit;

}  // namespace

TEST_CASE("new device memory is NaN in every floating-point type", "[simt]") {
  const CleanDevice clean;
  const Array<float> floats(5);
  for (const float value : floats.values()) CHECK(std::isnan(value));
  const Array<double> doubles(5);
  for (const double value : doubles.values()) CHECK(std::isnan(value));
  const Array<int> ints(5);
  for (const int value : ints.values()) CHECK(value == -1);
}

TEST_CASE("shared memory is NaN at the start of every block", "[simt]") {
  const CleanDevice clean;
  const Array<float> out(3);
  REQUIRE(launch<static_poison_kernel>({3, 1}, out.data()) == cudaSuccess);
  for (const float value : out.values()) CHECK(std::isnan(value));
  REQUIRE(launch<dynamic_poison_kernel>({3, 1, 64}, out.data()) == cudaSuccess);
  for (const float value : out.values()) CHECK(std::isnan(value));
}

TEST_CASE("declarations of shared memory are apart and aligned, and have a limit", "[simt]") {
  const CleanDevice clean;
  const Array<float> out(2);
  REQUIRE(launch<two_sites_kernel>({1, 1}, out.data()) == cudaSuccess);
  CHECK(out.values() == std::vector<float>{7, 1});
  CHECK(launch<much_shared_kernel>({1, 1}, out.data()) == cudaSuccess);
  CHECK(reports("much_shared_kernel", "shared memory for big", "53248 bytes", "49152"));
}

TEST_CASE("a kernel that leaves its memory ends the process, which says where", "[simt]") {
  const CleanDevice clean;
  const auto write_at = [](int n, int i) {
    return run_in_child([=] {
      float* data = nullptr;
      cudaMalloc(reinterpret_cast<void**>(&data), static_cast<std::size_t>(n) * sizeof(float));
      launch<write_kernel>({1, 1}, data, i);
    });
  };
  const ChildResult behind = write_at(128, 128);
  CHECK(behind.status == kIllegal);
  CHECK(behind.says("write_kernel block (0,0,0) thread (0,0,0)"));
  CHECK(behind.says("of 512 bytes, offset 512 (behind its end)"));
  const ChildResult before = write_at(1024, -1);
  CHECK(before.status == kIllegal);
  const ChildResult far = write_at(8, 1 << 14);
  CHECK(far.status == kIllegal);
  CHECK(far.says("of 32 bytes, offset 65536 (behind its end)"));
  CHECK(write_at(128, 127).status == 0);
}

TEST_CASE("freed memory cannot be used, by kernels, copies, or a second free", "[simt]") {
  const CleanDevice clean;
  float* data = nullptr;
  const Array<float> out(1);
  REQUIRE(cudaMalloc(reinterpret_cast<void**>(&data), 512) == cudaSuccess);
  REQUIRE(cudaFree(data) == cudaSuccess);
  CHECK(launch<read_kernel>({1, 1}, out.data(), static_cast<const float*>(data), 0) == cudaErrorInvalidValue);
  CHECK(reports("argument 1 of kernel", "read_kernel", "freed memory", "of 512 bytes"));
  CHECK(cudaMemcpy(out.data(), data, 4, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue);
  CHECK(reports("cudaMemcpy", "FREED"));
  CHECK(cudaFree(data) == cudaErrorInvalidValue);
  CHECK(reports("cudaFree", "freed twice"));
  CHECK(cudaFree(out.data() + 1) == cudaErrorInvalidValue);
  CHECK(reports("not the start of an allocation"));
}

TEST_CASE("memory freed in stream order must not be in use on another stream", "[simt]") {
  const CleanDevice clean;
  const ChildResult result = run_in_child([] {
    simt::control::set_streams(simt::control::Streams::kLazy);
    cudaStream_t one = nullptr;
    cudaStream_t other = nullptr;
    float* data = nullptr;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaMallocAsync(reinterpret_cast<void**>(&data), 512, one);
    launch<write_kernel>({1, 1, 0, other}, data, 0);
    cudaFreeAsync(data, one);
    cudaStreamSynchronize(one);
    cudaStreamSynchronize(other);
  });
  CHECK(result.status == kIllegal);
  CHECK(result.says("(FREED)"));
}

TEST_CASE("dynamic shared memory ends at a guard", "[simt]") {
  const CleanDevice clean;
  if (simt::sanitizer::is_thread_sanitizer())
    return;  // blocks have memory of their own there, without guards
  const ChildResult result = run_in_child([] { launch<dynamic_overflow_kernel>({1, 1, 64}, 16); });
  CHECK(result.status == kIllegal);
  CHECK(result.says("behind the dynamic shared memory"));
  CHECK(run_in_child([] { launch<dynamic_overflow_kernel>({1, 1, 64}, 15); }).status == 0);
}

TEST_CASE("a kernel that uses too much stack is told so", "[simt]") {
  const CleanDevice clean;
  const Array<int> out(1);
  REQUIRE(launch<deep_kernel>({1, 1}, out.data(), 20) == cudaSuccess);
  const ChildResult result = run_in_child([&] { launch<deep_kernel>({1, 1}, out.data(), 2000); });
  CHECK(result.status == kIllegal);
  CHECK(result.says("more stack than a kernel has"));
}

TEST_CASE("copies and fills stay within an allocation and go where they say", "[simt]") {
  const CleanDevice clean;
  const Array<float> data(8);
  std::vector<float> host(16);
  CHECK(cudaMemcpy(host.data(), data.data(), 36, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(reports("cudaMemcpy: 36 bytes from offset 0", "which has 32 bytes"));
  CHECK(cudaMemsetAsync(data.data() + 4, 0, 17, nullptr) == cudaErrorInvalidValue);
  CHECK(reports("cudaMemsetAsync: 17 bytes from offset 16"));
  CHECK(cudaMemsetAsync(host.data(), 0, 4, nullptr) == cudaErrorInvalidValue);
  CHECK(reports("is not device memory"));
  CHECK(cudaMemcpy(data.data(), host.data(), 32, cudaMemcpyDeviceToHost) == cudaErrorInvalidMemcpyDirection);
  CHECK(reports("are not what the kind of copy"));
  CHECK(cudaMemcpy2D(host.data(), 8, data.data(), 16, 8, 3, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(reports("cudaMemcpy2D: 40 bytes"));
}

TEST_CASE("rows are copied with their pitches", "[simt]") {
  const CleanDevice clean;
  const Array<float> data(std::vector<float>{0, 1, 2, 3, 4, 5});
  std::vector<float> host(4);
  REQUIRE(cudaMemcpy2D(host.data(), 8, data.data(), 12, 8, 2, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(host == std::vector<float>{0, 1, 3, 4});
}

TEST_CASE("memory runs out, by size and on demand", "[simt]") {
  const CleanDevice clean;
  simt::control::set_device_memory(1 << 20);
  void* data = nullptr;
  CHECK(cudaMalloc(&data, (1 << 20) + 1) == cudaErrorMemoryAllocation);
  CHECK(data == nullptr);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaSuccess);
  std::size_t free = 0;
  std::size_t total = 0;
  REQUIRE(cudaMalloc(&data, 1000) == cudaSuccess);
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  CHECK(total - free >= 1000);
  REQUIRE(cudaFree(data) == cudaSuccess);
  simt::control::fail_allocation(2);
  REQUIRE(cudaMalloc(&data, 16) == cudaSuccess);
  void* second = nullptr;
  CHECK(cudaMalloc(&second, 16) == cudaErrorMemoryAllocation);
  CHECK(cudaMalloc(&second, 16) == cudaSuccess);
  cudaFree(data);
  cudaFree(second);
}

TEST_CASE("host code that touches device memory is caught where the host is kept out", "[simt]") {
  const CleanDevice clean;
  const ChildResult result = run_in_child([] {
    simt::control::set_streams(simt::control::Streams::kLazy);
    float* data = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&data), 512);
    launch<write_kernel>({1, 1}, data, 3);
    cudaDeviceSynchronize();
    std::printf("%f\n", static_cast<double>(data[3]));
  });
  CHECK(result.status == kIllegal);
  CHECK(result.says("HOST code touched device address"));
  CHECK(result.says("of 512 bytes, offset 12 (within)"));
}
