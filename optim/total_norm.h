#pragma once

#include <vector>

namespace halftone::optim {

/// The p-norm of a vector whose parts have the given p-norms, without overflow on the way; NaN if one is NaN.
double total_norm(const std::vector<double>& norms, double p);

}  // namespace halftone::optim
