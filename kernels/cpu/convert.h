#pragma once

#include <cstdint>

#include "halftone/engine/dtype.h"

namespace halftone::cpu {

/// Reads `n` elements that lie `stride` elements apart into an array of the type a kernel computes in.
/// A stride of 0 repeats one element.
template <class T>
using Loader = void (*)(T* dst, const void* src, std::int64_t stride, std::int64_t n);

/// Writes `n` elements `stride` elements apart, each rounded once (see convert_value.h for integers and
/// bool).
template <class T>
using Storer = void (*)(void* dst, std::int64_t stride, const T* src, std::int64_t n);

/// The functions for storage type `dtype` on the current ISA. T is float, double or int64_t.
template <class T>
Loader<T> loader(ScalarType dtype);
template <class T>
Storer<T> storer(ScalarType dtype);

}  // namespace halftone::cpu
