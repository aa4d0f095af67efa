// Activation functions, each with its backward operator. In the second derivatives s is sigmoid(x), q = s (1
// - s).

#include "halftone/engine/nn_functions.h"
#include "halftone/ops/activation_rule.h"
#include "halftone/ops/pointwise.h"

namespace halftone {
namespace ops {

// --- Piecewise linear
// -------------------------------------------------------------------------------------------

struct ReluBackward : PiecewiseDerivative<ReluBackward, Fn::kReluBackward> {
  static constexpr Schema schema{
      "relu_backward", {"grad", "result", "dtype"}, "grad where result > 0, else 0"};
};
HALFTONE_REGISTER_OPERATOR(ReluBackward)

struct Relu : Unary<Relu, Fn::kRelu, ReluBackward, Reads::kResult> {
  static constexpr Schema schema{"relu", {"self"}, "max(self, 0)"};
  static constexpr auto api = &halftone::relu;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool keeps_integers = true;
};
HALFTONE_REGISTER_OPERATOR(Relu)

struct LeakyReluBackward : PiecewiseDerivative<LeakyReluBackward, Fn::kLeakyReluBackward, Scalar> {
  static constexpr Schema schema{"leaky_relu_backward",
                                 {"grad", "self", "negative_slope", "dtype"},
                                 "grad, times negative_slope where self <= 0"};
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}), 0.01, kDouble);
    s(s.rand({7}), s.rand({7}), 0.5, kFloat).smooth = false;  // rounds: no finite differences
    s(s.rand({0, 2}), s.rand({0, 2}), 0.5, kDouble);
  }
};
HALFTONE_REGISTER_OPERATOR(LeakyReluBackward)

struct LeakyRelu : Unary<LeakyRelu, Fn::kLeakyRelu, LeakyReluBackward, Reads::kInput, Scalar> {
  static constexpr Schema schema{
      "leaky_relu", {"self", "negative_slope"}, "self, times negative_slope where it is negative"};
  static constexpr auto api = &halftone::leaky_relu;
  static constexpr auto precision = amp::Precision::kAny;
  static void samples(Samples& s) {
    s(s.rand({2, 3}), 0.01);
    s(s.rand({7}), 0.5);
    s(s.rand({0, 2}), 0.5);
  }
};
HALFTONE_REGISTER_OPERATOR(LeakyRelu)

struct HardtanhBackward : PiecewiseDerivative<HardtanhBackward, Fn::kHardtanhBackward, Scalar, Scalar> {
  static constexpr Schema schema{"hardtanh_backward",
                                 {"grad", "self", "min_val", "max_val", "dtype"},
                                 "grad strictly inside the bounds, else 0"};
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}), -1.0, 1.0, kDouble);
    s(s.rand({7}), s.rand({7}), 0.0, 1.5, kFloat).smooth = false;  // rounds: no finite differences
    s(s.rand({0, 2}), s.rand({0, 2}), 0.0, 1.0, kDouble);
  }
};
HALFTONE_REGISTER_OPERATOR(HardtanhBackward)

struct Hardtanh : Unary<Hardtanh, Fn::kHardtanh, HardtanhBackward, Reads::kInput, Scalar, Scalar> {
  static constexpr Schema schema{"hardtanh", {"self", "min_val", "max_val"}, "self kept between the bounds"};
  static constexpr auto api = &halftone::hardtanh;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool keeps_integers = true;

  static Meta infer(const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
    if (!(min_val.to_double() <= max_val.to_double())) {
      fail("hardtanh", "min_val ", min_val.to_double(), " is above max_val ", max_val.to_double());
    }
    return Unary::infer(self, min_val, max_val);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), -1.0, 1.0);
    s(s.rand({7}), 0.0, 1.5);
    s(s.rand({0, 2}), 0.0, 1.0);
  }
};
HALFTONE_REGISTER_OPERATOR(Hardtanh)

struct Relu6Backward : PiecewiseDerivative<Relu6Backward, Fn::kRelu6Backward> {
  static constexpr Schema schema{
      "relu6_backward", {"grad", "self", "dtype"}, "grad where 0 < self < 6, else 0"};
  static constexpr double low = -3, high = 9;
};
HALFTONE_REGISTER_OPERATOR(Relu6Backward)

struct Relu6 : Unary<Relu6, Fn::kRelu6, Relu6Backward, Reads::kInput> {
  static constexpr Schema schema{"relu6", {"self"}, "min(max(self, 0), 6)"};
  static constexpr auto api = &halftone::relu6;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool keeps_integers = true;
  static constexpr double low = -3, high = 9;
};
HALFTONE_REGISTER_OPERATOR(Relu6)

// --- Sigmoid and its relatives
// ----------------------------------------------------------------------------------

