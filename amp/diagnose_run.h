#pragma once

#include <optional>

#include "halftone/amp/diagnose.h"
#include "halftone/engine/generator.h"

namespace halftone::amp {

/// What a step may change, and how to bring it back.
class StateBefore {
 public:
  StateBefore(const NamedTensors& parameters, const NamedTensors& buffers, const DiagnoseOptions& options);
  void restore() const;
  /// The value a parameter had.
  const Tensor& value(std::size_t parameter) const { return tensors_[parameter].copy; }

 private:
  struct Held {
    Tensor tensor, copy;
    Tensor gradient, gradient_copy;
    std::optional<autograd::GradientStamp> stamp;
    bool is_scaled = false;
  };
  static Held hold(const Tensor& tensor);

  std::vector<Held> tensors_;  // parameters, then buffers
  DiagnoseOptions options_;
  StateDict optimizer_, scaler_;
  Device device_;
  PhiloxState random_;
};

/// One run of the step.
struct StepRun {
  TraceLog log;
  Tensor loss;                    // undefined when it threw
  std::optional<Error> error;     // what it threw
  std::vector<Tensor> after;      // the parameters' values
  std::vector<Tensor> gradients;  // in fp64 without the scale; undefined where no backward came by
};

/// What the rules look at.
struct Evidence {
  const NamedTensors& parameters;
  const NamedTensors& buffers;
  const StateBefore& before;
  const StepRun& amp;
  const StepRun& fp32;
};

/// The rules, in the order a person should read their findings.
std::vector<Finding> findings_of(const Evidence& evidence);
/// Where two runs first differ beyond rounding: the call, in the log of the run with mixed precision; -1
/// where they do not.
std::int64_t first_difference(const StepRun& amp, const StepRun& fp32);
/// "linear of encoder.fc1".
std::string place_of(const TraceOperator& op);

}  // namespace halftone::amp
