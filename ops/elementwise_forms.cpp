// Elementwise functions composed of others.

#include <limits>

#include "halftone/ops/inplace.h"
#include "halftone/ops/promotion.h"

namespace halftone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kDegree = 0.017453292519943295769;

Tensor in_double(const Tensor& self) { return self.to(kDouble); }

}  // namespace

Tensor positive(const Tensor& self) {
  if (self.scalar_type() == kBool) fail("positive", "expected numbers, got ", self);
  return self;
}

Tensor isposinf(const Tensor& self) { return eq(self, kInfinity); }
Tensor isneginf(const Tensor& self) { return eq(self, -kInfinity); }
Tensor isreal(const Tensor& self) { return ones_like(self, kBool); }

Tensor deg2rad(const Tensor& self) { return mul(self, kDegree); }
Tensor rad2deg(const Tensor& self) { return mul(self, 1 / kDegree); }
Tensor& deg2rad_(Tensor& self) { return mul_(self, kDegree); }
Tensor& rad2deg_(Tensor& self) { return mul_(self, 1 / kDegree); }

Tensor float_power(const Tensor& self, const Tensor& exponent) {
  return pow(in_double(self), in_double(exponent));
}
Tensor float_power(const Tensor& self, const Scalar& exponent) {
  return pow(in_double(self), exponent.to_double());
}

Tensor ldexp(const Tensor& self, const Tensor& other) { return self * pow(2.0, other); }
Tensor& ldexp_(Tensor& self, const Tensor& other) {
  return ops::write_back(
      "ldexp_", self, [&](const Tensor& x) { return ldexp(x, other); }, other);
}

Tensor heaviside(const Tensor& self, const Tensor& values) {
  if (self.scalar_type() != values.scalar_type())
    fail("heaviside", "self and values must have one dtype, got ", self, " and ", values);
  const NoGradGuard no_grad;
  const Tensor step = gt(self, 0).to(self.scalar_type());
  return where(eq(self, 0), values, masked_fill(step, isnan(self), 0));
}
Tensor& heaviside_(Tensor& self, const Tensor& values) {
  return ops::write_back("heaviside_", self, [&](const Tensor& x) { return heaviside(x, values); });
}

Tensor clamp(const Tensor& self, const Tensor& min, const Tensor& max) {
  if (!min.defined() && !max.defined()) fail("clamp", "expected min or max, got neither");
  const Tensor above = min.defined() ? maximum(self, min) : self;
  return max.defined() ? minimum(above, max) : above;
}
Tensor clamp_min(const Tensor& self, const Tensor& min) { return maximum(self, min); }
Tensor clamp_max(const Tensor& self, const Tensor& max) { return minimum(self, max); }
Tensor& clamp_(Tensor& self, const Tensor& min, const Tensor& max) {
  return ops::write_back(
      "clamp_", self, [&](const Tensor& x) { return clamp(x, min, max); }, min, max);
}
Tensor& clamp_min_(Tensor& self, const Tensor& min) { return clamp_(self, min, Tensor()); }
Tensor& clamp_max_(Tensor& self, const Tensor& max) { return clamp_(self, Tensor(), max); }

Tensor& div_(Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode) {
  if (!rounding_mode) return div_(self, other);
  return ops::write_back(
      "div_", self, [&](const Tensor& x) { return div(x, other, rounding_mode); }, other);
}
Tensor& div_(Tensor& self, const Scalar& other, std::optional<std::string_view> rounding_mode) {
  return div_(self, ops::wrapped_number(other), rounding_mode);
}

Tensor& tril_(Tensor& self, std::int64_t diagonal) {
  return ops::write_back("tril_", self, [&](const Tensor& x) { return tril(x, diagonal); });
}
Tensor& triu_(Tensor& self, std::int64_t diagonal) {
  return ops::write_back("triu_", self, [&](const Tensor& x) { return triu(x, diagonal); });
}

}  // namespace halftone
