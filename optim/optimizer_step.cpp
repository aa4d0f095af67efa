// The step: pass 1 looks at all gradients, a decision, pass 2 updates every parameter. All three are kernels
// of the parameters' device, and nothing here waits for them.

#include <algorithm>
#include <cstddef>

#include "halftone/engine/capture.h"
#include "halftone/kernels/record.h"
#include "halftone/ops/autocast.h"
#include "halftone/ops/observer.h"
#include "halftone/optim/optimizer.h"

namespace halftone::optim {
namespace {

void check_gradient(const ParameterState& state) {
  const Tensor& parameter = state.parameter();
  const Tensor& gradient = state.meta().grad;
  if (gradient.sizes() != parameter.sizes() || !gradient.is_floating_point() ||
      gradient.device() != parameter.device()) {
    fail("step", state.description(), ": the gradient ", gradient, " does not fit the parameter ", parameter);
  }
}

Tensor dense_gradient(const ParameterState& state) {
  const Tensor& gradient = state.meta().grad;
  return gradient.is_contiguous() ? gradient : gradient.contiguous();
}

/// Tells gradients apart, see ScanEntry.
std::uint64_t id_of(const Tensor& gradient) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(gradient.unsafe_impl()));
}

/// Makes `values`, the gradient or a contiguous copy of it that was written to, the gradient's values.
void take_over(const Tensor& values, const Tensor& gradient, const char* op) {
  if (values.is_same(gradient)) {
    gradient.storage().bump_version(op);
  } else {
    gradient.detach().copy_(values);
  }
}

const OptimizerKernels& kernels_on(Device device) { return kernels_for<OptimizerKernels>(device); }

DeferredScalar norm_of(const Tensor& scan) {
  if (scan.is_cpu()) return DeferredScalar(record_data<ScanHeader>(scan)->norm);
  return DeferredScalar([scan] { return read_record<ScanHeader>(scan).norm; });
}

DeferredFlag is_all_finite(const Tensor& scan) {
  if (scan.is_cpu()) return DeferredFlag(record_data<ScanHeader>(scan)->nonfinite_gradients == 0);
  return DeferredFlag([scan] { return read_record<ScanHeader>(scan).nonfinite_gradients == 0; });
}

}  // namespace

bool Optimizer::any_gradient() const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [](const Slot& slot) { return slot.state.has_gradient(); });
}

void Optimizer::refuse_scaled_gradients(const char* op, const char* instead) const {
  for (const Slot& slot : slots_) {
    if (const auto* stamp = autograd::gradient_stamp(slot.state.meta())) {
      fail(op, "the gradient of ", slot.state.description(), " is still scaled by ", stamp->read_scale(),
           "; ", instead);
    }
  }
}

void Optimizer::refuse_lone_halves(const char* op) const {
  for (const Slot& slot : slots_) {
    if (slot.state.parameter().scalar_type() != kHalf || !slot.state.is_low_precision_only()) continue;
    if (options_of(slot).stochastic_rounding()) continue;
    fail(op, slot.state.description(),
         " is float16 without a master weight: its true gradient and its updates would be "
         "lost in rounding; use master_weights(true), which is the default, or stochastic_rounding(true)");
  }
}

// --- What is remembered from step to step
// --------------------------------------------------------------------------
const Tensor& Optimizer::control_record() {
  Tensor& record = settings_->control;
  if (record.defined() && record.device() == device()) [[likely]]
    return record;
  cuda::refuse_in_capture(name_, "making the counters of the first step");
  record = make_record(control(), device());
  return record;
}

StepControl Optimizer::control() const {
  return settings_->control.defined() ? read_record<StepControl>(settings_->control) : StepControl();
}

void Optimizer::set_control(const StepControl& control) {
  write_record(control_record(), control);
  settings_->sent_max_norm = control.max_norm;
}

UpdateMeter Optimizer::update_meter() const {
  const StepControl now = control();
  return {now.changed, now.lost};
}

/// Where the next step draws its random numbers: where the user put the generator, or where the last step
/// ended.
PhiloxState Optimizer::present_rounding(const StepControl& control) const {
  const PhiloxState own = rounding_.state();
  const bool was_set = own.seed != sent_rounding_.seed || own.offset != sent_rounding_.offset;
  return was_set ? own : PhiloxState{control.rounding_seed, control.rounding_next};
}

void Optimizer::set_rounding(PhiloxState state) {
  rounding_.set_state(state);
  sent_rounding_ = state;
  const Tensor& record = control_record();
  write_record(record, state.seed, offsetof(StepControl, rounding_seed));
  write_record(record, state.offset, offsetof(StepControl, rounding_next));
}

