// The result is computed and then copied: out= saves an allocation in libtorch, here it is there for programs
// that are written with it.

#include "halftone/engine/out_functions.h"

#include <algorithm>

#include "halftone/autograd/grad_mode.h"
#include "halftone/ops/autocast.h"

namespace halftone {
namespace {

/// The caller chose the type of the result: autocast has no part in it, as in PyTorch.
template <class Compute>
Tensor& write(const char* op, Tensor& out, const std::vector<Tensor>& inputs, const Compute& compute) {
  if (!out.defined()) fail(op, "out is undefined; make it with torch::empty({0}, options)");
  const auto needs_gradient = [](const Tensor& tensor) { return tensor.requires_grad(); };
  if (GradMode::is_enabled() &&
      (needs_gradient(out) || std::any_of(inputs.begin(), inputs.end(), needs_gradient))) {
    fail(op, "is not recorded for autograd; use the function without _out, or a NoGradGuard");
  }
  const ops::AutocastScope no_autocast(ops::AutocastSettings::off());
  const Tensor result = compute();
  if (!can_cast(result.scalar_type(), out.scalar_type())) {
    fail(op, "a result of ", result.scalar_type(), " does not fit an out of ", out.scalar_type());
  }
  if (!(out.sizes() == result.sizes())) out.resize_(result.sizes());
  return out.copy_(result);
}

}  // namespace

Tensor& abs_out(Tensor& out, const Tensor& self) {
  return write("abs_out", out, {self}, [&] { return abs(self); });
}
Tensor& neg_out(Tensor& out, const Tensor& self) {
  return write("neg_out", out, {self}, [&] { return neg(self); });
}
Tensor& exp_out(Tensor& out, const Tensor& self) {
  return write("exp_out", out, {self}, [&] { return exp(self); });
}
Tensor& log_out(Tensor& out, const Tensor& self) {
  return write("log_out", out, {self}, [&] { return log(self); });
}
Tensor& sqrt_out(Tensor& out, const Tensor& self) {
  return write("sqrt_out", out, {self}, [&] { return sqrt(self); });
}
Tensor& rsqrt_out(Tensor& out, const Tensor& self) {
  return write("rsqrt_out", out, {self}, [&] { return rsqrt(self); });
}
Tensor& sin_out(Tensor& out, const Tensor& self) {
  return write("sin_out", out, {self}, [&] { return sin(self); });
}
Tensor& cos_out(Tensor& out, const Tensor& self) {
  return write("cos_out", out, {self}, [&] { return cos(self); });
}
Tensor& tanh_out(Tensor& out, const Tensor& self) {
  return write("tanh_out", out, {self}, [&] { return tanh(self); });
}
Tensor& sigmoid_out(Tensor& out, const Tensor& self) {
  return write("sigmoid_out", out, {self}, [&] { return sigmoid(self); });
}
Tensor& floor_out(Tensor& out, const Tensor& self) {
  return write("floor_out", out, {self}, [&] { return floor(self); });
}
Tensor& ceil_out(Tensor& out, const Tensor& self) {
  return write("ceil_out", out, {self}, [&] { return ceil(self); });
}
Tensor& round_out(Tensor& out, const Tensor& self) {
  return write("round_out", out, {self}, [&] { return round(self); });
}
Tensor& add_out(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return write("add_out", out, {self, other}, [&] { return add(self, other, alpha); });
}
Tensor& sub_out(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return write("sub_out", out, {self, other}, [&] { return sub(self, other, alpha); });
}
Tensor& mul_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("mul_out", out, {self, other}, [&] { return mul(self, other); });
}
Tensor& div_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("div_out", out, {self, other}, [&] { return div(self, other); });
}
Tensor& pow_out(Tensor& out, const Tensor& self, const Tensor& exponent) {
  return write("pow_out", out, {self, exponent}, [&] { return pow(self, exponent); });
}
Tensor& maximum_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("maximum_out", out, {self, other}, [&] { return maximum(self, other); });
}
Tensor& minimum_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("minimum_out", out, {self, other}, [&] { return minimum(self, other); });
}
Tensor& eq_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("eq_out", out, {self, other}, [&] { return eq(self, other); });
}
Tensor& ne_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("ne_out", out, {self, other}, [&] { return ne(self, other); });
}
Tensor& lt_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("lt_out", out, {self, other}, [&] { return lt(self, other); });
}
Tensor& le_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("le_out", out, {self, other}, [&] { return le(self, other); });
}
Tensor& gt_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("gt_out", out, {self, other}, [&] { return gt(self, other); });
}
Tensor& ge_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("ge_out", out, {self, other}, [&] { return ge(self, other); });
}
Tensor& matmul_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return write("matmul_out", out, {self, other}, [&] { return matmul(self, other); });
}
Tensor& mm_out(Tensor& out, const Tensor& self, const Tensor& mat2) {
  return write("mm_out", out, {self, mat2}, [&] { return mm(self, mat2); });
}
Tensor& bmm_out(Tensor& out, const Tensor& self, const Tensor& mat2) {
  return write("bmm_out", out, {self, mat2}, [&] { return bmm(self, mat2); });
}
Tensor& addmm_out(Tensor& out, const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                  const Scalar& alpha) {
  return write("addmm_out", out, {self, mat1, mat2}, [&] { return addmm(self, mat1, mat2, beta, alpha); });
}
Tensor& clamp_out(Tensor& out, const Tensor& self, const std::optional<Scalar>& min,
                  const std::optional<Scalar>& max) {
  return write("clamp_out", out, {self}, [&] { return clamp(self, min, max); });
}
Tensor& sum_out(Tensor& out, const Tensor& self, OptionalIntArrayRef dim, bool keepdim, OptionalDtype dtype) {
  return write("sum_out", out, {self},
               [&] { return dim ? sum(self, *dim, keepdim, dtype) : sum(self, dtype); });
}
Tensor& mean_out(Tensor& out, const Tensor& self, IntArrayRef dim, bool keepdim) {
  return write("mean_out", out, {self}, [&] { return mean(self, dim, keepdim); });
}
Tensor& softmax_out(Tensor& out, const Tensor& self, std::int64_t dim) {
  return write("softmax_out", out, {self}, [&] { return softmax(self, dim); });
}
Tensor& cumsum_out(Tensor& out, const Tensor& self, std::int64_t dim) {
  return write("cumsum_out", out, {self}, [&] { return cumsum(self, dim); });
}
Tensor& index_select_out(Tensor& out, const Tensor& self, std::int64_t dim, const Tensor& index) {
  return write("index_select_out", out, {self}, [&] { return index_select(self, dim, index); });
}
Tensor& gather_out(Tensor& out, const Tensor& self, std::int64_t dim, const Tensor& index) {
  return write("gather_out", out, {self}, [&] { return gather(self, dim, index); });
}
Tensor& cat_out(Tensor& out, const TensorList& tensors, std::int64_t dim) {
  return write("cat_out", out, tensors.vec(), [&] { return cat(tensors, dim); });
}
Tensor& stack_out(Tensor& out, const TensorList& tensors, std::int64_t dim) {
  return write("stack_out", out, tensors.vec(), [&] { return stack(tensors, dim); });
}

}  // namespace halftone
