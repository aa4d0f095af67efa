#pragma once

#include "halftone/engine/generator.h"
#include "halftone/engine/tensor.h"

namespace halftone::optim {

/// `tensor` in `dtype` (float16 or bfloat16), rounded at random without bias: to each of the two neighbours
/// with the probability of its nearness. Representable values never change; what rounds to infinity does so
/// always. The same generator state gives the same bits. Throws Error on other dtypes. Has no gradient.
Tensor stochastic_round(const Tensor& tensor, ScalarType dtype, Generator generator = default_generator());

}  // namespace halftone::optim
