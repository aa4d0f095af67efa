#pragma once

#include "halftone/kernels/random.h"

namespace halftone::ops {

/// Draws into a new contiguous tensor from `generator`, or from the process-wide stream.
void fill_uniform(const Tensor& out, double low, double high, const std::optional<Generator>& generator);
void fill_normal(const Tensor& out, double mean, double std, const std::optional<Generator>& generator);
void fill_integers(const Tensor& out, std::int64_t low, std::int64_t high,
                   const std::optional<Generator>& generator);
void fill_permutation(const Tensor& out, const std::optional<Generator>& generator);

}  // namespace halftone::ops
