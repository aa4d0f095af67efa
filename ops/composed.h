#pragma once

#include <array>
#include <initializer_list>

#include "halftone/amp/policy.h"
#include "halftone/engine/tensor.h"
#include "halftone/ops/wide.h"

namespace halftone::ops {

/// The operands of a function that is composed of other operators and has the `fp32` policy: half operands
/// are computed in fp32, and the result is fp32 in an autocast region, else in the operands' common dtype.
class WideOperands {
 public:
  /// Throws Error naming `op` unless all are floating and on one device.
  WideOperands(const char* op, std::initializer_list<const Tensor*> operands) {
    for (const Tensor* operand : operands) {
      if (!operand->defined()) fail(op, "expected a tensor, got an undefined one");
      if (!operand->is_floating_point()) fail(op, "expected floating tensors, got ", *operand);
      if (operand->device() != (*operands.begin())->device()) {
        fail(op, "expected one device, got ", (*operands.begin())->device(), " and ", operand->device());
      }
      dtype_ = count_ == 0 ? operand->scalar_type() : promote_types(dtype_, operand->scalar_type());
      wide_[count_++] = wide(*operand);
    }
    if (is_low_precision(dtype_) && amp::is_autocast_enabled(wide_[0].device().type())) dtype_ = kFloat;
  }
  const Tensor& operator[](std::size_t i) const { return wide_[i]; }
  /// `x` in the result's dtype.
  Tensor result(const Tensor& x) const { return to_dtype(x, dtype_); }
  /// The same for one number per element, reduced first. Throws Error naming `op` for an unknown reduction.
  Tensor result(const char* op, const Tensor& elements, Reduction::Reduction reduction) const {
    if (reduction == Reduction::None) return result(elements);
    if (reduction == Reduction::Mean) return result(mean(elements));
    if (reduction == Reduction::Sum) return result(sum(elements));
    fail(op, "expected the reduction None, Mean or Sum, got ", static_cast<int>(reduction));
  }

 private:
  std::array<Tensor, 4> wide_;
  std::size_t count_ = 0;
  ScalarType dtype_ = kFloat;
};

}  // namespace halftone::ops
