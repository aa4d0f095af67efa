#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace halftone {

/// A growing array whose first N elements need no heap: edges, gradients, saved tensors of one operator.
template <class T, std::size_t N>
class InlineVector {
 public:
  InlineVector() = default;
  InlineVector(std::size_t count, const T& value) {
    reserve(count);
    for (std::size_t i = 0; i < count; ++i) push_back(value);
  }
  template <class... Values>
  requires(sizeof...(Values) > 0 && (std::is_convertible_v<Values, T> && ...))
      InlineVector(Values&&... values) {
    reserve(sizeof...(Values));
    (push_back(std::forward<Values>(values)), ...);
  }
  InlineVector(const InlineVector& other) {
    reserve(other.size_);
    for (const T& value : other) push_back(value);
  }
  InlineVector(InlineVector&& other) noexcept { take(other); }
  InlineVector& operator=(InlineVector other) noexcept {
    destroy();
    take(other);
    return *this;
  }
  ~InlineVector() { destroy(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  /// The i-th, < size(); not checked.
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

  void push_back(T value) { emplace_back(std::move(value)); }
  /// Makes the element in its place: parts of it that were just written need not be read again.
  template <class... Parts>
  T& emplace_back(Parts&&... parts) {
    if (size_ == capacity_) reserve(2 * capacity_);
    return *new (data_ + size_++) T{std::forward<Parts>(parts)...};
  }

  void reserve(std::size_t count) {
    if (count <= capacity_) return;
    T* bigger = static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(alignof(T))));
    for (std::size_t i = 0; i < size_; ++i) {
      new (bigger + i) T(std::move(data_[i]));
      data_[i].~T();
    }
    free_heap();
    data_ = bigger;
    capacity_ = count;
  }

  void clear() {
    for (T& value : *this) value.~T();
    size_ = 0;
  }

 private:
  T* inline_data() { return reinterpret_cast<T*>(buffer_); }
  void free_heap() {
    if (data_ != inline_data()) ::operator delete(data_, std::align_val_t(alignof(T)));
  }
  void destroy() {
    clear();
    free_heap();
    data_ = inline_data();
    capacity_ = N;
  }
  void take(InlineVector& other) noexcept {
    if (other.data_ != other.inline_data()) {
      data_ = std::exchange(other.data_, other.inline_data());
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, N);
      return;
    }
    for (T& value : other) push_back(std::move(value));
    other.clear();
  }

  alignas(T) unsigned char buffer_[N * sizeof(T)];
  T* data_ = inline_data();
  std::size_t size_ = 0;
  std::size_t capacity_ = N;
};

}  // namespace halftone
