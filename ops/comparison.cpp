// Comparisons and logic: bool results, no gradient.

#include "halftone/ops/pointwise.h"

namespace halftone {
namespace ops {

struct Eq : Comparison<Eq, Fn::kEq> {
  static constexpr Schema schema{"eq", {"self", "other"}, "where self == other"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::eq;
};
HALFTONE_REGISTER_OPERATOR(Eq)

struct Ne : Comparison<Ne, Fn::kNe> {
  static constexpr Schema schema{"ne", {"self", "other"}, "where self != other"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::ne;
};
HALFTONE_REGISTER_OPERATOR(Ne)

struct Lt : Comparison<Lt, Fn::kLt> {
  static constexpr Schema schema{"lt", {"self", "other"}, "where self < other"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::lt;
};
HALFTONE_REGISTER_OPERATOR(Lt)

struct Le : Comparison<Le, Fn::kLe> {
  static constexpr Schema schema{"le", {"self", "other"}, "where self <= other"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::le;
};
HALFTONE_REGISTER_OPERATOR(Le)

struct Gt : Comparison<Gt, Fn::kGt> {
  static constexpr Schema schema{"gt", {"self", "other"}, "where self > other"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::gt;
};
HALFTONE_REGISTER_OPERATOR(Gt)

struct Ge : Comparison<Ge, Fn::kGe> {
  static constexpr Schema schema{"ge", {"self", "other"}, "where self >= other"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::ge;
};
HALFTONE_REGISTER_OPERATOR(Ge)

struct LogicalAnd : Comparison<LogicalAnd, Fn::kLogicalAnd> {
  static constexpr Schema schema{"logical_and", {"self", "other"}, "where both are not 0"};
  static constexpr auto api = &halftone::logical_and;
};
HALFTONE_REGISTER_OPERATOR(LogicalAnd)

struct LogicalOr : Comparison<LogicalOr, Fn::kLogicalOr> {
  static constexpr Schema schema{"logical_or", {"self", "other"}, "where one is not 0"};
  static constexpr auto api = &halftone::logical_or;
};
HALFTONE_REGISTER_OPERATOR(LogicalOr)

struct LogicalXor : Comparison<LogicalXor, Fn::kLogicalXor> {
  static constexpr Schema schema{"logical_xor", {"self", "other"}, "where exactly one is not 0"};
  static constexpr auto api = &halftone::logical_xor;
};
HALFTONE_REGISTER_OPERATOR(LogicalXor)

struct LogicalNot : Predicate<LogicalNot, Fn::kLogicalNot> {
  static constexpr Schema schema{"logical_not", {"self"}, "where self is 0"};
  static constexpr auto api = &halftone::logical_not;
};
HALFTONE_REGISTER_OPERATOR(LogicalNot)

struct Signbit : Predicate<Signbit, Fn::kSignbit> {
  static constexpr Schema schema{"signbit", {"self"}, "where the sign bit is set: negative numbers and -0"};
  static constexpr auto api = &halftone::signbit;
};
HALFTONE_REGISTER_OPERATOR(Signbit)

struct IsNan : Predicate<IsNan, Fn::kIsNan> {
  static constexpr Schema schema{"isnan", {"self"}, "where self is NaN"};
  static constexpr auto api = &halftone::isnan;
};
HALFTONE_REGISTER_OPERATOR(IsNan)

struct IsInf : Predicate<IsInf, Fn::kIsInf> {
  static constexpr Schema schema{"isinf", {"self"}, "where self is infinite"};
  static constexpr auto api = &halftone::isinf;
};
HALFTONE_REGISTER_OPERATOR(IsInf)

struct IsFinite : Predicate<IsFinite, Fn::kIsFinite> {
  static constexpr Schema schema{"isfinite", {"self"}, "where self is neither infinite nor NaN"};
  static constexpr auto api = &halftone::isfinite;
};
HALFTONE_REGISTER_OPERATOR(IsFinite)

// --- Bitwise: integers and bool
// ---------------------------------------------------------------------------------

/// A bitwise operator of two operands.
template <class Op, Fn kFn>
struct Bitwise : Comparison<Op, kFn> {
  static Meta infer(const Tensor& self, const Tensor& other) {
    const ScalarType dtype = result_type(self, other);
    if (is_floating_point(dtype))
      fail(Op::schema.name, "expected integers or bool, got ", self, " and ", other);
    return broadcast_meta(Op::schema.name, {&self, &other}, dtype);
  }
  static void samples(Samples& s) {
    s(s.randint({3, 4}, -9, 9), s.randint({4}, -9, 9));
    s(s.mask({5}), s.mask({5}));
    s(s.randint({0, 2}, 0, 2), s.mask({}));
  }
};

struct BitwiseAnd : Bitwise<BitwiseAnd, Fn::kBitwiseAnd> {
  static constexpr Schema schema{"bitwise_and", {"self", "other"}, "the bits set in both"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::bitwise_and;
};
HALFTONE_REGISTER_OPERATOR(BitwiseAnd)

struct BitwiseOr : Bitwise<BitwiseOr, Fn::kBitwiseOr> {
  static constexpr Schema schema{"bitwise_or", {"self", "other"}, "the bits set in either"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::bitwise_or;
};
HALFTONE_REGISTER_OPERATOR(BitwiseOr)

struct BitwiseXor : Bitwise<BitwiseXor, Fn::kBitwiseXor> {
  static constexpr Schema schema{"bitwise_xor", {"self", "other"}, "the bits set in one but not the other"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::bitwise_xor;
};
HALFTONE_REGISTER_OPERATOR(BitwiseXor)

/// A shift: bits that leave the type are lost.
template <class Op, Fn kFn>
struct Shift : Bitwise<Op, kFn> {
  static Meta infer(const Tensor& self, const Tensor& other) {
    const Meta meta = Bitwise<Op, kFn>::infer(self, other);
    if (meta.dtype == kBool) fail(Op::schema.name, "expected integers, got ", self, " and ", other);
    return meta;
  }
  static void run(const Tensor& out, const Tensor& self, const Tensor& other) {
    pointwise(kFn, out, {&self, &other}, {{static_cast<double>(8 * out.element_size())}});
  }
  static void samples(Samples& s) {
    s(s.randint({3, 4}, -9, 9), s.randint({4}, 0, 5));
    s(s.randint({5}, -9, 9), s.randint({}, 60, 70));
    s(s.randint({0, 2}, 0, 2), s.randint({2}, 0, 2));
  }
};

struct BitwiseLeftShift : Shift<BitwiseLeftShift, Fn::kShiftLeft> {
  static constexpr Schema schema{"bitwise_left_shift", {"self", "other"}, "self * 2^other, bit by bit"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::bitwise_left_shift;
};
HALFTONE_REGISTER_OPERATOR(BitwiseLeftShift)

struct BitwiseRightShift : Shift<BitwiseRightShift, Fn::kShiftRight> {
  static constexpr Schema schema{"bitwise_right_shift", {"self", "other"}, "self / 2^other rounded down"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&) = &halftone::bitwise_right_shift;
};
HALFTONE_REGISTER_OPERATOR(BitwiseRightShift)

struct BitwiseNot : Predicate<BitwiseNot, Fn::kBitwiseNot> {
  static constexpr Schema schema{"bitwise_not", {"self"}, "every bit flipped; logical negation of bool"};
  static constexpr auto api = &halftone::bitwise_not;

