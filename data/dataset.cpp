#include "halftone/data/dataset.h"

namespace halftone::data::datasets {

TensorBatches::TensorBatches(Tensor data, Tensor targets)
    : data_(std::move(data)), targets_(std::move(targets)) {
  if (data_.dim() == 0 || targets_.dim() == 0 || data_.size(0) != targets_.size(0))
    fail("TensorBatches", "data and targets need the same number of rows, got ", data_, " and ", targets_);
}

Example<> TensorBatches::get_batch(ArrayRef<std::size_t> indices) {
  Tensor rows = empty({static_cast<std::int64_t>(indices.size())}, TensorOptions(kLong).device(kCPU));
  std::copy(indices.begin(), indices.end(), rows.data_ptr<std::int64_t>());
  return {data_.index_select(0, rows.to(data_.device())),
          targets_.index_select(0, rows.to(targets_.device()))};
}

}  // namespace halftone::data::datasets
