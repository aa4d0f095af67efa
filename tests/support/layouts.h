#pragma once

// Tensors of every dtype, shape and layout that a file must carry.

#include <vector>

#include "halftone/engine/tensor.h"

namespace halftone::test {

inline constexpr ScalarType kTypes[] = {kByte, kBool, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble};

/// Every byte different from its neighbours, NaNs of all sorts among the elements.
inline Tensor pattern(const Dims& shape, ScalarType dtype) {
  const Tensor out = empty(shape, TensorOptions(dtype).device(kCPU));
  auto* bytes = static_cast<unsigned char*>(out.data_ptr());
  for (std::size_t i = 0; i < out.nbytes(); ++i)
    bytes[i] = static_cast<unsigned char>(dtype == kBool ? i % 3 == 0 : i * 151 + 87);
  return out.to(get_default_device());
}

/// Contiguous tensors and views of all kinds.
inline std::vector<Tensor> layouts(ScalarType dtype) {
  return {pattern({}, dtype),
          pattern({0}, dtype),
          pattern({3, 0, 2}, dtype),
          pattern({7}, dtype),
          pattern({1, 2, 1, 2, 1, 2, 1, 3}, dtype),
          pattern({4, 5}, dtype).transpose(0, 1),
          pattern({6, 5}, dtype).slice(0, 1, 6, 2).slice(1, 0, 5, 3),
          pattern({1, 5}, dtype).expand({3, 5}),
          pattern({2, 3, 4}, dtype).select(1, 1)};
}

}  // namespace halftone::test
