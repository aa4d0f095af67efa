#pragma once

#include <initializer_list>
#include <type_traits>
#include <vector>

#include "halftone/engine/tensor.h"

namespace halftone {

namespace detail {

/// What stands between the braces of `tensor({{1, 2}, {3, 4}})`: a number, a vector of numbers, or a list of
/// these. Refers to its parts, so it lives no longer than the call it is an argument of.
class NestedList {
 public:
  enum class Kind : std::uint8_t { kNumber, kNumbers, kBools, kList };

  NestedList() : kind_(Kind::kList) {}
  template <class T>
  requires std::is_arithmetic_v<T> NestedList(T number) : NestedList(Scalar(number), number_dtype<T>()) {}
  NestedList(Half number) : NestedList(Scalar(number), kHalf) {}
  NestedList(BFloat16 number) : NestedList(Scalar(number), kBFloat16) {}
  template <class T>
  requires requires { dtype_of<T>; }
  NestedList(const std::vector<T>& numbers)
      : kind_(Kind::kNumbers), dtype_(dtype_of<T>), size_(numbers.size()), data_(numbers.data()) {}
  NestedList(const std::vector<bool>& bools)
      : kind_(Kind::kBools), dtype_(kBool), size_(bools.size()), data_(&bools) {}
  NestedList(std::initializer_list<NestedList> list)
      : kind_(Kind::kList), size_(list.size()), data_(list.begin()) {}

  Kind kind() const { return kind_; }
  ScalarType dtype() const { return dtype_; }
  const Scalar& number() const { return number_; }
  std::size_t size() const { return size_; }
  const void* data() const { return data_; }
  const NestedList& operator[](std::size_t i) const { return static_cast<const NestedList*>(data_)[i]; }

 private:
  NestedList(const Scalar& number, ScalarType dtype) : kind_(Kind::kNumber), dtype_(dtype), number_(number) {}

  template <class T>
  static constexpr ScalarType number_dtype() {
    if constexpr (std::is_same_v<T, bool>)
      return kBool;
    else
      return std::is_integral_v<T> ? kLong : kDouble;
  }

  Kind kind_;
  ScalarType dtype_ = kDouble;
  Scalar number_;
  std::size_t size_ = 0;
  const void* data_ = nullptr;
};

}  // namespace detail

/// A tensor of the given numbers: `tensor(1.5)`, `tensor({1, 2, 3})`, `tensor({{1.0, 2.0}, {3.0, 4.0}})`,
/// `tensor(std::vector<float>{...})`. Unless `options` names a dtype it is int64 for integers, bool for
/// bools, the default dtype (float32) for float and double, and the vector's own for half types. Throws Error
/// when the lists are ragged.
Tensor tensor(const detail::NestedList& values, const TensorOptions& options = {});

}  // namespace halftone
