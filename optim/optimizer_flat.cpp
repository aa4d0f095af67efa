// All parameters as one vector, for optimizers that try several weights in one step.

#include "halftone/engine/capture.h"
#include "halftone/kernels/record.h"
#include "halftone/ops/autocast.h"
#include "halftone/optim/optimizer.h"

namespace halftone::optim {
namespace {

double value_of(const GradientFactor& factor) {
  return factor.divisor.defined() ? factor.number / static_cast<double>(factor.divisor.item<float>())
                                  : factor.number;
}

/// The arithmetic between two evaluations of the loss.
struct PlainArithmetic {
  NoGradGuard no_grad;
  ops::AutocastScope autocast_off{ops::AutocastSettings::off()};
};

}  // namespace

ScalarType Optimizer::flat_dtype() const {
  for (const Slot& slot : slots_) {
    if (slot.state.parameter().scalar_type() == kDouble) return kDouble;
  }
  return kFloat;
}

/// The loss scaling of the step under way, or null.
amp::LossScaling* Optimizer::active_scaling() {
  if (outer_scaling_) return outer_scaling_;
  return scaling_ && scaling_->is_enabled() ? &*scaling_ : nullptr;
}

Tensor Optimizer::step_with(amp::LossScaling&, LossClosure) {
  fail("step",
       "a closure cannot be used with loss scaling: call step(optimizer) after scale(loss).backward()");
}

Tensor Optimizer::flat_weights() {
  const PlainArithmetic plain;
  cuda::refuse_in_capture(name_, "a step with a closure, which decides on the host how often it is called,");
  prepare();
  std::vector<Tensor> pieces{empty({0}, TensorOptions(flat_dtype()).device(device()))};
  for (const Slot& slot : slots_) {
    const Tensor& weight = slot.state.master().defined() ? slot.state.master() : slot.state.parameter();
    pieces.push_back(weight.detach().to(flat_dtype()).reshape({-1}));
  }
  return cat(pieces);
}

void Optimizer::set_flat_weights(const Tensor& flat) {
  const PlainArithmetic plain;
  std::int64_t at = 0;
  for (Slot& slot : slots_) {
    const Tensor& parameter = slot.state.parameter();
    const Tensor weight = flat.narrow(0, at, parameter.numel()).view(parameter.sizes());
    at += parameter.numel();
    parameter.detach().copy_(weight);
    for (const Tensor& copy : {slot.state.master(), slot.state.shadow()}) {
      if (copy.defined()) copy.detach().copy_(weight);
    }
    slot.state.written();
  }
}

Optimizer::FlatGradients Optimizer::flat_gradients() {
  const PlainArithmetic plain;
  prepare();
  amp::LossScaling* const scaling = active_scaling();
  if (!scaling) {
    refuse_scaled_gradients("step", "call scaler.step(optimizer, closure), or use_loss_scaling()");
  }
  const CachedVector<GradientFactor> factors = unscale_factors(scaling);
  double clip = 1;
  FlatGradients result;
  if (scaling || clip_norm_type_) {
    const auto found = read_record<ScanHeader>(scan_once(factors).result);
    if (scaling) result.overflowed = scaling->decide(found.found != 0);
    if (clip_norm_type_) clip = clip_factor(settings_->max_norm, found.norm);
  }
  std::vector<Tensor> pieces{empty({0}, TensorOptions(flat_dtype()).device(device()))};
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const ParameterState& state = slots_[i].state;
    const Tensor& gradient = state.meta().grad;
    if (!gradient.defined()) {
      pieces.push_back(zeros({state.parameter().numel()}, pieces[0].options()));
      continue;
    }
    if (gradient.sizes() != state.parameter().sizes() || !gradient.is_floating_point()) {
      fail("step", state.description(), ": the gradient ", gradient, " does not fit the parameter ",
           state.parameter());
    }
    pieces.push_back(gradient.detach().to(flat_dtype()).reshape({-1}) * (value_of(factors[i]) * clip));
  }
  result.values = cat(pieces);
  return result;
}

StepReport Optimizer::finish_step(bool is_skipped) {
  amp::LossScaling* const scaling = active_scaling();
  const bool at_floor = scaling && scaling->has_floor_policy() && scaling->at_floor();
  DecideCall call;
  call.request.any_gradient = any_gradient();
  if (scaling) {
    scaling->begin_step(id_, /*any_scaled=*/true);
    call.scaling = scaling->state_on(device());
    call.rules = scaling->rules();
    call.request.is_scan_current = scan_.has_value();
    call.request.verdict = is_skipped ? StepRequest::Verdict::kSkip : StepRequest::Verdict::kApply;
  }
  last_report_ = decide(call);
  last_report_.rechecked_ = scaling != nullptr;
  end_window();
  tell_observer(last_report_);
  if (!scaling) return last_report_;
  scaling->end_step(id_);
  if (!outer_scaling_) scaling->update(last_report_.source_->record);
  if (scaling->options().clear_on_skip() && is_skipped) zero_grad();
  if (at_floor && is_skipped) scaling->apply_floor_policy();
  return last_report_;
}

}  // namespace halftone::optim
