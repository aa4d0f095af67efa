#pragma once

#include <string>

#include "halftone/engine/tensor.h"

namespace halftone::io {

/// Writes a NumPy .npy file, atomically. Throws Error on bfloat16, which NumPy does not have.
void save_npy(const std::string& path, const Tensor& tensor);

/// Reads a .npy file of float16/32/64, int32/64, uint8 or bool, in C or Fortran order. Throws Error when it
/// is damaged or holds another dtype.
Tensor load_npy(const std::string& path);

}  // namespace halftone::io
