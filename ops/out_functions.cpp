// The result is computed and then copied: out= saves an allocation in libtorch, here it is there for programs
// that are written with it.

#include "halftone/engine/out_functions.h"

#include "halftone/autograd/grad_mode.h"

namespace halftone {
namespace {

template <class... Inputs>
Tensor& write(const char* op, Tensor& out, const Tensor& result, const Inputs&... inputs) {
  if (!out.defined()) fail(op, "out is undefined; make it with torch::empty({0}, options)");
  if (GradMode::is_enabled() && (out.requires_grad() || (inputs.requires_grad() || ...))) {
    fail(op, "is not recorded for autograd; use the function without _out, or a NoGradGuard");
  }
  if (!can_cast(result.scalar_type(), out.scalar_type())) {
    fail(op, "a result of ", result.scalar_type(), " does not fit an out of ", out.scalar_type());
  }
  if (!(out.sizes() == result.sizes())) out.resize_(result.sizes());
  return out.copy_(result);
}

}  // namespace

Tensor& abs_out(Tensor& out, const Tensor& self) { return write("abs_out", out, abs(self), self); }
Tensor& neg_out(Tensor& out, const Tensor& self) { return write("neg_out", out, neg(self), self); }
Tensor& exp_out(Tensor& out, const Tensor& self) { return write("exp_out", out, exp(self), self); }
Tensor& log_out(Tensor& out, const Tensor& self) { return write("log_out", out, log(self), self); }
Tensor& sqrt_out(Tensor& out, const Tensor& self) { return write("sqrt_out", out, sqrt(self), self); }
Tensor& rsqrt_out(Tensor& out, const Tensor& self) { return write("rsqrt_out", out, rsqrt(self), self); }
Tensor& sin_out(Tensor& out, const Tensor& self) { return write("sin_out", out, sin(self), self); }
Tensor& cos_out(Tensor& out, const Tensor& self) { return write("cos_out", out, cos(self), self); }
Tensor& tanh_out(Tensor& out, const Tensor& self) { return write("tanh_out", out, tanh(self), self); }
Tensor& sigmoid_out(Tensor& out, const Tensor& self) {
  return write("sigmoid_out", out, sigmoid(self), self);
}
Tensor& floor_out(Tensor& out, const Tensor& self) { return write("floor_out", out, floor(self), self); }
Tensor& ceil_out(Tensor& out, const Tensor& self) { return write("ceil_out", out, ceil(self), self); }
Tensor& round_out(Tensor& out, const Tensor& self) { return write("round_out", out, round(self), self); }
Tensor& add_out(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return write("add_out", out, add(self, other, alpha), self, other);
}
Tensor& sub_out(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return write("sub_out", out, sub(self, other, alpha), self, other);
}
Tensor& mul_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("mul_out", out, mul(self, other), self, other);
}
Tensor& div_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("div_out", out, div(self, other), self, other);
}
Tensor& pow_out(Tensor& out, const Tensor& self, const Tensor& exponent) {
  return write("pow_out", out, pow(self, exponent), self, exponent);
}
Tensor& maximum_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("maximum_out", out, maximum(self, other), self, other);
}
Tensor& minimum_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("minimum_out", out, minimum(self, other), self, other);
}
Tensor& eq_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("eq_out", out, eq(self, other), self, other);
}
Tensor& ne_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("ne_out", out, ne(self, other), self, other);
}
Tensor& lt_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("lt_out", out, lt(self, other), self, other);
}
Tensor& le_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("le_out", out, le(self, other), self, other);
}
Tensor& gt_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("gt_out", out, gt(self, other), self, other);
}
Tensor& ge_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("ge_out", out, ge(self, other), self, other);
}
Tensor& matmul_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("matmul_out", out, matmul(self, other), self, other);
}
Tensor& mm_out(Tensor& out, const Tensor& self, const Tensor& mat2) {
  return write("mm_out", out, mm(self, mat2), self, mat2);
}
Tensor& bmm_out(Tensor& out, const Tensor& self, const Tensor& mat2) {
  return write("bmm_out", out, bmm(self, mat2), self, mat2);
}
Tensor& addmm_out(Tensor& out, const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                  const Scalar& alpha) {
  return write("addmm_out", out, addmm(self, mat1, mat2, beta, alpha), self, mat1, mat2);
}
Tensor& clamp_out(Tensor& out, const Tensor& self, const std::optional<Scalar>& min,
                  const std::optional<Scalar>& max) {
  return write("clamp_out", out, clamp(self, min, max), self);
}
Tensor& sum_out(Tensor& out, const Tensor& self, OptionalIntArrayRef dim, bool keepdim, OptionalDtype dtype) {
  return write("sum_out", out, dim ? sum(self, *dim, keepdim, dtype) : sum(self, dtype), self);
}
Tensor& mean_out(Tensor& out, const Tensor& self, IntArrayRef dim, bool keepdim) {
  return write("mean_out", out, mean(self, dim, keepdim), self);
}
Tensor& softmax_out(Tensor& out, const Tensor& self, std::int64_t dim) {
  return write("softmax_out", out, softmax(self, dim), self);
}
Tensor& cumsum_out(Tensor& out, const Tensor& self, std::int64_t dim) {
  return write("cumsum_out", out, cumsum(self, dim), self);
}
Tensor& index_select_out(Tensor& out, const Tensor& self, std::int64_t dim, const Tensor& index) {
  return write("index_select_out", out, index_select(self, dim, index), self);
}
Tensor& gather_out(Tensor& out, const Tensor& self, std::int64_t dim, const Tensor& index) {
  return write("gather_out", out, gather(self, dim, index), self);
}
Tensor& cat_out(Tensor& out, const TensorList& tensors, std::int64_t dim) {
  const Tensor result = cat(tensors, dim);
  return write("cat_out", out, result, result);
}
Tensor& stack_out(Tensor& out, const TensorList& tensors, std::int64_t dim) {
  const Tensor result = stack(tensors, dim);
  return write("stack_out", out, result, result);
}

}  // namespace halftone
