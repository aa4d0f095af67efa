#pragma once

namespace halftone::cuda {

/// Makes the CUDA kernels of every family known to `kernels_for` (kernels/kernels.h).
void link_families();

}  // namespace halftone::cuda