  static Meta infer(const Tensor& self) {
    if (self.is_floating_point()) fail("bitwise_not", "expected integers or bool, got ", self);
    return like(self);
  }
  static void run(const Tensor& out, const Tensor& self) {
    pointwise(self.scalar_type() == kBool ? Fn::kLogicalNot : Fn::kBitwiseNot, out, {&self});
  }
  static void samples(Samples& s) {
    s(s.randint({5}, -9, 9));
    s(s.mask({2, 3}));
    s(s.randint({0, 2}, 0, 2));
  }
};
HALFTONE_REGISTER_OPERATOR(BitwiseNot)

}  // namespace ops

Tensor eq(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Eq>(self, other); }
Tensor ne(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Ne>(self, other); }
Tensor lt(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Lt>(self, other); }
Tensor le(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Le>(self, other); }
Tensor gt(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Gt>(self, other); }
Tensor ge(const Tensor& self, const Tensor& other) { return ops::dispatch<ops::Ge>(self, other); }
Tensor eq(const Tensor& self, const Scalar& other) { return eq(self, ops::wrapped_number(other)); }
Tensor ne(const Tensor& self, const Scalar& other) { return ne(self, ops::wrapped_number(other)); }
Tensor lt(const Tensor& self, const Scalar& other) { return lt(self, ops::wrapped_number(other)); }
Tensor le(const Tensor& self, const Scalar& other) { return le(self, ops::wrapped_number(other)); }
Tensor gt(const Tensor& self, const Scalar& other) { return gt(self, ops::wrapped_number(other)); }
Tensor ge(const Tensor& self, const Scalar& other) { return ge(self, ops::wrapped_number(other)); }
Tensor logical_and(const Tensor& self, const Tensor& other) {
  return ops::dispatch<ops::LogicalAnd>(self, other);
}
Tensor logical_or(const Tensor& self, const Tensor& other) {
  return ops::dispatch<ops::LogicalOr>(self, other);
}
Tensor logical_xor(const Tensor& self, const Tensor& other) {
  return ops::dispatch<ops::LogicalXor>(self, other);
}
Tensor logical_not(const Tensor& self) { return ops::dispatch<ops::LogicalNot>(self); }
Tensor bitwise_and(const Tensor& self, const Tensor& other) {
  return ops::dispatch<ops::BitwiseAnd>(self, other);
}
Tensor bitwise_or(const Tensor& self, const Tensor& other) {
  return ops::dispatch<ops::BitwiseOr>(self, other);
}
Tensor bitwise_xor(const Tensor& self, const Tensor& other) {
  return ops::dispatch<ops::BitwiseXor>(self, other);
}
Tensor bitwise_not(const Tensor& self) { return ops::dispatch<ops::BitwiseNot>(self); }
Tensor bitwise_left_shift(const Tensor& self, const Tensor& other) {
  return ops::dispatch<ops::BitwiseLeftShift>(self, other);
}
Tensor bitwise_right_shift(const Tensor& self, const Tensor& other) {
  return ops::dispatch<ops::BitwiseRightShift>(self, other);
}
Tensor bitwise_and(const Tensor& self, const Scalar& other) {
  return bitwise_and(self, ops::wrapped_number(other));
}
Tensor bitwise_or(const Tensor& self, const Scalar& other) {
  return bitwise_or(self, ops::wrapped_number(other));
}
Tensor bitwise_xor(const Tensor& self, const Scalar& other) {
  return bitwise_xor(self, ops::wrapped_number(other));
}
Tensor bitwise_left_shift(const Tensor& self, const Scalar& other) {
  return bitwise_left_shift(self, ops::wrapped_number(other));
}
Tensor bitwise_right_shift(const Tensor& self, const Scalar& other) {
  return bitwise_right_shift(self, ops::wrapped_number(other));
}
Tensor signbit(const Tensor& self) { return ops::dispatch<ops::Signbit>(self); }
Tensor isnan(const Tensor& self) { return ops::dispatch<ops::IsNan>(self); }
Tensor isinf(const Tensor& self) { return ops::dispatch<ops::IsInf>(self); }
Tensor isfinite(const Tensor& self) { return ops::dispatch<ops::IsFinite>(self); }

Tensor& eq_(Tensor& self, const Tensor& other) { return ops::dispatch_inplace<ops::Eq>(self, other); }
Tensor& ne_(Tensor& self, const Tensor& other) { return ops::dispatch_inplace<ops::Ne>(self, other); }
Tensor& lt_(Tensor& self, const Tensor& other) { return ops::dispatch_inplace<ops::Lt>(self, other); }
Tensor& le_(Tensor& self, const Tensor& other) { return ops::dispatch_inplace<ops::Le>(self, other); }
Tensor& gt_(Tensor& self, const Tensor& other) { return ops::dispatch_inplace<ops::Gt>(self, other); }
Tensor& ge_(Tensor& self, const Tensor& other) { return ops::dispatch_inplace<ops::Ge>(self, other); }
Tensor& eq_(Tensor& self, const Scalar& other) { return eq_(self, ops::wrapped_number(other)); }
Tensor& ne_(Tensor& self, const Scalar& other) { return ne_(self, ops::wrapped_number(other)); }
Tensor& lt_(Tensor& self, const Scalar& other) { return lt_(self, ops::wrapped_number(other)); }
Tensor& le_(Tensor& self, const Scalar& other) { return le_(self, ops::wrapped_number(other)); }
Tensor& gt_(Tensor& self, const Scalar& other) { return gt_(self, ops::wrapped_number(other)); }
Tensor& ge_(Tensor& self, const Scalar& other) { return ge_(self, ops::wrapped_number(other)); }
Tensor& logical_and_(Tensor& self, const Tensor& other) {
  return ops::dispatch_inplace<ops::LogicalAnd>(self, other);
}
Tensor& logical_or_(Tensor& self, const Tensor& other) {
  return ops::dispatch_inplace<ops::LogicalOr>(self, other);
}
Tensor& logical_xor_(Tensor& self, const Tensor& other) {
  return ops::dispatch_inplace<ops::LogicalXor>(self, other);
}
Tensor& logical_not_(Tensor& self) { return ops::dispatch_inplace<ops::LogicalNot>(self); }
Tensor& bitwise_and_(Tensor& self, const Tensor& other) {
  return ops::dispatch_inplace<ops::BitwiseAnd>(self, other);
}
Tensor& bitwise_or_(Tensor& self, const Tensor& other) {
  return ops::dispatch_inplace<ops::BitwiseOr>(self, other);
}
Tensor& bitwise_xor_(Tensor& self, const Tensor& other) {
  return ops::dispatch_inplace<ops::BitwiseXor>(self, other);
}
Tensor& bitwise_not_(Tensor& self) { return ops::dispatch_inplace<ops::BitwiseNot>(self); }
Tensor& bitwise_left_shift_(Tensor& self, const Tensor& other) {
  return ops::dispatch_inplace<ops::BitwiseLeftShift>(self, other);
}
Tensor& bitwise_right_shift_(Tensor& self, const Tensor& other) {
  return ops::dispatch_inplace<ops::BitwiseRightShift>(self, other);
}
Tensor& bitwise_and_(Tensor& self, const Scalar& other) {
  return bitwise_and_(self, ops::wrapped_number(other));
}
Tensor& bitwise_or_(Tensor& self, const Scalar& other) {
  return bitwise_or_(self, ops::wrapped_number(other));
}
Tensor& bitwise_xor_(Tensor& self, const Scalar& other) {
  return bitwise_xor_(self, ops::wrapped_number(other));
}
Tensor& bitwise_left_shift_(Tensor& self, const Scalar& other) {
  return bitwise_left_shift_(self, ops::wrapped_number(other));
}
Tensor& bitwise_right_shift_(Tensor& self, const Scalar& other) {
  return bitwise_right_shift_(self, ops::wrapped_number(other));
}

bool equal(const Tensor& self, const Tensor& other) {
  if (self.sizes() != other.sizes()) return false;
  return all(eq(self, other)).item<bool>();
}

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  if (!(rtol >= 0) || !(atol >= 0))
    fail("isclose", "rtol and atol must not be negative, got ", rtol, " and ", atol);
  NoGradGuard no_grad;
  Tensor close = eq(self, other);  // infinities of one sign, and integers beyond 2^53
  if (equal_nan) close = logical_or(close, logical_and(isnan(self), isnan(other)));
  const Tensor a = self.to(kDouble), b = other.to(kDouble);
  const Tensor near = le(abs(a - b), abs(b) * rtol + atol);
  return logical_or(close, logical_and(near, logical_and(isfinite(a), isfinite(b))));
}

bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return all(isclose(self, other, rtol, atol, equal_nan)).item<bool>();
}

}  // namespace halftone
