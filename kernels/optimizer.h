#pragma once

#include <array>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"
#include "halftone/kernels/update_numbers.h"

namespace halftone {

/// What one pass over a gradient finds.
struct GradientStats {
  std::int64_t nonfinite = 0;  ///< elements that are infinite or NaN
  double norm = 0;             ///< the p-norm; infinite or NaN when an element is
};

/// How many elements an update was to change, and in how many it was lost: less than half a unit in the last
/// place of a low-precision weight without master.
struct UpdateMeter {
  std::int64_t changed = 0;
  std::int64_t lost = 0;
};

/// One parameter's step. All tensors are contiguous and have the parameter's shape.
struct UpdateCall {
  UpdateRule rule = UpdateRule::kSgd;
  UpdateNumbers numbers;
  Tensor parameter;  ///< written
  Tensor master;     ///< fp32 weight of a low-precision parameter, or undefined
  Tensor shadow;     ///< low-precision copy of the weight, written too, or undefined
  Tensor gradient;   ///< any floating dtype, read only
  std::array<Tensor, 3>
      moments;               ///< fp32 (fp64 for an fp64 parameter); those the rule does not use are undefined
  double inverse_scale = 1;  ///< the gradient is multiplied by both, one after the other
  double clip_factor = 1;
  Tensor uniforms;  ///< fp32 on [0, 1): round a parameter without master at random; or undefined
};

/// What optimizers and the loss scaling need. Fp32 arithmetic, fp64 for fp64 parameters.
struct OptimizerKernels {
  /// Looks at factor * gradient (rounded to fp32): non-finite elements, and the p-norm accumulated in fp64.
  /// The same for any number of threads.
  GradientStats (*scan)(const Tensor& gradient, double factor, double p);
  /// gradient *= factor in place, rounded once; says what was written.
  GradientStats (*scale)(const Tensor& gradient, double factor, double p);
  /// The step.
  UpdateMeter (*update)(const UpdateCall& call);
  /// Takes over into `master` what was written to `parameter` from outside since the last step: elements that
  /// are not the master's rounded value.
  void (*refresh_master)(const Tensor& master, const Tensor& parameter);
  /// src (fp32) rounded at random to the low-precision dst, without bias: to each neighbour with the
  /// probability of its nearness. Representable values never change. `uniforms`: fp32 on [0, 1), one per
  /// element.
  void (*stochastic_round)(const Tensor& dst, const Tensor& src, const Tensor& uniforms);
};

template <>
const OptimizerKernels& cpu_kernels<OptimizerKernels>();

}  // namespace halftone
