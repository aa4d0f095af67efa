// Inverse hyperbolic, gamma, error and other special functions, and functions of two operands that need more
// care than a formula.

#include <limits>

#include "halftone/ops/pointwise.h"

namespace halftone {
namespace ops {

struct AcoshBackward : Derivative<AcoshBackward, Fn::kAcoshBackward> {
  static constexpr Schema schema{"acosh_backward", {"grad", "self", "dtype"}, "grad / sqrt(self^2 - 1)"};
  static constexpr double low = 1.2, high = 3;
  static Tensor second(const Tensor& v, const Tensor& x) { return -(v * x * pow(x * x - 1, -1.5)); }
};
HALFTONE_REGISTER_OPERATOR(AcoshBackward)

struct Acosh : Unary<Acosh, Fn::kAcosh, AcoshBackward, Reads::kInput> {
  static constexpr Schema schema{"acosh", {"self"}, "the inverse hyperbolic cosine of each element"};
  static constexpr auto api = &halftone::acosh;
  static constexpr double low = 1.2, high = 3;
};
HALFTONE_REGISTER_OPERATOR(Acosh)

struct AsinhBackward : Derivative<AsinhBackward, Fn::kAsinhBackward> {
  static constexpr Schema schema{"asinh_backward", {"grad", "self", "dtype"}, "grad / sqrt(self^2 + 1)"};
  static Tensor second(const Tensor& v, const Tensor& x) { return -(v * x * pow(x * x + 1, -1.5)); }
};
HALFTONE_REGISTER_OPERATOR(AsinhBackward)

struct Asinh : Unary<Asinh, Fn::kAsinh, AsinhBackward, Reads::kInput> {
  static constexpr Schema schema{"asinh", {"self"}, "the inverse hyperbolic sine of each element"};
  static constexpr auto api = &halftone::asinh;
};
HALFTONE_REGISTER_OPERATOR(Asinh)

struct AtanhBackward : Derivative<AtanhBackward, Fn::kAtanhBackward> {
  static constexpr Schema schema{"atanh_backward", {"grad", "self", "dtype"}, "grad / (1 - self^2)"};
  static constexpr double low = -0.8, high = 0.8;
  static Tensor second(const Tensor& v, const Tensor& x) { return v * 2 * x / square(1 - x * x); }
};
HALFTONE_REGISTER_OPERATOR(AtanhBackward)

struct Atanh : Unary<Atanh, Fn::kAtanh, AtanhBackward, Reads::kInput> {
  static constexpr Schema schema{"atanh", {"self"}, "the inverse hyperbolic tangent of each element"};
  static constexpr auto api = &halftone::atanh;
  static constexpr double low = -0.8, high = 0.8;
};
HALFTONE_REGISTER_OPERATOR(Atanh)

struct SincBackward : Derivative<SincBackward, Fn::kSincBackward> {
  static constexpr Schema schema{"sinc_backward", {"grad", "self", "dtype"}, "grad * derivative of sinc"};
  static Tensor second(const Tensor& v, const Tensor& x) {
    const Tensor s = x.to(kDouble) * kPi;  // the differences below cancel
    const Tensor far = (sin(s) * (2 - s * s) - s * cos(s) * 2) / (s * s * s);
    return v * where(abs(s) < 1e-2, s * s * 0.1 - 1.0 / 3, far) * (kPi * kPi);
  }

