#pragma once

/// libtorch programs compile with this header in the place of <torch/torch.h>, for what halftone has.

#include "halftone/halftone.h"

namespace torch = halftone;
namespace at = halftone;
namespace c10 = halftone;

#define TORCH_MODULE(Name) HALFTONE_MODULE(Name)
#define TORCH_ARG(T, name) HALFTONE_ARG(T, name)
