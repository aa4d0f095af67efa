// Choosing by a mask: where, masked_fill.

#include "halftone/kernels/pointwise.h"
#include "halftone/ops/operator.h"
#include "halftone/ops/promotion.h"

namespace halftone {
namespace ops {
namespace {

void check_mask(const char* op, const char* name, const Tensor& mask) {
  if (mask.scalar_type() != kBool) fail(op, name, " must be bool, got ", mask);
}

void run_fn(Fn fn, const Tensor& out, std::initializer_list<const Tensor*> inputs,
            const Params& params = {}) {
  kernels_for<PointwiseKernels>(out.device()).run(fn, out, {inputs.begin(), inputs.size()}, params);
}

}  // namespace

struct MaskedFill : Operator {
  static constexpr Schema schema{
      "masked_fill", {"self", "mask", "value"}, "value where mask is true, else self"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Scalar&) = &halftone::masked_fill;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr Keep saves = keep_input(1);

  static Meta infer(const Tensor& self, const Tensor& mask, const Scalar& value) {
    check_mask("masked_fill", "mask", mask);
    if (value.is_floating_point() && !self.is_floating_point()) {
      fail("masked_fill", "value ", value.to_double(), " is not an integer and self is ", self);
    }
    return like(self, broadcast_shapes("masked_fill", self.sizes(), mask.sizes()));
  }
  static void run(const Tensor& out, const Tensor& self, const Tensor& mask, const Scalar& value) {
    run_fn(Fn::kMaskedFill, out, {&self, &mask}, {{value.to_double()}});
  }
  static Tensor backward(const Saved& s, const Tensor& grad, const Scalar&) {
    return masked_fill(grad, s.input(1), 0);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.mask({2, 3}), -1.5);
    s(s.rand({2, 3}), s.mask({3}), 2);
    s(s.rand({3}), s.mask({2, 1}), 0.25);
    s(s.rand({0, 2}), s.mask({0, 2}), 1.0);
  }
};
HALFTONE_REGISTER_OPERATOR(MaskedFill)

struct Where : Operator {
  static constexpr Schema schema{
      "where", {"condition", "self", "other"}, "self where condition is true, else other"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&) = &halftone::where;
  static constexpr auto precision = amp::Precision::kPromote;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0);

  static Meta infer(const Tensor& condition, const Tensor& self, const Tensor& other) {
    check_mask("where", "condition", condition);
    const Dims values = broadcast_shapes("where", self.sizes(), other.sizes());
    return like(condition, broadcast_shapes("where", condition.sizes(), values), result_type(self, other));
  }
  static void run(const Tensor& out, const Tensor& condition, const Tensor& self, const Tensor& other) {
    run_fn(Fn::kWhere, out, {&condition, &self, &other});
  }
  static Gradients backward(const Saved& s, const Tensor& grad) {
    const Tensor condition = s.input(0);
    Tensor for_self, for_other;
    if (s.needs(1)) for_self = masked_fill(grad, logical_not(condition), 0);
    if (s.needs(2)) for_other = masked_fill(grad, condition, 0);
    return {Tensor(), for_self, for_other};
  }
  static void samples(Samples& s) {
    s(s.mask({2, 3}), s.rand({2, 3}), s.rand({2, 3}));
    s(s.mask({3}), s.rand({2, 1}), s.rand({}));
    s(s.mask({2, 1, 1}), s.rand({3, 1}), s.rand({2}));
    s(s.mask({0, 2}), s.rand({0, 2}), s.rand({2}));
  }
};
HALFTONE_REGISTER_OPERATOR(Where)

}  // namespace ops

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  return ops::dispatch<ops::MaskedFill>(self, mask, value);
}

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value) {
  if (value.dim() != 0) fail("masked_fill", "value must be a number or a 0-d tensor, got ", value);
  return where(mask, value.to(self.scalar_type()), self);
}

Tensor& masked_fill_(Tensor& self, const Tensor& mask, const Scalar& value) {
  return ops::dispatch_inplace<ops::MaskedFill>(self, mask, value);
}

Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other) {
  return ops::dispatch<ops::Where>(condition, self, other);
}

Tensor where(const Tensor& condition, const Scalar& self, const Tensor& other) {
  return where(condition, ops::wrapped_number(self), other);
}

Tensor where(const Tensor& condition, const Tensor& self, const Scalar& other) {
  return where(condition, self, ops::wrapped_number(other));
}

}  // namespace halftone
