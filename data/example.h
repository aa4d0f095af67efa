#pragma once

#include <utility>

#include "halftone/engine/libtorch_names.h"

namespace halftone {
namespace data {

namespace example {
/// Stands for "no target".
struct NoTarget {};
}  // namespace example

/// One sample, or one batch of them: what goes in and what should come out.
template <class Data = Tensor, class Target = Tensor>
struct Example {
  Example() = default;
  Example(Data data, Target target) : data(std::move(data)), target(std::move(target)) {}
  Data data;      ///< what goes in
  Target target;  ///< what should come out
};

/// One sample without a target.
template <class Data>
struct Example<Data, example::NoTarget> {
  Example() = default;
  Example(Data data) : data(std::move(data)) {}
  /// The data stands for the sample.
  operator Data&() { return data; }
  /// The data stands for the sample.
  operator const Data&() const { return data; }
  Data data;  ///< what goes in
};

/// A tensor without a target.
using TensorExample = Example<Tensor, example::NoTarget>;

}  // namespace data
}  // namespace halftone
