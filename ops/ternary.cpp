// Functions of three operands: interpolation and scaled products and quotients.

#include "halftone/ops/pointwise.h"

namespace halftone {
namespace ops {

struct LerpBackwardWeight : BinaryDerivative<LerpBackwardWeight, Fn::kLerpBackwardWeight> {
  static constexpr Schema schema{"lerp_backward_weight", {"grad", "self", "end"}, "grad * (end - self)"};

  static Tensor second_self(const Tensor& v, const Tensor&, const Tensor&) { return -v; }
  static Tensor second_other(const Tensor& v, const Tensor&, const Tensor&) { return v; }
};
HALFTONE_REGISTER_OPERATOR(LerpBackwardWeight)

struct Lerp : Operator {
  static constexpr Schema schema{
      "lerp", {"self", "end", "weight"}, "self + weight * (end - self), exact at 0 and 1"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&) = &halftone::lerp;
  static constexpr auto precision = amp::Precision::kPromote;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0, {2}) | keep_input(1, {2}) | keep_input(2, {0, 1});

  static Meta infer(const Tensor& self, const Tensor& end, const Tensor& weight) {
    return broadcast_meta("lerp", {&self, &end, &weight}, floating_result_type({&self, &end, &weight}));
  }
  static void run(const Tensor& out, const Tensor& self, const Tensor& end, const Tensor& weight) {
    pointwise(Fn::kLerp, out, {&self, &end, &weight});
  }
  static Gradients backward(const Saved& s, const Tensor& grad) {
    return {s.needs(0) ? addcmul(grad, grad, s.input(2), -1) : Tensor(),  // grad (1 - weight), rounded once
            s.needs(1) ? grad * s.input(2) : Tensor(),
            s.needs(2) ? LerpBackwardWeight::call(grad, s.input(0), s.input(1)) : Tensor()};
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}), s.rand({2, 3}, 0.1, 0.4));
    s(s.rand({2, 3}), s.rand({3}), s.rand({2, 1}, 0.6, 1.5));
    s(s.rand({0, 2}), s.rand({2}), s.rand({}));
  }
};
HALFTONE_REGISTER_OPERATOR(Lerp)

struct Addcmul : Operator {
  static constexpr Schema schema{
      "addcmul", {"self", "tensor1", "tensor2", "value"}, "self + value * tensor1 * tensor2"};
  static constexpr auto api = &halftone::addcmul;
  static constexpr auto precision = amp::Precision::kPromote;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(1, {2}) | keep_input(2, {1});

  static Meta infer(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
    const Meta meta =
        broadcast_meta("addcmul", {&self, &tensor1, &tensor2}, result_type({&self, &tensor1, &tensor2}));
    check_factor("addcmul", "value", meta.dtype, value);
    return meta;
  }
  static void run(const Tensor& out, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                  const Scalar& value) {
    pointwise(Fn::kAddcmul, out, {&self, &tensor1, &tensor2}, params_of(value));
  }
  static Gradients backward(const Saved& s, const Tensor& grad, const Scalar& value) {
    return {grad, s.needs(1) ? scaled_product(value, grad, s.input(2)) : Tensor(),
            s.needs(2) ? scaled_product(value, grad, s.input(1)) : Tensor()};
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}), s.rand({2, 3}), 1);
    s(s.rand({2, 3}), s.rand({3}), s.rand({2, 1}), -0.5);
    s(s.rand({0, 2}), s.rand({2}), s.rand({}), 2);
  }
};
HALFTONE_REGISTER_OPERATOR(Addcmul)

