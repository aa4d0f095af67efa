// Makes the emulated CUDA backend the one of this program.
#include "halftone/engine/cuda_backend.h"

namespace {

const bool linked = (halftone::cuda::link_backend(), true);

}  // namespace
