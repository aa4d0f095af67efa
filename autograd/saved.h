#pragma once

#include "halftone/autograd/node.h"

namespace halftone::autograd {

/// A tensor kept for backward: its storage, shape and version; never its own producer (that would be a
/// cycle).
class SavedTensor {
 public:
  SavedTensor() = default;
  /// `is_result`: an output of the node that keeps it.
  SavedTensor(const Tensor& tensor, bool is_result, std::uint32_t output_nr = 0);
  SavedTensor(SavedTensor&& other) noexcept = default;
  SavedTensor& operator=(SavedTensor&& other) noexcept {
    if (defined()) reset();
    tensor_ = std::move(other.tensor_);
    version_ = other.version_;
    output_nr_ = other.output_nr_;
    is_result_ = other.is_result_;
    other.tensor_ = Tensor();
    return *this;
  }
  ~SavedTensor() {
    if (defined()) reset();
  }

  /// Whether a tensor is kept.
  bool defined() const { return tensor_.defined(); }
  /// Lets go of it.
  void reset();

  /// The tensor again; a result is attached to `owner`. Throws Error naming `which` if it was written since.
  Tensor unpack(Node& owner, const char* which, int position) const;
  /// The tensor as it is kept, without its place in the graph or a check.
  const Tensor& raw() const { return tensor_; }

 private:
  Tensor tensor_;
  std::uint32_t version_ = 0;
  std::uint32_t output_nr_ = 0;
  bool is_result_ = false;
};

}  // namespace halftone::autograd
