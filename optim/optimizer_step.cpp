// The step: pass 1 looks at all gradients, pass 2 updates every parameter.

#include <algorithm>

#include "halftone/ops/autocast.h"
#include "halftone/optim/optimizer.h"
#include "halftone/optim/total_norm.h"

namespace halftone::optim {
namespace {

Tensor checked_gradient(const ParameterState& state) {
  const Tensor& parameter = state.parameter();
  const Tensor& gradient = state.meta().grad;
  if (gradient.sizes() != parameter.sizes() || !gradient.is_floating_point() ||
      gradient.device() != parameter.device()) {
    fail("step", state.description(), ": the gradient ", gradient, " does not fit the parameter ", parameter);
  }
  return gradient.is_contiguous() ? gradient : gradient.contiguous();
}

}  // namespace

void Optimizer::run(const UpdateCall& call) {
  const UpdateMeter meter = kernels_for<OptimizerKernels>(call.parameter.device()).update(call);
  meter_.changed += meter.changed;
  meter_.lost += meter.lost;
}

bool Optimizer::any_gradient() const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [](const Slot& slot) { return slot.state.has_gradient(); });
}

void Optimizer::refuse_scaled_gradients(const char* op, const char* instead) const {
  for (const Slot& slot : slots_) {
    if (const auto* stamp = autograd::gradient_stamp(slot.state.meta())) {
      fail(op, "the gradient of ", slot.state.description(), " is still scaled by ", stamp->scale, "; ",
           instead);
    }
  }
}

void Optimizer::refuse_lone_halves(const char* op) const {
  for (const Slot& slot : slots_) {
    if (slot.state.parameter().scalar_type() != kHalf || !slot.state.is_low_precision_only()) continue;
    if (groups_[slot.group].options().stochastic_rounding()) continue;
    fail(op, slot.state.description(),
         " is float16 without a master weight: its true gradient and its updates would be "
         "lost in rounding; use master_weights(true), which is the default, or stochastic_rounding(true)");
  }
}

// --- Pass 1
// ----------------------------------------------------------------------------------------------------
std::vector<double> Optimizer::inverse_scales(const amp::LossScaling* scaling) const {
  // Losses that were left out leave the mean of the others.
  const auto kept = static_cast<double>(micro_batches_ - dropped_micro_batches_);
  const double share =
      dropped_micro_batches_ > 0 && kept > 0 ? static_cast<double>(micro_batches_) / kept : 1;
  std::vector<double> factors(slots_.size(), 1.0);
  for (std::size_t i = 0; scaling && i < slots_.size(); ++i) {
    if (slots_[i].state.has_gradient())
      factors[i] = share / scaling->gradient_scale(id_, slots_[i].state.meta());
  }
  return factors;
}

template <class Look>
Optimizer::Scan Optimizer::look_at_gradients(std::vector<double> factors, double norm_type,
                                             Look&& look) const {
  NoGradGuard no_grad;
  Scan scan;
  scan.norm_type = norm_type;
  std::vector<double> norms;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    GradientStats stats;
    const Tensor& gradient = slots_[i].state.meta().grad;
    if (gradient.defined()) {
      stats = look(slots_[i].state, factors[i]);
      norms.push_back(stats.norm);
    }
    scan.nonfinite.push_back(stats.nonfinite);
    scan.any_nonfinite = scan.any_nonfinite || stats.nonfinite > 0;
    scan.storage.push_back(gradient.defined() ? &gradient.storage() : nullptr);
    scan.version.push_back(gradient.defined() ? gradient._version() : 0);
  }
  scan.norm = total_norm(norms, norm_type);
  scan.factor = std::move(factors);
  return scan;
}

Optimizer::Scan Optimizer::scan(std::vector<double> factors, double norm_type) const {
  return look_at_gradients(std::move(factors), norm_type, [&](const ParameterState& state, double factor) {
    const Tensor gradient = checked_gradient(state);
    return kernels_for<OptimizerKernels>(gradient.device()).scan(gradient, factor, norm_type);
  });
}

bool Optimizer::is_current(const Scan& scan, const std::vector<double>& factors) const {
  if (scan.factor != factors || scan.norm_type != (clip_ ? clip_->norm_type : scan.norm_type)) return false;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Tensor& gradient = slots_[i].state.meta().grad;
    if (scan.storage[i] != (gradient.defined() ? &gradient.storage() : nullptr)) return false;
    if (gradient.defined() && scan.version[i] != gradient._version()) return false;
  }
  return true;
}

