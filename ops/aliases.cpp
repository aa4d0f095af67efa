// Other names of the operators, as libtorch has them.

#include "halftone/engine/tensor.h"

namespace halftone {

Tensor absolute(const Tensor& self) { return abs(self); }
Tensor negative(const Tensor& self) { return neg(self); }
Tensor sgn(const Tensor& self) { return sign(self); }
Tensor fix(const Tensor& self) { return trunc(self); }
Tensor arccos(const Tensor& self) { return acos(self); }
Tensor arcsin(const Tensor& self) { return asin(self); }
Tensor arctan(const Tensor& self) { return atan(self); }
Tensor arctan2(const Tensor& self, const Tensor& other) { return atan2(self, other); }
Tensor clip(const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  return clamp(self, min, max);
}
Tensor subtract(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return sub(self, other, alpha);
}
Tensor subtract(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  return sub(self, other, alpha);
}
Tensor multiply(const Tensor& self, const Tensor& other) { return mul(self, other); }
Tensor multiply(const Tensor& self, const Scalar& other) { return mul(self, other); }
Tensor divide(const Tensor& self, const Tensor& other) { return div(self, other); }
Tensor divide(const Tensor& self, const Scalar& other) { return div(self, other); }
Tensor divide(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode) {
  return div(self, other, rounding_mode);
}
Tensor true_divide(const Tensor& self, const Tensor& other) { return div(self, other); }
Tensor true_divide(const Tensor& self, const Scalar& other) { return div(self, other); }
Tensor greater(const Tensor& self, const Tensor& other) { return gt(self, other); }
Tensor greater(const Tensor& self, const Scalar& other) { return gt(self, other); }
Tensor greater_equal(const Tensor& self, const Tensor& other) { return ge(self, other); }
Tensor greater_equal(const Tensor& self, const Scalar& other) { return ge(self, other); }
Tensor less(const Tensor& self, const Tensor& other) { return lt(self, other); }
Tensor less(const Tensor& self, const Scalar& other) { return lt(self, other); }
Tensor less_equal(const Tensor& self, const Tensor& other) { return le(self, other); }
Tensor less_equal(const Tensor& self, const Scalar& other) { return le(self, other); }
Tensor not_equal(const Tensor& self, const Tensor& other) { return ne(self, other); }
Tensor not_equal(const Tensor& self, const Scalar& other) { return ne(self, other); }
Tensor swapaxes(const Tensor& self, std::int64_t axis0, std::int64_t axis1) {
  return transpose(self, axis0, axis1);
}
Tensor swapdims(const Tensor& self, std::int64_t dim0, std::int64_t dim1) {
  return transpose(self, dim0, dim1);
}
Tensor moveaxis(const Tensor& self, std::int64_t source, std::int64_t destination) {
  return movedim(self, source, destination);
}
Tensor ger(const Tensor& self, const Tensor& vec2) { return outer(self, vec2); }
Tensor concatenate(const TensorList& tensors, std::int64_t dim) { return cat(tensors, dim); }
Tensor row_stack(const TensorList& tensors) { return vstack(tensors); }
Tensor trapz(const Tensor& y, const Tensor& x, std::int64_t dim) { return trapezoid(y, x, dim); }
Tensor trapz(const Tensor& y, double dx, std::int64_t dim) { return trapezoid(y, dx, dim); }
Tensor arccosh(const Tensor& self) { return acosh(self); }
Tensor arcsinh(const Tensor& self) { return asinh(self); }
Tensor arctanh(const Tensor& self) { return atanh(self); }

Tensor& absolute_(Tensor& self) { return abs_(self); }
Tensor& negative_(Tensor& self) { return neg_(self); }
Tensor& sgn_(Tensor& self) { return sign_(self); }
Tensor& fix_(Tensor& self) { return trunc_(self); }
Tensor& arccos_(Tensor& self) { return acos_(self); }
Tensor& arcsin_(Tensor& self) { return asin_(self); }
Tensor& arctan_(Tensor& self) { return atan_(self); }
Tensor& clip_(Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  return clamp_(self, min, max);
}
Tensor& subtract_(Tensor& self, const Tensor& other, const Scalar& alpha) { return sub_(self, other, alpha); }
Tensor& subtract_(Tensor& self, const Scalar& other, const Scalar& alpha) { return sub_(self, other, alpha); }
Tensor& multiply_(Tensor& self, const Tensor& other) { return mul_(self, other); }
Tensor& multiply_(Tensor& self, const Scalar& other) { return mul_(self, other); }
Tensor& divide_(Tensor& self, const Tensor& other) { return div_(self, other); }
Tensor& divide_(Tensor& self, const Scalar& other) { return div_(self, other); }
Tensor& true_divide_(Tensor& self, const Tensor& other) { return div_(self, other); }
Tensor& true_divide_(Tensor& self, const Scalar& other) { return div_(self, other); }
Tensor& greater_(Tensor& self, const Tensor& other) { return gt_(self, other); }
Tensor& greater_(Tensor& self, const Scalar& other) { return gt_(self, other); }
Tensor& greater_equal_(Tensor& self, const Tensor& other) { return ge_(self, other); }
Tensor& greater_equal_(Tensor& self, const Scalar& other) { return ge_(self, other); }
Tensor& less_(Tensor& self, const Tensor& other) { return lt_(self, other); }
Tensor& less_(Tensor& self, const Scalar& other) { return lt_(self, other); }
Tensor& less_equal_(Tensor& self, const Tensor& other) { return le_(self, other); }
Tensor& less_equal_(Tensor& self, const Scalar& other) { return le_(self, other); }
Tensor& not_equal_(Tensor& self, const Tensor& other) { return ne_(self, other); }
Tensor& not_equal_(Tensor& self, const Scalar& other) { return ne_(self, other); }
Tensor& swapaxes_(Tensor& self, std::int64_t axis0, std::int64_t axis1) {
  return transpose_(self, axis0, axis1);
}
Tensor& swapdims_(Tensor& self, std::int64_t dim0, std::int64_t dim1) { return transpose_(self, dim0, dim1); }
Tensor& arccosh_(Tensor& self) { return acosh_(self); }
Tensor& arcsinh_(Tensor& self) { return asinh_(self); }
Tensor& arctanh_(Tensor& self) { return atanh_(self); }

}  // namespace halftone
