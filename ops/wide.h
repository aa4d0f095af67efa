#pragma once

// Gradient rules and functions of several operators: nothing is rounded to half between their steps. `wide`
// converts; WideResults and as_wide do without the fp32 copy of a half operand, in memory and on the tape.

#include "halftone/amp/policy.h"
#include "halftone/engine/tensor.h"

namespace halftone::ops {

/// In fp32 where it was half. Undefined stays undefined.
inline Tensor wide(const Tensor& x) {
  return x.defined() ? to_dtype(x, accumulate_type(x.scalar_type())) : x;
}

/// Half `x` standing for its fp32 values: the same memory, read by operators as it is, but the gradients of
/// all its uses are summed in fp32 and rounded to half once. Any other `x` as it is.
Tensor as_wide(const Tensor& x);

/// While alive, operators called on this thread that round (those whose policy is `fp32`, `fp32_inside` or
/// `promote`) read half and give fp32, as `fp32` operators do in an autocast region.
class WideResults {
 public:
  explicit WideResults(bool on = true) : outer_(amp::detail::thread_state.wide_results) {
    amp::detail::thread_state.wide_results = outer_ || on;
  }
  ~WideResults() { amp::detail::thread_state.wide_results = outer_; }
  WideResults(const WideResults&) = delete;
  WideResults& operator=(const WideResults&) = delete;

 private:
  bool outer_;
};

}  // namespace halftone::ops
