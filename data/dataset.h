#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "halftone/data/example.h"

namespace halftone::serialize {
class OutputArchive;
class InputArchive;
}  // namespace halftone::serialize

namespace halftone::data::datasets {

template <class Source, class Transform>
class MapDataset;

/// Whether batches of this kind may be absent: those of stateful datasets.
template <class Batch>
inline constexpr bool is_optional_batch = false;
template <class Batch>
inline constexpr bool is_optional_batch<std::optional<Batch>> = true;

/// A collection that is asked for batches. `Self` is the deriving class.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = ArrayRef<std::size_t>>
class BatchDataset {
 public:
  /// The template's arguments, by libtorch's names.
  /// @{
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;
  /// @}
  /// It says itself when an epoch is over.
  static constexpr bool is_stateful = is_optional_batch<Batch>;

  virtual ~BatchDataset() = default;
  /// The batch that `request` asks for: these indices, or so many examples.
  virtual Batch get_batch(BatchRequest request) = 0;
  /// Number of examples; nullopt when unknown.
  virtual std::optional<std::size_t> size() const = 0;

  /// This dataset with `transform` applied to every batch: `dataset.map(transforms::Stack<>())`.
  template <class Transform>
  MapDataset<Self, Transform> map(Transform transform) & {
    return {static_cast<Self&>(*this), std::move(transform)};
  }
  template <class Transform>
  MapDataset<Self, Transform> map(Transform transform) && {
    return {std::move(static_cast<Self&>(*this)), std::move(transform)};
  }
};

/// A collection of examples by index. Derive as `class Mine : public Dataset<Mine>` and define get() and
/// size(). Loaders with workers copy the dataset once per worker, so get() need not be thread-safe against
/// itself.
template <class Self, class SingleExample = Example<>>
class Dataset : public BatchDataset<Self, std::vector<SingleExample>> {
 public:
  /// What get() gives.
  using ExampleType = SingleExample;

  /// The example of that index, < size().
  virtual ExampleType get(std::size_t index) = 0;
  std::vector<ExampleType> get_batch(ArrayRef<std::size_t> indices) override {
    std::vector<ExampleType> batch;
    batch.reserve(indices.size());
    for (const std::size_t index : indices) batch.push_back(get(index));
    return batch;
  }
};

/// A collection that hands out examples in an order of its own: get_batch is asked for so many of them.
/// Loaded with a StreamSampler.
template <class Self, class Batch = std::vector<Example<>>>
using StreamDataset = BatchDataset<Self, Batch, std::size_t>;

/// A collection that knows where it is: get_batch gives nullopt at the end of the epoch, and reset() begins
/// the next one. It needs no sampler. Loaders share it among their workers, so get_batch has to be
/// thread-safe then.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = std::size_t>
class StatefulDataset : public BatchDataset<Self, std::optional<Batch>, BatchRequest> {
 public:
  /// Begins the next epoch.
  virtual void reset() = 0;
  /// Its place in the epoch, for those that can say it; others throw Error.
  /// @{
  virtual void save(serialize::OutputArchive&) const { fail("StatefulDataset", "it has no save()"); }
  virtual void load(serialize::InputArchive&) { fail("StatefulDataset", "it has no load()"); }
  /// @}
};

/// save() and load() of a dataset.
/// @{
template <class... Args>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive,
                                     const StatefulDataset<Args...>& dataset) {
  dataset.save(archive);
  return archive;
}
template <class... Args>
serialize::InputArchive& operator>>(serialize::InputArchive& archive, StatefulDataset<Args...>& dataset) {
  dataset.load(archive);
  return archive;
}
/// @}

