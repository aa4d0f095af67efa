#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace halftone::data {

/// Threads that read chunks ahead of the one who asks for them; one epoch of a ChunkDataset, whose types it
/// does not know. Chunks come out in the order in which they were drawn, whatever the number of threads.
class ChunkPreloader {
 public:
  /// Examples as read: `data` holds `size` of them.
  struct Chunk {
    std::shared_ptr<void> data;
    std::size_t size = 0;
  };
  /// The indices to read next, absent when the epoch is over. Never called by two threads at a time.
  using Draw = std::function<std::optional<std::vector<std::size_t>>()>;
  /// Reads the chunks of these indices as one; several threads call it at a time.
  using Read = std::function<Chunk(const std::vector<std::size_t>&)>;

  /// Reading starts at once, and pauses while `capacity` examples or more wait to be taken.
  ChunkPreloader(std::size_t threads, std::size_t capacity, Draw draw, Read read);
  /// Waits for the reads in progress, and drops what they give.
  ~ChunkPreloader();
  ChunkPreloader(const ChunkPreloader&) = delete;
  ChunkPreloader& operator=(const ChunkPreloader&) = delete;

  /// The next chunk that is not empty; absent at the end. Waits for it. Throws WorkerException in the place
  /// of a chunk that could not be read; the next call goes on with the one behind it.
  std::optional<Chunk> next();
  /// Says that so many examples of the chunks handed out were taken.
  void release(std::size_t examples);
  /// Runs `take` while no other thread does.
  void one_at_a_time(const std::function<void()>& take);
  /// Runs `look` while no thread draws.
  void between_draws(const std::function<void()>& look);

 private:
  struct State;  // keeps the thread headers out of every program that loads data
  std::unique_ptr<State> state_;
};

}  // namespace halftone::data
