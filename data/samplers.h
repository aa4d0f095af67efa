#pragma once

#include <optional>
#include <vector>

#include "halftone/engine/tensor.h"

namespace halftone::serialize {
class OutputArchive;
class InputArchive;
}  // namespace halftone::serialize

namespace halftone::data::samplers {

/// Says which examples make the next batch.
template <class BatchRequest = std::vector<std::size_t>>
class Sampler {
 public:
  /// What next() gives.
  using BatchRequestType = BatchRequest;
  virtual ~Sampler() = default;
  /// Starts a new epoch, over `new_size` examples if given.
  virtual void reset(std::optional<std::size_t> new_size = std::nullopt) = 0;
  /// Up to batch_size indices; nullopt at the end of the epoch.
  virtual std::optional<BatchRequest> next(std::size_t batch_size) = 0;
};

/// Every index once, in an order drawn from the default generator at each reset: the same seed gives the same
/// order, whatever the number of workers and threads.
class RandomSampler : public Sampler<> {
 public:
  explicit RandomSampler(std::int64_t size);
  void reset(std::optional<std::size_t> new_size = std::nullopt) override;
  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;
  /// How many indices of this epoch were handed out.
  std::size_t index() const { return index_; }
  /// The place in the epoch, and what its order depends on.
  void save(serialize::OutputArchive& archive) const;
  /// Takes back what save() wrote. Throws Error when an entry is missing.
  void load(serialize::InputArchive& archive);

 private:
  std::size_t size_;
  std::size_t index_ = 0;
  Tensor order_;  // undefined until the first reset
};

/// 0, 1, 2, ...
class SequentialSampler : public Sampler<> {
 public:
  explicit SequentialSampler(std::size_t size) : size_(size) {}
  void reset(std::optional<std::size_t> new_size = std::nullopt) override;
  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;
  /// How many indices of this epoch were handed out.
  std::size_t index() const { return index_; }
  /// The place in the epoch, and what its order depends on.
  void save(serialize::OutputArchive& archive) const;
  /// Takes back what save() wrote. Throws Error when an entry is missing.
  void load(serialize::InputArchive& archive);

 private:
  std::size_t size_;
  std::size_t index_ = 0;
};

/// How many examples come next: what a StreamSampler gives out.
struct BatchSize {
  explicit BatchSize(std::size_t size) : size_(size) {}
  /// How many examples.
  std::size_t size() const { return size_; }
  /// How many examples.
  operator std::size_t() const { return size_; }

 private:
  std::size_t size_;
};

/// For stream datasets, which hand out examples in an order of their own: `epoch_size` examples make an
/// epoch.
class StreamSampler : public Sampler<BatchSize> {
 public:
  explicit StreamSampler(std::size_t epoch_size) : epoch_size_(epoch_size) {}
  void reset(std::optional<std::size_t> new_size = std::nullopt) override;
  std::optional<BatchSize> next(std::size_t batch_size) override;
  /// The place in the epoch.
  void save(serialize::OutputArchive& archive) const;
  /// Takes back what save() wrote. Throws Error when an entry is missing.
  void load(serialize::InputArchive& archive);

 private:
  std::size_t epoch_size_;
  std::size_t index_ = 0;
};

/// What distributed samplers have in common: replica `rank` of `num_replicas` gets its part of the indices.
/// With `allow_duplicates` all parts have the same size, and some indices occur twice where the replicas do
/// not divide the examples; without, what is over at the end is left out.
template <class BatchRequest = std::vector<std::size_t>>
class DistributedSampler : public Sampler<BatchRequest> {
 public:
  DistributedSampler(std::size_t size, std::size_t num_replicas = 1, std::size_t rank = 0,
                     bool allow_duplicates = true)
      : size_(size), num_replicas_(num_replicas), rank_(rank), allow_duplicates_(allow_duplicates) {
    if (num_replicas == 0) fail("DistributedSampler", "num_replicas: expected at least 1, got 0");
    if (rank >= num_replicas)
      fail("DistributedSampler", "rank: expected less than num_replicas ", num_replicas, ", got ", rank);
  }
  /// Call it before every epoch, with the same number on all replicas: it chooses the order.
  void set_epoch(std::size_t epoch) { epoch_ = epoch; }
  /// What set_epoch() said last; 0 at first.
  std::size_t epoch() const { return epoch_; }

 protected:
  /// Examples of this replica.
  std::size_t local_sample_count() const {
    return allow_duplicates_ ? (size_ + num_replicas_ - 1) / num_replicas_ : size_ / num_replicas_;
  }

  std::size_t size_, num_replicas_, rank_;  ///< examples, replicas, and which of them this is
  std::size_t epoch_ = 0;                   ///< chooses the order
  bool allow_duplicates_;                   ///< parts are filled up to the same size
};

/// A random order that all replicas draw alike from the epoch's number, of which each takes a part. The same
/// on every machine; it does not depend on manual_seed.
class DistributedRandomSampler : public DistributedSampler<> {
 public:
  DistributedRandomSampler(std::size_t size, std::size_t num_replicas = 1, std::size_t rank = 0,
                           bool allow_duplicates = true);
  void reset(std::optional<std::size_t> new_size = std::nullopt) override;
  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;
  /// How many indices of this epoch were handed out.
  std::size_t index() const { return index_; }
  /// The place in the epoch, and what its order depends on.
  void save(serialize::OutputArchive& archive) const;
  /// Takes back what save() wrote. Throws Error when an entry is missing.
  void load(serialize::InputArchive& archive);

 private:
  void populate();
  std::vector<std::size_t> indices_;  // of this replica
  std::size_t index_ = 0;
};

/// Consecutive indices: the first replica gets the first part, and so on.
class DistributedSequentialSampler : public DistributedSampler<> {
 public:
  DistributedSequentialSampler(std::size_t size, std::size_t num_replicas = 1, std::size_t rank = 0,
                               bool allow_duplicates = true);
  void reset(std::optional<std::size_t> new_size = std::nullopt) override;
  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;
  /// How many indices of this epoch were handed out.
  std::size_t index() const { return index_; }
  /// The place in the epoch, and what its order depends on.
  void save(serialize::OutputArchive& archive) const;
  /// Takes back what save() wrote. Throws Error when an entry is missing.
  void load(serialize::InputArchive& archive);

 private:
  std::size_t index_ = 0;  // within this replica's part
};

}  // namespace halftone::data::samplers
