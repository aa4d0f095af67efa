#include "halftone/engine/tensor_factory.h"

#include <optional>

namespace halftone {
namespace {

using detail::NestedList;
using Kind = NestedList::Kind;

Dims shape_of(const NestedList& values) {
  if (values.kind() == Kind::kNumber) return {};
  const auto size = static_cast<std::int64_t>(values.size());
  if (values.kind() != Kind::kList || size == 0) return {size};
  const Dims inner = shape_of(values[0]);
  for (std::size_t i = 1; i < values.size(); ++i) {
    const Dims other = shape_of(values[i]);
    if (!(other == inner)) {
      fail("tensor", "ragged list: element 0 has shape ", inner, " and element ", i, " has shape ", other);
    }
  }
  Dims shape{size};
  for (std::int64_t n : inner) shape.push_back(n);
  return shape;
}

/// The kind that holds every number; nothing for an empty list.
std::optional<ScalarType> dtype_of_values(const NestedList& values) {
  if (values.kind() != Kind::kList) return values.dtype();
  std::optional<ScalarType> dtype;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto inner = dtype_of_values(values[i]);
    if (inner) dtype = dtype ? promote_types(*dtype, *inner) : *inner;
  }
  return dtype;
}

ScalarType inferred_dtype(const NestedList& values) {
  const ScalarType dtype = dtype_of_values(values).value_or(kDouble);
  if (dtype == kInt || dtype == kByte) return kLong;
  return dtype == kFloat || dtype == kDouble ? get_default_dtype() : dtype;
}

template <class To>
To as(const Scalar& number) {
  if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(number.to<float>());
  } else {
    return number.to<To>();
  }
}

template <class To>
void append(To*& out, const NestedList& values) {
  switch (values.kind()) {
    case Kind::kNumber:
      *out++ = as<To>(values.number());
      break;
    case Kind::kList:
      for (std::size_t i = 0; i < values.size(); ++i) append(out, values[i]);
      break;
    case Kind::kBools:
      for (const bool value : *static_cast<const std::vector<bool>*>(values.data()))
        *out++ = as<To>(Scalar(value));
      break;
    case Kind::kNumbers:
      dispatch_all(values.dtype(), [&]<class From>() {
        const auto* numbers = static_cast<const From*>(values.data());
        for (std::size_t i = 0; i < values.size(); ++i) *out++ = as<To>(Scalar(numbers[i]));
      });
      break;
  }
}

}  // namespace

Tensor tensor(const NestedList& values, const TensorOptions& options) {
  const ScalarType dtype = options.dtype_opt().value_or(inferred_dtype(values));
  // The numbers are written on the host and moved as a whole.
  const Tensor out = empty(shape_of(values), TensorOptions(dtype).device(kCPU));
  dispatch_all(dtype, [&]<class T>() {
    T* next = out.data_ptr<T>();
    append(next, values);
  });
  const Tensor moved = to_device(out, options.device());
  if (options.requires_grad()) moved.requires_grad_();
  return moved;
}

}  // namespace halftone
