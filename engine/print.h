#pragma once

#include <iosfwd>

#include "halftone/engine/tensor.h"

namespace halftone {

/// The values in columns, then "[ CPUFloatType{2,3} ]", as libtorch prints them. A common factor of very
/// large or small values stands above them. Waits for the device.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
/// "cpu", "cuda:0".
std::ostream& operator<<(std::ostream& out, const Device& device);
/// "cpu", "cuda".
std::ostream& operator<<(std::ostream& out, DeviceType device);
/// "Float", "Half", ...: libtorch's names.
std::ostream& operator<<(std::ostream& out, ScalarType dtype);
/// The number; true and false for a bool.
std::ostream& operator<<(std::ostream& out, const Scalar& number);
/// "Strided".
std::ostream& operator<<(std::ostream& out, Layout layout);
/// "TensorOptions(dtype=float, device=cpu, layout=Strided (default), ...)", as libtorch prints them.
std::ostream& operator<<(std::ostream& out, const TensorOptions& options);
/// "[2, 3]".
std::ostream& operator<<(std::ostream& out, IntArrayRef sizes);
/// "[2, 3]".
std::ostream& operator<<(std::ostream& out, const Dims& sizes);
std::ostream& operator<<(std::ostream& out, const TensorList& tensors);

/// The same as operator<<, with lines of at most `linesize` characters: matrices are cut into blocks of
/// columns.
void print(std::ostream& out, const Tensor& tensor, std::int64_t linesize);

}  // namespace halftone
