#pragma once

#include <optional>
#include <vector>

#include "halftone/data/example.h"

namespace halftone::data::datasets {

template <class Source, class Transform>
class MapDataset;

/// A collection that is asked for batches. `Self` is the deriving class.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = ArrayRef<std::size_t>>
class BatchDataset {
 public:
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;

  virtual ~BatchDataset() = default;
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
  using ExampleType = SingleExample;

  virtual ExampleType get(std::size_t index) = 0;
  std::vector<ExampleType> get_batch(ArrayRef<std::size_t> indices) override {
    std::vector<ExampleType> batch;
    batch.reserve(indices.size());
    for (const std::size_t index : indices) batch.push_back(get(index));
    return batch;
  }
};

/// A dataset with a transform applied to its batches.
template <class Source, class Transform>
class MapDataset : public BatchDataset<MapDataset<Source, Transform>, typename Transform::OutputBatchType,
                                       typename Source::BatchRequestType> {
 public:
  using DatasetType = Source;
  using TransformType = Transform;
  using BatchRequestType = typename Source::BatchRequestType;
  using OutputBatchType = typename Transform::OutputBatchType;

  MapDataset(Source source, Transform transform)
      : source_(std::move(source)), transform_(std::move(transform)) {}
  OutputBatchType get_batch(BatchRequestType request) override {
    return transform_.apply_batch(source_.get_batch(request));
  }
  std::optional<std::size_t> size() const override { return source_.size(); }
  const Source& dataset() const { return source_; }
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
  explicit TensorDataset(Tensor rows) : tensor(std::move(rows)) {}
  TensorExample get(std::size_t index) override { return tensor[static_cast<std::int64_t>(index)]; }
  std::optional<std::size_t> size() const override { return static_cast<std::size_t>(tensor.size(0)); }

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
}  // namespace halftone::data
