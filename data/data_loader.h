#pragma once

#include <deque>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "halftone/data/dataset.h"
#include "halftone/data/samplers.h"
#include "halftone/data/worker_pool.h"
#include "halftone/engine/arg.h"

namespace halftone::data {

/// Options of a DataLoader.
struct DataLoaderOptions {
  DataLoaderOptions(std::size_t batch_size = 1) : batch_size_(batch_size) {}
  HALFTONE_ARG(std::size_t, batch_size);
  /// Threads that prepare batches ahead; 0 prepares each when it is asked for.
  HALFTONE_ARG(std::size_t, workers) = 0;
  /// Batches in preparation at a time; twice the workers unless given.
  HALFTONE_ARG(std::optional<std::size_t>, max_jobs) = std::nullopt;
  /// Longest wait for one batch.
  HALFTONE_ARG(std::optional<std::chrono::milliseconds>, timeout) = std::nullopt;
  /// Leaves out a last batch that is smaller than the others.
  HALFTONE_ARG(bool, drop_last) = false;
};

/// Batches of a dataset, one epoch per begin(). The batches and their order do not depend on the number of
/// workers. An exception thrown by the dataset comes out where its batch would have. Leaving an epoch early
/// is fine.
template <class DatasetType, class SamplerType>
class DataLoader {
 public:
  using BatchType = typename DatasetType::BatchType;

  /// Throws Error for a batch size of 0.
  DataLoader(DatasetType dataset, SamplerType sampler, DataLoaderOptions options)
      : options_(std::move(options)), sampler_(std::move(sampler)) {
    if (options_.batch_size() == 0) fail("DataLoader", "batch_size must be at least 1");
    if (options_.max_jobs() == 0u) fail("DataLoader", "max_jobs must be at least 1");
    datasets_.push_back(std::move(dataset));
    for (std::size_t i = 1; i < options_.workers(); ++i) datasets_.push_back(datasets_.front());
    if (options_.workers() > 0) pool_ = std::make_unique<WorkerPool>(options_.workers());
  }

  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  /// Walks over one epoch; all iterators of a loader share its position.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = BatchType;
    using difference_type = std::ptrdiff_t;
    using pointer = BatchType*;
    using reference = BatchType&;

    Iterator() = default;
    explicit Iterator(DataLoader* loader) : loader_(loader) { ++*this; }
    BatchType& operator*() { return *batch_; }
    BatchType* operator->() { return &*batch_; }
    Iterator& operator++() {
      batch_ = loader_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    /// Only equality with end() means something.
    friend bool operator==(const Iterator& a, const Iterator& b) {
      return a.batch_.has_value() == b.batch_.has_value();
    }

   private:
    DataLoader* loader_ = nullptr;
    std::optional<BatchType> batch_;
  };

  /// Starts a new epoch: the sampler draws its order here, on the calling thread.
  Iterator begin() {
    if (pool_) pool_->clear();
    slots_.clear();
    sampler_.reset();
    return Iterator(this);
  }
  Iterator end() { return Iterator(); }

  const DataLoaderOptions& options() const { return options_; }
  SamplerType& sampler() { return sampler_; }

 private:
  struct Slot {
    std::optional<BatchType> batch;
    std::exception_ptr error;
    bool ready = false;
  };

  std::optional<std::vector<std::size_t>> next_indices() {
    auto indices = sampler_.next(options_.batch_size());
    if (indices && options_.drop_last() && indices->size() < options_.batch_size()) return std::nullopt;
    return indices;
  }

  std::optional<BatchType> next() {
    if (!pool_) {
      const auto indices = next_indices();
      return indices ? std::optional<BatchType>(datasets_[0].get_batch(*indices)) : std::nullopt;
    }
    const std::size_t ahead = options_.max_jobs().value_or(2 * options_.workers());
    while (slots_.size() < ahead) {
      auto indices = next_indices();
      if (!indices) break;
      prepare(std::move(*indices));
    }
    if (slots_.empty()) return std::nullopt;
    const std::shared_ptr<Slot> slot = slots_.front();
    if (!pool_->wait([&] { return slot->ready; }, options_.timeout()))
      fail("DataLoader", "no batch within ", options_.timeout()->count(), " ms");
    slots_.pop_front();
    if (slot->error) std::rethrow_exception(slot->error);
    return std::move(slot->batch);
  }

  void prepare(std::vector<std::size_t> indices) {
    auto slot = std::make_shared<Slot>();
    slots_.push_back(slot);
    pool_->submit([this, slot, indices = std::move(indices)](std::size_t worker) {
      std::optional<BatchType> batch;
      std::exception_ptr error;
      try {
        batch = datasets_[worker].get_batch(indices);
      } catch (...) {
        error = std::current_exception();
      }
      pool_->publish([&] {
        slot->batch = std::move(batch);
        slot->error = std::move(error);
        slot->ready = true;
      });
    });
  }

  DataLoaderOptions options_;
  SamplerType sampler_;
  std::vector<DatasetType> datasets_;  // one per worker
  std::deque<std::shared_ptr<Slot>> slots_;
  std::unique_ptr<WorkerPool> pool_;  // last: its threads use what stands above
};

/// A loader over `dataset` in the order `sampler` gives.
template <class DatasetType, class SamplerType>
requires requires(SamplerType sampler) { sampler.reset(); }
std::unique_ptr<DataLoader<DatasetType, SamplerType>> make_data_loader(DatasetType dataset,
                                                                       SamplerType sampler,
                                                                       DataLoaderOptions options = {}) {
  return std::make_unique<DataLoader<DatasetType, SamplerType>>(std::move(dataset), std::move(sampler),
                                                                std::move(options));
}

/// The same with a sampler made from the dataset's size:
/// `make_data_loader<samplers::SequentialSampler>(...)`. Throws Error when the size is not known.
template <class SamplerType = samplers::RandomSampler, class DatasetType>
std::unique_ptr<DataLoader<DatasetType, SamplerType>> make_data_loader(DatasetType dataset,
                                                                       DataLoaderOptions options = {}) {
  const std::optional<std::size_t> size = dataset.size();
  if (!size) fail("make_data_loader", "the dataset does not know its size: pass a sampler");
  return std::make_unique<DataLoader<DatasetType, SamplerType>>(std::move(dataset), SamplerType(*size),
                                                                std::move(options));
}

}  // namespace halftone::data
