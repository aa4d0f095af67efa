#pragma once

#include <vector>

#include "halftone/engine/tensor.h"

namespace halftone::nn::utils {

/// All parameters in one vector, one after the other; differentiable.
Tensor parameters_to_vector(const std::vector<Tensor>& parameters);

/// Writes consecutive pieces of `vector` into the parameters. Throws Error unless the lengths agree.
void vector_to_parameters(const Tensor& vector, const std::vector<Tensor>& parameters);

}  // namespace halftone::nn::utils
