#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>

#include "halftone/amp/policy.h"
#include "halftone/engine/tensor.h"
#include "halftone/ops/check_defined.h"
#include "halftone/ops/wide.h"

namespace halftone::ops {

/// The operands of a function that is composed of other operators and has the `fp32` policy: while this
/// object lives, half operands are read as they are and computed in fp32, without a copy in fp32. The result
/// is fp32 in an autocast region and inside another such function, else in the operands' common dtype. With a
/// float64 among them, all is float64.
class WideOperands {
 public:
  /// Throws Error naming `op` unless all are floating and on one device. `others`: further tensors that may
  /// be half, such as a target; of any dtype, or undefined.
  WideOperands(const char* op, std::initializer_list<const Tensor*> operands,
               std::initializer_list<const Tensor*> others = {})
      : op_(op),
        is_inner_(amp::detail::thread_state.wide_results),
        has_double_(any_of_dtype(operands, kDouble) || any_of_dtype(others, kDouble)),
        wide_(!has_double_ && (any_half(operands) || any_half(others))) {
    for (const Tensor* operand : operands) {
      if (!operand->defined()) fail(op, "expected a tensor, got an undefined one");
      if (!operand->is_floating_point()) fail(op, "expected floating tensors, got ", *operand);
      if (operand->device() != (*operands.begin())->device()) {
        fail(op, "expected one device, got ", (*operands.begin())->device(), " and ", operand->device());
      }
      dtype_ = count_ == 0 ? operand->scalar_type() : promote_types(dtype_, operand->scalar_type());
      operands_[count_++] = has_double_ ? to_dtype(*operand, kDouble) : as_wide(*operand);
    }
    if (has_double_) dtype_ = kDouble;
    if (is_low_precision(dtype_) && (is_inner_ || amp::is_autocast_enabled(operands_[0].device().type()))) {
      dtype_ = kFloat;
    }
  }

  const Tensor& operator[](std::size_t i) const { return operands_[i]; }
  /// A tensor of any dtype as a factor of the first operand. Throws Error naming it unless it is on the
  /// operands' device.
  Tensor factor(const char* name, const Tensor& x) const {
    check_defined(op_, name, x);
    if (x.device() != operands_[0].device()) {
      fail(op_, "expected one device, got ", operands_[0].device(), " and ", x.device());
    }
    const ScalarType dtype = has_double_ ? kDouble : accumulate_type(operands_[0].scalar_type());
    return dtype == kFloat && is_low_precision(x.scalar_type()) ? as_wide(x) : to_dtype(x, dtype);
  }

  /// `x` in the result's dtype.
  Tensor result(const Tensor& x) const { return to_dtype(x, dtype_); }
  /// The same for one number per element, reduced first. Throws Error for an unknown reduction.
  Tensor result(const Tensor& elements, Reduction::Reduction reduction) const {
    if (reduction == Reduction::None) return result(elements);
    if (reduction == Reduction::Mean) return result(mean(elements));
    if (reduction == Reduction::Sum) return result(sum(elements));
    fail(op_, "expected the reduction None, Mean or Sum, got ", static_cast<int>(reduction));
  }

 private:
  static bool any_of_dtype(std::initializer_list<const Tensor*> tensors, ScalarType dtype) {
    return std::any_of(tensors.begin(), tensors.end(),
                       [=](const Tensor* x) { return x->defined() && x->scalar_type() == dtype; });
  }
  static bool any_half(std::initializer_list<const Tensor*> tensors) {
    return std::any_of(tensors.begin(), tensors.end(),
                       [](const Tensor* x) { return x->defined() && is_low_precision(x->scalar_type()); });
  }

  const char* op_;
  bool is_inner_, has_double_;
  WideResults wide_;
  std::array<Tensor, 4> operands_;
  std::size_t count_ = 0;
  ScalarType dtype_ = kFloat;
};

}  // namespace halftone::ops
