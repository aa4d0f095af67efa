#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "halftone/data/chunk_preloader.h"
#include "halftone/data/dataset.h"
#include "halftone/data/samplers.h"
#include "halftone/engine/arg.h"

namespace halftone::data::datasets {

/// Reads a data set in pieces, such as files or parts of one. With several preloaders read_chunk is called by
/// several threads at a time.
template <class Single, class Chunk = std::vector<Single>>
class ChunkDataReader {
 public:
  using ExampleType = Single;  ///< one example
  using ChunkType = Chunk;     ///< the examples of a chunk
  using BatchType = Chunk;     ///< the examples of a batch

  virtual ~ChunkDataReader() = default;
  /// The examples of a chunk, 0 <= `chunk_index` < chunk_count(). What it throws reaches get_batch().
  virtual Chunk read_chunk(std::size_t chunk_index) = 0;
  /// How many chunks there are.
  virtual std::size_t chunk_count() = 0;
  /// Called at the start of an epoch, while nothing is read.
  virtual void reset() = 0;
};

/// How a ChunkDataset reads ahead.
struct ChunkDatasetOptions {
  /// Throws Error unless all are positive and the cache holds a batch.
  ChunkDatasetOptions(std::size_t preloader_count, std::size_t batch_size, std::size_t cache_size = 2048,
                      std::size_t cross_chunk_shuffle_count = 1);
  /// Throws Error as the constructor does.
  void check() const;

