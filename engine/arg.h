#pragma once

#include <utility>

/// A fluent option, as libtorch's TORCH_ARG: `options.name(value)` sets it and gives the options back,
/// `options.name()` reads it. Used inside a class, which it leaves in its private part.
#define HALFTONE_ARG(T, name)                              \
 public:                                                   \
  auto name(const T& new_##name)->decltype(*this) {        \
    this->name##_ = new_##name;                            \
    return *this;                                          \
  }                                                        \
  auto name(T&& new_##name)->decltype(*this) {             \
    this->name##_ = std::move(new_##name);                 \
    return *this;                                          \
  }                                                        \
  const T& name() const noexcept { return this->name##_; } \
  T& name() noexcept { return this->name##_; }             \
                                                           \
 private:                                                  \
  T name##_