 private:
  static constexpr double kPi = 3.141592653589793238463;
};
HALFTONE_REGISTER_OPERATOR(SincBackward)

struct Sinc : Unary<Sinc, Fn::kSinc, SincBackward, Reads::kInput> {
  static constexpr Schema schema{"sinc", {"self"}, "sin(pi x) / (pi x), 1 at 0"};
  static constexpr auto api = &halftone::sinc;
};
HALFTONE_REGISTER_OPERATOR(Sinc)

struct ErfInvBackward : Derivative<ErfInvBackward, Fn::kErfInvBackward> {
  static constexpr Schema schema{
      "erfinv_backward", {"grad", "result", "dtype"}, "grad * sqrt(pi) / 2 * exp(result^2)"};
  static constexpr double low = -1, high = 1;
  static Tensor second(const Tensor& v, const Tensor& y) { return v * y * exp(y * y) * 1.772453850905516027; }
};
HALFTONE_REGISTER_OPERATOR(ErfInvBackward)

struct ErfInv : Unary<ErfInv, Fn::kErfInv, ErfInvBackward, Reads::kResult> {
  static constexpr Schema schema{"erfinv", {"self"}, "the inverse of the error function"};
  static constexpr auto api = &halftone::erfinv;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr double low = -0.8, high = 0.8;
};
HALFTONE_REGISTER_OPERATOR(ErfInv)

/// The bounds are those that eps sets, or infinite.
struct LogitBackward : Derivative<LogitBackward, Fn::kLogitBackward, Scalar, Scalar> {
  static constexpr Schema schema{"logit_backward",
                                 {"grad", "self", "min", "max", "dtype"},
                                 "grad / (self * (1 - self)), 0 outside the bounds, NaN outside [0, 1]"};
  static Tensor second(const Tensor& v, const Tensor& x, const Scalar& min, const Scalar& max) {
    const Tensor inside = reciprocal(square(1 - x)) - reciprocal(square(x));
    const Tensor bend = where(lt(x * (1 - x), 0), std::numeric_limits<double>::quiet_NaN(), inside);
    return where(logical_or(lt(x, min), gt(x, max)), 0, v * bend);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}, 0.1, 0.9), 0.0, 1.0, kDouble);
    s(s.distinct({6}), s.rand({6}, 0.1, 0.9), 0.45, 0.55, kDouble).smooth = false;  // jumps at the bounds
    s(s.rand({7}), s.rand({7}, 0.1, 0.9), 0.0, 1.0, kFloat).smooth = false;  // rounds: no finite differences
    s(s.rand({0, 2}), s.rand({0, 2}), 0.0, 1.0, kDouble);
  }
};
HALFTONE_REGISTER_OPERATOR(LogitBackward)

struct Logit : Operator {
  using Eps = std::optional<double>;
  static constexpr Schema schema{
      "logit",
      {"self", "eps"},
      "log(self / (1 - self)), self moved into [eps, 1 - eps] first if eps is given"};
  static constexpr auto api = &halftone::logit;
  static constexpr auto precision = amp::Precision::kFp32Inside;
  static constexpr Keep saves = keep_input(0);

  // A negative eps is none.
  static double lowest(const Eps& eps) { return eps.value_or(-1) >= 0 ? *eps : -kInfinity; }
  static double highest(const Eps& eps) { return eps.value_or(-1) >= 0 ? 1 - *eps : kInfinity; }

  static Meta infer(const Tensor& self, const Eps&) { return unary_meta("logit", self, false); }
  static void run(const Tensor& out, const Tensor& self, const Eps& eps) {
    pointwise(Fn::kLogit, out, {&self}, {{lowest(eps), highest(eps)}});
  }
  static Tensor backward(const Saved& s, const Tensor& grad, const Eps& eps) {
    return LogitBackward::call(grad, s.input(0), lowest(eps), highest(eps), s.dtype(0));
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}, 0.05, 0.4), std::nullopt);
    s(s.rand({7}, 0.6, 0.95), 0.01);
    s(s.rand({4}, 0.01, 0.1), 0.2);
    s(s.rand({0, 2}), std::nullopt);
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
};
HALFTONE_REGISTER_OPERATOR(Logit)

// --- Gamma
// ------------------------------------------------------------------------------------------------------

