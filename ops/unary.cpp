// Elementary functions of one operand. A function whose rule takes more than one step has a backward operator
// beside it.

#include "halftone/ops/pointwise.h"

namespace halftone {
namespace ops {
namespace {

void refuse_bool(const char* op, const Tensor& self, const char* instead) {
  if (self.scalar_type() == kBool) fail(op, "expected a number tensor, got ", self, instead);
}

}  // namespace

// --- Signs, powers and roots
// ------------------------------------------------------------------------------------

struct Neg : Operator {
  static constexpr Schema schema{"neg", {"self"}, "self with its sign changed"};
  static constexpr auto api = &halftone::neg;
  static constexpr auto precision = amp::Precision::kAny;

  static Meta infer(const Tensor& self) {
    refuse_bool("neg", self, "; use logical_not");
    return unary_meta("neg", self, true);
  }
  static void run(const Tensor& out, const Tensor& self) { pointwise(Fn::kNeg, out, {&self}); }
  static Tensor backward(const Saved&, const Tensor& grad) { return neg(grad); }
  static void samples(Samples& s) {
    s(s.rand({2, 3}));
    s(s.rand({}));
    s(s.rand({0, 2}));
  }
};
HALFTONE_REGISTER_OPERATOR(Neg)

struct AbsBackward : PiecewiseDerivative<AbsBackward, Fn::kAbsBackward> {
  static constexpr Schema schema{"abs_backward", {"grad", "self", "dtype"}, "grad * sign(self)"};
  static constexpr double low = 0.1;
};
HALFTONE_REGISTER_OPERATOR(AbsBackward)

struct Abs : Unary<Abs, Fn::kAbs, AbsBackward, Reads::kInput> {
  static constexpr Schema schema{"abs", {"self"}, "the magnitude of each element"};
  static constexpr auto api = &halftone::abs;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr double low = 0.1;

  static Meta infer(const Tensor& self) {
    refuse_bool("abs", self, "");
    return unary_meta("abs", self, true);
  }
};
HALFTONE_REGISTER_OPERATOR(Abs)

struct ReciprocalBackward : Derivative<ReciprocalBackward, Fn::kReciprocalBackward> {
  static constexpr Schema schema{"reciprocal_backward", {"grad", "result", "dtype"}, "-grad * result^2"};
  static Tensor second(const Tensor& v, const Tensor& y) { return v * y * -2; }
};
HALFTONE_REGISTER_OPERATOR(ReciprocalBackward)

struct Reciprocal : Unary<Reciprocal, Fn::kReciprocal, ReciprocalBackward, Reads::kResult> {
  static constexpr Schema schema{"reciprocal", {"self"}, "1 / self"};
  static constexpr auto api = &halftone::reciprocal;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr double low = 0.5;
};
HALFTONE_REGISTER_OPERATOR(Reciprocal)

struct SquareBackward : Derivative<SquareBackward, Fn::kSquareBackward> {
  static constexpr Schema schema{"square_backward", {"grad", "self", "dtype"}, "2 * grad * self"};
  static Tensor second(const Tensor& v, const Tensor&) { return v * 2; }
};
HALFTONE_REGISTER_OPERATOR(SquareBackward)

struct Square : Unary<Square, Fn::kSquare, SquareBackward, Reads::kInput> {
  static constexpr Schema schema{"square", {"self"}, "self * self"};
  static constexpr auto api = &halftone::square;
  static constexpr bool keeps_integers = true;
};
HALFTONE_REGISTER_OPERATOR(Square)

struct SqrtBackward : Derivative<SqrtBackward, Fn::kSqrtBackward> {
  static constexpr Schema schema{"sqrt_backward", {"grad", "result", "dtype"}, "grad / (2 * result)"};
  static constexpr double low = 0.5;
  static Tensor second(const Tensor& v, const Tensor& y) { return v / (y * y) * -0.5; }
};
HALFTONE_REGISTER_OPERATOR(SqrtBackward)

struct Sqrt : Unary<Sqrt, Fn::kSqrt, SqrtBackward, Reads::kResult> {
  static constexpr Schema schema{"sqrt", {"self"}, "the square root of each element"};
  static constexpr auto api = &halftone::sqrt;
  static constexpr double low = 0.5;
};
HALFTONE_REGISTER_OPERATOR(Sqrt)

struct RsqrtBackward : Derivative<RsqrtBackward, Fn::kRsqrtBackward> {
  static constexpr Schema schema{"rsqrt_backward", {"grad", "result", "dtype"}, "-grad * result^3 / 2"};
  static Tensor second(const Tensor& v, const Tensor& y) { return v * y * y * -1.5; }
};
HALFTONE_REGISTER_OPERATOR(RsqrtBackward)

struct Rsqrt : Unary<Rsqrt, Fn::kRsqrt, RsqrtBackward, Reads::kResult> {
  static constexpr Schema schema{"rsqrt", {"self"}, "1 / sqrt(self)"};
  static constexpr auto api = &halftone::rsqrt;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr double low = 0.5;
};
HALFTONE_REGISTER_OPERATOR(Rsqrt)

// --- Exponentials and logarithms
// --------------------------------------------------------------------------------

struct Exp : Operator {
  static constexpr Schema schema{"exp", {"self"}, "e raised to each element"};
  static constexpr auto api = &halftone::exp;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr Keep saves = keep_result();

