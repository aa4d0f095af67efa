// SELU, CELU and softsign, each with its backward operator.

#include "halftone/engine/nn_functions.h"
#include "halftone/ops/pointwise.h"

namespace halftone {
namespace ops {

struct SoftsignBackward : Derivative<SoftsignBackward, Fn::kSoftsignBackward> {
  static constexpr Schema schema{"softsign_backward", {"grad", "self", "dtype"}, "grad / (1 + |self|)^2"};
  static Tensor second(const Tensor& v, const Tensor& x) {
    const Tensor d = abs(x) + 1;
    return v * sign(x) * -2 / (d * d * d);
  }
};
HALFTONE_REGISTER_OPERATOR(SoftsignBackward)

struct Softsign : Unary<Softsign, Fn::kSoftsign, SoftsignBackward, Reads::kInput> {
  static constexpr Schema schema{"softsign", {"self"}, "self / (1 + |self|)"};
  static constexpr auto api = &halftone::softsign;
};
HALFTONE_REGISTER_OPERATOR(Softsign)

struct SeluBackward : Derivative<SeluBackward, Fn::kSeluBackward> {
  static constexpr Schema schema{"selu_backward", {"grad", "self", "dtype"}, "grad * derivative of selu"};
  static Tensor second(const Tensor& v, const Tensor& x) {
    return where(x > 0, 0, v * exp(x) * (1.0507009873554804934 * 1.6732632423543772848));
  }
};
HALFTONE_REGISTER_OPERATOR(SeluBackward)

struct Selu : Unary<Selu, Fn::kSelu, SeluBackward, Reads::kInput> {
  static constexpr Schema schema{
      "selu", {"self"}, "1.0507 * self; 1.0507 * 1.6733 * (exp(self) - 1) where self <= 0"};
  static constexpr auto api = &halftone::selu;
};
HALFTONE_REGISTER_OPERATOR(Selu)

struct CeluBackward : Derivative<CeluBackward, Fn::kCeluBackward, Scalar> {
  static constexpr Schema schema{
      "celu_backward", {"grad", "self", "alpha", "dtype"}, "grad, times exp(self / alpha) where self <= 0"};
  static Tensor second(const Tensor& v, const Tensor& x, const Scalar& alpha) {
    return where(x > 0, 0, v * exp(x / alpha) / alpha);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}), 1.0, kDouble);
    s(s.rand({7}), s.rand({7}), 2.0, kFloat).smooth = false;  // rounds: no finite differences
    s(s.rand({0, 2}), s.rand({0, 2}), 1.0, kDouble);
  }
};
HALFTONE_REGISTER_OPERATOR(CeluBackward)

struct Celu : Unary<Celu, Fn::kCelu, CeluBackward, Reads::kInput, Scalar> {
  static constexpr Schema schema{
      "celu", {"self", "alpha"}, "self; alpha * (exp(self / alpha) - 1) where self <= 0"};
  static constexpr auto api = &halftone::celu;
  static Meta infer(const Tensor& self, const Scalar& alpha) {
    if (alpha.to_double() == 0) fail(schema.name, "alpha must not be 0");
    return Unary::infer(self, alpha);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), 1.0);
    s(s.rand({7}), 2.0);
    s(s.rand({0, 2}), 1.0);
  }
};
HALFTONE_REGISTER_OPERATOR(Celu)

}  // namespace ops

Tensor softsign(const Tensor& self) { return ops::dispatch<ops::Softsign>(self); }
Tensor selu(const Tensor& self) { return ops::dispatch<ops::Selu>(self); }
Tensor celu(const Tensor& self, const Scalar& alpha) { return ops::dispatch<ops::Celu>(self, alpha); }
Tensor& selu_(Tensor& self) { return ops::dispatch_inplace<ops::Selu>(self); }
Tensor& celu_(Tensor& self, const Scalar& alpha) { return ops::dispatch_inplace<ops::Celu>(self, alpha); }

}  // namespace halftone
