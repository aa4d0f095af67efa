#include "halftone/data/worker_pool.h"

#include "halftone/engine/threads.h"

namespace halftone::data {

WorkerPool::WorkerPool(std::size_t workers) {
  threads_.reserve(workers);
  for (std::size_t i = 0; i < workers; ++i) threads_.emplace_back([this, i] { run(i); });
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    jobs_.clear();
  }
  submitted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::submit(Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  submitted_.notify_one();
}

void WorkerPool::clear() {
  const std::lock_guard lock(mutex_);
  jobs_.clear();
}

bool WorkerPool::wait(const std::function<bool()>& done, std::optional<std::chrono::milliseconds> timeout) {
  std::unique_lock lock(mutex_);
  if (timeout) return finished_.wait_for(lock, *timeout, done);
  finished_.wait(lock, done);
  return true;
}

void WorkerPool::publish(const std::function<void()>& publish) {
  {
    const std::lock_guard lock(mutex_);
    publish();
  }
  finished_.notify_all();
}

void WorkerPool::run(std::size_t worker) {
  const SingleThreadGuard single_thread;
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      submitted_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
      if (stopping_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job(worker);
  }
}

}  // namespace halftone::data
