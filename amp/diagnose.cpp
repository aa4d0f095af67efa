// One step, with mixed precision and without, from the same state. The rules are in diagnose_rules.cpp.

#include "halftone/amp/diagnose.h"

#include <cmath>

#include "halftone/amp/diagnose_run.h"
#include "halftone/amp/trace.h"
#include "halftone/ops/autocast.h"

namespace halftone::amp {
namespace {

/// Autocast regions opened meanwhile on this thread stay off.
class SuppressAutocast {
 public:
  explicit SuppressAutocast(bool on) : previous_(detail::thread_state.suppressed) {
    detail::thread_state.suppressed = on;
  }
  ~SuppressAutocast() { detail::thread_state.suppressed = previous_; }
  SuppressAutocast(const SuppressAutocast&) = delete;
  SuppressAutocast& operator=(const SuppressAutocast&) = delete;

 private:
  bool previous_;
};

/// The gradient that the last backward left in the leaf of that name.
Tensor last_gradient(const TraceLog& log, const std::string& name) {
  for (auto op = log.operators.rbegin(); op != log.operators.rend(); ++op) {
    if (op->kind != TraceKind::kNode || op->outputs.empty() || op->values.empty()) continue;
    if (op->outputs.front().name == name) return op->values.back();
  }
  return {};
}

StepRun run_step(const NamedTensors& parameters, const NamedTensors& buffers,
                 const std::function<Tensor()>& step, bool with_amp) {
  StepRun run;
  {
    const SuppressAutocast suppress(!with_amp);
    std::optional<ops::AutocastScope> off;
    if (!with_amp) off.emplace(ops::AutocastSettings::off());
    Trace trace(TraceOptions{.histograms = false, .keep_results = true});
    trace.watch(parameters);
    trace.watch(buffers);
    try {
      const AutoGradMode grad_mode(true);
      run.loss = step();
    } catch (const Error& error) {
      run.error = error;
    }
    trace.stop();
    run.log = trace.log();
  }
  NoGradGuard no_grad;
  for (const auto& [name, parameter] : parameters) {
    run.after.push_back(parameter.detach().clone());
    run.gradients.push_back(last_gradient(run.log, name));
  }
  return run;
}

double loss_of(const StepRun& run) {
  if (!run.loss.defined() || run.loss.numel() == 0) return NAN;
  NoGradGuard no_grad;
  return run.loss.detach().to(kDouble).mean().item<double>();
}

bool is_trouble(const StepRun& run) {
  if (run.error || !run.log.nonfinite.empty()) return true;
  return run.loss.defined() && !std::isfinite(loss_of(run));
}

/// A step that threw halfway has left its iteration open.
void close_iteration(LossScaling& scaling, const optim::Optimizer& optimizer) {
  if (!scaling.is_enabled()) return;
  try {
    scaling.abandon(optimizer.id());
  } catch (const Error&) {  // it has stepped already, which update() ends
  }
  scaling.update();
}

/// The kept results are for the rules only.
void drop_values(TraceLog& log) {
  for (TraceOperator& op : log.operators) op.values.clear();
}

}  // namespace

// --- State
// -----------------------------------------------------------------------------------------------------
StateBefore::Held StateBefore::hold(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  NoGradGuard no_grad;
  Held held{tensor, tensor.detach().clone(), {}, {}, std::nullopt, false};
  const autograd::TensorMeta* meta = autograd::find_meta(tensor);
  if (!meta || !meta->grad.defined()) return held;
  held.gradient = meta->grad;
  held.gradient_copy = meta->grad.detach().clone();
  held.stamp = meta->stamp;
  held.is_scaled = meta->grad.unsafe_impl()->is_scaled_gradient;
  return held;
}

StateBefore::StateBefore(const NamedTensors& parameters, const NamedTensors& buffers,
                         const DiagnoseOptions& options)
    : options_(options), device_(parameters.empty() ? Device(kCPU) : parameters.front().second.device()) {
  for (const auto& named : parameters) tensors_.push_back(hold(named.second));
  for (const auto& named : buffers) tensors_.push_back(hold(named.second));
  if (options.optimizer) optimizer_ = options.optimizer->state_dict();
  if (options.scaler) scaler_ = options.scaler->state_dict();
  random_ = default_generator(device_).state();
}

void StateBefore::restore() const {
  NoGradGuard no_grad;
  for (const Held& held : tensors_) {
    if (!held.tensor.defined()) continue;
    held.tensor.detach().copy_(held.copy);
    autograd::TensorMeta* meta = autograd::find_meta(held.tensor);
    if (!meta) continue;
    meta->grad = held.gradient;
    meta->stamp = held.stamp;
    if (!held.gradient.defined()) continue;
    held.gradient.detach().copy_(held.gradient_copy);
    held.gradient.unsafe_impl()->is_scaled_gradient = held.is_scaled;
  }
  if (options_.optimizer) {
    if (LossScaling* own = options_.optimizer->loss_scaling()) close_iteration(*own, *options_.optimizer);
    if (options_.scaler) close_iteration(options_.scaler->loss_scaling(), *options_.optimizer);
    options_.optimizer->load_state_dict(optimizer_);
  }
  if (options_.scaler) options_.scaler->load_state_dict(scaler_);
  default_generator(device_).set_state(random_);
}

// --- Result
// ----------------------------------------------------------------------------------------------------
bool Diagnosis::healthy() const {
  for (const Finding& finding : findings) {
    if (finding.is_error) return false;
  }
  return true;
}

const Finding* Diagnosis::find(Fault fault) const {
  for (const Finding& finding : findings) {
    if (finding.fault == fault) return &finding;
  }
  return nullptr;
}

std::string Diagnosis::str() const {
  std::string text = concat("loss ", loss, ", in fp32 ", loss_in_fp32, "\n");
  text += amp_is_to_blame ? "mixed precision is to blame: the step is well without it\n"
          : healthy()     ? "nothing is wrong\n"
                          : "the trouble is there without mixed precision too\n";
  if (!first_difference.empty()) text += concat("first difference beyond rounding: ", first_difference, "\n");
  for (const Finding& finding : findings) {
    text += concat("\n", finding.is_error ? "error: " : "note: ", fault_name(finding.fault),
                   finding.where.empty() ? "" : " (" + finding.where + ")", "\n  ", finding.what, "\n  ",
                   finding.advice, "\n");
  }
  return text;
}

Diagnosis diagnose(const NamedTensors& parameters, const NamedTensors& buffers,
                   const std::function<Tensor()>& step, const DiagnoseOptions& options) {
  if (!step) fail("diagnose", "the step is empty; pass a function that makes one step and returns its loss");
  for (const auto& [name, parameter] : parameters) {
    if (!parameter.defined()) fail("diagnose", "parameter '", name, "' is undefined");
  }
  const StateBefore before(parameters, buffers, options);
  StepRun fp32 = run_step(parameters, buffers, step, false);
  before.restore();
  StepRun amp = run_step(parameters, buffers, step, true);
  before.restore();

  Diagnosis diagnosis;
  diagnosis.findings = findings_of({parameters, buffers, before, amp, fp32});
  diagnosis.loss = loss_of(amp);
  diagnosis.loss_in_fp32 = loss_of(fp32);
  const std::int64_t differs = first_difference(amp, fp32);
  if (differs >= 0) {
    diagnosis.first_difference = place_of(amp.log.operators[static_cast<std::size_t>(differs)]);
  }
  diagnosis.amp_is_to_blame = is_trouble(amp) && !is_trouble(fp32);
  drop_values(amp.log);
  drop_values(fp32.log);
  diagnosis.with_amp = std::move(amp.log);
  diagnosis.without_amp = std::move(fp32.log);
  return diagnosis;
}

}  // namespace halftone::amp
