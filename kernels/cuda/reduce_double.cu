#include "halftone/kernels/cuda/reduce_kernel.h"

namespace halftone::cuda {

ReduceEntry<double> reduce_in_double(ReduceLoop loop) {
  using namespace reduce_ops;
  return detail::find_entry<double, SumOp, ProdOp, MaxOp, MinOp, CountOp, AnyOp, AllOp, AbsSumOp, AbsMaxOp,
                            ExpSumOp, SquareSumOp, PowSumOp>(loop);
}

}  // namespace halftone::cuda
