// Reductions composed of sums, norms and extremes.

#include <cmath>

#include "halftone/ops/composed.h"
#include "halftone/ops/inplace.h"
#include "halftone/ops/reduction.h"

namespace halftone {
namespace {

Tensor without_nan(const char* op, const Tensor& self) {
  if (!self.defined()) fail(op, "the tensor is undefined");
  return self.is_floating_point() ? masked_fill(self, isnan(self), 0) : self;
}

/// Differences of neighbours along dimension d.
Tensor difference(const Tensor& x, std::int64_t d) {
  const std::int64_t n = x.size(d) - 1;
  if (n <= 0) return narrow(x, d, 0, 0);
  const Tensor after = narrow(x, d, 1, n), before = narrow(x, d, 0, n);
  return x.scalar_type() == kBool ? logical_xor(after, before) : after - before;
}

}  // namespace

std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<std::int64_t> dim, bool keepdim) {
  if (dim) return {amin(self, *dim, keepdim), amax(self, *dim, keepdim)};
  return {amin(self, IntArrayRef(), keepdim), amax(self, IntArrayRef(), keepdim)};
}

std::tuple<Tensor, Tensor> var_mean(const Tensor& self, IntArrayRef dim, bool unbiased, bool keepdim) {
  return {var(self, dim, unbiased, keepdim), mean(self, dim, keepdim)};
}
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, bool unbiased) {
  return {var(self, unbiased), mean(self)};
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, IntArrayRef dim, bool unbiased, bool keepdim) {
  return {halftone::std(self, dim, unbiased, keepdim), mean(self, dim, keepdim)};
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, bool unbiased) {
  return {halftone::std(self, unbiased), mean(self)};
}

Tensor nansum(const Tensor& self, IntArrayRef dim, bool keepdim, OptionalDtype dtype) {
  return sum(without_nan("nansum", self), dim, keepdim, dtype);
}

Tensor nanmean(const Tensor& self, IntArrayRef dim, bool keepdim, OptionalDtype dtype) {
  if (!self.is_floating_point()) fail("nanmean", "expected a floating tensor, got ", self);
  const ops::WideResults wide(is_low_precision(self.scalar_type()));
  const Tensor total = nansum(self, dim, keepdim);
  const Tensor count = sum(logical_not(isnan(self)), dim, keepdim);
  return (total / count).to(dtype.value_or(self.scalar_type()));
}

Tensor norm(const Tensor& self, const std::optional<Scalar>& p, ScalarType dtype) {
  return norm(self, p, IntArrayRef(), false, dtype);
}
Tensor norm(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim,
            ScalarType dtype) {
  if (dtype != kFloat || !is_low_precision(self.scalar_type())) return norm(self.to(dtype), p, dim, keepdim);
  const ops::WideResults wide;
  return norm(self, p, dim, keepdim);
}

Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p) {
  const ops::WideOperands operands("dist", {&self, &other});
  return operands.result(norm(operands[0] - operands[1], p));
}

Tensor renorm(const Tensor& self, const Scalar& p, std::int64_t dim, const Scalar& maxnorm) {
  if (!self.is_floating_point() || self.dim() < 2)
    fail("renorm", "expected a floating tensor of at least 2 dimensions, got ", self);
  if (!(p.to_double() > 0)) fail("renorm", "p must be positive, got ", p.to_double());
  if (!(maxnorm.to_double() >= 0)) fail("renorm", "maxnorm must not be negative, got ", maxnorm.to_double());
  const std::int64_t d = wrap_dim("renorm", dim, self.dim());
  Dims others;
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    if (i != d) others.push_back(i);
  }
  const ops::WideResults wide(is_low_precision(self.scalar_type()));
  const Tensor x = ops::as_wide(self), length = norm(x, p, others, true);
  const Tensor factor = where(length > maxnorm, maxnorm.to_double() / (length + 1e-7), 1);
  return (x * factor).to(self.scalar_type());
}
Tensor& renorm_(Tensor& self, const Scalar& p, std::int64_t dim, const Scalar& maxnorm) {
  return ops::write_back("renorm_", self, [&](const Tensor& x) { return renorm(x, p, dim, maxnorm); });
}

