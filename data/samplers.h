#pragma once

#include <optional>
#include <vector>

#include "halftone/engine/tensor.h"

namespace halftone::data::samplers {

/// Says which examples make the next batch.
template <class BatchRequest = std::vector<std::size_t>>
class Sampler {
 public:
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
  std::size_t index() const { return index_; }

 private:
  std::size_t size_;
  std::size_t index_ = 0;
};

}  // namespace halftone::data::samplers
