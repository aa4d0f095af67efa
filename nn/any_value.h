#pragma once

#include <memory>
#include <typeinfo>
#include <utility>

#include "halftone/engine/error.h"

namespace halftone::nn {

namespace detail {
[[noreturn]] void wrong_value_type(const std::type_info* has, const std::type_info& asked);
}

/// A value of any type: what AnyModule passes to and from forward().
class AnyValue {
 public:
  AnyValue() = default;
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, AnyValue>) explicit AnyValue(T&& value)
      : value_(std::make_shared<std::decay_t<T>>(std::forward<T>(value))), type_(&typeid(std::decay_t<T>)) {}

  /// Null unless it holds exactly a T.
  template <class T>
  T* try_get() {
    return type_ && *type_ == typeid(T) ? static_cast<T*>(value_.get()) : nullptr;
  }
  /// Throws Error unless it holds exactly a T.
  template <class T>
  T& get() {
    if (T* value = try_get<T>()) return *value;
    detail::wrong_value_type(type_, typeid(T));
  }
  /// Of what it holds; void when it holds nothing.
  const std::type_info& type_info() const { return type_ ? *type_ : typeid(void); }

 private:
  std::shared_ptr<void> value_;
  const std::type_info* type_ = nullptr;
};

}  // namespace halftone::nn
