#pragma once

#include <string>
#include <vector>

#include "halftone/engine/tensor.h"

namespace halftone::test {

using List = std::vector<double>;

/// All elements in row-major order.
inline List values(const Tensor& tensor) {
  const Tensor flat = tensor.detach().to(kCPU, kDouble).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

/// A copy that wants gradients.
inline Tensor leaf(const Tensor& tensor) {
  Tensor out = tensor.detach().clone();
  out.requires_grad_();
  return out;
}

/// The message of the Error that `f` throws, empty if it throws none.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace halftone::test
