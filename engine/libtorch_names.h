#pragma once

// Names of libtorch's base libraries (c10, torch::linalg, torch::special) for what halftone has already.

#include <optional>
#include <string_view>
#include <vector>

#include "halftone/engine/tensor.h"

namespace halftone {

using std::make_optional;
using std::nullopt;
using std::optional;

/// libtorch's older name.
using IntList = IntArrayRef;

/// libtorch's short names of the element types.
/// @{
inline constexpr ScalarType kU8 = kByte;
inline constexpr ScalarType kI32 = kInt;
inline constexpr ScalarType kI64 = kLong;
inline constexpr ScalarType kF16 = kHalf;
inline constexpr ScalarType kBF16 = kBFloat16;
inline constexpr ScalarType kF32 = kFloat;
inline constexpr ScalarType kF64 = kDouble;
/// @}

/// "Float", "Long", ...: what printing a dtype gives.
const char* toString(ScalarType dtype);
/// c10's names of questions about an element type (engine/dtype.h).
/// @{
constexpr std::size_t elementSize(ScalarType dtype) { return element_size(dtype); }
constexpr bool isFloatingType(ScalarType dtype) { return is_floating_point(dtype); }
constexpr bool isIntegralType(ScalarType dtype, bool include_bool) {
  return !is_floating_point(dtype) && (include_bool || dtype != kBool);
}
constexpr bool isComplexType(ScalarType) { return false; }
/// @}
/// A tensor's dtype and its scalar type are one here.
constexpr ScalarType typeMetaToScalarType(ScalarType dtype) { return dtype; }

namespace detail {

/// A non-owning list of anything: from `{...}`, std::vector, std::array or one element.
template <class T>
class ListView {
 public:
  ListView() = default;
  ListView(const T& one) : data_(&one), size_(1) {}
  ListView(std::initializer_list<T> values) : ListView(values.begin(), values.size()) {}
  ListView(const std::vector<T>& values) : data_(values.data()), size_(values.size()) {}
  template <std::size_t N>
  ListView(const T (&values)[N]) : data_(values), size_(N) {}
  template <std::size_t N>
  ListView(const std::array<T, N>& values) : data_(values.data()), size_(N) {}
  ListView(const T* data, std::size_t size) : data_(data), size_(size) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* data() const { return data_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  /// Elements `start` .. `start + length - 1`.
  ListView slice(std::size_t start, std::size_t length) const { return {data_ + start, length}; }
  const T& front() const { return data_[0]; }
  const T& back() const { return data_[size_ - 1]; }
  std::vector<T> vec() const { return {begin(), end()}; }

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};

template <class T>
struct ArrayRefOf {
  using type = ListView<T>;
};
template <>
struct ArrayRefOf<std::int64_t> {
  using type = IntArrayRef;
};
template <>
struct ArrayRefOf<Tensor> {
  using type = TensorList;
};

}  // namespace detail

/// IntArrayRef for sizes, TensorList for tensors, and a list of the same kind for any other type.
template <class T>
using ArrayRef = typename detail::ArrayRefOf<T>::type;

/// torch::linalg's functions.
namespace linalg {

/// halftone's function of that name with `linalg_` before it.
/// @{
inline Tensor norm(const Tensor& self, const std::optional<Scalar>& ord = std::nullopt,
                   OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                   OptionalDtype dtype = std::nullopt) {
  return linalg_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor norm(const Tensor& self, std::string_view ord, OptionalIntArrayRef dim = std::nullopt,
                   bool keepdim = false, OptionalDtype dtype = std::nullopt) {
  return linalg_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor vector_norm(const Tensor& self, const Scalar& ord = 2, OptionalIntArrayRef dim = std::nullopt,
                          bool keepdim = false, OptionalDtype dtype = std::nullopt) {
  return linalg_vector_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor matrix_norm(const Tensor& self, const Scalar& ord, IntArrayRef dim = {-2, -1},
                          bool keepdim = false, OptionalDtype dtype = std::nullopt) {
  return linalg_matrix_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor matrix_norm(const Tensor& self, std::string_view ord = "fro", IntArrayRef dim = {-2, -1},
                          bool keepdim = false, OptionalDtype dtype = std::nullopt) {
  return linalg_matrix_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor multi_dot(const TensorList& tensors) { return linalg_multi_dot(tensors); }
inline Tensor matmul(const Tensor& self, const Tensor& other) { return linalg_matmul(self, other); }
inline Tensor matrix_power(const Tensor& self, std::int64_t n) { return linalg_matrix_power(self, n); }
/// @}

}  // namespace linalg

/// torch::special's functions.
namespace special {

/// log |Gamma(x)|: lgamma().
inline Tensor gammaln(const Tensor& self) { return halftone::lgamma(self); }
inline Tensor digamma(const Tensor& self) { return halftone::digamma(self); }
/// The derivative of log Gamma: digamma().
inline Tensor psi(const Tensor& self) { return halftone::digamma(self); }
inline Tensor polygamma(std::int64_t n, const Tensor& self) { return halftone::polygamma(n, self); }
inline Tensor erf(const Tensor& self) { return halftone::erf(self); }
inline Tensor erfc(const Tensor& self) { return halftone::erfc(self); }
inline Tensor erfinv(const Tensor& self) { return halftone::erfinv(self); }
inline Tensor exp2(const Tensor& self) { return halftone::exp2(self); }
inline Tensor expm1(const Tensor& self) { return halftone::expm1(self); }
/// 1 / (1 + exp(-x)): sigmoid().
inline Tensor expit(const Tensor& self) { return halftone::sigmoid(self); }
inline Tensor log1p(const Tensor& self) { return halftone::log1p(self); }
inline Tensor logit(const Tensor& self, std::optional<double> eps = std::nullopt) {
  return halftone::logit(self, eps);
}
inline Tensor logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim = false) {
  return halftone::logsumexp(self, dim, keepdim);
}
inline Tensor xlogy(const Tensor& self, const Tensor& other) { return halftone::xlogy(self, other); }
inline Tensor xlogy(const Tensor& self, const Scalar& other) { return halftone::xlogy(self, other); }
inline Tensor xlogy(const Scalar& self, const Tensor& other) { return halftone::xlogy(self, other); }
inline Tensor sinc(const Tensor& self) { return halftone::sinc(self); }
inline Tensor round(const Tensor& self) { return halftone::round(self); }
inline Tensor softmax(const Tensor& self, std::int64_t dim, OptionalDtype dtype = std::nullopt) {
  return halftone::softmax(self, dim, dtype);
}
inline Tensor log_softmax(const Tensor& self, std::int64_t dim, OptionalDtype dtype = std::nullopt) {
  return halftone::log_softmax(self, dim, dtype);
}

}  // namespace special
}  // namespace halftone
