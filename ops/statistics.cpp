// Variance, norms and logsumexp. Their gradient rules scale the input by factors formed from small, reduced
// tensors; the factors are widened first, so that nothing is rounded to half before the gradient itself is.

#include <cmath>
#include <limits>

#include "halftone/ops/pointwise.h"
#include "halftone/ops/reduction.h"

namespace halftone {
namespace ops {
namespace {

/// grad * scale * (x - mean of x): the gradient of the variance over `dim`.
Tensor spread_gradient(const Tensor& x, const Tensor& kept_grad, const Dims& dim, double scale) {
  const Tensor center = mean(x, dim, true, accumulate_type(x.scalar_type())).reshape(kept_grad.sizes());
  return (x - center) * (widened(kept_grad) * scale);
}

double degrees_of_freedom(const Tensor& x, const Dims& dim, bool unbiased) {
  return std::max(0.0, static_cast<double>(reduced("var", x.sizes(), dim).count) - (unbiased ? 1.0 : 0.0));
}

void run_var(const Tensor& out, const Tensor& self, IntArrayRef dim, bool unbiased) {
  reduce(ReduceOp::kVar, out, self, reduced("var", self.sizes(), dim).mask, {{unbiased ? 1.0 : 0.0}});
}

Meta spread_meta(const char* op, const Tensor& self, IntArrayRef dim, bool keepdim) {
  check_floating(op, self);
  return like(self, reduced(op, self.sizes(), dim).sizes(keepdim));
}

void spread_samples(Samples& s) {
  s(s.rand({2, 3}), Dims{}, true, false);
  s(s.rand({2, 3, 2}), Dims{0, -1}, false, true);
  s(s.rand({2, 3}), Dims{1}, true, false);
  s(s.rand({0, 3}), Dims{1}, true, false);
}

}  // namespace

struct Var : Operator {
  static constexpr Schema schema{"var",
                                 {"self", "dim", "unbiased", "keepdim"},
                                 "variance over dimensions, of n - 1 if unbiased, else of n"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, bool, bool) = &halftone::var;
  static constexpr auto precision = amp::Precision::kFp32Inside;
  static constexpr Keep saves = keep_input(0);

  static Meta infer(const Tensor& self, IntArrayRef dim, bool, bool keepdim) {
    return spread_meta("var", self, dim, keepdim);
  }
  static void run(const Tensor& out, const Tensor& self, IntArrayRef dim, bool unbiased, bool) {
    run_var(out, self, dim, unbiased);
  }
  static Tensor backward(const Saved& s, const Tensor& grad, const Dims& dim, bool unbiased, bool) {
    const Tensor x = s.input(0);
    return spread_gradient(x, with_kept_dims("var", grad, x.sizes(), dim), dim,
                           2 / degrees_of_freedom(x, dim, unbiased));
  }
  static void samples(Samples& s) { spread_samples(s); }
};
HALFTONE_REGISTER_OPERATOR(Var)

struct Std : Operator {
  static constexpr Schema schema{
      "std", {"self", "dim", "unbiased", "keepdim"}, "standard deviation: sqrt(var)"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, bool, bool) = &halftone::std;
  static constexpr auto precision = amp::Precision::kFp32Inside;
  static constexpr Keep saves = keep_input(0) | keep_result();

  static Meta infer(const Tensor& self, IntArrayRef dim, bool, bool keepdim) {
    return spread_meta("std", self, dim, keepdim);
  }
  static void run(const Tensor& out, const Tensor& self, IntArrayRef dim, bool unbiased, bool) {
    const Tensor variance = allocate(like(out, out.sizes(), accumulate_type(out.scalar_type())));
    run_var(variance, self, dim, unbiased);
    pointwise(Fn::kSqrt, out, {&variance});
  }
  // 0 for a constant input, where the true gradient has no value.
  static Tensor backward(const Saved& s, const Tensor& grad, const Dims& dim, bool unbiased, bool) {
    const Tensor x = s.input(0), deviation = widened(s.result());
    const Tensor factor = where(deviation == 0, 0, widened(grad) / deviation);
    return spread_gradient(x, with_kept_dims("std", factor, x.sizes(), dim), dim,
                           1 / degrees_of_freedom(x, dim, unbiased));
  }
  static void samples(Samples& s) { spread_samples(s); }
};
HALFTONE_REGISTER_OPERATOR(Std)

// --- Norms
// ------------------------------------------------------------------------------------------------------

struct Norm : Operator {
  using Power = std::optional<Scalar>;
  static constexpr Schema schema{
      "norm",
      {"self", "p", "dim", "keepdim"},
      "(sum |x|^p)^(1/p) over dimensions, p = 2 unless given; 0 counts, inf is the largest"};
  static constexpr Tensor (*api)(const Tensor&, const Power&, IntArrayRef, bool) = &halftone::norm;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr Keep saves = keep_input(0) | keep_result();

  static double power(const Power& p) { return p ? p->to_double() : 2.0; }