struct SigmoidBackward : Derivative<SigmoidBackward, Fn::kSigmoidBackward> {
  static constexpr Schema schema{
      "sigmoid_backward", {"grad", "result", "dtype"}, "grad * result * (1 - result)"};
  static Tensor second(const Tensor& v, const Tensor& y) { return v * (1 - y * 2); }
};
HALFTONE_REGISTER_OPERATOR(SigmoidBackward)

struct Sigmoid : Unary<Sigmoid, Fn::kSigmoid, SigmoidBackward, Reads::kResult> {
  static constexpr Schema schema{"sigmoid", {"self"}, "1 / (1 + exp(-self))"};
  static constexpr auto api = &halftone::sigmoid;
};
HALFTONE_REGISTER_OPERATOR(Sigmoid)

struct TanhBackward : Derivative<TanhBackward, Fn::kTanhBackward> {
  static constexpr Schema schema{"tanh_backward", {"grad", "result", "dtype"}, "grad * (1 - result^2)"};
  static Tensor second(const Tensor& v, const Tensor& y) { return v * y * -2; }
};
HALFTONE_REGISTER_OPERATOR(TanhBackward)

struct Tanh : Unary<Tanh, Fn::kTanh, TanhBackward, Reads::kResult> {
  static constexpr Schema schema{"tanh", {"self"}, "the hyperbolic tangent of each element"};
  static constexpr auto api = &halftone::tanh;
};
HALFTONE_REGISTER_OPERATOR(Tanh)

struct SiluBackward : Derivative<SiluBackward, Fn::kSiluBackward> {
  static constexpr Schema schema{
      "silu_backward", {"grad", "self", "dtype"}, "grad * s * (1 + self * (1 - s))"};
  static Tensor second(const Tensor& v, const Tensor& x) {
    const Tensor s = sigmoid(x);
    return v * s * (1 - s) * (x * (1 - s * 2) + 2);
  }
};
HALFTONE_REGISTER_OPERATOR(SiluBackward)

struct Silu : Unary<Silu, Fn::kSilu, SiluBackward, Reads::kInput> {
  static constexpr Schema schema{"silu", {"self"}, "self * sigmoid(self)"};
  static constexpr auto api = &halftone::silu;
};
HALFTONE_REGISTER_OPERATOR(Silu)

struct LogSigmoidBackward : Derivative<LogSigmoidBackward, Fn::kLogSigmoidBackward> {
  static constexpr Schema schema{"log_sigmoid_backward", {"grad", "self", "dtype"}, "grad * sigmoid(-self)"};
  static Tensor second(const Tensor& v, const Tensor& x) { return -(v * sigmoid(x) * sigmoid(-x)); }
};
HALFTONE_REGISTER_OPERATOR(LogSigmoidBackward)

struct LogSigmoid : Unary<LogSigmoid, Fn::kLogSigmoid, LogSigmoidBackward, Reads::kInput> {
  static constexpr Schema schema{"log_sigmoid", {"self"}, "log(sigmoid(self))"};
  static constexpr auto api = &halftone::log_sigmoid;
};
HALFTONE_REGISTER_OPERATOR(LogSigmoid)

struct SoftplusBackward : Derivative<SoftplusBackward, Fn::kSoftplusBackward, Scalar, Scalar> {
  static constexpr Schema schema{"softplus_backward",
                                 {"grad", "self", "beta", "threshold", "dtype"},
                                 "grad * sigmoid(beta * self), grad above the threshold"};
  static Tensor second(const Tensor& v, const Tensor& x, const Scalar& beta, const Scalar& threshold) {
    const Tensor scaled = x * beta;
    return where(scaled > threshold, 0, v * sigmoid(scaled) * sigmoid(-scaled) * beta);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}), 1, 20, kDouble);
    s(s.rand({7}), s.rand({7}), 2.5, 1, kFloat).smooth = false;  // rounds: no finite differences
    s(s.rand({0, 2}), s.rand({0, 2}), 1, 20, kDouble);
  }
};
HALFTONE_REGISTER_OPERATOR(SoftplusBackward)

struct Softplus : Unary<Softplus, Fn::kSoftplus, SoftplusBackward, Reads::kInput, Scalar, Scalar> {
  static constexpr Schema schema{"softplus",
                                 {"self", "beta", "threshold"},
                                 "log(1 + exp(beta * self)) / beta; self where beta * self > threshold"};
  static constexpr auto api = &halftone::softplus;
  static constexpr auto precision = amp::Precision::kFp32;
  static void samples(Samples& s) {
    s(s.rand({2, 3}), 1, 20);
    s(s.rand({7}), 2.5, 20);
    s(s.rand({7}), 2.5, 1);
    s(s.rand({0, 2}), 1, 20);
  }
};
HALFTONE_REGISTER_OPERATOR(Softplus)