/// n counts from -1: the derivative of lgamma.
struct PolygammaBackward : Derivative<PolygammaBackward, Fn::kPolygammaBackward, Scalar> {
  static constexpr Schema schema{
      "polygamma_backward", {"grad", "self", "n", "dtype"}, "grad * polygamma(n + 1, self)"};
  static Tensor second(const Tensor& v, const Tensor& x, const Scalar& n) {
    return v * polygamma(n.to_long() + 2, x);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}, 0.5, 3), Scalar(-1), kDouble);
    s(s.rand({4}), s.rand({4}, 0.5, 3), Scalar(1), kDouble);
    s(s.rand({3}), s.rand({3}, 0.5, 3), Scalar(0), kFloat).smooth = false;  // rounds: no finite differences
    s(s.rand({0, 2}), s.rand({0, 2}), Scalar(0), kDouble);
  }
};
HALFTONE_REGISTER_OPERATOR(PolygammaBackward)

/// A function of the gamma family; `kN` is the order of its derivative as polygamma counts.
template <class Op, Fn kFn, int kN>
struct GammaFunction : Operator {
  static constexpr auto precision = amp::Precision::kFp32Inside;
  static constexpr Keep saves = keep_input(0);

  static Meta infer(const Tensor& self) { return unary_meta(Op::schema.name, self, false); }
  static void run(const Tensor& out, const Tensor& self) { pointwise(kFn, out, {&self}, {{kN}}); }
  static Tensor backward(const Saved& s, const Tensor& grad) {
    return PolygammaBackward::call(grad, s.input(0), kN, s.dtype(0));
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}, 0.5, 4));
    s(s.rand({5}, -0.8, -0.2));
    s(s.rand({0, 2}));
  }
};

struct Lgamma : GammaFunction<Lgamma, Fn::kLgamma, -1> {
  static constexpr Schema schema{"lgamma", {"self"}, "the logarithm of the gamma function's magnitude"};
  static constexpr auto api = &halftone::lgamma;
};
HALFTONE_REGISTER_OPERATOR(Lgamma)

struct Digamma : GammaFunction<Digamma, Fn::kPolygamma, 0> {
  static constexpr Schema schema{"digamma", {"self"}, "the derivative of lgamma"};
  static constexpr auto api = &halftone::digamma;
};
HALFTONE_REGISTER_OPERATOR(Digamma)

struct Polygamma : Operator {
  static constexpr Schema schema{"polygamma", {"n", "self"}, "the n-th derivative of digamma"};
  static constexpr auto api = &halftone::polygamma;
  static constexpr auto precision = amp::Precision::kFp32Inside;
  static constexpr Keep saves = keep_input(0);

  static Meta infer(std::int64_t n, const Tensor& self) {
    if (n < 0 || n > 100) fail("polygamma", "n must lie in 0 .. 100, got ", n);
    return unary_meta("polygamma", self, false);
  }
  static void run(const Tensor& out, std::int64_t n, const Tensor& self) {
    pointwise(Fn::kPolygamma, out, {&self}, {{static_cast<double>(n)}});
  }
  static Tensor backward(const Saved& s, const Tensor& grad, std::int64_t n) {
    return PolygammaBackward::call(grad, s.input(0), n, s.dtype(0));
  }
  static void samples(Samples& s) {
    s(0, s.rand({2, 3}, 0.5, 4));
    s(1, s.rand({4}, 0.5, 4));
    s(2, s.rand({3}, 0.5, 4));
    s(1, s.rand({0, 2}));
  }
};
HALFTONE_REGISTER_OPERATOR(Polygamma)

// --- Two operands
// -----------------------------------------------------------------------------------------------

struct HypotBackward : BinaryDerivative<HypotBackward, Fn::kHypotBackward> {
  static constexpr Schema schema{
      "hypot_backward", {"grad", "self", "other"}, "grad * self / sqrt(self^2 + other^2), 0 at the origin"};
  static constexpr double low = 0.5;
  static Tensor second_self(const Tensor& v, const Tensor& a, const Tensor& b) {
    return v * b * b * pow(a * a + b * b, -1.5);
  }
  static Tensor second_other(const Tensor& v, const Tensor& a, const Tensor& b) {
    return -(v * a * b * pow(a * a + b * b, -1.5));
  }
};
HALFTONE_REGISTER_OPERATOR(HypotBackward)

