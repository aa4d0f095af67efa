// Arithmetic of two and three operands, with broadcasting and PyTorch's type promotion.

#include "halftone/kernels/check.h"
#include "halftone/ops/pointwise.h"

namespace halftone {
namespace ops {
namespace {

Scalar negated(const Scalar& value) {
  if (value.is_floating_point()) return -value.to_double();
  return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(value.to_long()));
}

bool is_one(const Scalar& value) { return value.to_double() == 1; }

/// grad * factor, without a kernel for 1.
Tensor times(const Tensor& grad, const Scalar& factor) { return is_one(factor) ? grad : mul(grad, factor); }

void check_divisor(const char* op, const Tensor& out, const Tensor& divisor) {
  if (is_floating_point(out.scalar_type()) || out.numel() == 0) return;
  kernels_for<CheckKernels>(divisor.device()).values(op, ValueRule::kDivisor, divisor);
}

}  // namespace

struct Add : Binary<Add, Fn::kAdd> {
  static constexpr Schema schema{"add", {"self", "other", "alpha"}, "self + alpha * other"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Scalar&) = &halftone::add;

  static Meta infer(const Tensor& self, const Tensor& other, const Scalar& alpha) {
    const Meta meta = Binary::infer(self, other);
    check_factor("add", "alpha", meta.dtype, alpha);
    return meta;
  }
  static void run(const Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha) {
    pointwise(Fn::kAdd, out, {&self, &other}, params_of(alpha));
  }
  static Gradients backward(const Saved& s, const Tensor& grad, const Scalar& alpha) {
    return {grad, s.needs(1) ? times(grad, alpha) : Tensor()};
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}), 1);
    s(s.rand({2, 1, 2}), s.rand({3, 1}), -1.5);
    s(s.rand({0, 2}), s.rand({2}), 2);
  }
};
HALFTONE_REGISTER_OPERATOR(Add)

struct Sub : Binary<Sub, Fn::kSub> {
  static constexpr Schema schema{"sub", {"self", "other", "alpha"}, "self - alpha * other"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Scalar&) = &halftone::sub;

  static Meta infer(const Tensor& self, const Tensor& other, const Scalar& alpha) {
    const Meta meta = Binary::infer(self, other);
    if (self.scalar_type() == kBool || other.scalar_type() == kBool) {
      fail("sub", "bool tensors have no difference (", self, " and ", other,
           "); use logical_xor or logical_not");
    }
    check_factor("sub", "alpha", meta.dtype, alpha);
    return meta;
  }
  static void run(const Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha) {
    pointwise(Fn::kSub, out, {&self, &other}, params_of(alpha));
  }
  static Gradients backward(const Saved& s, const Tensor& grad, const Scalar& alpha) {
    return {grad, s.needs(1) ? mul(grad, negated(alpha)) : Tensor()};
  }
  static void samples(Samples& s) { Add::samples(s); }
};
HALFTONE_REGISTER_OPERATOR(Sub)

struct Mul : Binary<Mul, Fn::kMul> {
  static constexpr Schema schema{"mul", {"self", "other"}, "self * other"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::mul;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {0});

  static Gradients backward(const Saved& s, const Tensor& grad) {
    return {s.needs(0) ? grad * s.input(1) : Tensor(), s.needs(1) ? grad * s.input(0) : Tensor()};
  }
};
HALFTONE_REGISTER_OPERATOR(Mul)

struct DivBackwardOther : BinaryDerivative<DivBackwardOther, Fn::kDivBackwardOther> {
  static constexpr Schema schema{"div_backward_other", {"grad", "self", "other"}, "-grad * self / other^2"};
  static constexpr double low = 0.5;

  static Tensor second_self(const Tensor& v, const Tensor&, const Tensor& b) { return -(v / b / b); }
  static Tensor second_other(const Tensor& v, const Tensor& a, const Tensor& b) {
    return v * 2 * a / (b * b * b);
  }
};
HALFTONE_REGISTER_OPERATOR(DivBackwardOther)

struct Div : Binary<Div, Fn::kDiv> {
  static constexpr Schema schema{"div", {"self", "other"}, "self / other; integers give floats"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::div;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1);
  static constexpr bool kFloating = true;
  static constexpr double low = 0.5;

  static Gradients backward(const Saved& s, const Tensor& grad) {
    return {s.needs(0) ? grad / s.input(1) : Tensor(),
            s.needs(1) ? DivBackwardOther::call(grad, s.input(0), s.input(1)) : Tensor()};
  }
};
HALFTONE_REGISTER_OPERATOR(Div)

struct FloorDivide : Binary<FloorDivide, Fn::kFloorDivide> {
  static constexpr Schema schema{"floor_divide", {"self", "other"}, "self / other rounded down; gradient 0"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::floor_divide;

  static void run(const Tensor& out, const Tensor& self, const Tensor& other) {
    check_divisor("floor_divide", out, other);
    Binary::run(out, self, other);
  }
  static Gradients backward(const Saved& s, const Tensor& grad) {
    return {s.needs(0) ? zeros_like(grad) : Tensor(), s.needs(1) ? zeros_like(grad) : Tensor()};
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}, 2.2, 2.8), s.rand({2, 3}, 0.95, 1.05));
    s(s.rand({2, 1}, -1.9, -1.2), s.rand({3}, 1.93, 2));
    s(s.rand({0, 2}), s.rand({2}, 1, 2));
  }
};
HALFTONE_REGISTER_OPERATOR(FloorDivide)

