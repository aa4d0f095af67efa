#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace halftone::data {

/// Threads that run jobs in the order they were submitted. Kernels called from a job run on its thread alone.
class WorkerPool {
 public:
  /// A job gets the number of the worker that runs it. It must not throw.
  using Job = std::function<void(std::size_t worker)>;

  explicit WorkerPool(std::size_t workers);
  /// Drops what has not started, waits for what has.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Puts a job at the end of the queue.
  void submit(Job job);
  /// Drops the jobs that have not started.
  void clear();
  /// Waits until no job runs.
  void wait_until_idle();
  /// Waits until `done()` holds; it is asked after every job, never while one of them writes what it reads.
  /// Returns false after `timeout` milliseconds.
  bool wait(const std::function<bool()>& done, std::optional<std::int64_t> timeout);
  /// Runs `publish` so that wait() sees all of it or nothing.
  void publish(const std::function<void()>& publish);

 private:
  struct State;  // keeps the thread headers out of every program that loads data
  std::unique_ptr<State> state_;
};

}  // namespace halftone::data
