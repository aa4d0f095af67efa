#include "halftone/ops/norm_rule.h"

namespace halftone::ops {
namespace {

void add_to(Tensor& sum, const Tensor& term) { sum = sum.defined() ? sum + term : term; }

}  // namespace

void check_norm_operands(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias,
                         IntArrayRef affine) {
  if (!input.is_floating_point()) fail(op, "expected a floating input, got ", input);
  const auto check = [&](const char* name, const Tensor& t) {
    if (!t.defined()) return;
    if (!(t.sizes() == affine))
      fail(op, "expected a ", name, " ", affine, " for the input ", input, ", got ", t);
    if (!t.is_floating_point()) fail(op, "expected a floating ", name, ", got ", t);
    if (t.device() != input.device())
      fail(op, "the input is on ", input.device(), ", the ", name, " on ", t.device());
  };
  check("weight", weight);
  check("bias", bias);
}

void check_norm_eps(const char* op, double eps) {
  if (!(eps >= 0)) fail(op, "expected an eps of 0 or more, got ", eps);
}

Meta norm_statistic(const Tensor& input, IntArrayRef sizes) {
  Meta meta = like(input, sizes, accumulate_type(input.scalar_type()));
  meta.explicit_dtype = true;
  return meta;
}

std::array<Meta, 3> norm_gradient_metas(const char* op, const Tensor& grad, const Tensor& input,
                                        const Tensor& weight) {
  if (!(grad.sizes() == input.sizes())) {
    fail(op, "the gradient ", grad, " and the input ", input, " differ in shape");
  }
  if (!grad.is_floating_point()) fail(op, "expected a floating gradient, got ", grad);
  const Meta factor = weight.defined() ? like(weight) : like(input, {0});
  return {like(input), factor, factor};
}

Tensor wanted_gradient(const Tensor& result, const Tensor& weight) {
  return weight.defined() ? result : Tensor();
}

NormDerivative differentiate_norm_backward(const NormOperands& o, double eps, bool centered) {
  const auto row_mean = [&](const Tensor& t) { return mean(t, o.dims, true); };
  const Tensor d = centered ? o.x - row_mean(o.x) : o.x;
  const Tensor r = rsqrt(row_mean(d * d) + eps), xhat = d * r;
  const auto project = [&](const Tensor& u) {
    const Tensor rest = u - xhat * row_mean(u * xhat);
    return centered ? rest - row_mean(u) : rest;
  };

  NormDerivative out;
  if (o.v.defined()) {
    const Tensor h = o.w.defined() ? o.g * o.w : o.g;
    const Tensor from_v = project(o.v), from_h = project(h), grad_h = r * from_v;
    out.g = o.w.defined() ? grad_h * o.w : grad_h;
    if (o.w.defined()) out.w = grad_h * o.g;
    out.x =
        neg(r * r *
            (xhat * row_mean(o.v * from_h) + row_mean(o.v * xhat) * from_h + row_mean(h * xhat) * from_v));
  }
  if (o.p.defined()) {
    add_to(out.g, o.p * xhat);
    add_to(out.x, r * project(o.p * o.g));
  }
  if (o.q.defined()) add_to(out.g, expand_as(o.q, o.g));
  return out;
}

NormDerivative differentiate_frozen_backward(const NormOperands& o, const Tensor& mean, const Tensor& rstd) {
  NormDerivative out;
  if (o.v.defined()) {
    const Tensor grad_h = o.v * rstd;
    out.g = o.w.defined() ? grad_h * o.w : grad_h;
    if (o.w.defined()) out.w = grad_h * o.g;
  }
  if (o.p.defined()) {
    add_to(out.g, o.p * (o.x - mean) * rstd);
    out.x = o.p * o.g * rstd;
  }
  if (o.q.defined()) add_to(out.g, expand_as(o.q, o.g));
  return out;
}

}  // namespace halftone::ops
