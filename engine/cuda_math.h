#pragma once

#include <atomic>

// How exact products on CUDA devices are. Process-wide; may be set in any build.
namespace halftone::cuda {

namespace detail {
inline std::atomic<bool> tf32_allowed{false};
}

/// Whether products of float32 matrices may round their operands to TF32 (10 bits of mantissa, float32's
/// exponent) to run on tensor cores. Off unless asked for: then float32 products have the accuracy
/// kernels/gemm.h states.
inline bool allow_tf32() { return detail::tf32_allowed.load(std::memory_order_relaxed); }
/// Allows it or forbids it, in every thread.
inline void set_allow_tf32(bool allow) { detail::tf32_allowed.store(allow, std::memory_order_relaxed); }

}  // namespace halftone::cuda
