#include "halftone/optim/total_norm.h"

#include <cmath>

namespace halftone::optim {

double total_norm(const std::vector<double>& norms, double p) {
  double largest = 0, sum = 0;
  for (const double norm : norms) largest = std::isnan(norm) || norm > largest ? norm : largest;
  if (largest == 0 || std::isinf(p) || !std::isfinite(largest)) return largest;
  if (norms.size() == 1) return largest;
  for (const double norm : norms) sum += std::pow(norm / largest, p);
  return largest * std::pow(sum, 1 / p);
}

}  // namespace halftone::optim
