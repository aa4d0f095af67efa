#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace halftone {

enum class ScalarType : std::int8_t;
class Dims;
class IntArrayRef;
class Device;
class Tensor;

/// What every function of the library throws on bad input. `what()` reads "operator: message", the message
/// alone where a program's own check threw it (op is empty).
class Error : public std::runtime_error {
 public:
  Error(std::string op, const std::string& message)
      : std::runtime_error(op.empty() ? message : op + ": " + message), op_(std::move(op)) {}

  /// The operator or component that refused, e.g. "matmul" or "GradScaler".
  const std::string& op() const { return op_; }
  /// The same as `what()`, by libtorch's names.
  /// @{
  std::string msg() const { return what(); }
  const char* what_without_backtrace() const noexcept { return what(); }
  /// @}

 private:
  std::string op_;
};

namespace detail {
void append(std::string& out, std::string_view text);
void append(std::string& out, std::int64_t value);
void append(std::string& out, double value);
void append(std::string& out, ScalarType dtype);
void append(std::string& out, IntArrayRef sizes);  // "[2, 3]"
void append(std::string& out, const Dims& sizes);
void append(std::string& out, const Device& device);
void append(std::string& out, const Tensor& tensor);  // "float32[2, 3]"

template <class T>
void append_any(std::string& out, const T& part) {
  if constexpr (std::is_same_v<T, bool>) {
    append(out, std::string_view(part ? "true" : "false"));
  } else if constexpr (std::is_unsigned_v<T>) {
    append(out, std::string_view(std::to_string(part)));  // byte counts may exceed int64
  } else if constexpr (std::is_integral_v<T>) {
    append(out, static_cast<std::int64_t>(part));
  } else if constexpr (std::is_floating_point_v<T>) {
    append(out, static_cast<double>(part));
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    append(out, std::string_view(part));
  } else {
    append(out, part);
  }
}
}  // namespace detail

/// Joins texts, numbers, dtypes, shapes, devices and tensors ("float32[2, 3]") into one string.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (detail::append_any(out, parts), ...);
  return out;
}

/// Throws `Error` for operator `op` with the joined parts as its message.
template <class... Parts>
[[noreturn]] void fail(std::string_view op, const Parts&... parts) {
  throw Error(std::string(op), concat(parts...));
}

}  // namespace halftone
