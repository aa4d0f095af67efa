#pragma once

// What declarations of pointwise operators have in common, so that each states only its formula, policy and
// samples.

#include <initializer_list>

#include "halftone/kernels/pointwise.h"
#include "halftone/ops/operator.h"
#include "halftone/ops/promotion.h"

namespace halftone::ops {

/// Writes fn(in...) to `out`, on out's device.
void pointwise(Fn fn, const Tensor& out, std::initializer_list<const Tensor*> in, const Params& params = {});

/// A result of the shape the tensors broadcast to, on their device; tensors of no dimensions on the CPU, such
/// as wrapped numbers, go with any. Throws Error naming `op` when one is undefined, on another device, or
/// does not broadcast.
Meta broadcast_meta(const char* op, std::initializer_list<const Tensor*> tensors, ScalarType dtype);

/// A result shaped like `self`; integers give the default dtype unless `keeps_integers`.
Meta unary_meta(const char* op, const Tensor& self, bool keeps_integers);

/// A factor of an integer result must be an integer. Throws Error naming `op` and `name`.
void check_factor(const char* op, const char* name, ScalarType dtype, const Scalar& factor);

/// value * a * b and value * a / b, rounded once: the gradients of scaled products.
Tensor scaled_product(const Scalar& value, const Tensor& a, const Tensor& b);
Tensor scaled_quotient(const Scalar& value, const Tensor& a, const Tensor& b);

/// A kernel's scalar arguments.
template <class... Attributes>
Params params_of(const Attributes&... attributes) {
  return {{attributes.to_double()...}};
}

/// grad * h(x), the gradient rule of a function of one operand, as one operator. x is the function's input or
/// result, h its derivative in terms of that; scalar attributes are the function's own. The result is written
/// in `dtype`.
///
/// `Op` declares `schema`, `Fn kFn`, and `second(v, x, attributes...)` = v h'(x), composed of public
/// operators; without it h is constant between kinks.
template <class Op, Fn kFn, class... Attributes>
struct Derivative : Operator {
  static Tensor call(const Tensor& grad, const Tensor& x, const Attributes&... attributes, ScalarType dtype) {
    return dispatch<Op>(grad, x, attributes..., dtype);
  }
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Attributes&..., ScalarType) = &call;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0, {1}) | keep_input(1);
  static constexpr double low = -2, high = 2;

  static Meta infer(const Tensor& grad, const Tensor& x, const Attributes&..., ScalarType dtype) {
    Meta meta = broadcast_meta(Op::schema.name, {&grad, &x}, dtype);
    meta.explicit_dtype = true;
    return meta;
  }
  static void run(const Tensor& out, const Tensor& grad, const Tensor& x, const Attributes&... attributes,
                  ScalarType) {
    pointwise(kFn, out, {&grad, &x}, params_of(attributes...));
  }
  static Gradients backward(const Saved& s, const Tensor& g, const Attributes&... attributes, ScalarType) {
    Gradients grads{Tensor(), Tensor()};
    const Tensor x = s.input(1);
    if (s.needs(0)) grads[0] = call(g, x, attributes..., s.dtype(0));
    if constexpr (requires { Op::second(g, x, attributes...); }) {
      if (s.needs(1)) grads[1] = Op::second(g * s.input(0), x, attributes...);
    }
    return grads;
  }
  static void samples(Samples& s) requires(sizeof...(Attributes) == 0) {
    s(s.rand({2, 3}), s.rand({2, 3}, Op::low, Op::high), kDouble);
    s(s.rand({7}), s.rand({7}, Op::low, Op::high), kFloat).smooth = false;  // rounds: no finite differences
    s(s.rand({0, 2}), s.rand({0, 2}), kDouble);
  }
};

/// The backward operator of a piecewise linear function: its second derivative is zero.
template <class Op, Fn kFn, class... Attributes>
struct PiecewiseDerivative : Derivative<Op, kFn, Attributes...> {
  static constexpr Keep saves = keep_input(1, {0});
};

/// What a gradient rule of one operand reads.
enum class Reads { kInput, kResult };

/// A function of one operand with scalar attributes; its gradient is the operator `Backward`, a Derivative.
template <class Op, Fn kFn, class Backward, Reads kReads, class... Attributes>
struct Unary : Operator {
  static constexpr auto precision = amp::Precision::kFp32Inside;
  static constexpr bool keeps_integers = false;
  static constexpr Keep saves = kReads == Reads::kInput ? keep_input(0) : keep_result();
  static constexpr double low = -2, high = 2;

  static Meta infer(const Tensor& self, const Attributes&...) {
    return unary_meta(Op::schema.name, self, Op::keeps_integers);
  }
  static void run(const Tensor& out, const Tensor& self, const Attributes&... attributes) {
    pointwise(kFn, out, {&self}, params_of(attributes...));
  }
  static Tensor backward(const Saved& s, const Tensor& grad, const Attributes&... attributes) {
    return Backward::call(grad, kReads == Reads::kInput ? s.input(0) : s.result(), attributes..., s.dtype(0));
  }
  static void samples(Samples& s) requires(sizeof...(Attributes) == 0) {
    s(s.rand({2, 3}, Op::low, Op::high));
    s(s.rand({7}, Op::low, Op::high));
    s(s.rand({}, Op::low, Op::high));
    s(s.rand({0, 2}));
  }
};