  static Meta infer(const Tensor& self, const Power& p, IntArrayRef dim, bool keepdim) {
    check_floating("norm", self);
    const Reduced r = reduced("norm", self.sizes(), dim);
    if (std::isnan(power(p))) fail("norm", "p must be a number, got NaN");
    if (r.count == 0 && power(p) < 0)
      fail("norm", "a norm of p = ", power(p), " has no value for no elements: ", self);
    return like(self, r.sizes(keepdim));
  }
  static void run(const Tensor& out, const Tensor& self, const Power& given, IntArrayRef dim, bool) {
    const DimMask mask = reduced("norm", self.sizes(), dim).mask;
    const double p = power(given);
    if (p == 2) return reduce(ReduceOp::kNorm2, out, self, mask);
    if (p == 1) return reduce(ReduceOp::kNorm1, out, self, mask);
    if (p == 0) return reduce(ReduceOp::kCountNonzero, out, self, mask);
    if (!std::isinf(p)) return reduce(ReduceOp::kNormP, out, self, mask, {{p}});
    if (p > 0) return reduce(ReduceOp::kNormInf, out, self, mask);
    const Tensor magnitude = allocate(like(self));
    pointwise(Fn::kAbs, magnitude, {&self});
    reduce(ReduceOp::kMin, out, magnitude, mask);
  }
  // Where the norm has no gradient, at zero, it is 0: a subgradient.
  static Tensor backward(const Saved& s, const Tensor& grad, const Power& given, const Dims& dim, bool) {
    const Tensor x = s.input(0);
    const double p = power(given);
    const Tensor g = with_kept_dims("norm", widened(grad), x.sizes(), dim);
    const Tensor r = with_kept_dims("norm", widened(s.result()), x.sizes(), dim);
    if (p == 2) return x * where(r == 0, 0, g / r);
    if (p == 1) return sign(x) * g;
    if (p == 0) return zeros_like(x);
    if (std::isinf(p)) {
      const Tensor chosen = (abs(x) == r) & (x != 0);
      return where(chosen, sign(x) * (g / with_kept_dims("norm", sum(chosen, dim, true), x.sizes(), dim)), 0);
    }
    const Tensor factor = where(r == 0, 0, g * pow(r, 1 - p));
    return where(x == 0, 0, sign(x) * pow(widened(abs(x)), p - 1) * factor);
  }
  static void samples(Samples& s) {
    s(s.distinct({2, 3}), std::nullopt, Dims{}, false);
    s(s.distinct({2, 3, 2}), 2, Dims{0, -1}, true);
    s(s.distinct({2, 3}), 1, Dims{1}, false);
    s(s.distinct({2, 3}), 3, Dims{0}, true);
    s(s.distinct({2, 3}), 0.5, Dims{1}, false);
    s(s.distinct({5}), std::numeric_limits<double>::infinity(), Dims{}, false).smooth = false;
    s(s.distinct({5}), 0, Dims{}, false);
    s(s.rand({0, 3}), 2, Dims{1}, false);
  }
};
HALFTONE_REGISTER_OPERATOR(Norm)

// --- logsumexp
// --------------------------------------------------------------------------------------------------

struct Logsumexp : Operator {
  static constexpr Schema schema{
      "logsumexp", {"self", "dim", "keepdim"}, "log(sum(exp(self))) over dimensions, without overflow"};
  static constexpr auto api = &halftone::logsumexp;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr Keep saves = keep_input(0);

  static Meta infer(const Tensor& self, IntArrayRef dim, bool keepdim) {
    return like(self, reduced("logsumexp", self.sizes(), dim).sizes(keepdim),
                floating_or_default(self.scalar_type()));
  }
  static void run(const Tensor& out, const Tensor& self, IntArrayRef dim, bool) {
    reduce(ReduceOp::kLogSumExp, out, self, reduced("logsumexp", self.sizes(), dim).mask);
  }
  // The sum again, in fp32: a result in half is too coarse to take the exponential of a difference to it.
  static Tensor backward(const Saved& s, const Tensor& grad, const Dims& dim, bool) {
    const Tensor x = widened(s.input(0));
    const Tensor total = with_kept_dims("logsumexp", logsumexp(x, dim, true), x.sizes(), dim);
    const Tensor share = exp(x - where(isinf(total), 0, total));  // all -inf: shares of 0, not NaN
    return share * with_kept_dims("logsumexp", widened(grad), x.sizes(), dim);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), Dims{1}, false);
    s(s.rand({2, 3, 2}), Dims{0, -1}, true);
    s(s.rand({0, 3}), Dims{1}, false);
  }
};
HALFTONE_REGISTER_OPERATOR(Logsumexp)

}  // namespace ops

Tensor var(const Tensor& self, IntArrayRef dim, bool unbiased, bool keepdim) {
  return ops::dispatch<ops::Var>(self, dim, unbiased, keepdim);
}
Tensor var(const Tensor& self, bool unbiased) { return var(self, IntArrayRef(), unbiased, false); }
Tensor std(const Tensor& self, IntArrayRef dim, bool unbiased, bool keepdim) {
  return ops::dispatch<ops::Std>(self, dim, unbiased, keepdim);
}
Tensor std(const Tensor& self, bool unbiased) { return std(self, IntArrayRef(), unbiased, false); }
Tensor norm(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim) {
  return ops::dispatch<ops::Norm>(self, p, dim, keepdim);
}
Tensor norm(const Tensor& self, const Scalar& p) { return norm(self, p, IntArrayRef(), false); }
Tensor logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return ops::dispatch<ops::Logsumexp>(self, dim, keepdim);
}

}  // namespace halftone
