#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <vector>

#include "halftone/engine/dims.h"

namespace halftone {

/// D numbers, one per spatial dimension; a single number stands for all of them: `.stride(2)`, `.stride({2,
/// 1})`.
template <std::size_t D, class T = std::int64_t>
class ExpandingArray {
 public:
  ExpandingArray(T value) { values_.fill(value); }
  /// Throws Error unless there are one or D values.
  ExpandingArray(std::initializer_list<T> values) { assign(values.begin(), values.size()); }
  ExpandingArray(const std::vector<T>& values) { assign(values.data(), values.size()); }
  ExpandingArray(const std::array<T, D>& values) : values_(values) {}
  ExpandingArray(IntArrayRef values) requires std::is_same_v<T, std::int64_t> {
    assign(values.data(), values.size());
  }

  std::size_t size() const { return D; }
  /// Its D numbers, one after another; `*` and `->` give them as a std::array.
  const T* data() const { return values_.data(); }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + D; }
  /// Of dimension `i`, < D.
  T operator[](std::size_t i) const { return values_[i]; }
  /// All D numbers.
  const std::array<T, D>& operator*() const { return values_; }
  /// All D numbers.
  const std::array<T, D>* operator->() const { return &values_; }
  /// As the operators take them.
  operator IntArrayRef() const requires std::is_same_v<T, std::int64_t> { return {values_.data(), D}; }

 protected:
  ExpandingArray() = default;
  /// Throws Error unless there are one or D values.
  template <class U>
  void assign(const U* values, std::size_t count) {
    if (count != 1 && count != D) fail("ExpandingArray", "expected 1 or ", D, " values, got ", count);
    for (std::size_t i = 0; i < D; ++i) values_[i] = values[count == 1 ? 0 : i];
  }

 private:
  std::array<T, D> values_{};
};

/// D sizes of which some may be left open (nullopt: as in the input).
template <std::size_t D>
class ExpandingArrayWithOptionalElem : public ExpandingArray<D, std::optional<std::int64_t>> {
 public:
  /// The array of sizes as it is stored.
  using Base = ExpandingArray<D, std::optional<std::int64_t>>;
  ExpandingArrayWithOptionalElem(std::int64_t value) : Base(std::optional<std::int64_t>(value)) {}
  ExpandingArrayWithOptionalElem(std::initializer_list<std::int64_t> values) {
    this->assign(values.begin(), values.size());
  }
  ExpandingArrayWithOptionalElem(std::initializer_list<std::optional<std::int64_t>> values) : Base(values) {}
  ExpandingArrayWithOptionalElem(const std::vector<std::int64_t>& values) {
    this->assign(values.data(), values.size());
  }
  ExpandingArrayWithOptionalElem(const std::vector<std::optional<std::int64_t>>& values) : Base(values) {}
};

}  // namespace halftone
