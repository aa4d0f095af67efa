#include "halftone/kernels/cuda/reduce_kernel.h"

namespace halftone::cuda {

ReduceEntry<double> reduce_in_float(ReduceLoop loop) {
  using namespace reduce_ops;
  return detail::find_entry<float, SumOp, MaxOp, MinOp, ExpSumOp>(loop);
}

}  // namespace halftone::cuda
