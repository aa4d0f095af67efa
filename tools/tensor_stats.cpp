#include "halftone/tools/tensor_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "halftone/amp/half_range.h"

namespace halftone::tool {
namespace {

template <class T>
void count(const amp::HalfRange<T>& range, double magnitude, HalfLosses& losses) {
  losses.flushed += range.flushes(magnitude);
  losses.subnormal += range.makes_subnormal(magnitude);
  losses.overflow += range.overflows(magnitude);
}

template <class T>
TensorStats stats_of(const T* data, std::int64_t n) {
  const amp::HalfRange<Half> half;
  const amp::HalfRange<BFloat16> bfloat;
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
        count(half, magnitude, stats.float16);
        count(bfloat, magnitude, stats.bfloat16);
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
