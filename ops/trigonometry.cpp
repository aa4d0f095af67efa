// Trigonometric and hyperbolic functions and the error function.

#include "halftone/ops/pointwise.h"

namespace halftone {
namespace ops {

struct SinBackward : Derivative<SinBackward, Fn::kSinBackward> {
  static constexpr Schema schema{"sin_backward", {"grad", "self", "dtype"}, "grad * cos(self)"};
  static Tensor second(const Tensor& v, const Tensor& x) { return -(v * sin(x)); }
};
HALFTONE_REGISTER_OPERATOR(SinBackward)

struct Sin : Unary<Sin, Fn::kSin, SinBackward, Reads::kInput> {
  static constexpr Schema schema{"sin", {"self"}, "the sine of each element, in radians"};
  static constexpr auto api = &halftone::sin;
};
HALFTONE_REGISTER_OPERATOR(Sin)

struct CosBackward : Derivative<CosBackward, Fn::kCosBackward> {
  static constexpr Schema schema{"cos_backward", {"grad", "self", "dtype"}, "-grad * sin(self)"};
  static Tensor second(const Tensor& v, const Tensor& x) { return -(v * cos(x)); }
};
HALFTONE_REGISTER_OPERATOR(CosBackward)

struct Cos : Unary<Cos, Fn::kCos, CosBackward, Reads::kInput> {
  static constexpr Schema schema{"cos", {"self"}, "the cosine of each element, in radians"};
  static constexpr auto api = &halftone::cos;
};
HALFTONE_REGISTER_OPERATOR(Cos)

struct TanBackward : Derivative<TanBackward, Fn::kTanBackward> {
  static constexpr Schema schema{"tan_backward", {"grad", "result", "dtype"}, "grad * (1 + result^2)"};
  static Tensor second(const Tensor& v, const Tensor& y) { return v * y * 2; }
};
HALFTONE_REGISTER_OPERATOR(TanBackward)

struct Tan : Unary<Tan, Fn::kTan, TanBackward, Reads::kResult> {
  static constexpr Schema schema{"tan", {"self"}, "the tangent of each element, in radians"};
  static constexpr auto api = &halftone::tan;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr double low = -1, high = 1;
};
HALFTONE_REGISTER_OPERATOR(Tan)

struct AsinBackward : Derivative<AsinBackward, Fn::kAsinBackward> {
  static constexpr Schema schema{"asin_backward", {"grad", "self", "dtype"}, "grad / sqrt(1 - self^2)"};
  static constexpr double low = -0.8, high = 0.8;
  static Tensor second(const Tensor& v, const Tensor& x) { return v * x * pow(1 - x * x, -1.5); }
};
HALFTONE_REGISTER_OPERATOR(AsinBackward)

struct Asin : Unary<Asin, Fn::kAsin, AsinBackward, Reads::kInput> {
  static constexpr Schema schema{"asin", {"self"}, "the angle whose sine is self"};
  static constexpr auto api = &halftone::asin;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr double low = -0.8, high = 0.8;
};
HALFTONE_REGISTER_OPERATOR(Asin)

struct AcosBackward : Derivative<AcosBackward, Fn::kAcosBackward> {
  static constexpr Schema schema{"acos_backward", {"grad", "self", "dtype"}, "-grad / sqrt(1 - self^2)"};
  static constexpr double low = -0.8, high = 0.8;
  static Tensor second(const Tensor& v, const Tensor& x) { return -(v * x * pow(1 - x * x, -1.5)); }
};
HALFTONE_REGISTER_OPERATOR(AcosBackward)

struct Acos : Unary<Acos, Fn::kAcos, AcosBackward, Reads::kInput> {
  static constexpr Schema schema{"acos", {"self"}, "the angle whose cosine is self"};
  static constexpr auto api = &halftone::acos;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr double low = -0.8, high = 0.8;
};
HALFTONE_REGISTER_OPERATOR(Acos)

struct AtanBackward : Derivative<AtanBackward, Fn::kAtanBackward> {
  static constexpr Schema schema{"atan_backward", {"grad", "self", "dtype"}, "grad / (1 + self^2)"};
  static Tensor second(const Tensor& v, const Tensor& x) { return v * x * -2 / square(x * x + 1); }
};
HALFTONE_REGISTER_OPERATOR(AtanBackward)

struct Atan : Unary<Atan, Fn::kAtan, AtanBackward, Reads::kInput> {
  static constexpr Schema schema{"atan", {"self"}, "the angle whose tangent is self"};
  static constexpr auto api = &halftone::atan;
};
HALFTONE_REGISTER_OPERATOR(Atan)

struct SinhBackward : Derivative<SinhBackward, Fn::kSinhBackward> {
  static constexpr Schema schema{"sinh_backward", {"grad", "self", "dtype"}, "grad * cosh(self)"};
  static Tensor second(const Tensor& v, const Tensor& x) { return v * sinh(x); }
};
HALFTONE_REGISTER_OPERATOR(SinhBackward)

struct Sinh : Unary<Sinh, Fn::kSinh, SinhBackward, Reads::kInput> {
  static constexpr Schema schema{"sinh", {"self"}, "the hyperbolic sine of each element"};
  static constexpr auto api = &halftone::sinh;
  static constexpr auto precision = amp::Precision::kFp32;
};
HALFTONE_REGISTER_OPERATOR(Sinh)

struct CoshBackward : Derivative<CoshBackward, Fn::kCoshBackward> {
  static constexpr Schema schema{"cosh_backward", {"grad", "self", "dtype"}, "grad * sinh(self)"};
  static Tensor second(const Tensor& v, const Tensor& x) { return v * cosh(x); }
};
HALFTONE_REGISTER_OPERATOR(CoshBackward)

struct Cosh : Unary<Cosh, Fn::kCosh, CoshBackward, Reads::kInput> {
  static constexpr Schema schema{"cosh", {"self"}, "the hyperbolic cosine of each element"};
  static constexpr auto api = &halftone::cosh;
  static constexpr auto precision = amp::Precision::kFp32;
};
HALFTONE_REGISTER_OPERATOR(Cosh)

struct ErfBackward : Derivative<ErfBackward, Fn::kErfBackward> {
  static constexpr Schema schema{
      "erf_backward", {"grad", "self", "dtype"}, "grad * 2 / sqrt(pi) * exp(-self^2)"};
  static Tensor second(const Tensor& v, const Tensor& x) { return call(v, x, v.scalar_type()) * x * -2; }
};
HALFTONE_REGISTER_OPERATOR(ErfBackward)

struct Erf : Unary<Erf, Fn::kErf, ErfBackward, Reads::kInput> {
  static constexpr Schema schema{"erf", {"self"}, "the error function of each element"};
  static constexpr auto api = &halftone::erf;
};
HALFTONE_REGISTER_OPERATOR(Erf)

struct ErfcBackward : Derivative<ErfcBackward, Fn::kErfcBackward> {
  static constexpr Schema schema{
      "erfc_backward", {"grad", "self", "dtype"}, "-grad * 2 / sqrt(pi) * exp(-self^2)"};
  static Tensor second(const Tensor& v, const Tensor& x) { return call(v, x, v.scalar_type()) * x * -2; }
};
HALFTONE_REGISTER_OPERATOR(ErfcBackward)

struct Erfc : Unary<Erfc, Fn::kErfc, ErfcBackward, Reads::kInput> {
  static constexpr Schema schema{"erfc", {"self"}, "1 - erf(self), accurate in the tail"};
  static constexpr auto api = &halftone::erfc;
};
HALFTONE_REGISTER_OPERATOR(Erfc)

}  // namespace ops

Tensor sin(const Tensor& self) { return ops::dispatch<ops::Sin>(self); }
Tensor cos(const Tensor& self) { return ops::dispatch<ops::Cos>(self); }
Tensor tan(const Tensor& self) { return ops::dispatch<ops::Tan>(self); }
Tensor asin(const Tensor& self) { return ops::dispatch<ops::Asin>(self); }
Tensor acos(const Tensor& self) { return ops::dispatch<ops::Acos>(self); }
Tensor atan(const Tensor& self) { return ops::dispatch<ops::Atan>(self); }
Tensor sinh(const Tensor& self) { return ops::dispatch<ops::Sinh>(self); }
Tensor cosh(const Tensor& self) { return ops::dispatch<ops::Cosh>(self); }
Tensor erf(const Tensor& self) { return ops::dispatch<ops::Erf>(self); }
Tensor erfc(const Tensor& self) { return ops::dispatch<ops::Erfc>(self); }

Tensor& sin_(Tensor& self) { return ops::dispatch_inplace<ops::Sin>(self); }
Tensor& cos_(Tensor& self) { return ops::dispatch_inplace<ops::Cos>(self); }
Tensor& tan_(Tensor& self) { return ops::dispatch_inplace<ops::Tan>(self); }
Tensor& asin_(Tensor& self) { return ops::dispatch_inplace<ops::Asin>(self); }
Tensor& acos_(Tensor& self) { return ops::dispatch_inplace<ops::Acos>(self); }
Tensor& atan_(Tensor& self) { return ops::dispatch_inplace<ops::Atan>(self); }
Tensor& sinh_(Tensor& self) { return ops::dispatch_inplace<ops::Sinh>(self); }
Tensor& cosh_(Tensor& self) { return ops::dispatch_inplace<ops::Cosh>(self); }
Tensor& erf_(Tensor& self) { return ops::dispatch_inplace<ops::Erf>(self); }
Tensor& erfc_(Tensor& self) { return ops::dispatch_inplace<ops::Erfc>(self); }

}  // namespace halftone