const Optimizer::Scan& Optimizer::scan_once(const std::vector<double>& factors) {
  if (!scan_ || !is_current(*scan_, factors)) scan_ = scan(factors, clip_ ? clip_->norm_type : 2.0);
  return *scan_;
}

DeferredScalar Optimizer::clip_grad_norm_(double max_norm, double norm_type) {
  if (!(max_norm >= 0)) fail("clip_grad_norm_", "max_norm: expected a number >= 0, got ", max_norm);
  if (!(norm_type > 0)) fail("clip_grad_norm_", "norm_type: expected a positive number, got ", norm_type);
  prepare();
  const bool scaled = scaling_ && scaling_->is_enabled();
  if (!scaled) {
    refuse_scaled_gradients("clip_grad_norm_", "call scaler.unscale_(optimizer) before clipping");
  }
  clip_ = {max_norm, norm_type};
  return DeferredScalar(scan_once(inverse_scales(scaled ? &*scaling_ : nullptr)).norm);
}

/// PyTorch's factor; 1 when the norm is small enough.
double Optimizer::clip_factor() const {
  if (!clip_) return 1;
  const double factor = clip_->max_norm / (scan_->norm + 1e-6);
  return factor >= 1 ? 1 : factor;
}

bool Optimizer::unscale_gradients(amp::LossScaling& scaling) {
  prepare();
  refuse_lone_halves("unscale_");
  scaling.begin_unscale(id_);
  std::vector<const autograd::TensorMeta*> leaves;
  bool late = any_gradient();
  for (const Slot& slot : slots_) {
    if (!slot.state.has_gradient()) continue;
    scaling.check_unscale(slot.state.meta());
    late = late && scaling.is_late(id_, slot.state.meta());
    leaves.push_back(&slot.state.meta());
  }
  constexpr double kNormType = 2;
  scan_ =
      look_at_gradients(inverse_scales(&scaling), kNormType, [](const ParameterState& state, double factor) {
        Tensor& gradient = state.meta().grad;
        const Tensor values = checked_gradient(state);
        const GradientStats stats =
            kernels_for<OptimizerKernels>(values.device()).scale(values, factor, kNormType);
        if (values.is_same(gradient)) {
          gradient.storage().bump_version("unscale_");
        } else {
          gradient.detach().copy_(values);
        }
        autograd::clear_stamp(state.meta());
        return stats;
      });
  scan_->factor.assign(slots_.size(), 1.0);
  scaling.end_unscale(id_, leaves, scan_->any_nonfinite, late);
  return !scan_->any_nonfinite;
}

// --- Pass 2
// ----------------------------------------------------------------------------------------------------
void Optimizer::apply_one(Slot& slot, double factor, double clip) {
  ParameterState& state = slot.state;
  const Tensor& parameter = state.parameter();
  const OptimizerOptions& options = groups_[slot.group].options();
  UpdateCall call;
  call.parameter = parameter.contiguous();
  call.master = state.master();
  call.shadow = state.shadow();
  call.gradient = checked_gradient(state);
  call.inverse_scale = factor;
  call.clip_factor = clip;
  if (options.stochastic_rounding() && is_low_precision(parameter.scalar_type())) {
    call.uniforms = empty(parameter.sizes(), TensorOptions(kFloat).device(parameter.device()));
    uniform_(call.uniforms, 0, 1, rounding_);
  }
  state.count_step();
  update(state, options, call);
  if (!call.parameter.is_same(parameter)) parameter.detach().copy_(call.parameter);
  state.written();
}

void Optimizer::apply(const std::vector<double>& factors, double clip) {
  const NoGradGuard no_grad;
  const ops::AutocastScope autocast_off(ops::AutocastSettings::off());
  for (const Slot& slot : slots_) {
    if (slot.state.has_gradient()) checked_gradient(slot.state);  // before anything moves
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].state.has_gradient()) apply_one(slots_[i], factors[i], clip);
  }
  ++applied_steps_;
  skipped_gradient_.reset();
  same_skips_ = 0;
}

// --- The whole step
// --------------------------------------------------------------------------------------------
StepReport Optimizer::new_report() const {
  StepReport report;
  report.parameter_count_ = static_cast<std::int64_t>(slots_.size());
  report.dropped_micro_batches_ = dropped_micro_batches_;
  return report;
}