/// A dataset that several others refer to: copies share it. Its get_batch has to be thread-safe where a
/// loader has workers.
template <class UnderlyingDataset>
class SharedBatchDataset
    : public BatchDataset<SharedBatchDataset<UnderlyingDataset>, typename UnderlyingDataset::BatchType,
                          typename UnderlyingDataset::BatchRequestType> {
 public:
  /// As in the dataset behind it.
  /// @{
  using BatchType = typename UnderlyingDataset::BatchType;
  using BatchRequestType = typename UnderlyingDataset::BatchRequestType;
  /// @}

  /// Throws Error when it is null.
  SharedBatchDataset(std::shared_ptr<UnderlyingDataset> dataset) : dataset_(std::move(dataset)) {
    if (!dataset_) fail("SharedBatchDataset", "the dataset is null");
  }
  BatchType get_batch(BatchRequestType request) override { return dataset_->get_batch(std::move(request)); }
  std::optional<std::size_t> size() const override { return dataset_->size(); }
  /// Begins the next epoch, for all who share it.
  void reset() requires requires(UnderlyingDataset& dataset) { dataset.reset(); }
  { dataset_->reset(); }
  /// The dataset behind it.
  UnderlyingDataset& operator*() { return *dataset_; }
  /// The dataset behind it.
  UnderlyingDataset* operator->() { return dataset_.get(); }

 private:
  std::shared_ptr<UnderlyingDataset> dataset_;
};

/// Makes a dataset that is shared rather than copied.
template <class UnderlyingDataset, class... Args>
SharedBatchDataset<UnderlyingDataset> make_shared_dataset(Args&&... args) {
  return std::make_shared<UnderlyingDataset>(std::forward<Args>(args)...);
}

/// What a transform makes of a source's batches: absent where they are.
template <class Source, class Transform>
using MappedBatch =
    std::conditional_t<Source::is_stateful, std::optional<typename Transform::OutputBatchType>,
                       typename Transform::OutputBatchType>;

/// A dataset with a transform applied to its batches.
template <class Source, class Transform>
class MapDataset : public BatchDataset<MapDataset<Source, Transform>, MappedBatch<Source, Transform>,
                                       typename Source::BatchRequestType> {
 public:
  /// The template's arguments and what follows from them, by libtorch's names.
  /// @{
  using DatasetType = Source;
  using TransformType = Transform;
  using BatchRequestType = typename Source::BatchRequestType;
  using OutputBatchType = MappedBatch<Source, Transform>;
  /// @}

  MapDataset(Source source, Transform transform)
      : source_(std::move(source)), transform_(std::move(transform)) {}
  OutputBatchType get_batch(BatchRequestType request) override {
    if constexpr (Source::is_stateful) {
      auto batch = source_.get_batch(std::move(request));
      return batch ? OutputBatchType(transform_.apply_batch(std::move(*batch))) : OutputBatchType();
    } else {
      return transform_.apply_batch(source_.get_batch(std::move(request)));
    }
  }
  /// Begins the source's next epoch.
  void reset() requires requires(Source& source) { source.reset(); }
  { source_.reset(); }
  std::optional<std::size_t> size() const override { return source_.size(); }
  /// What batches come from.
  const Source& dataset() const { return source_; }
  /// What is done to them.
  const Transform& transform() const { return transform_; }

 private:
  Source source_;
  Transform transform_;
};

/// The rows of one tensor, without targets.
class TensorDataset : public Dataset<TensorDataset, TensorExample> {
 public:
  /// One example per entry; they are stacked.
  explicit TensorDataset(const std::vector<Tensor>& tensors) : tensor(stack(tensors)) {}
  /// One example per row.
  explicit TensorDataset(Tensor rows) : tensor(std::move(rows)) {}
  TensorExample get(std::size_t index) override { return tensor[static_cast<std::int64_t>(index)]; }
  std::optional<std::size_t> size() const override { return static_cast<std::size_t>(tensor.size(0)); }

  /// (N, ...): example i is row i.
  Tensor tensor;
};

/// The rows of two tensors, handed out a whole batch at a time: one gather per tensor, in the tensors' own
/// dtypes. The fast way to feed a set that lies in memory.
class TensorBatches : public BatchDataset<TensorBatches, Example<>> {
 public:
  /// Throws Error unless both have the same number of rows.
  TensorBatches(Tensor data, Tensor targets);
  Example<> get_batch(ArrayRef<std::size_t> indices) override;
  std::optional<std::size_t> size() const override { return static_cast<std::size_t>(data_.size(0)); }

 private:
  Tensor data_;
  Tensor targets_;
};

}  // namespace halftone::data::datasets

namespace halftone::data {
using datasets::BatchDataset;
using datasets::Dataset;
using datasets::StatefulDataset;
using datasets::StreamDataset;
}  // namespace halftone::data
