#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <vector>

#include "halftone/engine/error.h"

namespace halftone {

namespace detail {
/// Compared one by one: there are few, and memcmp waits for numbers that were only just written.
constexpr bool same_numbers(const std::int64_t* a, std::size_t a_count, const std::int64_t* b,
                            std::size_t b_count) {
  if (a_count != b_count) return false;
  for (std::size_t i = 0; i < a_count; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}
}  // namespace detail

/// Largest number of dimensions a tensor may have.
inline constexpr int kMaxDims = 8;

/// Up to eight sizes, strides or dimension numbers, held in place (no heap path). More throws Error.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<std::int64_t> values) { assign(values.begin(), values.size()); }
  Dims(const std::int64_t* values, std::size_t count) { assign(values, count); }
  Dims(std::size_t count, std::int64_t value) {
    check_count(count);
    count_ = static_cast<std::uint8_t>(count);
    std::fill_n(values_.begin(), count, value);
  }

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  /// The numbers, one after another.
  const std::int64_t* data() const { return values_.data(); }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + count_; }
  std::int64_t* begin() { return values_.data(); }
  std::int64_t* end() { return values_.data() + count_; }
  /// The i-th, < size(); not checked.
  std::int64_t operator[](std::size_t i) const { return values_[i]; }
  std::int64_t& operator[](std::size_t i) { return values_[i]; }
  std::int64_t back() const { return values_[count_ - 1u]; }
  std::int64_t& back() { return values_[count_ - 1u]; }

  /// Adds a number at the end. Throws Error when there are eight.
  void push_back(std::int64_t value) {
    check_count(count_ + 1u);
    values_[count_++] = value;
  }
  /// Puts a number before the one at `position`. Throws Error when there are eight.
  void insert(std::size_t position, std::int64_t value) {
    push_back(value);
    std::rotate(begin() + position, end() - 1, end());
  }
  /// Takes one out.
  void erase(std::size_t position) {
    std::copy(begin() + position + 1, end(), begin() + position);
    --count_;
  }

  /// Whether both are the same list.
  friend bool operator==(const Dims& a, const Dims& b) {
    return detail::same_numbers(a.data(), a.count_, b.data(), b.count_);
  }

 private:
  static void check_count(std::size_t count) {
    if (count > kMaxDims) fail("shape", "a tensor has at most ", kMaxDims, " dimensions, got ", count);
  }
  void assign(const std::int64_t* values, std::size_t count) {
    check_count(count);
    count_ = static_cast<std::uint8_t>(count);
    std::copy_n(values, count, values_.begin());
  }

  std::array<std::int64_t, kMaxDims> values_{};
  std::uint8_t count_ = 0;
};

/// A non-owning list of sizes, strides or dimensions: what functions take. Converts from `{2, 3}`, one
/// number, std::vector, std::array and Dims. Like every view it must not outlive what it was made from.
class IntArrayRef {
 public:
  IntArrayRef() = default;
  IntArrayRef(const std::int64_t& one) : data_(&one), size_(1) {}
  IntArrayRef(std::initializer_list<std::int64_t> values) : IntArrayRef(values.begin(), values.size()) {}
  IntArrayRef(const std::vector<std::int64_t>& values) : data_(values.data()), size_(values.size()) {}
  IntArrayRef(const Dims& values) : data_(values.data()), size_(values.size()) {}
  template <std::size_t N>
  IntArrayRef(const std::array<std::int64_t, N>& values) : data_(values.data()), size_(N) {}
  IntArrayRef(const std::int64_t* data, std::size_t size) : data_(data), size_(size) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// The numbers, one after another.
  const std::int64_t* data() const { return data_; }
  const std::int64_t* begin() const { return data_; }
  const std::int64_t* end() const { return data_ + size_; }
  /// The i-th, < size(); not checked.
  std::int64_t operator[](std::size_t i) const { return data_[i]; }
  /// Throws Error when there is no element `i`.
  std::int64_t at(std::size_t i) const;
  /// Throws Error unless the part lies inside.
  IntArrayRef slice(std::size_t start, std::size_t length) const;
  IntArrayRef slice(std::size_t start) const { return slice(start, size_ - std::min(start, size_)); }
  /// Whether both are the same list.
  bool equals(IntArrayRef other) const { return *this == other; }
  std::int64_t front() const { return data_[0]; }
  std::int64_t back() const { return data_[size_ - 1]; }
  std::vector<std::int64_t> vec() const { return {begin(), end()}; }
  /// A copy that owns its numbers. Throws Error when there are more than eight.
  Dims dims() const { return {data_, size_}; }

  /// Whether both are the same list.
  friend bool operator==(IntArrayRef a, IntArrayRef b) {
    return detail::same_numbers(a.data_, a.size_, b.data_, b.size_);
  }

 private:
  const std::int64_t* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Dimensions that may be left out: everything IntArrayRef converts from, or std::nullopt.
class OptionalIntArrayRef {
 public:
  OptionalIntArrayRef(std::nullopt_t) {}
  template <class T>
  requires(!std::is_arithmetic_v<T> && std::is_convertible_v<const T&, IntArrayRef>)
      OptionalIntArrayRef(const T& values)
      : values_(values), has_value_(true) {}
  OptionalIntArrayRef(const std::int64_t& one) : values_(one), has_value_(true) {}
  OptionalIntArrayRef(std::initializer_list<std::int64_t> values) : values_(values), has_value_(true) {}

  /// Whether there are any.
  bool has_value() const { return has_value_; }
  /// Whether there are any.
  explicit operator bool() const { return has_value_; }
  /// The dimensions; empty when there are none.
  IntArrayRef operator*() const { return values_; }
  /// The dimensions, or else `other`.
  IntArrayRef value_or(IntArrayRef other) const { return has_value_ ? values_ : other; }

 private:
  IntArrayRef values_;
  bool has_value_ = false;
};

/// Product of the sizes; 1 for no dimensions. Throws Error on a negative size or when the product overflows.
std::int64_t count_elements(IntArrayRef sizes);

/// Row-major strides, in elements.
Dims contiguous_strides(IntArrayRef sizes);

/// True when the elements lie in row-major order without gaps (dimensions of size 1 do not matter).
bool strides_are_contiguous(IntArrayRef sizes, IntArrayRef strides);

/// Turns a dimension counted from either end into 0 .. rank-1. A 0-d tensor accepts 0 and -1.
/// Throws Error naming `op` and the valid range.
std::int64_t wrap_dim(std::string_view op, std::int64_t dim, std::int64_t rank);

/// The shape two operands broadcast to (NumPy's rules). Throws Error naming `op` and both shapes.
Dims broadcast_shapes(std::string_view op, IntArrayRef a, IntArrayRef b);

}  // namespace halftone
