// Functions of two operands: powers, the larger and the smaller, the angle.

#include "halftone/ops/pointwise.h"

namespace halftone {
namespace ops {
namespace {

bool is_wrapped(const Tensor& tensor) { return tensor.unsafe_impl()->is_wrapped_number; }

/// exponent - 1, still exact and a wrapped number if it was one.
Tensor minus_one(const Tensor& exponent) {
  if (is_wrapped(exponent)) return wrapped_number(exponent.item().to_double() - 1);
  return exponent - 1;
}

}  // namespace

struct PowBackward : BinaryDerivative<PowBackward, Fn::kPowBackward> {
  static constexpr Schema schema{
      "pow_backward", {"grad", "self", "exponent"}, "grad * exponent * self^(exponent - 1)"};
  static constexpr double low = 0.5, high = 2.5;

  static Tensor second_self(const Tensor& v, const Tensor& x, const Tensor& e) {
    return e * call(v, x, minus_one(e));
  }
  static Tensor second_other(const Tensor& v, const Tensor& x, const Tensor& e) {
    return where(x == 0, 0, v * pow(x, minus_one(e)) * (e * log(x) + 1));
  }
};
HALFTONE_REGISTER_OPERATOR(PowBackward)

struct PowBackwardExponent : Operator {
  static constexpr Schema schema{"pow_backward_exponent",
                                 {"grad", "self", "exponent", "result"},
                                 "grad * result * log(self), 0 where self is 0"};
  static Tensor call(const Tensor& grad, const Tensor& self, const Tensor& exponent, const Tensor& result) {
    return dispatch<PowBackwardExponent>(grad, self, exponent, result);
  }
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, const Tensor&) = &call;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0, {1, 3}) | keep_input(1) | keep_input(2) | keep_input(3, {0, 1});

  static Meta infer(const Tensor& grad, const Tensor& self, const Tensor& exponent, const Tensor& result) {
    return broadcast_meta(schema.name, {&grad, &self, &exponent, &result},
                          floating_result_type({&grad, &self, &exponent, &result}));
  }
  static void run(const Tensor& out, const Tensor& grad, const Tensor& self, const Tensor& exponent,
                  const Tensor& result) {
    pointwise(Fn::kPowBackwardExponent, out, {&grad, &self, &exponent, &result});
  }
  static Gradients backward(const Saved& s, const Tensor& g) {
    const Tensor x = s.input(1), e = s.input(2);
    Gradients grads{Tensor(), Tensor(), Tensor(), Tensor()};
    if (s.needs(0)) grads[0] = call(g, x, e, s.input(3));
    if (s.needs(1)) grads[1] = where((x == 0) & (e >= 0), 0, g * s.input(0) * s.input(3) / x);
    if (s.needs(3)) grads[3] = call(g, x, e, s.input(0));
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}, 0.5, 2), s.rand({2, 3}), s.rand({2, 3}));
    s(s.rand({2, 3}), s.rand({3}, 0.5, 2), s.rand({2, 1}), s.rand({2, 3}));
    s(s.rand({0, 2}), s.rand({2}), s.rand({2}), s.rand({0, 2}));
  }
};
HALFTONE_REGISTER_OPERATOR(PowBackwardExponent)

struct Pow : Binary<Pow, Fn::kPow> {
  static constexpr Schema schema{"pow", {"self", "exponent"}, "self to the power exponent"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::pow;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | Keep{{}, {input_mask({1})}};

  static Meta infer(const Tensor& self, const Tensor& exponent) {
    const Meta meta = Binary::infer(self, exponent);
    if (!is_floating_point(meta.dtype) && is_wrapped(exponent) && exponent.item().to_long() < 0) {
      fail("pow", "integers have no negative powers: got ", self, " and exponent ",
           exponent.item().to_long());
    }
    return meta;
  }
  static void run(const Tensor& out, const Tensor& self, const Tensor& exponent) {
    if (is_wrapped(exponent) && exponent.item().to_double() == 2) {
      pointwise(Fn::kSquare, out, {&self});
    } else {
      Binary::run(out, self, exponent);
    }
  }
  static Gradients backward(const Saved& s, const Tensor& grad) {
    return {s.needs(0) ? PowBackward::call(grad, s.input(0), s.input(1)) : Tensor(),
            s.needs(1) ? PowBackwardExponent::call(grad, s.input(0), s.input(1), s.result()) : Tensor()};
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}, 0.5, 2), s.rand({2, 3}));
    s(s.rand({2, 1}, 0.5, 2), s.rand({3}));
    s(s.rand({}, 0.5, 2), s.rand({4}));
    s(s.rand({0, 2}), s.rand({2}));
  }
};
HALFTONE_REGISTER_OPERATOR(Pow)

struct MaximumBackward : BinaryDerivative<MaximumBackward, Fn::kMaximumBackward> {
  static constexpr Schema schema{
      "maximum_backward", {"grad", "self", "other"}, "gradient of maximum for self; equal operands share it"};
  static constexpr Keep saves = keep_input(1, {0}) | keep_input(2, {0});
};
HALFTONE_REGISTER_OPERATOR(MaximumBackward)

