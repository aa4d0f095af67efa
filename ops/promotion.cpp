#include "halftone/ops/promotion.h"

#include <array>
#include <optional>

#include "halftone/ops/operator.h"

namespace halftone::ops {
namespace {

/// bool < integer < floating.
int kind(ScalarType dtype) { return dtype == kBool ? 0 : is_floating_point(dtype) ? 2 : 1; }

/// How early a tensor decides: with dimensions, 0-d, a C++ number.
int group_of(const Tensor& tensor) {
  if (tensor.unsafe_impl()->is_wrapped_number) return 2;
  return tensor.dim() == 0 ? 1 : 0;
}

/// Whether all are of one dtype and none is a C++ number: what is most common.
bool have_one_dtype(std::initializer_list<const Tensor*> tensors) {
  const Tensor& first = **tensors.begin();
  for (const Tensor* tensor : tensors) {
    if (!tensor->defined() || tensor->unsafe_impl()->is_wrapped_number) return false;
    if (tensor->scalar_type() != first.scalar_type()) return false;
  }
  return true;
}

ScalarType counted_dtype(const Tensor& tensor, int group) {
  return group == 2 && tensor.is_floating_point() ? get_default_dtype() : tensor.scalar_type();
}

}  // namespace

Tensor wrapped_number(const Scalar& value) {
  Tensor out = allocate({{}, value.type(), kCPU});
  void* element = out.data_ptr();
  if (value.is_floating_point()) {
    *static_cast<double*>(element) = value.to_double();
  } else if (value.is_boolean()) {
    *static_cast<bool*>(element) = value.to<bool>();
  } else {
    *static_cast<std::int64_t*>(element) = value.to_long();
  }
  out.unsafe_impl()->is_wrapped_number = true;
  return out;
}

ScalarType result_type(std::initializer_list<const Tensor*> tensors) {
  if (tensors.size() > 0 && have_one_dtype(tensors)) return (*tensors.begin())->scalar_type();
  std::array<std::optional<ScalarType>, 3> widest;
  for (const Tensor* tensor : tensors) {
    if (!tensor->defined()) continue;
    const int group = group_of(*tensor);
    const ScalarType dtype = counted_dtype(*tensor, group);
    widest[group] = promote_types(widest[group].value_or(dtype), dtype);
  }
  std::optional<ScalarType> result;
  for (const std::optional<ScalarType>& dtype : widest) {
    if (dtype && (!result || kind(*dtype) > kind(*result)))
      result = promote_types(result.value_or(*dtype), *dtype);
  }
  if (!result) fail("result_type", "expected at least one defined tensor");
  return *result;
}

ScalarType floating_or_default(ScalarType dtype) {
  return is_floating_point(dtype) ? dtype : get_default_dtype();
}

ScalarType floating_result_type(std::initializer_list<const Tensor*> tensors) {
  return floating_or_default(result_type(tensors));
}

}  // namespace halftone::ops

namespace halftone {

ScalarType result_type(const Tensor& self, const Tensor& other) { return ops::result_type({&self, &other}); }
ScalarType result_type(const Tensor& self, const Scalar& other) {
  return result_type(self, ops::wrapped_number(other));
}
ScalarType result_type(const Scalar& self, const Tensor& other) {
  return result_type(ops::wrapped_number(self), other);
}
ScalarType result_type(const Scalar& self, const Scalar& other) {
  return result_type(ops::wrapped_number(self), ops::wrapped_number(other));
}

}  // namespace halftone
