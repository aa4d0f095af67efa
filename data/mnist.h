#pragma once

#include <string>

#include "halftone/data/dataset.h"

namespace halftone::data::datasets {

/// MNIST, Fashion-MNIST or anything else in the same four IDX files (plain or .gz) of one folder.
/// Examples are a float32 (1, rows, columns) image in [0, 1] and an int64 label; in memory images stay bytes.
class MNIST : public Dataset<MNIST> {
 public:
  /// Which of the two sets.
  enum class Mode { kTrain, kTest };

  /// Reads train-images-idx3-ubyte and train-labels-idx1-ubyte (t10k-... for kTest) from the folder `root`.
  /// Throws Error when a file is missing or damaged, or images and labels do not fit together.
  explicit MNIST(const std::string& root, Mode mode = Mode::kTrain);

  Example<> get(std::size_t index) override;
  std::optional<std::size_t> size() const override { return static_cast<std::size_t>(images_.size(0)); }
  /// Whether it is the training set.
  bool is_train() const { return mode_ == Mode::kTrain; }
  /// uint8 (N, 1, rows, columns), 0 .. 255.
  const Tensor& images() const { return images_; }
  /// int64 (N).
  const Tensor& targets() const { return targets_; }

 private:
  Mode mode_;
  Tensor images_;
  Tensor targets_;
};

}  // namespace halftone::data::datasets
