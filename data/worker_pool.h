#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

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

  void submit(Job job);
  /// Drops the jobs that have not started.
  void clear();
  /// Waits until `done()` holds; it is asked after every job, never while one of them writes what it reads.
  /// Returns false after `timeout`.
  bool wait(const std::function<bool()>& done, std::optional<std::chrono::milliseconds> timeout);
  /// Runs `publish` so that wait() sees all of it or nothing.
  void publish(const std::function<void()>& publish);

 private:
  void run(std::size_t worker);

  std::mutex mutex_;
  std::condition_variable submitted_;
  std::condition_variable finished_;
  std::deque<Job> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace halftone::data
