#pragma once

#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "halftone/data/data_loader_options.h"
#include "halftone/data/dataset.h"
#include "halftone/data/samplers.h"
#include "halftone/data/worker_exception.h"
#include "halftone/data/worker_pool.h"

namespace halftone::data {

/// In the place of a sampler where the dataset is stateful: asks for a full batch each time.
class StatefulRequests {
 public:
  /// Nothing to begin: the dataset knows where it is.
  void reset() {}
  /// As many examples as are asked for; never the end.
  std::optional<samplers::BatchSize> next(std::size_t batch_size) { return samplers::BatchSize(batch_size); }
};

/// Batches of a dataset, one epoch per begin(). The batches do not depend on the number of workers, nor does
/// their order (with enforce_ordering). An exception thrown by the dataset comes out where its batch would
/// have: itself without workers, within a WorkerException with them. Leaving an epoch early is fine.
template <class DatasetType, class SamplerType>
class DataLoader {
 public:
  /// Whether the dataset says itself when an epoch is over.
  static constexpr bool is_stateful = DatasetType::is_stateful;
  /// What the loop sees.
  using BatchType = typename std::conditional_t<is_stateful, typename DatasetType::BatchType,
                                                std::optional<typename DatasetType::BatchType>>::value_type;

  /// Throws Error for a batch size of 0.
  DataLoader(DatasetType dataset, SamplerType sampler, DataLoaderOptions options)
      : options_(std::move(options)), sampler_(std::move(sampler)) {
    if (options_.batch_size() == 0) fail("DataLoader", "batch_size must be at least 1");
    if (options_.max_jobs() == 0u) fail("DataLoader", "max_jobs must be at least 1");
    datasets_.push_back(std::move(dataset));
    // A stateful dataset is shared by the workers; of others each has a copy.
    for (std::size_t i = 1; !is_stateful && i < options_.workers(); ++i) {
      datasets_.push_back(datasets_.front());
    }
    if (options_.workers() > 0) pool_ = std::make_unique<WorkerPool>(options_.workers());
  }

  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  /// Walks over one epoch; all iterators of a loader share its position.
  class Iterator {
   public:
    /// An input iterator, as the standard library asks for.
    /// @{
    using iterator_category = std::input_iterator_tag;
    using value_type = BatchType;
    using difference_type = std::ptrdiff_t;
    using pointer = BatchType*;
    using reference = BatchType&;
    /// @}

    Iterator() = default;
    explicit Iterator(DataLoader* loader) : loader_(loader) { ++*this; }
    /// The present batch, which may be moved from.
    BatchType& operator*() { return *batch_; }
    /// Access to its members.
    BatchType* operator->() { return &*batch_; }
    /// Waits for the next batch. Throws what the dataset threw.
    Iterator& operator++() {
      batch_ = loader_->next();
      return *this;
    }
    /// Waits for the next batch. Throws what the dataset threw.
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
    stop();
    sampler_.reset();
    if constexpr (is_stateful) datasets_[0].reset();
    is_over_ = is_exhausted_ = false;
    return Iterator(this);
  }
  /// What the iterator equals when the epoch is over.
  Iterator end() { return Iterator(); }
  /// Gives up the epoch, and waits for the workers' present batches.
  void join() {
    stop();
    is_over_ = true;
  }

  /// What the loader was made with.
  const DataLoaderOptions& options() const { return options_; }
  /// The order of the examples, to be saved or told the epoch.
  SamplerType& sampler() { return sampler_; }

 private:
  struct Slot {
    std::optional<BatchType> batch;
    std::exception_ptr error;
    bool ready = false;
  };
  using Request = typename decltype(std::declval<SamplerType&>().next(1))::value_type;

  /// Drops what was asked for. A stateful dataset must not be read any more when it is reset.
  void stop() {
    if (!pool_) return;
    pool_->clear();
    if (is_stateful) pool_->wait_until_idle();
    slots_.clear();
  }

