#include "halftone/tools/tensor_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone::tool {
namespace {

/// What rounding to `T` does to a magnitude: zero up to and with the first, subnormal below the second,
/// infinite from the third on. Ties go to the even neighbour: below to zero, above to infinity.
template <class T>
struct Range {
  using Limits = std::numeric_limits<T>;
  const double zero_up_to = std::ldexp(1.0, Limits::min_exponent - Limits::digits - 1);
  const double normal_from = std::ldexp(1.0, Limits::min_exponent - 1);
  const double infinite_from = std::ldexp(1 - std::ldexp(1.0, -Limits::digits - 1), Limits::max_exponent);

  void count(double magnitude, HalfLosses& losses) const {
    losses.flushed += magnitude > 0 && magnitude <= zero_up_to;
    losses.subnormal += magnitude > zero_up_to && magnitude < normal_from;
    losses.overflow += magnitude >= infinite_from;
  }
};

template <class T>
TensorStats stats_of(const T* data, std::int64_t n) {
  const Range<Half> half;
  const Range<BFloat16> bfloat;
  TensorStats stats;
  stats.elements = n;
  stats.min = std::numeric_limits<double>::infinity();
  stats.max = -stats.min;
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto value = static_cast<double>(data[i]);
    if (std::isnan(value)) {
      ++stats.nan;
    } else if (std::isinf(value)) {
      ++stats.infinite;
    } else {
      ++stats.finite;
      stats.zeros += value == 0;
      stats.min = std::min(stats.min, value);
      stats.max = std::max(stats.max, value);
      const double magnitude = std::fabs(value);
      sum += magnitude / static_cast<double>(n);  // a sum of the magnitudes themselves might overflow
      if constexpr (is_floating_point(dtype_of<T>)) {
        half.count(magnitude, stats.float16);
        bfloat.count(magnitude, stats.bfloat16);
      }
    }
  }
  if (stats.finite == 0) {
    stats.min = stats.max = 0;
  } else {
    stats.mean_magnitude = sum * (static_cast<double>(n) / static_cast<double>(stats.finite));
  }
  return stats;
}

}  // namespace

TensorStats tensor_stats(const Tensor& tensor) {
  const Tensor values = tensor.contiguous();
  return dispatch_all(values.scalar_type(), [&]<class T>() {
    return stats_of(values.numel() ? values.data_ptr<T>() : nullptr, values.numel());
  });
}

}  // namespace halftone::tool
