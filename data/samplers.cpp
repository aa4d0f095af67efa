#include "halftone/data/samplers.h"

#include <algorithm>
#include <numeric>

namespace halftone::data::samplers {

RandomSampler::RandomSampler(std::int64_t size) : size_(static_cast<std::size_t>(size)) {
  if (size < 0) fail("RandomSampler", "size must not be negative, got ", size);
}

void RandomSampler::reset(std::optional<std::size_t> new_size) {
  if (new_size) size_ = *new_size;
  order_ = randperm(static_cast<std::int64_t>(size_), TensorOptions(kLong).device(kCPU));
  index_ = 0;
}

std::optional<std::vector<std::size_t>> RandomSampler::next(std::size_t batch_size) {
  if (!order_.defined()) reset();
  const std::size_t count = std::min(batch_size, size_ - index_);
  if (count == 0) return std::nullopt;
  const std::int64_t* from = order_.data_ptr<std::int64_t>() + index_;
  index_ += count;
  return std::vector<std::size_t>(from, from + count);
}

void SequentialSampler::reset(std::optional<std::size_t> new_size) {
  if (new_size) size_ = *new_size;
  index_ = 0;
}

std::optional<std::vector<std::size_t>> SequentialSampler::next(std::size_t batch_size) {
  const std::size_t count = std::min(batch_size, size_ - index_);
  if (count == 0) return std::nullopt;
  std::vector<std::size_t> batch(count);
  std::iota(batch.begin(), batch.end(), index_);
  index_ += count;
  return batch;
}

}  // namespace halftone::data::samplers
