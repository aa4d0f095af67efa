#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "halftone/engine/tensor.h"

namespace halftone {

/// A value of one of a few kinds, with the accessors of c10::IValue that programs use: what an autograd
/// context keeps and an archive holds.
class IValue {
 public:
  IValue() = default;
  template <class T>
  requires std::is_arithmetic_v<T> IValue(T value) {
    if constexpr (std::is_same_v<T, bool>)
      value_ = value;
    else if constexpr (std::is_integral_v<T>)
      value_ = static_cast<std::int64_t>(value);
    else
      value_ = static_cast<double>(value);
  }
  IValue(Tensor value) : value_(std::move(value)) {}
  IValue(std::string value) : value_(std::move(value)) {}
  IValue(const char* value) : value_(std::string(value)) {}
  IValue(std::vector<std::int64_t> value) : value_(std::move(value)) {}

  bool isNone() const { return is<std::monostate>(); }
  bool isBool() const { return is<bool>(); }
  bool isInt() const { return is<std::int64_t>(); }
  bool isDouble() const { return is<double>(); }
  bool isTensor() const { return is<Tensor>(); }
  bool isString() const { return is<std::string>(); }
  bool isIntList() const { return is<std::vector<std::int64_t>>(); }

  /// Each throws Error when the value is of another kind.
  bool toBool() const { return as<bool>("a bool"); }
  std::int64_t toInt() const { return as<std::int64_t>("an integer"); }
  double toDouble() const { return as<double>("a number"); }
  const Tensor& toTensor() const { return as<Tensor>("a tensor"); }
  const std::string& toStringRef() const { return as<std::string>("a text"); }
  const std::vector<std::int64_t>& toIntVector() const {
    return as<std::vector<std::int64_t>>("a list of integers");
  }

 private:
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value_);
  }
  template <class T>
  const T& as(const char* expected) const {
    if (const T* value = std::get_if<T>(&value_)) return *value;
    fail("IValue", "the value is not ", expected);
  }
  std::variant<std::monostate, bool, std::int64_t, double, Tensor, std::string, std::vector<std::int64_t>>
      value_;
};

}  // namespace halftone
