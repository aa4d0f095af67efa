#include "halftone/tests/simt/queue.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "halftone/tests/simt/capture.h"
#include "halftone/tests/simt/device_memory.h"
#include "halftone/tests/simt/runtime.h"
#include "halftone/tests/simt/settings.h"

namespace simt {
namespace {

using control::Streams;

/// All streams and events; under the runtime's lock.
struct Queues {
  std::vector<std::unique_ptr<Stream>> streams;  // in order of creation
  std::map<int, Stream*> legacy;                 // by device
  std::map<Event*, std::unique_ptr<Event>> events;
  std::uint64_t sequence = 0;
  std::uint64_t stream_ids = 0;
  std::minstd_rand random{static_cast<std::minstd_rand::result_type>(settings().streams_seed)};
};

Queues& queues() {
  static auto* const all = new Queues;
  return *all;
}

thread_local int operation_depth = 0;

std::uint64_t random(std::uint64_t limit) { return queues().random() % limit; }

void run_next(Stream& stream);

void run_before(Stream& stream, std::uint64_t sequence) {
  while (!stream.pending.empty() && stream.pending.front().sequence < sequence) run_next(stream);
}

/// What the next operation of `stream` has to wait for.
void run_dependencies(Stream& stream) {
  const std::uint64_t sequence = stream.pending.front().sequence;
  if (const std::shared_ptr<EventRecord> wait = stream.pending.front().wait) {
    while (!wait->done) run_next(*wait->stream);
  }
  if (stream.is_legacy) {
    for (const auto& other : queues().streams) {
      if (other.get() != &stream && other->device == stream.device && other->is_blocking())
        run_before(*other, sequence);
    }
  } else if (stream.is_blocking()) {
    const auto legacy = queues().legacy.find(stream.device);
    if (legacy != queues().legacy.end()) run_before(*legacy->second, sequence);
  }
}

void run_next(Stream& stream) {
  run_dependencies(stream);
  const Operation operation = std::move(stream.pending.front());
  stream.pending.pop_front();
  if (operation.work && sticky_error() == cudaSuccess) operation.work();
  if (operation.record) {
    operation.record->time = std::chrono::steady_clock::now();
    operation.record->done = true;
  }
}

void run_all(Stream& stream) {
  while (!stream.pending.empty()) run_next(stream);
}

/// In random mode: some operations of any streams.
void run_some() {
  const OperationScope scope;
  while (random(2) != 0) {
    std::vector<Stream*> busy;
    for (const auto& stream : queues().streams) {
      if (!stream->pending.empty()) busy.push_back(stream.get());
    }
    if (busy.empty()) return;
    run_next(*busy[random(busy.size())]);
  }
}

Stream& legacy_stream(int device) {
  Stream*& stream = queues().legacy[device];
  if (stream == nullptr) {
    stream = &create_stream(device, cudaStreamDefault, 0);
    stream->is_legacy = true;
  }
  return *stream;
}

}  // namespace

void seed_queues(std::uint64_t seed) {
  queues().random.seed(static_cast<std::minstd_rand::result_type>(seed));
}

OperationScope::OperationScope() {
  if (operation_depth++ == 0) install_fault_handler();
}
OperationScope::~OperationScope() {
  if (--operation_depth == 0) DeviceMemory::instance().close();
}
bool OperationScope::is_active() { return operation_depth > 0; }

Stream* find_stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return &legacy_stream(current_device());
  auto* stream = reinterpret_cast<Stream*>(handle);
  const auto is_it = [&](const std::unique_ptr<Stream>& known) { return known.get() == stream; };
  return std::any_of(queues().streams.begin(), queues().streams.end(), is_it) ? stream : nullptr;
}

Stream& create_stream(int device, unsigned flags, int priority) {
  auto stream = std::make_unique<Stream>();
  stream->device = device;
  stream->flags = flags;
  stream->priority = priority;
  stream->id = ++queues().stream_ids;
  Stream& created = *stream;
  queues().streams.push_back(std::move(stream));
  return created;
}

void destroy_stream(Stream& stream) {
  synchronize(stream);
  std::erase_if(queues().streams,
                [&](const std::unique_ptr<Stream>& known) { return known.get() == &stream; });
}

cudaStream_t handle_of(Stream& stream) { return reinterpret_cast<cudaStream_t>(&stream); }

Event& create_event(unsigned flags) {
  auto event = std::make_unique<Event>();
  event->flags = flags;
  event->device = current_device();
  Event& created = *event;
  queues().events.emplace(&created, std::move(event));
  return created;
}

Event* find_event(cudaEvent_t handle) {
  auto* event = reinterpret_cast<Event*>(handle);
  return queues().events.count(event) != 0 ? event : nullptr;
}

void destroy_event(Event& event) { queues().events.erase(&event); }

void push(Stream& stream, Operation operation) {
  operation.sequence = ++queues().sequence;
  stream.pending.push_back(std::move(operation));
  if (settings().streams == Streams::kEager) synchronize(stream);
  if (settings().streams == Streams::kRandom) run_some();
}

void synchronize(Stream& stream) {
  const OperationScope scope;
  run_all(stream);
}

void synchronize(const EventRecord& record) {
  const OperationScope scope;
  while (!record.done) run_next(*record.stream);
}

void synchronize_device(int device) {
  const OperationScope scope;
  for (const auto& stream : queues().streams) {
    if (stream->device == device) run_all(*stream);
  }
}

void synchronize_all() {
  const OperationScope scope;
  for (const auto& stream : queues().streams) run_all(*stream);
}

bool is_idle(Stream& stream) {
  if (settings().streams == Streams::kRandom) run_some();
  return stream.pending.empty();
}

bool is_done(const EventRecord& record) {
  if (settings().streams == Streams::kRandom) run_some();
  return record.done;
}

cudaError_t enqueue(cudaStream_t handle, std::function<void()> work) {
  const std::lock_guard lock(runtime_lock());
  const cudaError_t status = device_status();
  if (status != cudaSuccess) return status;
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (stream->capture) return capture_operation(*stream, std::move(work));
  if (is_implicit_in_capture(*stream)) return cudaErrorStreamCaptureImplicit;
  Operation operation;
  operation.work = std::move(work);
  push(*stream, std::move(operation));
  return cudaSuccess;
}

}  // namespace simt
