// Rounding to integers, bounds, and replacing what is not finite.

#include <limits>

#include "halftone/ops/pointwise.h"

namespace halftone {
namespace ops {

struct Sign : Step<Sign, Fn::kSign> {
  static constexpr Schema schema{"sign", {"self"}, "-1, 0 or 1; 0 for NaN"};
  static constexpr auto api = &halftone::sign;
};
HALFTONE_REGISTER_OPERATOR(Sign)

struct Floor : Step<Floor, Fn::kFloor> {
  static constexpr Schema schema{"floor", {"self"}, "the largest integer not above each element"};
  static constexpr auto api = &halftone::floor;
};
HALFTONE_REGISTER_OPERATOR(Floor)

struct Ceil : Step<Ceil, Fn::kCeil> {
  static constexpr Schema schema{"ceil", {"self"}, "the smallest integer not below each element"};
  static constexpr auto api = &halftone::ceil;
};
HALFTONE_REGISTER_OPERATOR(Ceil)

struct Round : Step<Round, Fn::kRound> {
  static constexpr Schema schema{"round", {"self"}, "the nearest integer, halves to even"};
  static constexpr auto api = &halftone::round;
};
HALFTONE_REGISTER_OPERATOR(Round)

struct Trunc : Step<Trunc, Fn::kTrunc> {
  static constexpr Schema schema{"trunc", {"self"}, "the integer part of each element"};
  static constexpr auto api = &halftone::trunc;
};
HALFTONE_REGISTER_OPERATOR(Trunc)

struct Frac : Step<Frac, Fn::kFrac> {
  static constexpr Schema schema{"frac", {"self"}, "self - trunc(self)"};
  static constexpr auto api = &halftone::frac;

  static Meta infer(const Tensor& self) {
    if (!self.is_floating_point()) fail("frac", "expected a floating tensor, got ", self);
    return like(self);
  }
  static Tensor backward(const Saved&, const Tensor& grad) { return grad; }
};
HALFTONE_REGISTER_OPERATOR(Frac)

// --- Bounds
// -----------------------------------------------------------------------------------------------------

using Bound = std::optional<Scalar>;

namespace {

Params bounds(const Bound& min, const Bound& max) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {{min ? min->to_double() : -kInfinity, max ? max->to_double() : kInfinity}};
}

}  // namespace

struct ClampBackward : Operator {
  static constexpr Schema schema{"clamp_backward",
                                 {"grad", "self", "min", "max", "dtype"},
                                 "grad where self lies in the bounds or on them, else 0"};
  static Tensor call(const Tensor& grad, const Tensor& self, const Bound& min, const Bound& max,
                     ScalarType dtype) {
    return dispatch<ClampBackward>(grad, self, min, max, dtype);
  }
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Bound&, const Bound&,
                                 ScalarType) = &call;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(1, {0});

  static Meta infer(const Tensor& grad, const Tensor& self, const Bound&, const Bound&, ScalarType dtype) {
    Meta meta = broadcast_meta(schema.name, {&grad, &self}, dtype);
    meta.explicit_dtype = true;
    return meta;
  }
  static void run(const Tensor& out, const Tensor& grad, const Tensor& self, const Bound& min,
                  const Bound& max, ScalarType) {
    pointwise(Fn::kClampBackward, out, {&grad, &self}, bounds(min, max));
  }
  static Gradients backward(const Saved& s, const Tensor& g, const Bound& min, const Bound& max, ScalarType) {
    return {s.needs(0) ? call(g, s.input(1), min, max, s.dtype(0)) : Tensor(), Tensor()};
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}), -1.0, std::nullopt, kDouble);
    s(s.rand({7}), s.rand({7}), std::nullopt, 0.5, kFloat).smooth = false;  // rounds: no finite differences
    s(s.rand({0, 2}), s.rand({0, 2}), -1.0, 1.0, kDouble);
  }
};
HALFTONE_REGISTER_OPERATOR(ClampBackward)

struct Clamp : Operator {
  static constexpr Schema schema{"clamp", {"self", "min", "max"}, "min(max(self, lower bound), upper bound)"};
  static constexpr Tensor (*api)(const Tensor&, const Bound&, const Bound&) = &halftone::clamp;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr Keep saves = keep_input(0);