Tensor diff(const Tensor& self, std::int64_t n, std::int64_t dim, const Tensor& prepend,
            const Tensor& append) {
  if (self.dim() == 0) fail("diff", "expected at least 1 dimension, got ", self);
  if (n < 0) fail("diff", "n must not be negative, got ", n);
  const std::int64_t d = wrap_dim("diff", dim, self.dim());
  Tensor x = self;
  if (prepend.defined() || append.defined()) {
    std::vector<Tensor> parts;
    if (prepend.defined()) parts.push_back(prepend);
    parts.push_back(self);
    if (append.defined()) parts.push_back(append);
    x = cat(parts, d);
  }
  for (std::int64_t i = 0; i < n; ++i) x = difference(x, d);
  return x;
}

Tensor trapezoid(const Tensor& y, double dx, std::int64_t dim) {
  if (y.dim() == 0) fail("trapezoid", "expected at least 1 dimension, got ", y);
  const std::int64_t n = y.size(dim);
  if (n == 0) return sum(y, dim);
  return (sum(y, dim) - (select(y, dim, 0) + select(y, dim, -1)) * 0.5) * dx;
}

Tensor trapezoid(const Tensor& y, const Tensor& x, std::int64_t dim) {
  if (y.dim() == 0 || x.dim() == 0) fail("trapezoid", "expected at least 1 dimension, got ", y, " and ", x);
  const std::int64_t d = wrap_dim("trapezoid", dim, y.dim()), n = y.size(d);
  if (n == 0) return sum(y, d);
  Tensor places = x;
  if (x.dim() == 1) {
    if (x.size(0) != n)
      fail("trapezoid", "x has ", x.size(0), " points, y has ", n, " along dimension ", dim);
    Dims shape(static_cast<std::size_t>(y.dim()), 1);
    shape[static_cast<std::size_t>(d)] = n;
    places = view(x, shape);
  }
  const Tensor middle = (narrow(y, d, 1, n - 1) + narrow(y, d, 0, n - 1)) * 0.5;
  return sum(middle * difference(places, wrap_dim("trapezoid", dim, places.dim())), d);
}

Tensor cov(const Tensor& self, std::int64_t correction, const Tensor& fweights, const Tensor& aweights) {
  if (self.dim() > 2 || self.scalar_type() == kBool)
    fail("cov", "expected numbers of at most 2 dimensions, got ", self);
  const Tensor in = self.dim() < 2 ? reshape(self, {1, -1}) : self;
  Tensor x = in.is_floating_point() ? in : in.to(get_default_dtype());
  const std::int64_t observations = x.size(1);
  Tensor weights;
  const auto check = [&](const char* name, const Tensor& w) {
    if (w.dim() > 1 || w.numel() != observations)
      fail("cov", name, " must hold one weight for each of ", observations, " observations, got ", w);
  };
  if (fweights.defined()) {
    check("fweights", fweights);
    if (fweights.is_floating_point()) fail("cov", "fweights must be integers, got ", fweights);
    weights = fweights;
  }
  if (aweights.defined()) {
    check("aweights", aweights);
    weights = weights.defined() ? weights * aweights : aweights;
  }
  const Tensor total =
      weights.defined() ? sum(weights).to(x.scalar_type()) : full({}, observations, x.options());
  const Tensor center = weights.defined() ? sum(x * weights, 1, true) / total : mean(x, 1, true);
  Tensor freedom = total - correction;
  if (aweights.defined() && correction != 0) freedom = total - sum(weights * aweights) / total * correction;
  x = x - center;
  const Tensor weighted = weights.defined() ? x * weights : x;
  const Tensor result = matmul(weighted.to(x.scalar_type()), transpose(x, 0, 1)) / clamp_min(freedom, 0);
  return self.dim() < 2 ? reshape(result, {}) : result;
}

Tensor corrcoef(const Tensor& self) {
  const Tensor c = cov(self);
  if (c.dim() == 0) return c / c;
  const Tensor deviation = sqrt(diagonal(c));
  return clamp(c / unsqueeze(deviation, 1) / unsqueeze(deviation, 0), -1, 1);
}

}  // namespace halftone
