#include "halftone/kernels/cuda/pointwise_kernel.h"

namespace halftone::cuda {

std::span<const PointwiseEntry> recurrent_kernels() {
  static constexpr PointwiseEntry entries[] = {
#define HALFTONE_ENTRY(name) pointwise_entry<math::name>(),
      HALFTONE_RECURRENT_FUNCTORS(HALFTONE_ENTRY)
#undef HALFTONE_ENTRY
  };
  return entries;
}

}  // namespace halftone::cuda
