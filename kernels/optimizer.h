#pragma once

#include <array>
#include <span>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"
#include "halftone/kernels/math/step_decision.h"
#include "halftone/kernels/update_settings.h"

namespace halftone {

/// What a gradient is multiplied by: a number, divided by another that only the device may know (the loss
/// scale).
struct GradientFactor {
  double number = 1;
  Tensor divisor;  ///< one fp32 number on the gradient's device, or undefined

  bool is_same(const GradientFactor& other) const {
    return number == other.number && divisor.unsafe_impl() == other.divisor.unsafe_impl();
  }
};

/// A gradient to look at: contiguous, any floating dtype.
struct GradientEntry {
  Tensor gradient;
  GradientFactor factor;
  std::uint64_t id = 0;  ///< says which tensor it is, in ScanEntry
};

/// How many elements updates were to change, and in how many that was lost: less than half a unit in the last
/// place of a low-precision weight without master.
struct UpdateMeter {
  std::int64_t changed = 0;
  std::int64_t lost = 0;
};

/// One parameter's part of a step. All tensors but `counters` are contiguous and have the parameter's shape.
struct UpdateCall {
  UpdateRule rule = UpdateRule::kSgd;
  std::int64_t group = 0;  ///< its UpdateSettings in the array given with the calls
  Tensor parameter;        ///< written
  Tensor master;           ///< fp32 weight of a low-precision parameter, or undefined
  Tensor shadow;           ///< low-precision copy of the weight, written too, or undefined
  Tensor gradient;         ///< any floating dtype, read only
  std::array<Tensor, 3>
      moments;            ///< fp32 (fp64 for an fp64 parameter); those the rule does not use are undefined
  GradientFactor factor;  ///< the gradient is multiplied by it, then by the step's clip factor
  Tensor counters;        ///< a record: UpdateCounters, moved
  bool rounds_at_random = false;      ///< a parameter without master: rounded without bias
  std::uint64_t rounding_offset = 0;  ///< Philox blocks from the step's start, four elements each
};

/// What decides whether a step happens. All tensors are records (kernels/record.h) on the parameters' device.
struct DecideCall {
  Tensor control;  ///< StepControl, moved
  Tensor record;   ///< StepRecord, written
  Tensor scan;     ///< of scan or scale, or undefined
  Tensor found;    ///< the same, what unscale_ saw, or undefined
  Tensor scaling;  ///< LossScaleState, moved; undefined without loss scaling
  LossScaleRules rules;
  StepRequest request;
};

/// What optimizers and the loss scaling need, for all parameters at once. Fp32 arithmetic, fp64 for fp64
/// parameters and for everything that exists once per step. Nothing is returned to the host: on a CUDA device
/// nobody waits.
struct OptimizerKernels {
  /// Looks at factor * gradient (rounded to fp32) of every entry: non-finite elements, and p-norms
  /// accumulated in fp64. The same for any number of threads. `scan`: a record of scan_bytes(entries).
  /// `before`: an earlier scan whose finding is carried on, or undefined.
  void (*scan)(std::span<const GradientEntry> entries, double p, const Tensor& scan, const Tensor& before);
  /// gradient *= factor in place, rounded once; says what was written.
  void (*scale)(std::span<const GradientEntry> entries, double p, const Tensor& scan, const Tensor& before);
  /// gradient *= clip_factor(max_norm, norm of `scan`) in place. The entries' factors are not used.
  void (*clip)(std::span<const GradientEntry> entries, const Tensor& scan, double max_norm);
  /// Decides whether this step happens: decide_step.
  void (*decide)(const DecideCall& call);
  /// The step, unless `control` says that it is skipped. `settings`: a record, one UpdateSettings per group.
  void (*update)(std::span<const UpdateCall> calls, const Tensor& settings, const Tensor& control);
  /// Takes over into `master` what was written to `parameter` from outside since the last step: elements that
  /// are not the master's rounded value.
  void (*refresh_master)(const Tensor& master, const Tensor& parameter);
  /// src (fp32) rounded at random to the low-precision dst, without bias: to each neighbour with the
  /// probability of its nearness. Representable values never change. `uniforms`: fp32 on [0, 1), one per
  /// element.
  void (*stochastic_round)(const Tensor& dst, const Tensor& src, const Tensor& uniforms);

  /// Notes in `scaling` (LossScaleState) whether a contiguous loss is infinite or NaN.
  void (*note_loss)(const Tensor& scaling, const Tensor& loss);
  /// Copies the present scale to one fp32 number.
  void (*copy_scale)(const Tensor& scaling, const Tensor& scale);
  /// Ends an iteration: move_scale. The new scale also goes to `record` (StepRecord), where defined.
  void (*move_scale)(const Tensor& scaling, const LossScaleRules& rules, const Tensor& record);
};

/// Bytes of the record that scan and scale fill.
inline std::size_t scan_bytes(std::size_t entries) {
  return sizeof(ScanHeader) + entries * sizeof(ScanEntry);
}

template <>
const OptimizerKernels& cpu_kernels<OptimizerKernels>();
template <>
const OptimizerKernels& cuda_kernels<OptimizerKernels>();

}  // namespace halftone