struct Hypot : Binary<Hypot, Fn::kHypot> {
  static constexpr Schema schema{"hypot", {"self", "other"}, "sqrt(self^2 + other^2) without overflow"};
  static constexpr auto api = &halftone::hypot;
  static constexpr Keep saves = keep_input(0) | keep_input(1);
  static constexpr double low = 0.5;

  static Meta infer(const Tensor& self, const Tensor& other) {
    const Meta meta = Binary::infer(self, other);
    if (!is_floating_point(meta.dtype))
      fail("hypot", "expected floating tensors, got ", self, " and ", other);
    return meta;
  }
  static Gradients backward(const Saved& s, const Tensor& grad) {
    return {s.needs(0) ? HypotBackward::call(grad, s.input(0), s.input(1)) : Tensor(),
            s.needs(1) ? HypotBackward::call(grad, s.input(1), s.input(0)) : Tensor()};
  }
};
HALFTONE_REGISTER_OPERATOR(Hypot)

struct CopysignBackward : BinaryDerivative<CopysignBackward, Fn::kCopysignBackward> {
  static constexpr Schema schema{
      "copysign_backward", {"grad", "self", "other"}, "grad with the sign that self was given; 0 for self 0"};
  static constexpr Keep saves = keep_input(1, {0}) | keep_input(2, {0});
  static constexpr double low = 0.5;
};
HALFTONE_REGISTER_OPERATOR(CopysignBackward)

struct Copysign : Binary<Copysign, Fn::kCopysign> {
  static constexpr Schema schema{"copysign", {"self", "other"}, "the magnitude of self with other's sign"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::copysign;
  static constexpr Keep saves = keep_input(0, {0}) | keep_input(1, {0});
  static constexpr bool kFloating = true;
  static constexpr double low = 0.5;

  static Gradients backward(const Saved& s, const Tensor& grad) {
    return {s.needs(0) ? CopysignBackward::call(grad, s.input(0), s.input(1)) : Tensor(),
            s.needs(1) ? zeros_like(grad) : Tensor()};
  }
};
HALFTONE_REGISTER_OPERATOR(Copysign)

/// d logaddexp(a, b)/da = sigmoid(a - b); for logaddexp2 of (a - b) ln 2.
template <class Op, Fn kFn, bool kBase2>
struct LogAddExpDerivative : BinaryDerivative<Op, kFn> {
  static Tensor slope(const Tensor& v, const Tensor& a, const Tensor& b) {
    const Tensor s = sigmoid(kBase2 ? (a - b) * 0.693147180559945309417 : a - b);
    return v * s * (1 - s) * (kBase2 ? 0.693147180559945309417 : 1.0);
  }
  static Tensor second_self(const Tensor& v, const Tensor& a, const Tensor& b) { return slope(v, a, b); }
  static Tensor second_other(const Tensor& v, const Tensor& a, const Tensor& b) { return -slope(v, a, b); }
};

struct LogAddExpBackward : LogAddExpDerivative<LogAddExpBackward, Fn::kLogAddExpBackward, false> {
  static constexpr Schema schema{
      "logaddexp_backward", {"grad", "self", "other"}, "grad * sigmoid(self - other)"};
};
HALFTONE_REGISTER_OPERATOR(LogAddExpBackward)

struct LogAddExp2Backward : LogAddExpDerivative<LogAddExp2Backward, Fn::kLogAddExp2Backward, true> {
  static constexpr Schema schema{
      "logaddexp2_backward", {"grad", "self", "other"}, "grad / (1 + 2^(other - self))"};
};
HALFTONE_REGISTER_OPERATOR(LogAddExp2Backward)

template <class Op, Fn kFn, class Backward>
struct LogAddExpFunction : Binary<Op, kFn> {
  static constexpr Keep saves = keep_input(0) | keep_input(1);

