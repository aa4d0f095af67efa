#include "halftone/kernels/check.h"

#include <cmath>

#include "halftone/engine/error.h"
#include "halftone/engine/functions.h"
#include "halftone/kernels/reduce.h"

namespace halftone {
namespace {

double reduced(ReduceOp op, const Tensor& x) {
  const Tensor out = empty({}, TensorOptions(kDouble).device(kCPU));
  cpu_kernels<ReduceKernels>().run(op, out, x, (DimMask{1} << x.dim()) - 1, {});
  return *out.data_ptr<double>();
}

void values(const char* op, ValueRule rule, const Tensor& x) {
  if (x.numel() == 0) return;
  if (rule == ValueRule::kDivisor) {
    if (reduced(ReduceOp::kAll, x) == 0) fail(op, "integer division by zero: the divisor ", x, " holds a 0");
    return;
  }
  for (const ReduceOp extreme : {ReduceOp::kMin, ReduceOp::kMax}) {
    const double value = reduced(extreme, x);
    if (!(value >= 0 && value <= 1)) fail(op, "expected probabilities in [0, 1], found ", value, " in ", x);
  }
}

}  // namespace

template <>
const CheckKernels& cpu_kernels<CheckKernels>() {
  static constexpr CheckKernels kernels{&values};
  return kernels;
}

}  // namespace halftone
