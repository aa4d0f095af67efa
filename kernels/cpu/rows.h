#pragma once

#include <algorithm>
#include <cstdint>

#include "halftone/engine/cached_containers.h"
#include "halftone/engine/tensor.h"
#include "halftone/kernels/cpu/convert.h"

namespace halftone::cpu {

/// Scratch rows are padded to a multiple of the widest vector.
inline constexpr std::int64_t kRowPadding = 16;
/// Most rows handled together where their elements lie side by side: a cache line of float.
inline constexpr std::int64_t kRowGroup = 16;
constexpr std::int64_t padded(std::int64_t n) { return (n + kRowPadding - 1) / kRowPadding * kRowPadding; }

/// The vectors of a tensor along one dimension, numbered in row-major order of the other dimensions, whatever
/// the strides. T is what rows are computed in: float or double.
template <class T>
class Rows {
 public:
  Rows(const Tensor& x, std::int64_t dim)
      : data_(static_cast<std::byte*>(x.data_ptr())),
        element_size_(static_cast<std::int64_t>(x.element_size())),
        sizes_(x.sizes().dims()),
        strides_(x.strides().dims()),
        load_(loader<T>(x.scalar_type())),
        store_(storer<T>(x.scalar_type())) {
    if (x.dim() > 0) {
      const auto d = static_cast<std::size_t>(dim);
      length_ = sizes_[d];
      stride_ = strides_[d];
      sizes_.erase(d);
      strides_.erase(d);
    }
    count_ = count_elements(sizes_);
    merge();
  }

  std::int64_t count() const { return count_; }
  /// The elements of a row lie side by side.
  bool is_dense() const { return stride_ == 1 || length_ == 1; }
  std::byte* row(std::int64_t r) const { return data_ + offset(r); }
  std::int64_t length() const { return length_; }

  /// Row `r` into `row`, which holds padded(length()) elements; the rest becomes `padding`.
  void load(std::int64_t r, T* row, T padding) const {
    load_(row, data_ + offset(r), stride_, length_);
    std::fill(row + length_, row + padded(length_), padding);
  }
  /// How many of the rows r .. end - 1, at most `most`, are best read together: neighbours whose elements lie
  /// side by side.
  std::int64_t group(std::int64_t r, std::int64_t end, std::int64_t most = kRowGroup) const {
    if (stride_ == 1 || count_ == 0 || sizes_.empty() || strides_.back() != 1) return 1;
    return std::min({most, sizes_.back() - r % sizes_.back(), end - r});
  }
  /// `count` rows of one group as the columns of a matrix whose lines are `step` elements long.
  void load_columns(std::int64_t r, std::int64_t count, T* matrix, std::int64_t step) const {
    const std::byte* from = row(r);
    for (std::int64_t i = 0; i < length_; ++i)
      load_(matrix + i * step, from + i * stride_ * element_size_, 1, count);
  }
  void store_columns(std::int64_t r, std::int64_t count, const T* matrix, std::int64_t step) const {
    std::byte* const to = row(r);
    for (std::int64_t i = 0; i < length_; ++i)
      store_(to + i * stride_ * element_size_, 1, matrix + i * step, count);
  }
  /// `count` rows of one group, `step` elements apart in scratch memory.
  void load(std::int64_t r, std::int64_t count, T* rows, std::int64_t step, T padding) const {
    if (count == 1) return load(r, rows, padding);
    const std::byte* from = data_ + offset(r);
    for (std::int64_t i = 0; i < length_; ++i, from += stride_ * element_size_) {
      T side_by_side[kRowGroup];
      load_(side_by_side, from, 1, count);
      for (std::int64_t j = 0; j < count; ++j) rows[j * step + i] = side_by_side[j];
    }
    for (std::int64_t j = 0; j < count; ++j) {
      std::fill(rows + j * step + length_, rows + j * step + padded(length_), padding);
    }
  }
  void store(std::int64_t r, std::int64_t count, const T* rows, std::int64_t step) const {
    if (count > 1 && group(r, r + count) == count) {
      std::byte* to = data_ + offset(r);
      for (std::int64_t i = 0; i < length_; ++i, to += stride_ * element_size_) {
        T side_by_side[kRowGroup];
        for (std::int64_t j = 0; j < count; ++j) side_by_side[j] = rows[j * step + i];
        store_(to, 1, side_by_side, count);
      }
      return;
    }
    for (std::int64_t j = 0; j < count; ++j) store(r + j, rows + j * step);
  }

  T at(std::int64_t r, std::int64_t i) const {
    T value;
    load_(&value, data_ + offset(r) + i * stride_ * element_size_, 1, 1);
    return value;
  }
  void store(std::int64_t r, const T* row) const { store_(data_ + offset(r), stride_, row, length_); }

 private:
  /// In bytes.
  std::int64_t offset(std::int64_t r) const {
    std::int64_t at = 0;
    for (std::size_t d = sizes_.size(); d-- > 1;) {
      at += r % sizes_[d] * strides_[d];
      r /= sizes_[d];
    }
    if (!sizes_.empty()) at += r * strides_[0];
    return at * element_size_;
  }

  /// Neighbouring dimensions that step evenly become one.
  void merge() {
    for (std::size_t d = sizes_.size(); d-- > 1;) {
      if (sizes_[d] != 1 && strides_[d - 1] != strides_[d] * sizes_[d]) continue;
      if (sizes_[d] != 1) strides_[d - 1] = strides_[d];
      sizes_[d - 1] *= sizes_[d];
      sizes_.erase(d);
      strides_.erase(d);
    }
  }

  std::byte* data_;
  std::int64_t element_size_;
  Dims sizes_, strides_;
  Loader<T> load_;
  Storer<T> store_;
  std::int64_t length_ = 1, stride_ = 1, count_ = 1;
};

/// Every element of `x` in row-major order, padded with zeros.
template <class T>
CachedVector<T> elements(const Tensor& x) {
  CachedVector<T> values(static_cast<std::size_t>(padded(x.numel())) + kRowPadding);
  if (x.numel() == 0) return values;
  const Rows<T> rows(x, x.dim() - 1);
  for (std::int64_t r = 0; r < rows.count(); ++r) rows.load(r, values.data() + r * rows.length(), T(0));
  return values;
}

/// Distance of the rows of a group in scratch memory; not a power of two, so that they do not share cache
/// sets.
constexpr std::int64_t group_step(std::int64_t length) { return padded(length) + kRowPadding; }

/// How many rows of `length` elements make a piece of work for one thread.
constexpr std::int64_t row_grain(std::int64_t length) {
  return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(length, 1));
}

}  // namespace halftone::cpu