  static Meta infer(const Tensor& self, const Tensor& other) {
    const Meta meta = Binary<Op, kFn>::infer(self, other);
    if (!is_floating_point(meta.dtype))
      fail(Op::schema.name, "expected floating tensors, got ", self, " and ", other);
    return meta;
  }
  static Gradients backward(const Saved& s, const Tensor& grad) {
    return {s.needs(0) ? Backward::call(grad, s.input(0), s.input(1)) : Tensor(),
            s.needs(1) ? Backward::call(grad, s.input(1), s.input(0)) : Tensor()};
  }
};

struct LogAddExp : LogAddExpFunction<LogAddExp, Fn::kLogAddExp, LogAddExpBackward> {
  static constexpr Schema schema{
      "logaddexp", {"self", "other"}, "log(exp(self) + exp(other)), without overflow"};
  static constexpr auto api = &halftone::logaddexp;
};
HALFTONE_REGISTER_OPERATOR(LogAddExp)

struct LogAddExp2 : LogAddExpFunction<LogAddExp2, Fn::kLogAddExp2, LogAddExp2Backward> {
  static constexpr Schema schema{"logaddexp2", {"self", "other"}, "log2(2^self + 2^other), without overflow"};
  static constexpr auto api = &halftone::logaddexp2;
};
HALFTONE_REGISTER_OPERATOR(LogAddExp2)

struct XlogyBackwardSelf : BinaryDerivative<XlogyBackwardSelf, Fn::kXlogyBackwardSelf> {
  static constexpr Schema schema{"xlogy_backward_self",
                                 {"grad", "self", "other"},
                                 "grad * log(other), 0 where self is 0 and other not positive"};
  static constexpr double low = 0.5;
  static Tensor second_self(const Tensor& v, const Tensor&, const Tensor&) { return zeros_like(v); }
  static Tensor second_other(const Tensor& v, const Tensor& a, const Tensor& b) {
    return where((a == 0) & (b <= 0), 0, v / b);
  }
};
HALFTONE_REGISTER_OPERATOR(XlogyBackwardSelf)

struct XlogyBackwardOther : BinaryDerivative<XlogyBackwardOther, Fn::kXlogyBackwardOther> {
  static constexpr Schema schema{"xlogy_backward_other", {"grad", "self", "other"}, "grad * self / other"};
  static constexpr double low = 0.5;
  static Tensor second_self(const Tensor& v, const Tensor&, const Tensor& b) { return v / b; }
  static Tensor second_other(const Tensor& v, const Tensor& a, const Tensor& b) { return -(v * a / (b * b)); }
};
HALFTONE_REGISTER_OPERATOR(XlogyBackwardOther)

struct Xlogy : Binary<Xlogy, Fn::kXlogy> {
  static constexpr Schema schema{"xlogy", {"self", "other"}, "self * log(other), 0 where self is 0"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::xlogy;
  static constexpr Keep saves = keep_input(0) | keep_input(1);
  static constexpr bool kFloating = true;
  static constexpr double low = 0.5;

  static Gradients backward(const Saved& s, const Tensor& grad) {
    return {s.needs(0) ? XlogyBackwardSelf::call(grad, s.input(0), s.input(1)) : Tensor(),
            s.needs(1) ? XlogyBackwardOther::call(grad, s.input(0), s.input(1)) : Tensor()};
  }
};
HALFTONE_REGISTER_OPERATOR(Xlogy)

/// Fmax or Fmin: equal operands leave the gradient to self, as in PyTorch.
template <class Op, Fn kFn, bool kLargest>
struct ExtremeOfNumbers : Binary<Op, kFn> {
  static constexpr Keep saves = keep_input(0) | keep_input(1);

