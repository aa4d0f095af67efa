// Stream capture and graphs.

#include "halftone/tests/simt/test_device.h"

using namespace simt_test;

namespace {

void add_kernel(int* data, int value) { data[0] += value; }
void double_kernel(int* data) { data[0] *= 2; }
void sum_kernel(int* out, const int* a, const int* b) { out[0] = a[0] + b[0]; }

struct Stream {
  cudaStream_t handle = nullptr;
  Stream() { REQUIRE(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking) == cudaSuccess); }
  ~Stream() { cudaStreamDestroy(handle); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};
struct Event {
  cudaEvent_t handle = nullptr;
  Event() { REQUIRE(cudaEventCreateWithFlags(&handle, cudaEventDisableTiming) == cudaSuccess); }
  ~Event() { cudaEventDestroy(handle); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
};

cudaStreamCaptureStatus status_of(const Stream& stream) {
  cudaStreamCaptureStatus status{};
  REQUIRE(cudaStreamIsCapturing(stream.handle, &status) == cudaSuccess);
  return status;
}

void begin(const Stream& stream, cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
  REQUIRE(cudaStreamBeginCapture(stream.handle, mode) == cudaSuccess);
}
cudaError_t end(const Stream& stream) {
  cudaGraph_t graph = nullptr;
  const cudaError_t status = cudaStreamEndCapture(stream.handle, &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();
  return status;
}

}  // namespace

TEST_CASE("a graph does what was captured, at every launch and not before", "[simt]") {
  const CleanDevice clean;
  using simt::control::Streams;
  for (const Streams streams : {Streams::kEager, Streams::kLazy, Streams::kRandom}) {
    simt::control::set_streams(streams);
    const Stream stream;
    const Array<int> data(std::vector<int>{1});
    begin(stream);
    CHECK(status_of(stream) == cudaStreamCaptureStatusActive);
    REQUIRE(launch<add_kernel>({1, 1, 0, stream.handle}, data.data(), 3) == cudaSuccess);
    REQUIRE(launch<double_kernel>({1, 1, 0, stream.handle}, data.data()) == cudaSuccess);
    cudaGraph_t graph = nullptr;
    REQUIRE(cudaStreamEndCapture(stream.handle, &graph) == cudaSuccess);
    CHECK(status_of(stream) == cudaStreamCaptureStatusNone);
    CHECK(data.values()[0] == 1);
    std::size_t nodes = 0;
    REQUIRE(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
    CHECK(nodes == 2);
    cudaGraphExec_t executable = nullptr;
    REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
    REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);
    REQUIRE(cudaGraphLaunch(executable, stream.handle) == cudaSuccess);
    REQUIRE(cudaGraphLaunch(executable, stream.handle) == cudaSuccess);
    REQUIRE(cudaGraphExecDestroy(executable) == cudaSuccess);  // what was launched goes on
    REQUIRE(cudaStreamSynchronize(stream.handle) == cudaSuccess);
    CHECK(data.values()[0] == 22);
    CHECK(cudaGraphLaunch(executable, stream.handle) == cudaErrorInvalidValue);
  }
}

TEST_CASE("other streams join a capture by events", "[simt]") {
  const CleanDevice clean;
  simt::control::set_streams(simt::control::Streams::kRandom);
  const Stream main;
  const Stream side;
  const Event fork;
  const Event join;
  const Array<int> data(std::vector<int>{1, 1, 0});
  begin(main);
  REQUIRE(launch<add_kernel>({1, 1, 0, main.handle}, data.data(), 1) == cudaSuccess);
  REQUIRE(cudaEventRecord(fork.handle, main.handle) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(side.handle, fork.handle, 0) == cudaSuccess);
  CHECK(status_of(side) == cudaStreamCaptureStatusActive);
  REQUIRE(launch<add_kernel>({1, 1, 0, side.handle}, data.data() + 1, 10) == cudaSuccess);
  REQUIRE(cudaEventRecord(join.handle, side.handle) == cudaSuccess);
  CHECK(cudaEventQuery(join.handle) == cudaErrorStreamCaptureUnsupported);
  REQUIRE(end(main) == cudaErrorStreamCaptureInvalidated);

  cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;
  begin(main);
  REQUIRE(launch<double_kernel>({1, 1, 0, main.handle}, data.data()) == cudaSuccess);
  REQUIRE(cudaEventRecord(fork.handle, main.handle) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(side.handle, fork.handle, 0) == cudaSuccess);
  REQUIRE(launch<add_kernel>({1, 1, 0, side.handle}, data.data() + 1, 10) == cudaSuccess);
  REQUIRE(cudaEventRecord(join.handle, side.handle) == cudaSuccess);
  REQUIRE(cudaThreadExchangeStreamCaptureMode(&relaxed) == cudaSuccess);
  CHECK(cudaEventQuery(join.handle) == cudaErrorCapturedEvent);
  REQUIRE(cudaThreadExchangeStreamCaptureMode(&relaxed) == cudaSuccess);
  CHECK(relaxed == cudaStreamCaptureModeRelaxed);
  REQUIRE(cudaStreamWaitEvent(main.handle, join.handle, 0) == cudaSuccess);
  REQUIRE(launch<sum_kernel>({1, 1, 0, main.handle}, data.data() + 2, static_cast<const int*>(data.data()),
                             static_cast<const int*>(data.data() + 1)) == cudaSuccess);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(main.handle, &graph) == cudaSuccess);
  CHECK(status_of(side) == cudaStreamCaptureStatusNone);
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  for (int turn = 0; turn < 4; ++turn) REQUIRE(cudaGraphLaunch(executable, main.handle) == cudaSuccess);
  CHECK(cudaStreamSynchronize(main.handle) == cudaSuccess);
  CHECK(data.values() == std::vector<int>{16, 41, 57});
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaGetLastError();
}

TEST_CASE("calls that a capture cannot hold are refused and spoil it", "[simt]") {
  const CleanDevice clean;
  const Stream stream;
  const Array<int> data(1);
  int host = 0;
  void* more = nullptr;
  const auto spoils = [&](auto call, cudaError_t error) {
    begin(stream);
    CHECK(call() == error);
    CHECK(status_of(stream) == cudaStreamCaptureStatusInvalidated);
    CHECK(end(stream) == cudaErrorStreamCaptureInvalidated);
    CHECK(status_of(stream) == cudaStreamCaptureStatusNone);
  };
  spoils([&] { return cudaMalloc(&more, 16); }, cudaErrorStreamCaptureUnsupported);
  spoils([&] { return cudaFree(data.data()); }, cudaErrorStreamCaptureUnsupported);
  spoils([&] { return cudaDeviceSynchronize(); }, cudaErrorStreamCaptureUnsupported);
  spoils([&] { return cudaStreamSynchronize(stream.handle); }, cudaErrorStreamCaptureUnsupported);
  spoils([&] { return cudaStreamQuery(stream.handle); }, cudaErrorStreamCaptureUnsupported);
  spoils([&] { return cudaMemcpy(&host, data.data(), 4, cudaMemcpyDeviceToHost); },
         cudaErrorStreamCaptureUnsupported);
}

TEST_CASE("a relaxed thread may allocate while a capture goes on", "[simt]") {
  const CleanDevice clean;
  const Stream stream;
  begin(stream);
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  REQUIRE(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
  CHECK(mode == cudaStreamCaptureModeGlobal);
  void* data = nullptr;
  CHECK(cudaMalloc(&data, 16) == cudaSuccess);
  CHECK(cudaFree(data) == cudaSuccess);
  REQUIRE(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
  CHECK(end(stream) == cudaSuccess);
}

TEST_CASE("captures are isolated, joined and ended where they began", "[simt]") {
  const CleanDevice clean;
  const Stream main;
  const Stream side;
  const Event event;
  const Array<int> data(2);

  SECTION("work left behind on another stream") {
    begin(main);
    REQUIRE(launch<double_kernel>({1, 1, 0, main.handle}, data.data()) == cudaSuccess);
    REQUIRE(cudaEventRecord(event.handle, main.handle) == cudaSuccess);
    REQUIRE(cudaStreamWaitEvent(side.handle, event.handle, 0) == cudaSuccess);
    REQUIRE(launch<double_kernel>({1, 1, 0, side.handle}, data.data()) == cudaSuccess);
    CHECK(end(side) == cudaErrorStreamCaptureUnmatched);
    CHECK(end(main) == cudaErrorStreamCaptureUnjoined);
    CHECK(cudaStreamWaitEvent(side.handle, event.handle, 0) == cudaErrorCapturedEvent);
  }
  SECTION("an event from outside") {
    REQUIRE(cudaEventRecord(event.handle, side.handle) == cudaSuccess);
    begin(main);
    CHECK(cudaStreamWaitEvent(main.handle, event.handle, 0) == cudaErrorStreamCaptureIsolation);
    CHECK(end(main) == cudaErrorStreamCaptureInvalidated);
  }
  SECTION("the default stream") {
    CHECK(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal) == cudaErrorStreamCaptureUnsupported);
    cudaStream_t blocking = nullptr;
    REQUIRE(cudaStreamCreate(&blocking) == cudaSuccess);
    REQUIRE(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal) == cudaSuccess);
    CHECK(launch<double_kernel>({1, 1}, data.data()) == cudaErrorStreamCaptureImplicit);
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamEndCapture(blocking, &graph) == cudaErrorStreamCaptureInvalidated);
    cudaStreamDestroy(blocking);
  }
  SECTION("no capture at all") { CHECK(end(main) == cudaErrorIllegalState); }
}