Generator& Optimizer::rounding_generator() {
  set_rounding(present_rounding(control()));
  return rounding_;
}

/// Brings what changed since to the device.
void Optimizer::Settings::send(Device device) {
  const auto bytes = static_cast<std::int64_t>(groups.size() * sizeof(UpdateSettings));
  if (!record.defined() || record.device() != device || record.numel() != bytes) {
    cuda::refuse_in_capture("Optimizer", "the first step with these parameter groups");
    record = empty_record(static_cast<std::size_t>(bytes), device);
    sent.clear();
  }
  if (cuda::Capture* capture = cuda::current_capture()) {
    capture->before_replay([self = shared_from_this(), device] { self->send(device); });
    return;
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const UpdateSettings now = groups[g].options().settings();
    if (g < sent.size() && now == sent[g]) continue;
    write_record(record, now, g * sizeof(UpdateSettings));
    sent.resize(std::max(sent.size(), g + 1));
    sent[g] = now;
  }
  if (max_norm != sent_max_norm) write_record(control, max_norm, offsetof(StepControl, max_norm));
  sent_max_norm = max_norm;
}

// --- Pass 1
// ----------------------------------------------------------------------------------------------------
CachedVector<GradientFactor> Optimizer::unscale_factors(amp::LossScaling* scaling) const {
  // Losses that were left out leave the mean of the others.
  const auto kept = static_cast<double>(micro_batches_ - dropped_micro_batches_);
  const double share =
      dropped_micro_batches_ > 0 && kept > 0 ? static_cast<double>(micro_batches_) / kept : 1;
  CachedVector<GradientFactor> factors(slots_.size());
  for (std::size_t i = 0; scaling && i < slots_.size(); ++i) {
    const ParameterState& state = slots_[i].state;
    if (state.has_gradient()) factors[i] = scaling->unscale_factor(id_, state.meta(), share);
  }
  return factors;
}

Optimizer::Scan Optimizer::look_at_gradients(CachedVector<GradientFactor> factors, double norm_type,
                                             Look look, const Tensor& before) const {
  NoGradGuard no_grad;
  CachedVector<GradientEntry> entries;
  entries.reserve(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].state.has_gradient()) continue;
    check_gradient(slots_[i].state);
    entries.push_back({dense_gradient(slots_[i].state), factors[i], id_of(slots_[i].state.meta().grad)});
  }
  Scan scan;
  scan.norm_type = norm_type;
  scan.result = empty_record(scan_bytes(entries.size()), device());
  look(entries, norm_type, scan.result, before);
  const bool wrote = look == kernels_on(device()).scale;
  std::size_t next = 0;
  scan.storage.reserve(slots_.size());
  scan.version.reserve(slots_.size());
  for (const Slot& slot : slots_) {
    const Tensor& gradient = slot.state.meta().grad;
    if (gradient.defined() && wrote) take_over(entries[next++].gradient, gradient, "unscale_");
    scan.storage.push_back(gradient.defined() ? &gradient.storage() : nullptr);
    scan.version.push_back(gradient.defined() ? gradient._version() : 0);
  }
  scan.factor = std::move(factors);
  return scan;
}

Optimizer::Scan Optimizer::scan(CachedVector<GradientFactor> factors, double norm_type) const {
  return look_at_gradients(std::move(factors), norm_type, kernels_on(device()).scan);
}

bool Optimizer::is_current(const Scan& scan, const CachedVector<GradientFactor>& factors) const {
  if (scan.norm_type != clip_norm_type_.value_or(scan.norm_type)) return false;
  if (scan.factor.size() != factors.size()) return false;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Tensor& gradient = slots_[i].state.meta().grad;
    if (!scan.factor[i].is_same(factors[i])) return false;
    if (scan.storage[i] != (gradient.defined() ? &gradient.storage() : nullptr)) return false;
    if (gradient.defined() && scan.version[i] != gradient._version()) return false;
  }
  return true;
}

const Optimizer::Scan& Optimizer::scan_once(const CachedVector<GradientFactor>& factors) {
  if (!scan_ || !is_current(*scan_, factors)) scan_ = scan(factors, clip_norm_type_.value_or(2.0));
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
  clip_norm_type_ = norm_type;
  settings_->max_norm = max_norm;
  return norm_of(scan_once(unscale_factors(scaled ? &*scaling_ : nullptr)).result);
}

