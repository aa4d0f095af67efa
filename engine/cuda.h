#pragma once

#include <cstddef>

/// Questions about CUDA devices. This build has no CUDA backend: there is none to use.
namespace halftone::cuda {

inline bool is_available() { return false; }
inline std::size_t device_count() { return 0; }

}  // namespace halftone::cuda
