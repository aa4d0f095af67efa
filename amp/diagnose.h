#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "halftone/amp/grad_scaler.h"
#include "halftone/amp/trace_log.h"

namespace halftone::amp {

/// Mistakes and troubles that diagnose() knows by name.
enum class Fault : std::uint8_t {
  kBadData,             ///< infinity or NaN in a tensor that the step was given
  kBadParameter,        ///< infinity or NaN in a parameter before the step
  kOverflowInHalf,      ///< an operator overflowed in half precision where fp32 is finite
  kUnsafeOverride,      ///< ... because a PolicyOverride took it out of fp32
  kNonFiniteInFp32,     ///< the model overflows, or makes NaN, in fp32 too
  kExplodingWeight,     ///< one parameter is far larger than the others
  kScaleTooHigh,        ///< gradients overflow because of the loss scale
  kGradientUnderflow,   ///< gradients are lost below float16's range
  kWholeModelHalf,      ///< the model was converted to float16 instead of run under autocast
  kClipBeforeUnscale,   ///< gradients were clipped, or changed, while multiplied by the loss scale
  kLossInHalf,          ///< the loss was computed in half precision
  kScalerWithBFloat16,  ///< bfloat16 needs no loss scaling
  kVanishingEpsilon,    ///< an eps that float16 rounds to zero
  kStatisticsInHalf,    ///< a normalisation's statistics were held in half precision
  kLostUpdate,          ///< weights did not move: the update is below half a unit in their last place
  kProgram,             ///< the step threw an Error
  kDiverges,            ///< results differ by more than rounding explains
};

/// "bad data", "overflow in half", ...: see docs/trace.md.
const char* fault_name(Fault fault);

/// One thing that diagnose() found.
struct Finding {
  Fault fault;           ///< which of them it is
  bool is_error = true;  ///< false: worth knowing, but training goes on
  std::string where;     ///< parameter, module or operator; may be empty
  std::string what;      ///< one sentence
  std::string advice;    ///< what to do
};

/// What diagnose() found out.
struct Diagnosis {
  std::vector<Finding> findings;  ///< in the order in which they came up
  /// The trouble is there with mixed precision and not without.
  bool amp_is_to_blame = false;
  double loss = 0, loss_in_fp32 = 0;  ///< NaN where the step threw
  /// Where the results first differ beyond rounding: "layer_norm of encoder.ln1"; empty: nowhere.
  std::string first_difference;
  TraceLog with_amp, without_amp;  ///< what the two runs did

  /// No finding is an error.
  bool healthy() const;
  /// The first finding of that name, or null.
  const Finding* find(Fault fault) const;
  /// All of it for people, one finding a paragraph.
  std::string str() const;
};

/// What takes part in the step besides the model.
struct DiagnoseOptions {
  /// What the step changes besides parameters and buffers; brought back to where it was afterwards.
  optim::Optimizer* optimizer = nullptr;
  GradScaler* scaler = nullptr;  ///< brought back likewise
};

/// Named tensors that a step reads and writes.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Runs `step`, one whole training step that returns its loss, twice from the same state: as it is, and with
/// every autocast region switched off. Says whether mixed precision is to blame for what goes wrong, where
/// the two first differ, and what to do. Parameters, buffers, gradients, the random stream, and the optimizer
/// and scaler given in the options are as before when it returns. Keeps every result of both runs, so it
/// needs the memory of two steps without freeing; watches this thread only.
///
///   amp::Diagnosis found = amp::diagnose(*model, [&] {
///     optimizer.zero_grad();
///     amp::Autocast autocast(kCUDA, kHalf);
///     Tensor loss = nn::functional::cross_entropy(model->forward(x), y);
///     scaler.scale(loss).backward();
///     scaler.step(optimizer);
///     scaler.update();
///     return loss;
///   }, {.optimizer = &optimizer, .scaler = &scaler});
///   std::puts(found.str().c_str());
Diagnosis diagnose(const NamedTensors& parameters, const NamedTensors& buffers,
                   const std::function<Tensor()>& step, const DiagnoseOptions& options = {});

/// The same for a module: its parameters and buffers.
template <class Model>
requires requires(const Model& model) {
  NamedTensors(model.named_parameters().pairs());
  NamedTensors(model.named_buffers().pairs());
}
Diagnosis diagnose(const Model& model, const std::function<Tensor()>& step,
                   const DiagnoseOptions& options = {}) {
  return diagnose(model.named_parameters().pairs(), model.named_buffers().pairs(), step, options);
}

}  // namespace halftone::amp