  /// Threads that read chunks.
  HALFTONE_ARG(std::size_t, preloader_count);
  /// Examples of a batch; only the last of an epoch may be smaller.
  HALFTONE_ARG(std::size_t, batch_size);
  /// In examples: chunks are read as long as fewer wait. (Each preloader may hold one more chunk.)
  HALFTONE_ARG(std::size_t, cache_size);
  /// So many chunks are read at a time, and their examples drawn from all of them together.
  HALFTONE_ARG(std::size_t, cross_chunk_shuffle_count);
};

/// A data set too large to be kept, read chunk by chunk by threads of its own: the chunk sampler says which
/// chunk comes next, the example sampler in which order its examples do. Batches run over the ends of chunks;
/// only the last of an epoch may be smaller. Their order depends on the samplers alone, not on the number of
/// preloaders: random samplers draw in reset() and in get_batch(), on the calling thread. (A loader with
/// several workers calls get_batch() from all of them, and may hand neighbouring batches out in either
/// order.)
///
/// It cannot be copied: make it with make_shared_dataset, and load it with the same batch size,
/// `make_data_loader(dataset, 64)`. Where reading a chunk throws, get_batch throws WorkerException in its
/// place, and the next call goes on behind it.
template <class ChunkReader, class ChunkSampler = samplers::RandomSampler,
          class ExampleSampler = samplers::RandomSampler>
class ChunkDataset final : public StatefulDataset<ChunkDataset<ChunkReader, ChunkSampler, ExampleSampler>,
                                                  typename ChunkReader::BatchType, std::size_t> {
 public:
  using UnwrappedBatchType = typename ChunkReader::BatchType;  ///< the examples of a batch
  using BatchType = std::optional<UnwrappedBatchType>;         ///< none at the end of an epoch
  using BatchRequestType = std::size_t;                        ///< examples wanted
  using ChunkSamplerType = ChunkSampler;                       ///< what orders the chunks
  using ExampleSamplerType = ExampleSampler;                   ///< what orders the examples of a chunk

  /// preprocessing_policy: changes what was read at a time (a chunk, or several), in the thread that read it.
  ChunkDataset(ChunkReader chunk_reader, ChunkSampler chunk_sampler, ExampleSampler example_sampler,
               ChunkDatasetOptions options,
               std::function<void(UnwrappedBatchType&)> preprocessing_policy = {})
      : chunk_reader_(std::move(chunk_reader)),
        chunk_sampler_(std::move(chunk_sampler)),
        example_sampler_(std::move(example_sampler)),
        options_(std::move(options)),
        preprocessing_policy_(std::move(preprocessing_policy)) {
    options_.check();
  }
  ChunkDataset(const ChunkDataset&) = delete;
  ChunkDataset& operator=(const ChunkDataset&) = delete;

  /// Starts an epoch and the reading ahead; ends the one before. After load() it goes on where that was
  /// saved.
  void reset() override {
    preloader_.reset();
    chunk_.reset();
    batch_ = {};
    if (!std::exchange(is_loaded_, false)) {
      chunk_reader_.reset();
      chunk_sampler_.reset(chunk_reader_.chunk_count());
    }
    preloader_ = std::make_unique<ChunkPreloader>(
        options_.preloader_count(), options_.cache_size(),
        [this] { return chunk_sampler_.next(options_.cross_chunk_shuffle_count()); },
        [this](const std::vector<std::size_t>& indices) { return read(indices); });
  }

  /// The next batch; nullopt at the end of the epoch. Throws Error before reset(), or for another batch size
  /// than the options'.
  BatchType get_batch(std::size_t batch_size) override {
    if (!preloader_) fail("ChunkDataset", "call reset() before get_batch()");
    if (batch_size != options_.batch_size()) {
      fail("ChunkDataset", "the options have batch_size ", options_.batch_size(), ", asked for was ",
           batch_size);
    }
    BatchType result;
    preloader_->one_at_a_time([&] {
      while (batch_.size() < batch_size && (chunk_ || take_chunk())) fill_batch();
      if (!batch_.empty()) result = std::exchange(batch_, {});
    });
    return result;
  }
  BatchType get_batch() { return get_batch(options_.batch_size()); }

  /// Not known.
  std::optional<std::size_t> size() const override { return std::nullopt; }

  /// To set the epoch of a distributed sampler, before reset().
  ChunkSampler& chunk_sampler() { return chunk_sampler_; }

  /// The place of the chunk sampler: chunks that were read ahead count as handed out.
  void save(serialize::OutputArchive& archive) const override {
    between_draws([&] { chunk_sampler_.save(archive); });
  }
  /// The next reset() continues that epoch.
  void load(serialize::InputArchive& archive) override {
    between_draws([&] { chunk_sampler_.load(archive); });
    is_loaded_ = true;
  }

 private:
  ChunkPreloader::Chunk read(const std::vector<std::size_t>& indices) {
    auto data = std::make_shared<UnwrappedBatchType>();
    for (const std::size_t index : indices) {
      UnwrappedBatchType chunk = chunk_reader_.read_chunk(index);
      if (data->empty()) {
        *data = std::move(chunk);
      } else {
        std::move(chunk.begin(), chunk.end(), std::back_inserter(*data));
      }
    }
    if (preprocessing_policy_) preprocessing_policy_(*data);
    const std::size_t size = data->size();
    return {std::move(data), size};
  }

  bool take_chunk() {
    const auto next = preloader_->next();
    if (!next) return false;
    chunk_ = std::static_pointer_cast<UnwrappedBatchType>(next->data);
    untaken_ = next->size;
    example_sampler_.reset(next->size);
    return true;
  }

  /// Moves what is missing from the chunk; drops that when its sampler has no more.
  void fill_batch() {
    const auto indices = example_sampler_.next(options_.batch_size() - batch_.size());
    const std::size_t taken = indices ? std::min<std::size_t>(indices->size(), untaken_) : untaken_;
    untaken_ -= taken;
    preloader_->release(taken);
    if (!indices) return chunk_.reset();
    for (const std::size_t index : *indices) {
      if (index >= chunk_->size()) {
        fail("ChunkDataset", "the example sampler gave index ", index, " in a chunk of ", chunk_->size());
      }
      batch_.push_back(std::move((*chunk_)[index]));
    }
  }

  template <class Look>
  void between_draws(const Look& look) const {
    if (preloader_) return preloader_->between_draws(look);
    look();
  }

  ChunkReader chunk_reader_;
  ChunkSampler chunk_sampler_;
  ExampleSampler example_sampler_;
  ChunkDatasetOptions options_;
  std::function<void(UnwrappedBatchType&)> preprocessing_policy_;
  bool is_loaded_ = false;
  UnwrappedBatchType batch_;                   // begun, while the next chunk is waited for
  std::shared_ptr<UnwrappedBatchType> chunk_;  // being handed out
  std::size_t untaken_ = 0;                    // of its examples
  std::unique_ptr<ChunkPreloader> preloader_;  // last: its threads use what stands above
};

}  // namespace halftone::data::datasets
