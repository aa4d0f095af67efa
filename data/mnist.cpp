#include "halftone/data/mnist.h"

#include "halftone/data/idx.h"

namespace halftone::data::datasets {

MNIST::MNIST(const std::string& root, Mode mode) : mode_(mode) {
  const std::string stem = root + (mode == Mode::kTrain ? "/train" : "/t10k");
  images_ = read_idx(stem + "-images-idx3-ubyte");
  const Tensor labels = read_idx(stem + "-labels-idx1-ubyte");
  if (images_.dim() != 3 || images_.scalar_type() != kByte)
    fail("MNIST", stem, "-images-idx3-ubyte: expected uint8 (N, rows, columns), got ", images_);
  if (labels.dim() != 1 || labels.scalar_type() != kByte || labels.size(0) != images_.size(0))
    fail("MNIST", stem, "-labels-idx1-ubyte: expected uint8 [", images_.size(0), "], got ", labels);
  images_ = images_.unsqueeze(1);
  targets_ = labels.to(kLong);
}

Example<> MNIST::get(std::size_t index) {
  const auto i = static_cast<std::int64_t>(index);
  return {images_[i].to(kFloat) / 255, targets_[i]};
}

}  // namespace halftone::data::datasets