// --- Exponential linear units
// -----------------------------------------------------------------------------------

struct EluBackward : Derivative<EluBackward, Fn::kEluBackward, Scalar, Scalar, Scalar> {
  static constexpr Schema schema{
      "elu_backward",
      {"grad", "self", "alpha", "scale", "input_scale", "dtype"},
      "grad * scale, times alpha * input_scale * exp(input_scale * self) where self <= 0"};
  static Tensor second(const Tensor& v, const Tensor& x, const Scalar& alpha, const Scalar& scale,
                       const Scalar& input_scale) {
    const double rate = input_scale.to_double();
    return where(x > 0, 0, v * exp(x * rate) * (alpha.to_double() * scale.to_double() * rate * rate));
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}), 1, 1, 1, kDouble);
    s(s.rand({7}), s.rand({7}), 1.5, 0.5, 2, kFloat).smooth = false;  // rounds: no finite differences
    s(s.rand({0, 2}), s.rand({0, 2}), 1, 1, 1, kDouble);
  }
};
HALFTONE_REGISTER_OPERATOR(EluBackward)

struct Elu : Unary<Elu, Fn::kElu, EluBackward, Reads::kInput, Scalar, Scalar, Scalar> {
  static constexpr Schema schema{
      "elu",
      {"self", "alpha", "scale", "input_scale"},
      "scale * self; scale * alpha * (exp(input_scale * self) - 1) where self <= 0"};
  static constexpr auto api = &halftone::elu;
  static void samples(Samples& s) {
    s(s.rand({2, 3}), 1, 1, 1);
    s(s.rand({7}), 1.5, 0.5, 2);
    s(s.rand({0, 2}), 1, 1, 1);
  }
};
HALFTONE_REGISTER_OPERATOR(Elu)

// With t = tanh(softplus(x)) and u = 1 - t^2 = dt/dx / s: d/dx (t + x u s) = 2 u s + x (u q - 2 t u s^2).
struct MishBackward : Derivative<MishBackward, Fn::kMishBackward> {
  static constexpr Schema schema{"mish_backward", {"grad", "self", "dtype"}, "grad * derivative of mish"};
  static Tensor second(const Tensor& v, const Tensor& x) {
    const Tensor s = sigmoid(x), t = tanh(softplus(x)), u = 1 - t * t;
    return v * (u * s * 2 + x * u * (s * (1 - s) - t * s * s * 2));
  }
};
HALFTONE_REGISTER_OPERATOR(MishBackward)

struct Mish : Unary<Mish, Fn::kMish, MishBackward, Reads::kInput> {
  static constexpr Schema schema{"mish", {"self"}, "self * tanh(softplus(self))"};
  static constexpr auto api = &halftone::mish;
};
HALFTONE_REGISTER_OPERATOR(Mish)

// --- GELU
// -------------------------------------------------------------------------------------------------------

namespace {

/// True for the tanh form.
bool is_tanh_form(const char* op, std::string_view approximate) {
  if (approximate != "none" && approximate != "tanh") {
    fail(op, "approximate must be \"none\" or \"tanh\", got \"", approximate, "\"");
  }
  return approximate == "tanh";
}

/// phi(x) (2 - x^2), phi the normal density.
Tensor gelu_second(const Tensor& x) { return exp(x * x * -0.5) * 0.39894228040143267794 * (2 - x * x); }

/// The same for x sigmoid(k (x + c x^3)): with w the argument's derivative, q (2 w + x (w^2 (1 - 2 s) +
/// dw/dx)).
Tensor gelu_tanh_second(const Tensor& x) {
  constexpr double k = 1.59576912160573071176, c = 0.044715;
  const Tensor s = sigmoid((x + x * x * x * c) * k);
  const Tensor w = (x * x * (3 * c) + 1) * k;
  return s * (1 - s) * (w * 2 + x * (w * w * (1 - s * 2) + x * (6 * c * k)));
}

}  // namespace

