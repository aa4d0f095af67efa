#include "halftone/kernels/cuda/reduce_kernel.h"

namespace halftone::cuda {

ReduceEntry<std::int64_t> reduce_in_integers(ReduceLoop loop) {
  using namespace reduce_ops;
  return detail::find_entry<std::int64_t, SumOp, ProdOp, MaxOp, MinOp, CountOp, AnyOp, AllOp>(loop);
}

}  // namespace halftone::cuda