struct Remainder : Binary<Remainder, Fn::kRemainder> {
  static constexpr Schema schema{"remainder", {"self", "other"}, "self - other * floor(self / other)"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::remainder;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {1});

  static void run(const Tensor& out, const Tensor& self, const Tensor& other) {
    check_divisor("remainder", out, other);
    Binary::run(out, self, other);
  }
  static Gradients backward(const Saved& s, const Tensor& grad) {
    return {grad, s.needs(1) ? -(grad * floor_divide(s.input(0), s.input(1))) : Tensor()};
  }
  static void samples(Samples& s) { FloorDivide::samples(s); }
};
HALFTONE_REGISTER_OPERATOR(Remainder)

struct Fmod : Binary<Fmod, Fn::kFmod> {
  static constexpr Schema schema{"fmod", {"self", "other"}, "self - other * trunc(self / other)"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::fmod;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1, {1});

  static void run(const Tensor& out, const Tensor& self, const Tensor& other) {
    check_divisor("fmod", out, other);
    Binary::run(out, self, other);
  }
  static Gradients backward(const Saved& s, const Tensor& grad) {
    return {grad, s.needs(1) ? -(grad * div(s.input(0), s.input(1), "trunc")) : Tensor()};
  }
  static void samples(Samples& s) { FloorDivide::samples(s); }
};
HALFTONE_REGISTER_OPERATOR(Fmod)

}  // namespace ops

using ops::wrapped_number;

Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return ops::dispatch<ops::Add>(self, other, alpha);
}
Tensor add(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  return add(self, wrapped_number(other), alpha);
}
Tensor sub(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return ops::dispatch<ops::Sub>(self, other, alpha);
}
Tensor sub(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  return sub(self, wrapped_number(other), alpha);
}
Tensor rsub(const Tensor& self, const Tensor& other, const Scalar& alpha) { return sub(other, self, alpha); }
Tensor rsub(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  return sub(wrapped_number(other), self, alpha);
}
Tensor mul(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Mul>(self, other); }
Tensor mul(const Tensor& self, const Scalar& other) { return mul(self, wrapped_number(other)); }
Tensor div(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Div>(self, other); }
Tensor div(const Tensor& self, const Scalar& other) { return div(self, wrapped_number(other)); }

Tensor div(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode) {
  if (!rounding_mode) return div(self, other);
  if (*rounding_mode == "floor") return floor_divide(self, other);
  if (*rounding_mode != "trunc") {
    fail("div", "rounding_mode must be \"trunc\" or \"floor\", got \"", *rounding_mode, "\"");
  }
  if (is_floating_point(ops::result_type(self, other))) return trunc(div(self, other));
  return floor_divide(self - fmod(self, other), other);  // exact: the difference is a multiple of the divisor
}
Tensor div(const Tensor& self, const Scalar& other, std::optional<std::string_view> rounding_mode) {
  return div(self, wrapped_number(other), rounding_mode);
}
Tensor floor_divide(const Tensor& self, const Tensor& other) {
  return ops::dispatch<ops::FloorDivide>(self, other);
}
Tensor floor_divide(const Tensor& self, const Scalar& other) {
  return floor_divide(self, wrapped_number(other));
}
Tensor remainder(const Tensor& self, const Tensor& other) {
  return ops::dispatch<ops::Remainder>(self, other);
}
Tensor remainder(const Tensor& self, const Scalar& other) { return remainder(self, wrapped_number(other)); }
Tensor fmod(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Fmod>(self, other); }
Tensor fmod(const Tensor& self, const Scalar& other) { return fmod(self, wrapped_number(other)); }

Tensor& add_(Tensor& self, const Tensor& other, const Scalar& alpha) {
  return ops::dispatch_inplace<ops::Add>(self, other, alpha);
}
Tensor& add_(Tensor& self, const Scalar& other, const Scalar& alpha) {
  return add_(self, wrapped_number(other), alpha);
}
Tensor& sub_(Tensor& self, const Tensor& other, const Scalar& alpha) {
  return ops::dispatch_inplace<ops::Sub>(self, other, alpha);
}
Tensor& sub_(Tensor& self, const Scalar& other, const Scalar& alpha) {
  return sub_(self, wrapped_number(other), alpha);
}
Tensor& mul_(Tensor& self, const Tensor& other) { return ops::dispatch_inplace<ops::Mul>(self, other); }
Tensor& mul_(Tensor& self, const Scalar& other) { return mul_(self, wrapped_number(other)); }
Tensor& div_(Tensor& self, const Tensor& other) { return ops::dispatch_inplace<ops::Div>(self, other); }
Tensor& div_(Tensor& self, const Scalar& other) { return div_(self, wrapped_number(other)); }

Tensor& floor_divide_(Tensor& self, const Tensor& other) {
  return ops::dispatch_inplace<ops::FloorDivide>(self, other);
}
Tensor& floor_divide_(Tensor& self, const Scalar& other) {
  return floor_divide_(self, wrapped_number(other));
}
Tensor& remainder_(Tensor& self, const Tensor& other) {
  return ops::dispatch_inplace<ops::Remainder>(self, other);
}
Tensor& remainder_(Tensor& self, const Scalar& other) { return remainder_(self, wrapped_number(other)); }
Tensor& fmod_(Tensor& self, const Tensor& other) { return ops::dispatch_inplace<ops::Fmod>(self, other); }
Tensor& fmod_(Tensor& self, const Scalar& other) { return fmod_(self, wrapped_number(other)); }

}  // namespace halftone
