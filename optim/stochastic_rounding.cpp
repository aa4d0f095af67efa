#include "halftone/optim/stochastic_rounding.h"

#include "halftone/autograd/grad_mode.h"
#include "halftone/kernels/optimizer.h"

namespace halftone::optim {

Tensor stochastic_round(const Tensor& tensor, ScalarType dtype, Generator generator) {
  if (!is_low_precision(dtype)) fail("stochastic_round", "dtype: expected float16 or bfloat16, got ", dtype);
  if (!tensor.is_floating_point()) fail("stochastic_round", "expected a floating tensor, got ", tensor);
  NoGradGuard no_grad;
  const Tensor source = tensor.detach().to(kFloat).contiguous();
  Tensor uniforms = empty(tensor.sizes(), source.options());
  uniform_(uniforms, 0, 1, generator);
  Tensor out = empty(tensor.sizes(), source.options().dtype(dtype));
  kernels_for<OptimizerKernels>(source.device()).stochastic_round(out, source, uniforms);
  return out;
}

}  // namespace halftone::optim
