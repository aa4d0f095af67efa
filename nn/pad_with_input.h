#pragma once

#include <string_view>

#include "halftone/engine/tensor.h"

namespace halftone::nn::detail {

/// Padding that repeats the input: mode "reflect" (without the edge), "replicate" or "circular". Pairs
/// (before, after), the last dimension first. Throws Error when the input is too small for it.
Tensor pad_with_input(const Tensor& input, IntArrayRef pad, std::string_view mode);

}  // namespace halftone::nn::detail