  static Gradients backward(const Saved& s, const Tensor& grad) {
    const Tensor a = s.input(0), b = s.input(1);
    const Tensor from_self = (kLargest ? a >= b : a <= b) | isnan(b);
    return {s.needs(0) ? where(from_self, grad, 0) : Tensor(),
            s.needs(1) ? where(from_self, 0, grad) : Tensor()};
  }
};

struct Fmax : ExtremeOfNumbers<Fmax, Fn::kFmax, true> {
  static constexpr Schema schema{
      "fmax", {"self", "other"}, "the larger of two elements, or the one that is not NaN"};
  static constexpr auto api = &halftone::fmax;
};
HALFTONE_REGISTER_OPERATOR(Fmax)

struct Fmin : ExtremeOfNumbers<Fmin, Fn::kFmin, false> {
  static constexpr Schema schema{
      "fmin", {"self", "other"}, "the smaller of two elements, or the one that is not NaN"};
  static constexpr auto api = &halftone::fmin;
};
HALFTONE_REGISTER_OPERATOR(Fmin)

}  // namespace ops

Tensor acosh(const Tensor& self) { return ops::dispatch<ops::Acosh>(self); }
Tensor asinh(const Tensor& self) { return ops::dispatch<ops::Asinh>(self); }
Tensor atanh(const Tensor& self) { return ops::dispatch<ops::Atanh>(self); }
Tensor sinc(const Tensor& self) { return ops::dispatch<ops::Sinc>(self); }
Tensor erfinv(const Tensor& self) { return ops::dispatch<ops::ErfInv>(self); }
Tensor logit(const Tensor& self, std::optional<double> eps) { return ops::dispatch<ops::Logit>(self, eps); }
Tensor lgamma(const Tensor& self) { return ops::dispatch<ops::Lgamma>(self); }
Tensor digamma(const Tensor& self) { return ops::dispatch<ops::Digamma>(self); }
Tensor polygamma(std::int64_t n, const Tensor& self) { return ops::dispatch<ops::Polygamma>(n, self); }
Tensor hypot(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Hypot>(self, other); }
Tensor copysign(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Copysign>(self, other); }
Tensor copysign(const Tensor& self, const Scalar& other) {
  return copysign(self, ops::wrapped_number(other));
}
Tensor logaddexp(const Tensor& self, const Tensor& other) {
  return ops::dispatch<ops::LogAddExp>(self, other);
}
Tensor logaddexp2(const Tensor& self, const Tensor& other) {
  return ops::dispatch<ops::LogAddExp2>(self, other);
}
Tensor xlogy(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Xlogy>(self, other); }
Tensor xlogy(const Tensor& self, const Scalar& other) { return xlogy(self, ops::wrapped_number(other)); }
Tensor xlogy(const Scalar& self, const Tensor& other) { return xlogy(ops::wrapped_number(self), other); }
Tensor fmax(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Fmax>(self, other); }
Tensor fmin(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Fmin>(self, other); }

Tensor& acosh_(Tensor& self) { return ops::dispatch_inplace<ops::Acosh>(self); }
Tensor& asinh_(Tensor& self) { return ops::dispatch_inplace<ops::Asinh>(self); }
Tensor& atanh_(Tensor& self) { return ops::dispatch_inplace<ops::Atanh>(self); }
Tensor& sinc_(Tensor& self) { return ops::dispatch_inplace<ops::Sinc>(self); }
Tensor& erfinv_(Tensor& self) { return ops::dispatch_inplace<ops::ErfInv>(self); }
Tensor& logit_(Tensor& self, std::optional<double> eps) {
  return ops::dispatch_inplace<ops::Logit>(self, eps);
}
Tensor& lgamma_(Tensor& self) { return ops::dispatch_inplace<ops::Lgamma>(self); }
Tensor& digamma_(Tensor& self) { return ops::dispatch_inplace<ops::Digamma>(self); }
Tensor& hypot_(Tensor& self, const Tensor& other) { return ops::dispatch_inplace<ops::Hypot>(self, other); }
Tensor& copysign_(Tensor& self, const Tensor& other) {
  return ops::dispatch_inplace<ops::Copysign>(self, other);
}
Tensor& copysign_(Tensor& self, const Scalar& other) { return copysign_(self, ops::wrapped_number(other)); }
Tensor& xlogy_(Tensor& self, const Tensor& other) { return ops::dispatch_inplace<ops::Xlogy>(self, other); }
Tensor& xlogy_(Tensor& self, const Scalar& other) { return xlogy_(self, ops::wrapped_number(other)); }

}  // namespace halftone