  std::optional<Request> next_request() {
    auto request = sampler_.next(options_.batch_size());
    if (request && options_.drop_last() && request->size() < options_.batch_size()) return std::nullopt;
    return request;
  }

  std::optional<BatchType> next() {
    if (is_over_) return std::nullopt;
    std::optional<BatchType> batch = pool_ ? next_prepared() : next_now();
    if (!batch) is_over_ = true;
    return batch;
  }

  std::optional<BatchType> next_now() {
    auto request = next_request();
    if (!request) return std::nullopt;
    return datasets_[0].get_batch(std::move(*request));
  }

  /// A stateful dataset's end is seen by one worker, while others may still hold batches.
  std::optional<BatchType> next_prepared() {
    while (std::optional<std::optional<BatchType>> batch = take_prepared()) {
      if (*batch) return std::move(*batch);
      is_exhausted_ = true;
    }
    return std::nullopt;
  }

  std::optional<std::optional<BatchType>> take_prepared() {
    const std::size_t ahead = options_.max_jobs().value_or(2 * options_.workers());
    while (!is_exhausted_ && slots_.size() < ahead) {
      auto request = next_request();
      if (!request) break;
      prepare(std::move(*request));
    }
    if (slots_.empty()) return std::nullopt;
    std::size_t found = 0;
    const auto find = [&] {
      const std::size_t last = options_.enforce_ordering() ? 1 : slots_.size();
      for (found = 0; found < last && !slots_[found]->ready;) ++found;
      return found < last;
    };
    if (!pool_->wait(find, options_.timeout_ms()))
      fail("DataLoader", "no batch within ", *options_.timeout_ms(), " ms");
    const std::shared_ptr<Slot> slot = slots_[found];
    slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(found));
    if (slot->error) throw WorkerException(slot->error);
    return std::move(slot->batch);  // absent at the end of a stateful dataset
  }

  void prepare(Request request) {
    auto slot = std::make_shared<Slot>();
    slots_.push_back(slot);
    pool_->submit([this, slot, request = std::move(request)](std::size_t worker) {
      std::optional<BatchType> batch;
      std::exception_ptr error;
      try {
        batch = datasets_[is_stateful ? 0 : worker].get_batch(request);
      } catch (const WorkerException& from_reading_ahead) {
        error = from_reading_ahead.original_exception;
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
  std::vector<DatasetType> datasets_;         // one per worker
  std::vector<std::shared_ptr<Slot>> slots_;  // asked for and not handed out, in the sampler's order
  bool is_over_ = false, is_exhausted_ = false;
  std::unique_ptr<WorkerPool> pool_;  // last: its threads use what stands above
};

/// libtorch's names of the two kinds.
/// @{
template <class DatasetType, class SamplerType>
using StatelessDataLoader = DataLoader<DatasetType, SamplerType>;
template <class DatasetType>
using StatefulDataLoader = DataLoader<DatasetType, StatefulRequests>;
/// @}

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
requires(!DatasetType::is_stateful) std::unique_ptr<DataLoader<DatasetType, SamplerType>> make_data_loader(
    DatasetType dataset, DataLoaderOptions options = {}) {
  const std::optional<std::size_t> size = dataset.size();
  if (!size) fail("make_data_loader", "the dataset does not know its size: pass a sampler");
  return std::make_unique<DataLoader<DatasetType, SamplerType>>(std::move(dataset), SamplerType(*size),
                                                                std::move(options));
}

/// A loader over a stateful dataset, which needs no sampler.
template <class DatasetType>
requires(DatasetType::is_stateful) std::unique_ptr<StatefulDataLoader<DatasetType>> make_data_loader(
    DatasetType dataset, DataLoaderOptions options = {}) {
  return std::make_unique<StatefulDataLoader<DatasetType>>(std::move(dataset), StatefulRequests(),
                                                           std::move(options));
}

}  // namespace halftone::data