struct Maximum : Binary<Maximum, Fn::kMaximum> {
  static constexpr Schema schema{
      "maximum", {"self", "other"}, "the larger of two elements; NaN if either is NaN"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::maximum;
  static constexpr Keep saves = keep_input(0) | keep_input(1);

  static Gradients backward(const Saved& s, const Tensor& grad) {
    return {s.needs(0) ? MaximumBackward::call(grad, s.input(0), s.input(1)) : Tensor(),
            s.needs(1) ? MaximumBackward::call(grad, s.input(1), s.input(0)) : Tensor()};
  }
};
HALFTONE_REGISTER_OPERATOR(Maximum)

struct MinimumBackward : BinaryDerivative<MinimumBackward, Fn::kMinimumBackward> {
  static constexpr Schema schema{
      "minimum_backward", {"grad", "self", "other"}, "gradient of minimum for self; equal operands share it"};
  static constexpr Keep saves = keep_input(1, {0}) | keep_input(2, {0});
};
HALFTONE_REGISTER_OPERATOR(MinimumBackward)

struct Minimum : Binary<Minimum, Fn::kMinimum> {
  static constexpr Schema schema{
      "minimum", {"self", "other"}, "the smaller of two elements; NaN if either is NaN"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::minimum;
  static constexpr Keep saves = keep_input(0) | keep_input(1);

  static Gradients backward(const Saved& s, const Tensor& grad) {
    return {s.needs(0) ? MinimumBackward::call(grad, s.input(0), s.input(1)) : Tensor(),
            s.needs(1) ? MinimumBackward::call(grad, s.input(1), s.input(0)) : Tensor()};
  }
};
HALFTONE_REGISTER_OPERATOR(Minimum)

// With r^2 = a^2 + b^2 the second derivatives of atan2(a, b) are -2ab / r^4, (a^2 - b^2) / r^4 and 2ab / r^4.
struct Atan2BackwardSelf : BinaryDerivative<Atan2BackwardSelf, Fn::kAtan2BackwardSelf> {
  static constexpr Schema schema{
      "atan2_backward_self", {"grad", "self", "other"}, "grad * other / (self^2 + other^2)"};
  static constexpr double low = 0.5;

  static Tensor second_self(const Tensor& v, const Tensor& a, const Tensor& b) {
    return v * -2 * a * b / square(a * a + b * b);
  }
  static Tensor second_other(const Tensor& v, const Tensor& a, const Tensor& b) {
    return v * (a * a - b * b) / square(a * a + b * b);
  }
};
HALFTONE_REGISTER_OPERATOR(Atan2BackwardSelf)

struct Atan2BackwardOther : BinaryDerivative<Atan2BackwardOther, Fn::kAtan2BackwardOther> {
  static constexpr Schema schema{
      "atan2_backward_other", {"grad", "self", "other"}, "-grad * self / (self^2 + other^2)"};
  static constexpr double low = 0.5;

  static Tensor second_self(const Tensor& v, const Tensor& a, const Tensor& b) {
    return v * (a * a - b * b) / square(a * a + b * b);
  }
  static Tensor second_other(const Tensor& v, const Tensor& a, const Tensor& b) {
    return v * 2 * a * b / square(a * a + b * b);
  }
};
HALFTONE_REGISTER_OPERATOR(Atan2BackwardOther)

struct Atan2 : Binary<Atan2, Fn::kAtan2> {
  static constexpr Schema schema{"atan2", {"self", "other"}, "angle of the point (other, self), in radians"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::atan2;
  static constexpr Keep saves = keep_input(0) | keep_input(1);
  static constexpr bool kFloating = true;
  static constexpr double low = 0.5;

  static Gradients backward(const Saved& s, const Tensor& grad) {
    return {s.needs(0) ? Atan2BackwardSelf::call(grad, s.input(0), s.input(1)) : Tensor(),
            s.needs(1) ? Atan2BackwardOther::call(grad, s.input(0), s.input(1)) : Tensor()};
  }
};
HALFTONE_REGISTER_OPERATOR(Atan2)

}  // namespace ops

Tensor pow(const Tensor& self, const Tensor& exponent) { return ops::dispatch<ops::Pow>(self, exponent); }
Tensor pow(const Tensor& self, const Scalar& exponent) { return pow(self, ops::wrapped_number(exponent)); }
Tensor pow(const Scalar& self, const Tensor& exponent) { return pow(ops::wrapped_number(self), exponent); }
Tensor maximum(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Maximum>(self, other); }
Tensor minimum(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Minimum>(self, other); }
Tensor atan2(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Atan2>(self, other); }

Tensor& atan2_(Tensor& self, const Tensor& other) { return ops::dispatch_inplace<ops::Atan2>(self, other); }
Tensor& pow_(Tensor& self, const Tensor& exponent) { return ops::dispatch_inplace<ops::Pow>(self, exponent); }
Tensor& pow_(Tensor& self, const Scalar& exponent) { return pow_(self, ops::wrapped_number(exponent)); }

}  // namespace halftone
