#include "halftone/data/samplers.h"

#include <algorithm>
#include <numeric>

#include "halftone/engine/archive.h"

namespace halftone::data::samplers {
namespace {

void write(serialize::OutputArchive& archive, const char* key, std::size_t value) {
  archive.write(key, IValue(static_cast<std::int64_t>(value)));
}

/// Throws Error unless it is between 0 and `most`.
std::size_t read(serialize::InputArchive& archive, const char* key, std::size_t most = SIZE_MAX / 2) {
  IValue value;
  archive.read(key, value);
  const std::int64_t number = value.toInt();
  if (number < 0 || static_cast<std::size_t>(number) > most)
    fail("Sampler", "entry '", key, "': expected 0 to ", most, ", got ", number);
  return static_cast<std::size_t>(number);
}

}  // namespace

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

void StreamSampler::reset(std::optional<std::size_t> new_size) {
  if (new_size) epoch_size_ = *new_size;
  index_ = 0;
}

std::optional<BatchSize> StreamSampler::next(std::size_t batch_size) {
  const std::size_t count = std::min(batch_size, epoch_size_ - index_);
  if (count == 0) return std::nullopt;
  index_ += count;
  return BatchSize(count);
}

DistributedRandomSampler::DistributedRandomSampler(std::size_t size, std::size_t num_replicas,
                                                   std::size_t rank, bool allow_duplicates)
    : DistributedSampler(size, num_replicas, rank, allow_duplicates) {
  reset();
}

void DistributedRandomSampler::reset(std::optional<std::size_t> new_size) {
  if (new_size) size_ = *new_size;
  index_ = 0;
  populate();
}

void DistributedRandomSampler::populate() {
  const Tensor order =
      randperm(static_cast<std::int64_t>(size_), Generator(epoch_), TensorOptions(kLong).device(kCPU));
  const std::int64_t* all = order.data_ptr<std::int64_t>();
  const std::size_t count = size_ == 0 ? 0 : local_sample_count(), begin = rank_ * count;
  indices_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    indices_[i] = static_cast<std::size_t>(all[(begin + i) % size_]);  // the last part goes on at the front
  }
}

std::optional<std::vector<std::size_t>> DistributedRandomSampler::next(std::size_t batch_size) {
  const std::size_t count = std::min(batch_size, indices_.size() - index_);
  if (count == 0) return std::nullopt;
  const auto from = indices_.begin() + static_cast<std::ptrdiff_t>(index_);
  index_ += count;
  return std::vector<std::size_t>(from, from + static_cast<std::ptrdiff_t>(count));
}

DistributedSequentialSampler::DistributedSequentialSampler(std::size_t size, std::size_t num_replicas,
                                                           std::size_t rank, bool allow_duplicates)
    : DistributedSampler(size, num_replicas, rank, allow_duplicates) {}

void DistributedSequentialSampler::reset(std::optional<std::size_t> new_size) {
  if (new_size) size_ = *new_size;
  index_ = 0;
}

std::optional<std::vector<std::size_t>> DistributedSequentialSampler::next(std::size_t batch_size) {
  const std::size_t own = size_ == 0 ? 0 : local_sample_count();
  const std::size_t count = std::min(batch_size, own - index_);
  if (count == 0) return std::nullopt;
  std::vector<std::size_t> batch(count);
  for (std::size_t i = 0; i < count; ++i) batch[i] = (rank_ * own + index_ + i) % size_;
  index_ += count;
  return batch;
}

// --- Saving
// ----------------------------------------------------------------------------------------------------------
void RandomSampler::save(serialize::OutputArchive& archive) const {
  write(archive, "size", size_);
  write(archive, "index", index_);
  if (order_.defined()) archive.write("order", order_, /*is_buffer=*/true);
}

void RandomSampler::load(serialize::InputArchive& archive) {
  Tensor order;
  const std::size_t size = read(archive, "size"), index = read(archive, "index", size);
  if (archive.try_read("order", order)) {
    const auto n = static_cast<std::int64_t>(size);
    const bool fits =
        order.scalar_type() == kLong && order.dim() == 1 && order.size(0) == n &&
        (n == 0 || (order.min().item<std::int64_t>() >= 0 && order.max().item<std::int64_t>() < n));
    if (!fits) fail("RandomSampler", "entry 'order': expected ", size, " indices below it, got ", order);
    order = order.cpu().contiguous();
  }
  size_ = size;
  index_ = index;
  order_ = order;
}

void SequentialSampler::save(serialize::OutputArchive& archive) const {
  write(archive, "size", size_);
  write(archive, "index", index_);
}

void SequentialSampler::load(serialize::InputArchive& archive) {
  const std::size_t size = read(archive, "size");
  index_ = read(archive, "index", size);
  size_ = size;
}

void StreamSampler::save(serialize::OutputArchive& archive) const {
  write(archive, "epoch_size", epoch_size_);
  write(archive, "index", index_);
}

void StreamSampler::load(serialize::InputArchive& archive) {
  const std::size_t size = read(archive, "epoch_size");
  index_ = read(archive, "index", size);
  epoch_size_ = size;
}

void DistributedRandomSampler::save(serialize::OutputArchive& archive) const {
  write(archive, "epoch", epoch_);
  write(archive, "index", index_);
}

void DistributedRandomSampler::load(serialize::InputArchive& archive) {
  const std::size_t epoch = read(archive, "epoch"), index = read(archive, "index", indices_.size());
  epoch_ = epoch;
  populate();
  index_ = index;
}

void DistributedSequentialSampler::save(serialize::OutputArchive& archive) const {
  write(archive, "index", index_);
}

void DistributedSequentialSampler::load(serialize::InputArchive& archive) {
  index_ = read(archive, "index", size_ == 0 ? 0 : local_sample_count());
}

}  // namespace halftone::data::samplers
