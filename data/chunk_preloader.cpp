#include "halftone/data/chunk_preloader.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "halftone/data/worker_exception.h"
#include "halftone/engine/threads.h"

namespace halftone::data {

struct ChunkPreloader::State {
  struct Result {
    Chunk chunk;
    std::exception_ptr error;
  };

  std::size_t capacity;
  Draw draw;
  Read read;

  std::mutex mutex, taking;
  std::condition_variable changed;
  std::deque<Result> results;
  std::size_t waiting = 0;  // examples in `results`, and of chunks handed out that were not released
  std::size_t drawn = 0,
              turn = 0;     // numbers of the draws: the next one, and the next to be put into `results`
  std::size_t running = 0;  // threads
  bool exhausted = false, stopping = false;
  std::vector<std::thread> threads;

  void run() {
    const SingleThreadGuard single_thread;
    std::unique_lock lock(mutex);
    while (!exhausted && !stopping) {
      const std::size_t number = drawn++;
      Result result;
      if (const auto indices = draw_next(result)) {
        lock.unlock();
        result = read_now(*indices);
        lock.lock();
      }
      const bool has_room = result.chunk.size == 0;
      changed.wait(lock, [&] { return stopping || (turn == number && (has_room || waiting < capacity)); });
      if (stopping) break;
      ++turn;
      waiting += result.chunk.size;
      if (result.chunk.size > 0 || result.error) results.push_back(std::move(result));
      changed.notify_all();
    }
    --running;
    changed.notify_all();
  }

  /// No more is drawn after the end, and after a sampler that throws: it might do so for ever.
  std::optional<std::vector<std::size_t>> draw_next(Result& result) {
    try {
      if (auto indices = draw()) return indices;
    } catch (...) {
      result.error = std::current_exception();
    }
    exhausted = true;
    return std::nullopt;
  }

  Result read_now(const std::vector<std::size_t>& indices) {
    try {
      return {read(indices), nullptr};
    } catch (...) {
      return {{}, std::current_exception()};
    }
  }
};

ChunkPreloader::ChunkPreloader(std::size_t threads, std::size_t capacity, Draw draw, Read read)
    : state_(std::make_unique<State>()) {
  state_->capacity = capacity;
  state_->draw = std::move(draw);
  state_->read = std::move(read);
  state_->running = threads;
  state_->threads.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i)
    state_->threads.emplace_back([state = state_.get()] { state->run(); });
}

ChunkPreloader::~ChunkPreloader() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

std::optional<ChunkPreloader::Chunk> ChunkPreloader::next() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return !state_->results.empty() || state_->running == 0; });
  if (state_->results.empty()) return std::nullopt;
  State::Result result = std::move(state_->results.front());
  state_->results.pop_front();
  if (result.error) throw WorkerException(result.error);
  return std::move(result.chunk);
}

void ChunkPreloader::release(std::size_t examples) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->waiting -= examples;
  }
  state_->changed.notify_all();
}

void ChunkPreloader::one_at_a_time(const std::function<void()>& take) {
  const std::lock_guard lock(state_->taking);
  take();
}

void ChunkPreloader::between_draws(const std::function<void()>& look) {
  const std::lock_guard lock(state_->mutex);
  look();
}

}  // namespace halftone::data
