#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>

namespace simt {

class Capture;
struct Stream;

/// One cudaEventRecord: done when the stream has come to it.
struct EventRecord {
  bool done = false;
  Stream* stream = nullptr;
  std::chrono::steady_clock::time_point time;
};

/// Behind cudaEvent_t.
struct Event {
  unsigned flags = 0;
  int device = 0;
  std::shared_ptr<EventRecord> latest;  // null: never recorded
  std::shared_ptr<Capture> capture;     // of the latest record, which is then in a graph instead
  std::set<int> capture_nodes;
};

struct Operation {
  std::uint64_t sequence = 0;           // over all streams
  std::function<void()> work;           // not run once the device has failed
  std::shared_ptr<EventRecord> wait;    // must be done before
  std::shared_ptr<EventRecord> record;  // is done then
};

/// Behind cudaStream_t.
struct Stream {
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  bool is_legacy = false;  // the default stream, with which the blocking ones are ordered
  std::uint64_t id = 0;
  std::deque<Operation> pending;
  std::shared_ptr<Capture> capture;
  std::set<int> capture_nodes;  // on which its next captured operation depends

  bool is_blocking() const { return (flags & cudaStreamNonBlocking) == 0; }
};

/// The stream for a handle of the runtime; null for an invalid one.
Stream* find_stream(cudaStream_t handle);
Stream& create_stream(int device, unsigned flags, int priority);
/// Runs what is pending first.
void destroy_stream(Stream& stream);
cudaStream_t handle_of(Stream& stream);

Event& create_event(unsigned flags);
/// Null for an invalid handle.
Event* find_event(cudaEvent_t handle);
void destroy_event(Event& event);

/// Adds to a stream that is not being captured, and runs what the mode wants run.
void push(Stream& stream, Operation operation);

/// Run what is pending: of a stream, up to an event, of a device (and, with it, what it depends on), of all.
void synchronize(Stream& stream);
void synchronize(const EventRecord& record);
void synchronize_device(int device);
void synchronize_all();

/// Of the choices that random mode makes.
void seed_queues(std::uint64_t seed);

/// Whether nothing is pending, with the ordering of the default stream. In random mode asking lets some work
/// go on.
bool is_idle(Stream& stream);
bool is_done(const EventRecord& record);

}  // namespace simt