/// A step function of one operand: integers stay as they are, the gradient is zero.
template <class Op, Fn kFn>
struct Step : Operator {
  static constexpr auto precision = amp::Precision::kAny;

  static Meta infer(const Tensor& self) { return unary_meta(Op::schema.name, self, true); }
  static void run(const Tensor& out, const Tensor& self) { pointwise(kFn, out, {&self}); }
  static Tensor backward(const Saved&, const Tensor& grad) { return zeros_like(grad); }
  static void samples(Samples& s) {
    s(s.rand({2, 3}, 0.1, 0.4));
    s(s.rand({7}, -1.4, -1.1));
    s(s.rand({0, 2}));
  }
};

/// A function of two operands that broadcast. `Op` may set `kFloating` (integers give floats).
template <class Op, Fn kFn>
struct Binary : Operator {
  static constexpr auto precision = amp::Precision::kPromote;
  static constexpr bool mixed_inputs = true;
  static constexpr bool kFloating = false;
  static constexpr double low = -2, high = 2;

  static Meta infer(const Tensor& self, const Tensor& other) {
    const ScalarType dtype = result_type(self, other);
    return broadcast_meta(Op::schema.name, {&self, &other},
                          Op::kFloating ? floating_or_default(dtype) : dtype);
  }
  static void run(const Tensor& out, const Tensor& self, const Tensor& other) {
    pointwise(kFn, out, {&self, &other});
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}, Op::low, Op::high));
    s(s.rand({2, 1, 2}), s.rand({3, 1}, Op::low, Op::high));
    s(s.rand({}), s.rand({4}, Op::low, Op::high));
    s(s.rand({0, 2}), s.rand({2}, Op::low, Op::high));
  }
};

/// grad * h(a, b): one of the two gradients of a function of two operands, as one operator. `Op` declares
/// `schema` and `second_self(v, a, b)` = v dh/da, `second_other(v, a, b)` = v dh/db; without them h is
/// constant between kinks. The result has the operands' common dtype: a broadcast operand's gradient is
/// summed before it is rounded to its dtype.
template <class Op, Fn kFn>
struct BinaryDerivative : Operator {
  static Tensor call(const Tensor& grad, const Tensor& self, const Tensor& other) {
    return dispatch<Op>(grad, self, other);
  }
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&) = &call;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0, {1, 2}) | keep_input(1) | keep_input(2);
  static constexpr double low = -2, high = 2;

  static Meta infer(const Tensor& grad, const Tensor& self, const Tensor& other) {
    return broadcast_meta(Op::schema.name, {&grad, &self, &other},
                          floating_result_type({&grad, &self, &other}));
  }
  static void run(const Tensor& out, const Tensor& grad, const Tensor& self, const Tensor& other) {
    pointwise(kFn, out, {&grad, &self, &other});
  }
  static Gradients backward(const Saved& s, const Tensor& g) {
    Gradients grads{Tensor(), Tensor(), Tensor()};
    const Tensor a = s.input(1), b = s.input(2);
    if (s.needs(0)) grads[0] = call(g, a, b);
    if constexpr (requires { Op::second_self(g, a, b); }) {
      const Tensor v = s.needs(1) || s.needs(2) ? g * s.input(0) : Tensor();
      if (s.needs(1)) grads[1] = Op::second_self(v, a, b);
      if (s.needs(2)) grads[2] = Op::second_other(v, a, b);
    }
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}, Op::low, Op::high), s.rand({2, 3}, Op::low, Op::high));
    s(s.rand({2, 3}), s.rand({3}, Op::low, Op::high), s.rand({2, 1}, Op::low, Op::high));
    s(s.rand({0, 2}), s.rand({2}), s.rand({0, 2}));
  }
};

/// A comparison or logical operator: bool results, no gradient.
template <class Op, Fn kFn>
struct Comparison : Operator {
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr bool differentiable = false;

  static Meta infer(const Tensor& self, const Tensor& other) {
    return broadcast_meta(Op::schema.name, {&self, &other}, kBool);
  }
  static void run(const Tensor& out, const Tensor& self, const Tensor& other) {
    pointwise(kFn, out, {&self, &other});
  }
  static void samples(Samples& s) {
    s(s.randint({3, 4}, 0, 3), s.randint({4}, 0, 3));
    s(s.rand({2, 3}), s.rand({2, 1}));
    s(s.rand({0, 2}), s.rand({}));
  }
};

/// A test of one operand: bool results, no gradient.
template <class Op, Fn kFn>
struct Predicate : Operator {
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool differentiable = false;

  static Meta infer(const Tensor& self) { return broadcast_meta(Op::schema.name, {&self}, kBool); }
  static void run(const Tensor& out, const Tensor& self) { pointwise(kFn, out, {&self}); }
  static void samples(Samples& s) {
    s(s.rand({2, 3}));
    s(s.randint({5}, 0, 2));
    s(s.rand({0, 2}));
  }
};

}  // namespace halftone::ops
