#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "halftone/engine/host_device.h"
#include "halftone/kernels/cuda/device.h"
#include "halftone/kernels/math/special_scalar.h"
#include "halftone/kernels/params.h"
#include "halftone/kernels/update_numbers.h"

// The formulas of kernels/math for device code: the functors of the CPU kernels, used with float, double and
// I64.
namespace halftone::cuda::math {

#define HALFTONE_FUNCTOR_BODIES
#define HALFTONE_SCALAR_FUNCTORS
#include "halftone/kernels/math/pointwise_functors.h"

#include "halftone/kernels/math/optimizer.h"  // stands on the scalar functions that come with them
#undef HALFTONE_SCALAR_FUNCTORS
#undef HALFTONE_FUNCTOR_BODIES

}  // namespace halftone::cuda::math