DeferredFlag Optimizer::unscale_gradients(amp::LossScaling& scaling) {
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
  scan_ = look_at_gradients(unscale_factors(&scaling), 2, kernels_on(device()).scale,
                            scaling.found_by_unscale(id_));
  scan_->factor.assign(slots_.size(), {});
  for (const Slot& slot : slots_) {
    if (slot.state.has_gradient()) autograd::clear_stamp(slot.state.meta());
  }
  scaling.end_unscale(id_, leaves, scan_->result, late);
  return is_all_finite(scan_->result);
}

// --- Pass 2
// ----------------------------------------------------------------------------------------------------
bool Optimizer::rounds_at_random(const Slot& slot) const {
  return options_of(slot).stochastic_rounding() && is_low_precision(slot.state.parameter().scalar_type());
}

/// Gives every parameter that is rounded at random its place in the step's random numbers. Returns how many
/// blocks the step draws.
std::uint64_t Optimizer::place_random_numbers() {
  std::uint64_t blocks = 0;
  for (Slot& slot : slots_) {
    if (!slot.state.has_gradient() || !rounds_at_random(slot)) continue;
    slot.rounding_offset = blocks;
    blocks += static_cast<std::uint64_t>(slot.state.parameter().numel() + 3) / 4;
  }
  if (blocks == 0 || cuda::current_capture())
    return blocks;  // a captured step goes on where the last one ended
  const PhiloxState own = rounding_.state();
  if (own.seed != sent_rounding_.seed || own.offset != sent_rounding_.offset) set_rounding(own);
  return blocks;
}

void Optimizer::fill_call(Slot& slot, const GradientFactor& factor, UpdateCall& call) const {
  ParameterState& state = slot.state;
  const OptimizerOptions& options = options_of(slot);
  call.rule = settings_->sent[slot.group].rule;
  call.group = static_cast<std::int64_t>(slot.group);
  call.parameter = state.parameter().contiguous();
  call.master = state.master();
  call.shadow = state.shadow();
  call.gradient = dense_gradient(state);
  call.factor = factor;
  call.counters = state.counters();
  call.rounds_at_random = rounds_at_random(slot);
  call.rounding_offset = slot.rounding_offset;
  bind_moments(state, options, call);
}

void Optimizer::apply(const CachedVector<GradientFactor>& factors) {
  CachedVector<UpdateCall> calls;
  calls.reserve(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].state.has_gradient()) fill_call(slots_[i], factors[i], calls.emplace_back());
  }
  kernels_on(device()).update(calls, settings_->record, settings_->control);
  std::size_t next = 0;
  for (Slot& slot : slots_) {
    if (!slot.state.has_gradient()) continue;
    const Tensor& written = calls[next++].parameter;
    const Tensor& parameter = slot.state.parameter();
    if (!written.is_same(parameter)) parameter.detach().copy_(written);
    slot.state.written();
  }
}

// --- The whole step
// --------------------------------------------------------------------------------------------
StepReport Optimizer::new_report(const DecideCall& call) const {
  StepReport report;
  report.parameter_count_ = static_cast<std::int64_t>(slots_.size());
  report.dropped_micro_batches_ = dropped_micro_batches_;
  report.has_no_gradient_ = !call.request.any_gradient;
  report.source_ = std::allocate_shared<StepReport::Source>(CachedAllocator<StepReport::Source>());
  report.source_->record = call.record;
  report.source_->names = slot_names_;
  report.source_->has_norm = call.scan.defined() && (call.scaling.defined() || clip_norm_type_);
  if (call.scaling.defined() && scan_) {
    report.source_->scan = scan_->result;
    report.source_->slots.reserve(slots_.size());
    for (std::size_t i = 0; i < scan_->storage.size(); ++i) {
      if (scan_->storage[i]) report.source_->slots.push_back(static_cast<std::uint32_t>(i));
    }
  }
  return report;
}

StepReport Optimizer::decide(DecideCall& call) {
  call.control = control_record();
  settings_->send(device());
  call.record = empty_record(sizeof(StepRecord), device());
  call.request.clips = clip_norm_type_.has_value();
  call.request.cleared = std::exchange(cleared_, false);
  call.request.rounding_blocks = place_random_numbers();
  if (scan_) call.scan = scan_->result;
  kernels_on(device()).decide(call);
  return new_report(call);
}