struct AddcdivBackwardOther : Operator {
  static constexpr Schema schema{"addcdiv_backward_other",
                                 {"grad", "tensor1", "tensor2", "value"},
                                 "-value * grad * tensor1 / tensor2^2"};
  static Tensor call(const Tensor& grad, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
    return dispatch<AddcdivBackwardOther>(grad, tensor1, tensor2, value);
  }
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, const Scalar&) = &call;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0, {1, 2}) | keep_input(1, {0, 2}) | keep_input(2);

  static Meta infer(const Tensor& grad, const Tensor& tensor1, const Tensor& tensor2, const Scalar&) {
    return broadcast_meta(schema.name, {&grad, &tensor1, &tensor2},
                          floating_result_type({&grad, &tensor1, &tensor2}));
  }
  static void run(const Tensor& out, const Tensor& grad, const Tensor& tensor1, const Tensor& tensor2,
                  const Scalar& value) {
    pointwise(Fn::kAddcdivBackwardOther, out, {&grad, &tensor1, &tensor2}, params_of(value));
  }
  static Gradients backward(const Saved& s, const Tensor& g, const Scalar& value) {
    const Tensor b = s.input(2);
    Gradients grads{Tensor(), Tensor(), Tensor()};
    if (s.needs(0)) grads[0] = call(g, s.input(1), b, value);
    if (s.needs(1)) grads[1] = call(g, s.input(0), b, value);
    if (s.needs(2)) grads[2] = g * s.input(0) * s.input(1) * (2 * value.to_double()) / (b * b * b);
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}), s.rand({2, 3}, 0.5, 2), 1);
    s(s.rand({2, 3}), s.rand({3}), s.rand({2, 1}, 0.5, 2), -0.5);
    s(s.rand({0, 2}), s.rand({2}), s.rand({}, 0.5, 2), 2);
  }
};
HALFTONE_REGISTER_OPERATOR(AddcdivBackwardOther)

struct Addcdiv : Operator {
  static constexpr Schema schema{
      "addcdiv", {"self", "tensor1", "tensor2", "value"}, "self + value * tensor1 / tensor2"};
  static constexpr auto api = &halftone::addcdiv;
  static constexpr auto precision = amp::Precision::kPromote;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(1, {2}) | keep_input(2, {1, 2});

  static Meta infer(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar&) {
    return broadcast_meta("addcdiv", {&self, &tensor1, &tensor2},
                          floating_result_type({&self, &tensor1, &tensor2}));
  }
  static void run(const Tensor& out, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                  const Scalar& value) {
    pointwise(Fn::kAddcdiv, out, {&self, &tensor1, &tensor2}, params_of(value));
  }
  static Gradients backward(const Saved& s, const Tensor& grad, const Scalar& value) {
    return {grad, s.needs(1) ? scaled_quotient(value, grad, s.input(2)) : Tensor(),
            s.needs(2) ? AddcdivBackwardOther::call(grad, s.input(1), s.input(2), value) : Tensor()};
  }
  static void samples(Samples& s) { AddcdivBackwardOther::samples(s); }
};
HALFTONE_REGISTER_OPERATOR(Addcdiv)

}  // namespace ops

Tensor lerp(const Tensor& self, const Tensor& end, const Tensor& weight) {
  return ops::dispatch<ops::Lerp>(self, end, weight);
}
Tensor lerp(const Tensor& self, const Tensor& end, const Scalar& weight) {
  return lerp(self, end, ops::wrapped_number(weight));
}
Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
  return ops::dispatch<ops::Addcmul>(self, tensor1, tensor2, value);
}
Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
  return ops::dispatch<ops::Addcdiv>(self, tensor1, tensor2, value);
}

Tensor& lerp_(Tensor& self, const Tensor& end, const Tensor& weight) {
  return ops::dispatch_inplace<ops::Lerp>(self, end, weight);
}
Tensor& lerp_(Tensor& self, const Tensor& end, const Scalar& weight) {
  return ops::dispatch_inplace<ops::Lerp>(self, end, ops::wrapped_number(weight));
}
Tensor& addcmul_(Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
  return ops::dispatch_inplace<ops::Addcmul>(self, tensor1, tensor2, value);
}
Tensor& addcdiv_(Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
  return ops::dispatch_inplace<ops::Addcdiv>(self, tensor1, tensor2, value);
}

}  // namespace halftone