StepReport Optimizer::plain_step() {
  prepare();
  refuse_scaled_gradients("step",
                          "call scaler.step(optimizer), which unscales it, or scaler.unscale_(optimizer)");
  StepReport report = new_report();
  ++attempted_steps_;
  const std::vector<double> factors(slots_.size(), 1.0);
  if (clip_) {
    report.rechecked_ = true;
    report.grad_norm_ = scan_once(factors).norm;
  }
  if (any_gradient()) {
    apply(factors, clip_factor());
    report.applied_ = true;
  } else {
    report.no_gradients_ = true;
  }
  end_window();
  last_report_ = report;
  return report;
}

void Optimizer::report_overflow(StepReport& report) {
  constexpr std::int64_t kPersistent = 3;
  Tensor gradient;
  for (std::size_t i = 0; scan_ && i < slots_.size(); ++i) {
    if (scan_->nonfinite[i] == 0) continue;
    report.overflowed_parameters_.push_back(static_cast<std::int64_t>(i));
    if (!slots_[i].state.name().empty()) report.overflowed_names_.push_back(slots_[i].state.name());
    if (!gradient.defined()) gradient = slots_[i].state.meta().grad;
  }
  const bool same = gradient.defined() && gradient.is_same(skipped_gradient_);
  same_skips_ = same ? same_skips_ + 1 : 1;
  skipped_gradient_ = gradient;
  report.persistent_nonfinite_ = same_skips_ >= kPersistent;
}

StepReport Optimizer::step_with(amp::LossScaling& scaling) {
  if (!scaling.is_enabled()) return plain_step();
  prepare();
  refuse_lone_halves("step");
  const ops::AutocastScope autocast_off(ops::AutocastSettings::off());
  const bool any = any_gradient();
  bool any_scaled = false;
  for (const Slot& slot : slots_) any_scaled = any_scaled || autograd::gradient_stamp(slot.state.meta());
  scaling.begin_step(id_, any_scaled);
  const std::vector<double> factors = inverse_scales(&scaling);
  bool late = any;
  for (const Slot& slot : slots_) {
    if (slot.state.has_gradient()) late = late && scaling.is_late(id_, slot.state.meta());
  }

  StepReport report = new_report();
  report.scale_before_ = report.scale_after_ = scaling.get_scale();
  report.rechecked_ = !scaling.is_unscaled(id_) || scaling.options().strict();
  bool nonfinite = scaling.found_nonfinite(id_);
  // A clip asked for needs the norm of the gradients as they are now.
  if (any && (clip_ || !scan_) && !(scan_ && is_current(*scan_, factors))) report.rechecked_ = true;
  if (report.rechecked_ && any) {
    if (scaling.options().strict()) scan_.reset();  // also what was written past the version counter
    scan_once(factors);
  }
  if (any && is_current(*scan_, factors)) nonfinite = nonfinite || scan_->any_nonfinite;
  if (any) report.grad_norm_ = scan_->norm;
  nonfinite = nonfinite || (dropped_micro_batches_ > 0 && dropped_micro_batches_ == micro_batches_);
  nonfinite = scaling.decide(nonfinite);

  ++attempted_steps_;
  if (nonfinite) {
    report.skipped_nonfinite_ = true;
    report_overflow(report);
    report.stalled_ = scaling.would_stall();
    report.loss_was_nonfinite_ = scaling.loss_was_nonfinite();
  } else if (any) {
    apply(factors, clip_factor());
    report.applied_ = true;
  } else {
    report.no_gradients_ = true;
  }
  scaling.end_step(id_, {nonfinite, late, !any});
  end_window();
  if (nonfinite && scaling.options().clear_on_skip()) zero_grad();
  last_report_ = report;
  return report;
}

StepReport Optimizer::step() {
  if (!scaling_ || !scaling_->is_enabled()) return plain_step();
  const bool at_floor = scaling_->at_floor();
  StepReport report = step_with(*scaling_);
  scaling_->update();
  report.scale_after_ = scaling_->get_scale();
  last_report_ = report;
  if (report.skipped_nonfinite() && at_floor) scaling_->apply_floor_policy();
  return report;
}

Tensor Optimizer::step(LossClosure closure) {
  if (!closure) fail("step", "the closure is empty; call step() without one");
  Tensor loss;
  {
    const AutoGradMode grad_mode(true);
    loss = closure();
  }
  step();
  return loss;
}

}  // namespace halftone::optim
