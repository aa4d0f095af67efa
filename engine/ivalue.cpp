#include "halftone/engine/ivalue.h"

namespace halftone {

IValue::IValue() = default;
IValue::~IValue() = default;
IValue::IValue(const IValue&) = default;
IValue::IValue(IValue&&) noexcept = default;
IValue& IValue::operator=(const IValue&) = default;
IValue& IValue::operator=(IValue&&) noexcept = default;

IValue::IValue(const Scalar& value) {
  if (value.is_boolean())
    value_ = value.to<bool>();
  else if (value.is_integral())
    value_ = value.to_long();
  else
    value_ = value.to_double();
}
IValue::IValue(Tensor value) : value_(std::move(value)) {}
IValue::IValue(std::string value) : value_(std::move(value)) {}
IValue::IValue(const char* value) : value_(std::string(value)) {}
IValue::IValue(std::vector<std::int64_t> value) : value_(std::move(value)) {}
IValue::IValue(IntArrayRef value) : value_(value.vec()) {}

bool IValue::isNone() const { return std::holds_alternative<std::monostate>(value_); }
bool IValue::isBool() const { return std::holds_alternative<bool>(value_); }
bool IValue::isInt() const { return std::holds_alternative<std::int64_t>(value_); }
bool IValue::isDouble() const { return std::holds_alternative<double>(value_); }
bool IValue::isTensor() const { return std::holds_alternative<Tensor>(value_); }
bool IValue::isString() const { return std::holds_alternative<std::string>(value_); }
bool IValue::isIntList() const { return std::holds_alternative<std::vector<std::int64_t>>(value_); }

template <class T>
const T& IValue::as(const char* expected) const {
  if (const T* value = std::get_if<T>(&value_)) return *value;
  fail("IValue", "the value is not ", expected);
}

bool IValue::toBool() const { return as<bool>("a bool"); }
std::int64_t IValue::toInt() const { return as<std::int64_t>("an integer"); }
double IValue::toDouble() const { return as<double>("a number"); }
const Tensor& IValue::toTensor() const { return as<Tensor>("a tensor"); }
const std::string& IValue::toStringRef() const { return as<std::string>("a text"); }
const std::vector<std::int64_t>& IValue::toIntVector() const {
  return as<std::vector<std::int64_t>>("a list of integers");
}

}  // namespace halftone
