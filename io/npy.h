#pragma once

#include <string>

#include "halftone/engine/tensor.h"
#include "halftone/io/endpoint.h"

namespace halftone::io {

/// Writes a NumPy .npy file, atomically, or the same to a stream. Throws Error on bfloat16, which NumPy does
/// not have.
void save_npy(const Destination& to, const Tensor& tensor);

/// Reads a .npy file of float16/32/64, int32/64, uint8 or bool, in C or Fortran order. Throws Error when it
/// is damaged or holds another dtype.
Tensor load_npy(const Origin& from);

}  // namespace halftone::io