  static Meta infer(const Tensor& self) { return unary_meta("exp", self, false); }
  static void run(const Tensor& out, const Tensor& self) { pointwise(Fn::kExp, out, {&self}); }
  static Tensor backward(const Saved& s, const Tensor& grad) { return grad * s.result(); }
  static void samples(Samples& s) {
    s(s.rand({2, 3}, -3, 3));
    s(s.rand({}));
    s(s.rand({0, 2}));
  }
};
HALFTONE_REGISTER_OPERATOR(Exp)

constexpr double kLn2 = 0.693147180559945309417, kLn10 = 2.30258509299404568402;

struct Exp2Backward : Derivative<Exp2Backward, Fn::kExp2Backward> {
  static constexpr Schema schema{"exp2_backward", {"grad", "result", "dtype"}, "grad * result * ln 2"};
  static Tensor second(const Tensor& v, const Tensor&) { return v * kLn2; }
};
HALFTONE_REGISTER_OPERATOR(Exp2Backward)

struct Exp2 : Unary<Exp2, Fn::kExp2, Exp2Backward, Reads::kResult> {
  static constexpr Schema schema{"exp2", {"self"}, "2 raised to each element"};
  static constexpr auto api = &halftone::exp2;
};
HALFTONE_REGISTER_OPERATOR(Exp2)

struct Expm1Backward : Derivative<Expm1Backward, Fn::kExpm1Backward> {
  static constexpr Schema schema{"expm1_backward", {"grad", "result", "dtype"}, "grad * (result + 1)"};
  static Tensor second(const Tensor& v, const Tensor&) { return v; }
};
HALFTONE_REGISTER_OPERATOR(Expm1Backward)

struct Expm1 : Unary<Expm1, Fn::kExpm1, Expm1Backward, Reads::kResult> {
  static constexpr Schema schema{"expm1", {"self"}, "exp(self) - 1, accurate near 0"};
  static constexpr auto api = &halftone::expm1;
  static constexpr auto precision = amp::Precision::kFp32;
};
HALFTONE_REGISTER_OPERATOR(Expm1)

struct LogBackward : Derivative<LogBackward, Fn::kLogBackward> {
  static constexpr Schema schema{"log_backward", {"grad", "self", "dtype"}, "grad / self"};
  static constexpr double low = 0.5;
  static Tensor second(const Tensor& v, const Tensor& x) { return -(v / (x * x)); }
};
HALFTONE_REGISTER_OPERATOR(LogBackward)

struct Log : Unary<Log, Fn::kLog, LogBackward, Reads::kInput> {
  static constexpr Schema schema{"log", {"self"}, "the natural logarithm of each element"};
  static constexpr auto api = &halftone::log;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr double low = 0.5;
};
HALFTONE_REGISTER_OPERATOR(Log)

struct Log2Backward : Derivative<Log2Backward, Fn::kLog2Backward> {
  static constexpr Schema schema{"log2_backward", {"grad", "self", "dtype"}, "grad / (self * ln 2)"};
  static constexpr double low = 0.5;
  static Tensor second(const Tensor& v, const Tensor& x) { return v / (x * x) * (-1 / kLn2); }
};
HALFTONE_REGISTER_OPERATOR(Log2Backward)

struct Log2 : Unary<Log2, Fn::kLog2, Log2Backward, Reads::kInput> {
  static constexpr Schema schema{"log2", {"self"}, "the logarithm to base 2 of each element"};
  static constexpr auto api = &halftone::log2;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr double low = 0.5;
};
HALFTONE_REGISTER_OPERATOR(Log2)

struct Log10Backward : Derivative<Log10Backward, Fn::kLog10Backward> {
  static constexpr Schema schema{"log10_backward", {"grad", "self", "dtype"}, "grad / (self * ln 10)"};
  static constexpr double low = 0.5;
  static Tensor second(const Tensor& v, const Tensor& x) { return v / (x * x) * (-1 / kLn10); }
};
HALFTONE_REGISTER_OPERATOR(Log10Backward)

struct Log10 : Unary<Log10, Fn::kLog10, Log10Backward, Reads::kInput> {
  static constexpr Schema schema{"log10", {"self"}, "the logarithm to base 10 of each element"};
  static constexpr auto api = &halftone::log10;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr double low = 0.5;
};
HALFTONE_REGISTER_OPERATOR(Log10)

struct Log1pBackward : Derivative<Log1pBackward, Fn::kLog1pBackward> {
  static constexpr Schema schema{"log1p_backward", {"grad", "self", "dtype"}, "grad / (self + 1)"};
  static constexpr double low = -0.5;
  static Tensor second(const Tensor& v, const Tensor& x) { return -(v / square(x + 1)); }
};
HALFTONE_REGISTER_OPERATOR(Log1pBackward)

struct Log1p : Unary<Log1p, Fn::kLog1p, Log1pBackward, Reads::kInput> {
  static constexpr Schema schema{"log1p", {"self"}, "log(1 + self), accurate near 0"};
  static constexpr auto api = &halftone::log1p;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr double low = -0.5;
};
HALFTONE_REGISTER_OPERATOR(Log1p)

}  // namespace ops

Tensor neg(const Tensor& self) { return ops::dispatch<ops::Neg>(self); }
Tensor abs(const Tensor& self) { return ops::dispatch<ops::Abs>(self); }
Tensor reciprocal(const Tensor& self) { return ops::dispatch<ops::Reciprocal>(self); }
Tensor square(const Tensor& self) { return ops::dispatch<ops::Square>(self); }
Tensor sqrt(const Tensor& self) { return ops::dispatch<ops::Sqrt>(self); }
Tensor rsqrt(const Tensor& self) { return ops::dispatch<ops::Rsqrt>(self); }
Tensor exp(const Tensor& self) { return ops::dispatch<ops::Exp>(self); }
Tensor exp2(const Tensor& self) { return ops::dispatch<ops::Exp2>(self); }
Tensor expm1(const Tensor& self) { return ops::dispatch<ops::Expm1>(self); }
Tensor log(const Tensor& self) { return ops::dispatch<ops::Log>(self); }
Tensor log2(const Tensor& self) { return ops::dispatch<ops::Log2>(self); }
Tensor log10(const Tensor& self) { return ops::dispatch<ops::Log10>(self); }
Tensor log1p(const Tensor& self) { return ops::dispatch<ops::Log1p>(self); }

Tensor& neg_(Tensor& self) { return ops::dispatch_inplace<ops::Neg>(self); }
Tensor& abs_(Tensor& self) { return ops::dispatch_inplace<ops::Abs>(self); }
Tensor& reciprocal_(Tensor& self) { return ops::dispatch_inplace<ops::Reciprocal>(self); }
Tensor& square_(Tensor& self) { return ops::dispatch_inplace<ops::Square>(self); }
Tensor& sqrt_(Tensor& self) { return ops::dispatch_inplace<ops::Sqrt>(self); }
Tensor& rsqrt_(Tensor& self) { return ops::dispatch_inplace<ops::Rsqrt>(self); }
Tensor& exp_(Tensor& self) { return ops::dispatch_inplace<ops::Exp>(self); }
Tensor& log_(Tensor& self) { return ops::dispatch_inplace<ops::Log>(self); }
Tensor& exp2_(Tensor& self) { return ops::dispatch_inplace<ops::Exp2>(self); }
Tensor& expm1_(Tensor& self) { return ops::dispatch_inplace<ops::Expm1>(self); }
Tensor& log2_(Tensor& self) { return ops::dispatch_inplace<ops::Log2>(self); }
Tensor& log10_(Tensor& self) { return ops::dispatch_inplace<ops::Log10>(self); }
Tensor& log1p_(Tensor& self) { return ops::dispatch_inplace<ops::Log1p>(self); }

}  // namespace halftone
