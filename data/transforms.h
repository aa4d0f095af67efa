#pragma once

#include <functional>
#include <vector>

#include "halftone/data/example.h"

namespace halftone::data::transforms {

/// Turns a batch into another.
template <class InputBatch, class OutputBatch>
class BatchTransform {
 public:
  /// The template's arguments, by libtorch's names.
  /// @{
  using InputBatchType = InputBatch;
  using OutputBatchType = OutputBatch;
  /// @}
  virtual ~BatchTransform() = default;
  /// The batch that `input` becomes.
  virtual OutputBatch apply_batch(InputBatch input) = 0;
};

/// Turns many examples into one batch.
template <class Batch, class SingleExample = Example<>>
using Collation = BatchTransform<std::vector<SingleExample>, Batch>;

/// Turns each example into another.
template <class Input, class Output>
class Transform : public BatchTransform<std::vector<Input>, std::vector<Output>> {
 public:
  /// The template's arguments, by libtorch's names.
  /// @{
  using InputType = Input;
  using OutputType = Output;
  /// @}
  /// The example that `input` becomes.
  virtual Output apply(Input input) = 0;
  std::vector<Output> apply_batch(std::vector<Input> inputs) override {
    std::vector<Output> outputs;
    outputs.reserve(inputs.size());
    for (Input& input : inputs) outputs.push_back(apply(std::move(input)));
    return outputs;
  }
};

/// A function of one example.
template <class Input, class Output = Input>
class Lambda : public Transform<Input, Output> {
 public:
  explicit Lambda(std::function<Output(Input)> function) : function_(std::move(function)) {}
  Output apply(Input input) override { return function_(std::move(input)); }

 private:
  std::function<Output(Input)> function_;
};

/// A function of one batch.
template <class Input, class Output = Input>
class BatchLambda : public BatchTransform<Input, Output> {
 public:
  explicit BatchLambda(std::function<Output(Input)> function) : function_(std::move(function)) {}
  Output apply_batch(Input input) override { return function_(std::move(input)); }

 private:
  std::function<Output(Input)> function_;
};

/// Changes an example's data and leaves its target.
template <class Target = Tensor>
class TensorTransform : public Transform<Example<Tensor, Target>, Example<Tensor, Target>> {
 public:
  virtual Tensor operator()(Tensor input) = 0;
  Example<Tensor, Target> apply(Example<Tensor, Target> input) override {
    input.data = (*this)(std::move(input.data));
    return input;
  }
};

/// A function of an example's data.
template <class Target = Tensor>
class TensorLambda : public TensorTransform<Target> {
 public:
  explicit TensorLambda(std::function<Tensor(Tensor)> function) : function_(std::move(function)) {}
  Tensor operator()(Tensor input) override { return function_(std::move(input)); }

 private:
  std::function<Tensor(Tensor)> function_;
};

/// A (C, 1, 1) float tensor of one value per channel.
Tensor per_channel(const std::vector<double>& values);

/// (x - mean) / stddev per channel of a (C, H, W) tensor; one value serves all channels.
template <class Target = Tensor>
class Normalize : public TensorTransform<Target> {
 public:
  Normalize(double mean, double stddev) : Normalize(std::vector<double>{mean}, std::vector<double>{stddev}) {}
  Normalize(const std::vector<double>& mean, const std::vector<double>& stddev)
      : mean_(per_channel(mean)), stddev_(per_channel(stddev)) {}
  Tensor operator()(Tensor input) override {
    return (input - mean_.to(input.device())) / stddev_.to(input.device());
  }

 private:
  Tensor mean_, stddev_;
};

/// Stacks the tensors of the examples along a new first dimension.
template <class T = Example<>>
class Stack;

/// Data and targets each become one tensor.
template <>
class Stack<Example<>> : public Collation<Example<>> {
 public:
  Example<> apply_batch(std::vector<Example<>> examples) override;
};

/// Of samples without targets.
template <>
class Stack<TensorExample> : public Collation<TensorExample, TensorExample> {
 public:
  TensorExample apply_batch(std::vector<TensorExample> examples) override;
};

}  // namespace halftone::data::transforms
