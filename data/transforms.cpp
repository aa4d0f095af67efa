#include "halftone/data/transforms.h"

namespace halftone::data::transforms {

Tensor per_channel(const std::vector<double>& values) {
  if (values.empty()) fail("Normalize", "expected at least one value per statistic");
  Tensor result = empty({static_cast<std::int64_t>(values.size()), 1, 1}, TensorOptions(kFloat).device(kCPU));
  for (std::size_t i = 0; i < values.size(); ++i) result.data_ptr<float>()[i] = static_cast<float>(values[i]);
  return result;
}

Example<> Stack<Example<>>::apply_batch(std::vector<Example<>> examples) {
  std::vector<Tensor> data, targets;
  for (Example<>& example : examples) {
    data.push_back(std::move(example.data));
    targets.push_back(std::move(example.target));
  }
  return {stack(data), stack(targets)};
}

TensorExample Stack<TensorExample>::apply_batch(std::vector<TensorExample> examples) {
  std::vector<Tensor> data;
  for (TensorExample& example : examples) data.push_back(std::move(example.data));
  return stack(data);
}

}  // namespace halftone::data::transforms
