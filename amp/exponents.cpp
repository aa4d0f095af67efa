// Counting how large numbers are.

#include <bit>
#include <cmath>

#include "halftone/amp/half_range.h"
#include "halftone/amp/trace_log.h"
#include "halftone/autograd/grad_mode.h"
#include "halftone/ops/autocast.h"

namespace halftone::amp {
namespace {

// Powers of two that a count can fall into: those of fp32 and its subnormals.
constexpr int kLowest = -149, kHighest = 127;

double as_double(float value) { return static_cast<double>(value); }

}  // namespace

ExponentHistogram exponent_histogram(const Tensor& tensor, double scale) {
  if (!tensor.defined() || !tensor.is_floating_point()) {
    fail("exponent_histogram", "expected a floating tensor, got ", tensor);
  }
  const NoGradGuard no_grad;
  const ops::AutocastScope autocast_off(ops::AutocastSettings::off());
  const Tensor values = tensor.detach().to(kFloat).cpu().contiguous();
  const HalfRange<Half> float16;
  ExponentHistogram histogram;
  histogram.dtype = tensor.scalar_type();
  histogram.scale = scale;
  histogram.elements = values.numel();
  std::array<std::int64_t, kHighest - kLowest + 1> counts{};
  float smallest = INFINITY, largest = 0;
  const float* data = values.numel() ? values.data_ptr<float>() : nullptr;
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const float magnitude = std::fabs(data[i]);
    if (magnitude == 0) {
      ++histogram.zeros;
    } else if (!(magnitude < INFINITY)) {
      ++(std::isnan(magnitude) ? histogram.nan : histogram.infinite);
    } else {
      ++counts[static_cast<std::size_t>(std::ilogb(magnitude) - kLowest)];
      smallest = std::fmin(smallest, magnitude);
      largest = std::fmax(largest, magnitude);
      const double x = as_double(magnitude);
      histogram.flushed += float16.flushes(x);
      histogram.subnormal += float16.makes_subnormal(x);
      histogram.overflow += float16.overflows(x);
    }
  }
  if (largest > 0) {
    histogram.smallest = as_double(smallest);
    histogram.largest = as_double(largest);
    histogram.first_exponent = std::ilogb(smallest);
    const auto first = counts.begin() + (histogram.first_exponent - kLowest);
    histogram.counts.assign(first, counts.begin() + (std::ilogb(largest) - kLowest + 1));
  }
  return histogram;
}

double ExponentHistogram::share_flushed_at(double new_scale) const {
  const HalfRange<Half> float16;
  std::int64_t nonzero = 0, lost = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    nonzero += counts[i];
    const double low = std::ldexp(1.0, first_exponent + static_cast<int>(i)) * (new_scale / scale);
    if (low < float16.zero_up_to) lost += counts[i];
  }
  return nonzero ? static_cast<double>(lost) / static_cast<double>(nonzero) : 0;
}

double ExponentHistogram::suggested_scale() const {
  if (largest == 0) return 0;
  // largest / scale < 2^(e + 1), and 2^15 is one doubling below float16's end.
  const int exponent = std::ilogb(largest / scale);
  return std::ldexp(1.0, 14 - exponent);
}

}  // namespace halftone::amp
