#pragma once

#include "halftone/ops/operator.h"

namespace halftone::ops {

/// The in-place form of a composed function: `f(self)` is written into `self`. `others`: its further tensors
/// that may want a gradient.
template <class F, class... Others>
Tensor& write_back(const char* op, Tensor& self, F f, const Others&... others) {
  const bool recording = GradMode::is_enabled() && any_wants_grad(self, others...);
  autograd::check_inplace(op, self, recording);
  // A gradient rule may read what is overwritten here: it gets a copy.
  const Tensor value = f(recording ? clone(self) : self);
  check_inplace_result(op, self, like(value));
  return copy_(self, value);
}

}  // namespace halftone::ops
