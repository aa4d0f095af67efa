#pragma once

#include <iosfwd>

#include "halftone/engine/tensor.h"

namespace halftone {

/// The values in columns, then "[ CPUFloatType{2,3} ]", as libtorch prints them. A common factor of very
/// large or small values stands above them. Waits for the device.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
/// "cpu", "cuda:0".
std::ostream& operator<<(std::ostream& out, const Device& device);
/// "Float", "Half", ...: libtorch's names.
std::ostream& operator<<(std::ostream& out, ScalarType dtype);
/// "[2, 3]".
std::ostream& operator<<(std::ostream& out, IntArrayRef sizes);
/// "[2, 3]".
std::ostream& operator<<(std::ostream& out, const Dims& sizes);

/// The same as operator<<, with lines of at most `linesize` characters: matrices are cut into blocks of
/// columns.
void print(std::ostream& out, const Tensor& tensor, std::int64_t linesize);

}  // namespace halftone
