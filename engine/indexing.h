#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace halftone {

class Tensor;

/// What stands between the brackets of `x.index({...})`, with libtorch's names.
namespace indexing {

/// A new dimension of size 1, or an open end of a Slice.
inline constexpr std::nullopt_t None = std::nullopt;

struct EllipsisType {};
/// Takes every dimension not named otherwise.
inline constexpr EllipsisType Ellipsis{};

/// start:stop:step, each optional.
class Slice {
 public:
  Slice(std::optional<std::int64_t> start = std::nullopt, std::optional<std::int64_t> stop = std::nullopt,
        std::optional<std::int64_t> step = std::nullopt)
      : start_(start), stop_(stop), step_(step.value_or(1)) {}
  /// The first index; counts from the end when negative.
  std::optional<std::int64_t> start() const { return start_; }
  /// The one behind the last.
  std::optional<std::int64_t> stop() const { return stop_; }
  /// The distance of the indices, 1 unless given.
  std::int64_t step() const { return step_; }

 private:
  std::optional<std::int64_t> start_, stop_;
  std::int64_t step_;
};

/// One index: None (a new dimension), Ellipsis, an integer, a bool, a Slice or an index tensor (int64, or
/// bool mask).
class TensorIndex {
 public:
  /// What stands there.
  enum class Kind : std::uint8_t { kNone, kEllipsis, kInteger, kBoolean, kSlice, kTensor };

  TensorIndex(std::nullopt_t) : kind_(Kind::kNone) {}
  TensorIndex(EllipsisType) : kind_(Kind::kEllipsis) {}
  TensorIndex(const char* dots);  ///< only "..."
  TensorIndex(std::int64_t integer) : kind_(Kind::kInteger), integer_(integer) {}
  TensorIndex(int integer) : TensorIndex(static_cast<std::int64_t>(integer)) {}
  template <class T>
  requires std::is_same_v<T, bool> TensorIndex(T boolean) : kind_(Kind::kBoolean), integer_(boolean) {}
  TensorIndex(Slice slice) : kind_(Kind::kSlice), slice_(slice) {}
  TensorIndex(const Tensor& tensor);

  /// Which of them this is.
  Kind kind() const { return kind_; }
  /// Of kInteger.
  std::int64_t integer() const { return integer_; }
  /// Of kBoolean.
  bool boolean() const { return integer_ != 0; }
  /// Of kSlice.
  const Slice& slice() const { return slice_; }
  /// Of kTensor only.
  const Tensor& tensor() const { return *tensor_; }

 private:
  Kind kind_;
  std::int64_t integer_ = 0;
  Slice slice_;
  std::shared_ptr<Tensor> tensor_;
};

}  // namespace indexing
}  // namespace halftone
