#pragma once

#include "halftone/autograd/node.h"

namespace halftone::autograd {

/// Runs `function(inputs)` without keeping anything for backward, and runs it again there (Chen et al. 2016,
/// "Training deep nets with sublinear memory cost"). The second run sees the autocast state and the random
/// numbers of the first. Works with backward(), not with autograd::grad or create_graph: both throw Error.
std::vector<Tensor> checkpoint(std::function<std::vector<Tensor>(const std::vector<Tensor>&)> function,
                               const std::vector<Tensor>& inputs);

/// For a function of one tensor.
Tensor checkpoint(std::function<Tensor(const Tensor&)> function, const Tensor& input);

}  // namespace halftone::autograd