struct GeluBackward : Operator {
  static constexpr Schema schema{
      "gelu_backward", {"grad", "self", "approximate", "dtype"}, "grad * derivative of gelu"};
  static Tensor call(const Tensor& grad, const Tensor& self, std::string_view approximate, ScalarType dtype) {
    return dispatch<GeluBackward>(grad, self, approximate, dtype);
  }
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, std::string_view, ScalarType) = &call;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1);

  static Meta infer(const Tensor& grad, const Tensor& self, std::string_view, ScalarType dtype) {
    Meta meta = broadcast_meta(schema.name, {&grad, &self}, dtype);
    meta.explicit_dtype = true;
    return meta;
  }
  static void run(const Tensor& out, const Tensor& grad, const Tensor& self, std::string_view approximate,
                  ScalarType) {
    const bool tanh_form = is_tanh_form(schema.name, approximate);
    pointwise(tanh_form ? Fn::kGeluTanhBackward : Fn::kGeluBackward, out, {&grad, &self});
  }
  static Gradients backward(const Saved& s, const Tensor& g, const std::string& approximate, ScalarType) {
    const Tensor x = s.input(1);
    Gradients grads{Tensor(), Tensor()};
    if (s.needs(0)) grads[0] = call(g, x, approximate, s.dtype(0));
    if (s.needs(1))
      grads[1] = g * s.input(0) * (approximate == "tanh" ? gelu_tanh_second(x) : gelu_second(x));
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}), "none", kDouble);
    s(s.rand({2, 3}), s.rand({2, 3}), "tanh", kDouble);
    s(s.rand({7}), s.rand({7}), "none", kFloat).smooth = false;  // rounds: no finite differences
    s(s.rand({0, 2}), s.rand({0, 2}), "none", kDouble);
  }
};
HALFTONE_REGISTER_OPERATOR(GeluBackward)

struct Gelu : Operator {
  static constexpr Schema schema{"gelu",
                                 {"self", "approximate"},
                                 "self * Phi(self), Phi the normal distribution function; or its tanh form"};
  static constexpr auto api = &halftone::gelu;
  static constexpr auto precision = amp::Precision::kFp32Inside;
  static constexpr Keep saves = keep_input(0);

  static Meta infer(const Tensor& self, std::string_view) { return unary_meta("gelu", self, false); }
  static void run(const Tensor& out, const Tensor& self, std::string_view approximate) {
    pointwise(is_tanh_form("gelu", approximate) ? Fn::kGeluTanh : Fn::kGelu, out, {&self});
  }
  static Tensor backward(const Saved& s, const Tensor& grad, const std::string& approximate) {
    return GeluBackward::call(grad, s.input(0), approximate, s.dtype(0));
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}, -3, 3), "none");
    s(s.rand({7}, -3, 3), "tanh");
    s(s.rand({0, 2}), "none");
  }
};
HALFTONE_REGISTER_OPERATOR(Gelu)

Tensor relu_backward(const Tensor& grad, const Tensor& result, ScalarType dtype) {
  return ReluBackward::call(grad, result, dtype);
}

Tensor gelu_backward(const Tensor& grad, const Tensor& self, std::string_view approximate, ScalarType dtype) {
  return GeluBackward::call(grad, self, approximate, dtype);
}

}  // namespace ops

Tensor relu(const Tensor& self) { return ops::dispatch<ops::Relu>(self); }
Tensor leaky_relu(const Tensor& self, const Scalar& negative_slope) {
  return ops::dispatch<ops::LeakyRelu>(self, negative_slope);
}
Tensor hardtanh(const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  return ops::dispatch<ops::Hardtanh>(self, min_val, max_val);
}
Tensor relu6(const Tensor& self) { return ops::dispatch<ops::Relu6>(self); }
Tensor sigmoid(const Tensor& self) { return ops::dispatch<ops::Sigmoid>(self); }
Tensor tanh(const Tensor& self) { return ops::dispatch<ops::Tanh>(self); }
Tensor silu(const Tensor& self) { return ops::dispatch<ops::Silu>(self); }
Tensor log_sigmoid(const Tensor& self) { return ops::dispatch<ops::LogSigmoid>(self); }
Tensor softplus(const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  return ops::dispatch<ops::Softplus>(self, beta, threshold);
}
Tensor elu(const Tensor& self, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  return ops::dispatch<ops::Elu>(self, alpha, scale, input_scale);
}
Tensor mish(const Tensor& self) { return ops::dispatch<ops::Mish>(self); }
Tensor gelu(const Tensor& self, std::string_view approximate) {
  return ops::dispatch<ops::Gelu>(self, approximate);
}

Tensor& relu_(Tensor& self) { return ops::dispatch_inplace<ops::Relu>(self); }
Tensor& relu6_(Tensor& self) { return ops::dispatch_inplace<ops::Relu6>(self); }
Tensor& leaky_relu_(Tensor& self, const Scalar& negative_slope) {
  return ops::dispatch_inplace<ops::LeakyRelu>(self, negative_slope);
}
Tensor& sigmoid_(Tensor& self) { return ops::dispatch_inplace<ops::Sigmoid>(self); }
Tensor& tanh_(Tensor& self) { return ops::dispatch_inplace<ops::Tanh>(self); }
Tensor& silu_(Tensor& self) { return ops::dispatch_inplace<ops::Silu>(self); }
Tensor& hardtanh_(Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  return ops::dispatch_inplace<ops::Hardtanh>(self, min_val, max_val);
}
Tensor& elu_(Tensor& self, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  return ops::dispatch_inplace<ops::Elu>(self, alpha, scale, input_scale);
}

}  // namespace halftone
