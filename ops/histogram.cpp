// Counting: bincount, histc.

#include <limits>

#include "halftone/autograd/grad_mode.h"
#include "halftone/engine/tensor.h"

namespace halftone {

Tensor bincount(const Tensor& self, const Tensor& weights, std::int64_t minlength) {
  const NoGradGuard no_grad;
  if (self.dim() != 1 || self.is_floating_point() || self.scalar_type() == kBool)
    fail("bincount", "expected a vector of integers, got ", self);
  if (minlength < 0) fail("bincount", "minlength must not be negative, got ", minlength);
  if (weights.defined() && weights.sizes() != self.sizes())
    fail("bincount", "weights must have the shape of self ", self, ", got ", weights);
  std::int64_t length = minlength;
  if (self.numel() > 0) {
    if (min(self).item<std::int64_t>() < 0) fail("bincount", "expected no negative numbers in ", self);
    length = std::max(length, max(self).item<std::int64_t>() + 1);
  }
  // Sums of weights are double, unless these are float.
  ScalarType dtype = kLong;
  if (weights.defined()) dtype = weights.scalar_type() == kFloat ? kFloat : kDouble;
  const TensorOptions options = TensorOptions(dtype).device(self.device());
  const Tensor amounts = weights.defined() ? weights.to(dtype) : ones(self.sizes(), options);
  return scatter_add(zeros({length}, options), 0, self.to(kLong), amounts);
}

Tensor histc(const Tensor& self, std::int64_t bins, const Scalar& min, const Scalar& max) {
  const NoGradGuard no_grad;
  if (!self.is_floating_point()) fail("histc", "expected a floating tensor, got ", self);
  if (bins <= 0) fail("histc", "bins must be positive, got ", bins);
  double low = min.to_double(), high = max.to_double();
  if (low == high && self.numel() > 0) {
    low = halftone::min(self).item<double>();
    high = halftone::max(self).item<double>();
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  if (!(low < high) || !(high - low < std::numeric_limits<double>::infinity()))
    fail("histc", "the range ", low, " to ", high, " must be finite, min below max");
  const Tensor x = reshape(self, {-1}).to(kDouble);
  const Tensor inside = masked_select(x, (x >= low) & (x <= high));
  const Tensor place = clamp_max(((inside - low) / (high - low) * bins).to(kLong), bins - 1);
  return bincount(place, Tensor(), bins).to(self.scalar_type());
}

}  // namespace halftone
