#pragma once

#include <cmath>
#include <cstdint>

#include "halftone/engine/host_device.h"

// The p-norm of a vector from the p-norms of its parts, without overflow on the way: taken of the parts
// divided by the largest. Split in steps, which a kernel spreads over threads.
namespace halftone {

/// Folded over all parts from 0: the largest, or NaN if one is NaN.
HALFTONE_HD inline double larger_norm(double a, double b) { return std::isnan(b) || b > a ? b : a; }

/// Whether the largest part says it all; the sum is not needed then.
HALFTONE_HD inline bool is_norm_of_all(double largest, std::int64_t parts, double p) {
  return largest == 0 || std::isinf(p) || !std::isfinite(largest) || parts == 1;
}

/// What one part adds to the sum.
HALFTONE_HD inline double norm_term(double norm, double largest, double p) {
  const double ratio = norm / largest;
  return p == 2 ? ratio * ratio : std::pow(ratio, p);
}

HALFTONE_HD inline double norm_of_sum(double largest, double sum, double p) {
  return largest * (p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p));
}

/// All of it; `norm(i)` is the norm of part i.
template <class Norm>
double total_norm(std::int64_t parts, double p, Norm norm) {
  double largest = 0, sum = 0;
  for (std::int64_t i = 0; i < parts; ++i) largest = larger_norm(largest, norm(i));
  if (is_norm_of_all(largest, parts, p)) return largest;
  for (std::int64_t i = 0; i < parts; ++i) sum += norm_term(norm(i), largest, p);
  return norm_of_sum(largest, sum, p);
}

}  // namespace halftone
