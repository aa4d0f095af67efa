#include "halftone/data/worker_pool.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "halftone/engine/threads.h"

namespace halftone::data {

struct WorkerPool::State {
  std::mutex mutex;
  std::condition_variable submitted;
  std::condition_variable finished;
  std::deque<Job> jobs;
  std::size_t running = 0;
  bool stopping = false;
  std::vector<std::thread> threads;

  void run(std::size_t worker) {
    const SingleThreadGuard single_thread;
    for (;;) {
      Job job;
      {
        std::unique_lock lock(mutex);
        submitted.wait(lock, [&] { return stopping || !jobs.empty(); });
        if (stopping) return;
        job = std::move(jobs.front());
        jobs.pop_front();
        ++running;
      }
      job(worker);
      {
        const std::lock_guard lock(mutex);
        --running;
      }
      finished.notify_all();
    }
  }
};

WorkerPool::WorkerPool(std::size_t workers) : state_(std::make_unique<State>()) {
  state_->threads.reserve(workers);
  for (std::size_t i = 0; i < workers; ++i) {
    state_->threads.emplace_back([state = state_.get(), i] { state->run(i); });
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    state_->jobs.clear();
  }
  state_->submitted.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

void WorkerPool::submit(Job job) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->jobs.push_back(std::move(job));
  }
  state_->submitted.notify_one();
}

void WorkerPool::clear() {
  const std::lock_guard lock(state_->mutex);
  state_->jobs.clear();
}

void WorkerPool::wait_until_idle() {
  std::unique_lock lock(state_->mutex);
  state_->finished.wait(lock, [&] { return state_->running == 0 && state_->jobs.empty(); });
}

bool WorkerPool::wait(const std::function<bool()>& done, std::optional<std::int64_t> timeout) {
  std::unique_lock lock(state_->mutex);
  if (timeout) return state_->finished.wait_for(lock, std::chrono::milliseconds(*timeout), done);
  state_->finished.wait(lock, done);
  return true;
}

void WorkerPool::publish(const std::function<void()>& publish) {
  {
    const std::lock_guard lock(state_->mutex);
    publish();
  }
  state_->finished.notify_all();
}

}  // namespace halftone::data