StepReport Optimizer::decide_and_apply(const CachedVector<GradientFactor>& factors, DecideCall call) {
  const NoGradGuard no_grad;
  const ops::AutocastScope autocast_off(ops::AutocastSettings::off());
  const ops::TensorRefs nothing{};
  const ops::Call call_of_step{.name = name_, .kind = ops::CallKind::kStep, .inputs = nothing};
  ops::CallScope observation(call_of_step);
  for (const Slot& slot : slots_) {
    if (slot.state.has_gradient()) check_gradient(slot.state);  // before anything moves
  }
  const StepReport report = decide(call);

  // On the CPU the decision is known. On a device the kernel asks for it.
  const bool is_skipped = device().is_cpu() && record_data<StepControl>(call.control)->skip;
  if (call.request.any_gradient && !is_skipped) apply(factors);
  last_gradients_.clear();
  for (const Slot& slot : slots_) {
    if (device().is_cpu() && !is_skipped) break;
    if (slot.state.has_gradient()) last_gradients_.push_back(slot.state.meta().grad);
  }
  end_window();
  observation.finish(nothing);
  tell_observer(report);
  return report;
}

void Optimizer::tell_observer(const StepReport& report) const {
  ops::Observer* const watching = ops::observer();
  if (!watching) return;
  watching->on_step({name_, report.applied(), report.skipped_nonfinite(), report.no_gradients(),
                     report.stalled(), report.grad_norm(), report.overflowed_names()});
  report.source_->is_read = false;  // the scale has not moved yet
}

StepReport Optimizer::plain_step() {
  check_closure_not_needed();
  prepare();
  refuse_scaled_gradients("step",
                          "call scaler.step(optimizer), which unscales it, or scaler.unscale_(optimizer)");
  const CachedVector<GradientFactor> factors(slots_.size());
  if (clip_norm_type_) scan_once(factors);
  DecideCall call;
  call.request.any_gradient = any_gradient();
  const bool rechecked = clip_norm_type_.has_value();
  last_report_ = decide_and_apply(factors, std::move(call));
  last_report_.rechecked_ = rechecked;
  return last_report_;
}

StepReport Optimizer::step_with(amp::LossScaling& scaling) {
  if (!scaling.is_enabled()) return plain_step();
  check_closure_not_needed();
  prepare();
  refuse_lone_halves("step");
  const bool any = any_gradient();
  bool any_scaled = false;
  for (const Slot& slot : slots_) any_scaled = any_scaled || autograd::gradient_stamp(slot.state.meta());
  scaling.begin_step(id_, any_scaled);
  const CachedVector<GradientFactor> factors = unscale_factors(&scaling);
  bool late = any;
  for (const Slot& slot : slots_) {
    if (slot.state.has_gradient()) late = late && scaling.is_late(id_, slot.state.meta());
  }

  bool rechecked = !scaling.is_unscaled(id_) || scaling.options().strict();
  // A clip asked for needs the norm of the gradients as they are now.
  if (any && (clip_norm_type_ || !scan_) && !(scan_ && is_current(*scan_, factors))) rechecked = true;
  if (rechecked && any) {
    if (scaling.options().strict()) scan_.reset();  // also what was written past the version counter
    scan_once(factors);
  }
  DecideCall call;
  call.found = scaling.found_by_unscale(id_);
  call.scaling = scaling.state_on(device());
  call.rules = scaling.rules();
  call.request.any_gradient = any;
  call.request.late = late;
  call.request.is_scan_current = any && is_current(*scan_, factors);
  if (dropped_micro_batches_ > 0 && dropped_micro_batches_ == micro_batches_) {
    call.request.verdict = StepRequest::Verdict::kSkip;
  }
  if (scaling.has_agreement()) agree_with_others(scaling, call);
  StepReport report = decide_and_apply(factors, std::move(call));
  report.rechecked_ = rechecked;
  scaling.end_step(id_);
  if (scaling.options().clear_on_skip() && report.skipped_nonfinite()) zero_grad();
  last_report_ = report;
  return report;
}

/// Here the host has to know what this rank found.
void Optimizer::agree_with_others(const amp::LossScaling& scaling, DecideCall& call) const {
  using Verdict = StepRequest::Verdict;
  const auto found_in = [](const Tensor& scan) {
    return scan.defined() && read_record<ScanHeader>(scan).found;
  };
  const bool nonfinite = call.request.verdict == Verdict::kSkip || found_in(call.found) ||
                         (call.request.is_scan_current && found_in(scan_->result));
  call.request.verdict = scaling.decide(nonfinite) ? Verdict::kSkip : Verdict::kApply;
}

StepReport Optimizer::step() {
  if (!scaling_ || !scaling_->is_enabled()) return plain_step();
  const bool at_floor = scaling_->has_floor_policy() && scaling_->at_floor();
  const StepReport report = step_with(*scaling_);
  scaling_->update(report.source_->record);
  if (at_floor && report.skipped_nonfinite()) scaling_->apply_floor_policy();
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
