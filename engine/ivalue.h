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
  IValue();
  ~IValue();
  IValue(const IValue&);
  IValue(IValue&&) noexcept;
  IValue& operator=(const IValue&);
  IValue& operator=(IValue&&) noexcept;
  template <class T>
  requires std::is_arithmetic_v<T> IValue(T value) : IValue(Scalar(value)) {}
  IValue(const Scalar& value);
  IValue(Tensor value);
  IValue(std::string value);
  IValue(const char* value);
  IValue(std::vector<std::int64_t> value);
  IValue(IntArrayRef value);

  /// What kind of value it holds; isNone(): none at all.
  /// @{
  bool isNone() const;
  bool isBool() const;
  bool isInt() const;
  bool isDouble() const;
  bool isTensor() const;
  bool isString() const;
  bool isIntList() const;
  /// @}

  /// Each throws Error when the value is of another kind.
  /// @{
  bool toBool() const;
  std::int64_t toInt() const;
  double toDouble() const;
  const Tensor& toTensor() const;
  const std::string& toStringRef() const;
  const std::vector<std::int64_t>& toIntVector() const;
  /// @}

 private:
  template <class T>
  const T& as(const char* expected) const;

  std::variant<std::monostate, bool, std::int64_t, double, Tensor, std::string, std::vector<std::int64_t>>
      value_;
};

}  // namespace halftone
