#pragma once

#include <cstddef>

namespace halftone::cuda {

/// The most bytes that write_small takes.
inline constexpr std::size_t kSmallWrite = 256;

/// Copies `bytes` bytes of the host to device memory, on the current stream. They are read before the call
/// returns and travel as a kernel's argument: neither side waits, whatever memory they lie in.
void write_small(void* data, const void* host, std::size_t bytes);

}  // namespace halftone::cuda
