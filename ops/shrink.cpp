// Piecewise linear activations besides relu's family, each with its backward operator.

#include "halftone/engine/nn_functions.h"
#include "halftone/ops/pointwise.h"

namespace halftone {
namespace ops {

struct HardsigmoidBackward : PiecewiseDerivative<HardsigmoidBackward, Fn::kHardsigmoidBackward> {
  static constexpr Schema schema{
      "hardsigmoid_backward", {"grad", "self", "dtype"}, "grad / 6 where -3 < self < 3, else 0"};
  static constexpr double low = -4, high = 4;
};
HALFTONE_REGISTER_OPERATOR(HardsigmoidBackward)

struct Hardsigmoid : Unary<Hardsigmoid, Fn::kHardsigmoid, HardsigmoidBackward, Reads::kInput> {
  static constexpr Schema schema{"hardsigmoid", {"self"}, "min(max(self + 3, 0), 6) / 6"};
  static constexpr auto api = &halftone::hardsigmoid;
  static constexpr double low = -4, high = 4;
};
HALFTONE_REGISTER_OPERATOR(Hardsigmoid)

struct HardswishBackward : Derivative<HardswishBackward, Fn::kHardswishBackward> {
  static constexpr Schema schema{"hardswish_backward",
                                 {"grad", "self", "dtype"},
                                 "grad * (self / 3 + 1 / 2) where -3 < self < 3; 0 below, grad above"};
  static Tensor second(const Tensor& v, const Tensor& x) { return where(abs(x) < 3, v / 3, 0); }
  static constexpr double low = -4, high = 4;
};
HALFTONE_REGISTER_OPERATOR(HardswishBackward)

struct Hardswish : Unary<Hardswish, Fn::kHardswish, HardswishBackward, Reads::kInput> {
  static constexpr Schema schema{"hardswish", {"self"}, "self * min(max(self + 3, 0), 6) / 6"};
  static constexpr auto api = &halftone::hardswish;
  static constexpr double low = -4, high = 4;
};
HALFTONE_REGISTER_OPERATOR(Hardswish)

struct ShrinkBackward : PiecewiseDerivative<ShrinkBackward, Fn::kShrinkBackward, Scalar> {
  static constexpr Schema schema{
      "shrink_backward", {"grad", "self", "lambd", "dtype"}, "grad where |self| > lambd, else 0"};
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}), 0.5, kDouble);
    s(s.rand({7}), s.rand({7}), 1.0, kFloat).smooth = false;  // rounds: no finite differences
    s(s.rand({0, 2}), s.rand({0, 2}), 0.5, kDouble);
  }
};
HALFTONE_REGISTER_OPERATOR(ShrinkBackward)

namespace {

Meta shrink_meta(const char* op, const Tensor& self, const Scalar& lambd) {
  if (!(lambd.to_double() >= 0)) fail(op, "expected lambd >= 0, got ", lambd.to_double());
  return unary_meta(op, self, false);
}

}  // namespace

struct Hardshrink : Unary<Hardshrink, Fn::kHardshrink, ShrinkBackward, Reads::kInput, Scalar> {
  static constexpr Schema schema{"hardshrink", {"self", "lambd"}, "self; 0 where |self| <= lambd"};
  static constexpr auto api = &halftone::hardshrink;
  static constexpr auto precision = amp::Precision::kAny;
  static Meta infer(const Tensor& self, const Scalar& lambd) { return shrink_meta(schema.name, self, lambd); }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), 0.5);
    s(s.rand({7}), 1.0);
    s(s.rand({0, 2}), 0.5);
  }
};
HALFTONE_REGISTER_OPERATOR(Hardshrink)

struct Softshrink : Unary<Softshrink, Fn::kSoftshrink, ShrinkBackward, Reads::kInput, Scalar> {
  static constexpr Schema schema{
      "softshrink", {"self", "lambd"}, "self moved towards 0 by lambd, at most to 0"};
  static constexpr auto api = &halftone::softshrink;
  static constexpr auto precision = amp::Precision::kAny;
  static Meta infer(const Tensor& self, const Scalar& lambd) { return shrink_meta(schema.name, self, lambd); }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), 0.5);
    s(s.rand({7}), 1.0);
    s(s.rand({0, 2}), 0.5);
  }
};
HALFTONE_REGISTER_OPERATOR(Softshrink)

struct ThresholdBackward : PiecewiseDerivative<ThresholdBackward, Fn::kThresholdBackward, Scalar, Scalar> {
  static constexpr Schema schema{"threshold_backward",
                                 {"grad", "self", "threshold", "value", "dtype"},
                                 "grad where self > threshold, else 0"};
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}), 0.5, 1, kDouble);
    s(s.rand({7}), s.rand({7}), -1, 0, kFloat).smooth = false;  // rounds: no finite differences
    s(s.rand({0, 2}), s.rand({0, 2}), 0.5, 1, kDouble);
  }
};
HALFTONE_REGISTER_OPERATOR(ThresholdBackward)

struct Threshold : Unary<Threshold, Fn::kThreshold, ThresholdBackward, Reads::kInput, Scalar, Scalar> {
  static constexpr Schema schema{
      "threshold", {"self", "threshold", "value"}, "self where self > threshold, else value"};
  static constexpr auto api = &halftone::threshold;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool keeps_integers = true;
  static void samples(Samples& s) {
    s(s.rand({2, 3}), 0.5, 1);
    s(s.rand({7}), -1, 0);
    s(s.rand({0, 2}), 0.5, 1);
  }
};
HALFTONE_REGISTER_OPERATOR(Threshold)

}  // namespace ops

Tensor hardsigmoid(const Tensor& self) { return ops::dispatch<ops::Hardsigmoid>(self); }
Tensor hardswish(const Tensor& self) { return ops::dispatch<ops::Hardswish>(self); }
Tensor hardshrink(const Tensor& self, const Scalar& lambd) {
  return ops::dispatch<ops::Hardshrink>(self, lambd);
}
Tensor softshrink(const Tensor& self, const Scalar& lambd) {
  return ops::dispatch<ops::Softshrink>(self, lambd);
}
Tensor threshold(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  return ops::dispatch<ops::Threshold>(self, threshold, value);
}

Tensor& hardsigmoid_(Tensor& self) { return ops::dispatch_inplace<ops::Hardsigmoid>(self); }
Tensor& hardswish_(Tensor& self) { return ops::dispatch_inplace<ops::Hardswish>(self); }
Tensor& threshold_(Tensor& self, const Scalar& threshold, const Scalar& value) {
  return ops::dispatch_inplace<ops::Threshold>(self, threshold, value);
}

}  // namespace halftone