  static Meta infer(const Tensor& self, const Bound& min, const Bound& max) {
    if (!min && !max) fail("clamp", "expected min or max, got neither");
    const Tensor low = min ? wrapped_number(*min) : Tensor(), high = max ? wrapped_number(*max) : Tensor();
    return like(self, self.sizes(), result_type({&self, &low, &high}));
  }
  static void run(const Tensor& out, const Tensor& self, const Bound& min, const Bound& max) {
    if (out.is_floating_point()) {
      pointwise(Fn::kClamp, out, {&self}, bounds(min, max));
    } else {  // bounds beyond 2^53 are exact only as tensors
      using Limits = std::numeric_limits<std::int64_t>;
      const Tensor low = wrapped_number(min.value_or(Limits::min())),
                   high = wrapped_number(max.value_or(Limits::max()));
      pointwise(Fn::kClampTensor, out, {&self, &low, &high});
    }
  }
  static Tensor backward(const Saved& s, const Tensor& grad, const Bound& min, const Bound& max) {
    return ClampBackward::call(grad, s.input(0), min, max, s.dtype(0));
  }
  static void samples(Samples& s) {
    s(s.distinct({2, 3}), -0.25, std::nullopt);
    s(s.distinct({7}), std::nullopt, 0.25);
    s(s.distinct({2, 2}), -0.1, 0.1);
    s(s.rand({0, 2}), -1.0, 1.0);
  }
};
HALFTONE_REGISTER_OPERATOR(Clamp)

// --- NaN and infinities
// -----------------------------------------------------------------------------------------

struct NanToNumBackward : PiecewiseDerivative<NanToNumBackward, Fn::kNanToNumBackward> {
  static constexpr Schema schema{
      "nan_to_num_backward", {"grad", "self", "dtype"}, "grad where self is finite, else 0"};
};
HALFTONE_REGISTER_OPERATOR(NanToNumBackward)

struct NanToNum : Operator {
  using Number = std::optional<double>;
  static constexpr Schema schema{"nan_to_num",
                                 {"self", "nan", "posinf", "neginf"},
                                 "NaN becomes 0, infinities the dtype's largest numbers, or as given"};
  static constexpr auto api = &halftone::nan_to_num;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr Keep saves = keep_input(0);

  static Meta infer(const Tensor& self, Number, Number, Number) {
    return unary_meta("nan_to_num", self, true);
  }
  static void run(const Tensor& out, const Tensor& self, Number nan, Number posinf, Number neginf) {
    const double largest = max_value(self.scalar_type());
    pointwise(Fn::kNanToNum, out, {&self},
              {{nan.value_or(0), posinf.value_or(largest), neginf.value_or(-largest)}});
  }
  static Tensor backward(const Saved& s, const Tensor& grad, Number, Number, Number) {
    return NanToNumBackward::call(grad, s.input(0), s.dtype(0));
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), std::nullopt, std::nullopt, std::nullopt);
    Tensor special = s.rand({4});
    double* data = special.data_ptr<double>();
    data[0] = std::numeric_limits<double>::quiet_NaN();
    data[1] = std::numeric_limits<double>::infinity();
    data[2] = -data[1];
    s(special, 0.5, 2.0, -3.0).smooth = false;
    s(s.rand({0, 2}), 1.0, std::nullopt, std::nullopt);
  }
};
HALFTONE_REGISTER_OPERATOR(NanToNum)

}  // namespace ops

Tensor sign(const Tensor& self) { return ops::dispatch<ops::Sign>(self); }
Tensor floor(const Tensor& self) { return ops::dispatch<ops::Floor>(self); }
Tensor ceil(const Tensor& self) { return ops::dispatch<ops::Ceil>(self); }
Tensor round(const Tensor& self) { return ops::dispatch<ops::Round>(self); }
Tensor trunc(const Tensor& self) { return ops::dispatch<ops::Trunc>(self); }
Tensor frac(const Tensor& self) { return ops::dispatch<ops::Frac>(self); }
Tensor clamp(const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  return ops::dispatch<ops::Clamp>(self, min, max);
}
Tensor clamp_min(const Tensor& self, const Scalar& min) { return clamp(self, min, std::nullopt); }
Tensor clamp_max(const Tensor& self, const Scalar& max) { return clamp(self, std::nullopt, max); }
Tensor nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  return ops::dispatch<ops::NanToNum>(self, nan, posinf, neginf);
}

Tensor& floor_(Tensor& self) { return ops::dispatch_inplace<ops::Floor>(self); }
Tensor& ceil_(Tensor& self) { return ops::dispatch_inplace<ops::Ceil>(self); }
Tensor& round_(Tensor& self) { return ops::dispatch_inplace<ops::Round>(self); }
Tensor& sign_(Tensor& self) { return ops::dispatch_inplace<ops::Sign>(self); }
Tensor& trunc_(Tensor& self) { return ops::dispatch_inplace<ops::Trunc>(self); }
Tensor& frac_(Tensor& self) { return ops::dispatch_inplace<ops::Frac>(self); }
Tensor& clamp_(Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  return ops::dispatch_inplace<ops::Clamp>(self, min, max);
}
Tensor& nan_to_num_(Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                    std::optional<double> neginf) {
  return ops::dispatch_inplace<ops::NanToNum>(self, nan, posinf, neginf);
}
Tensor& clamp_min_(Tensor& self, const Scalar& min) { return clamp_(self, min, std::nullopt); }
Tensor& clamp_max_(Tensor& self, const Scalar& max) { return clamp_(self, std::nullopt, max); }

}  // namespace halftone
