#pragma once

#include <string>

#include "halftone/engine/tensor.h"

namespace halftone::data {

/// Reads an IDX file (yann.lecun.com/exdb/mnist), plain or gzip-compressed; when `path` does not exist,
/// `path`.gz is tried. Unsigned bytes give uint8, 16- and 32-bit integers int32, floats float32 and float64.
/// Throws Error when the file is missing, is not IDX, is shorter or longer than its header says, or fails its
/// checksum.
Tensor read_idx(const std::string& path);

}  // namespace halftone::data
