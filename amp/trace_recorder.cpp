// What happened, as records. Which value was the first that is not finite is found in trace_values.cpp.

#include "halftone/amp/trace_recorder.h"

#include <algorithm>

#include "halftone/engine/capture.h"
#include "halftone/engine/cuda.h"

namespace halftone::amp {
namespace {

/// "encoder.fc1" of "encoder.fc1.weight"; a name without dots stands for itself.
std::string module_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(0, dot);
}

TraceKind kind_of(ops::CallKind kind) {
  switch (kind) {
    case ops::CallKind::kView:
      return TraceKind::kView;
    case ops::CallKind::kInPlace:
      return TraceKind::kInPlace;
    case ops::CallKind::kStep:
      return TraceKind::kStep;
    case ops::CallKind::kPlain:
      break;
  }
  return TraceKind::kOperator;
}

void add_bytes(std::vector<TraceBytes>& sums, ScalarType dtype, std::int64_t bytes) {
  for (TraceBytes& sum : sums) {
    if (sum.dtype != dtype) continue;
    sum.bytes += bytes;
    return;
  }
  sums.push_back({dtype, bytes});
}

}  // namespace

double TraceRecorder::now() const {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin_ - own_time_).count();
}

TracePhase TraceRecorder::present_phase() const {
  // Calls that are recorded for backward belong to the closure of a step that evaluates the loss.
  const bool in_step = !frames_.empty() && frames_.back().phase == TracePhase::kStep;
  if (in_step && !GradMode::is_enabled()) return TracePhase::kStep;
  return passes_ > 0 ? TracePhase::kBackward : TracePhase::kForward;
}

std::string TraceRecorder::name_of(const Tensor& tensor) const {
  const TensorImpl* impl = tensor.unsafe_impl();
  for (const TensorImpl* candidate : {impl, static_cast<const TensorImpl*>(impl->view_base.get())}) {
    const auto found = names_.find(candidate);
    if (found != names_.end()) return found->second;
  }
  const autograd::TensorMeta* meta = autograd::find_meta(tensor);
  return meta ? meta->name : std::string();
}

TraceTensor TraceRecorder::describe(const Tensor& tensor) const {
  const auto maker = makers_.find(&tensor.storage());
  return {name_of(tensor), tensor.scalar_type(), tensor.sizes().dims(),
          maker == makers_.end() ? -1 : maker->second};
}

void TraceRecorder::watch(const std::string& name, const Tensor& tensor) {
  const Pause pause(*this);
  watched_.emplace_back(name, tensor);
  names_[tensor.unsafe_impl()] = name;
  if (!tensor.is_floating_point()) return;
  if (tensor.requires_grad() && tensor.is_leaf()) leaves_[&autograd::meta_of(tensor)] = name;
  if (options_.histograms) count_exponents(name, tensor, false, 1);
}

void TraceRecorder::close() {
  log_.time = now();
  log_.own_time = std::chrono::duration<double, std::micro>(own_time_).count();
}

// --- Calls
// -----------------------------------------------------------------------------------------------------
TraceOperator* TraceRecorder::open(const char* name, TraceKind kind, TracePhase phase) {
  if (cuda::current_capture()) {
    fail("Trace", name,
         " is being captured into a CUDA graph and does not run now: stop the trace before the capture, "
         "or trace a step outside it");
  }
  Frame frame{-1, 0, 0, phase};
  TraceOperator* record = nullptr;
  if (static_cast<std::int64_t>(log_.operators.size()) < options_.max_operators) {
    frame.op = static_cast<std::int64_t>(log_.operators.size());
    record = &log_.operators.emplace_back();
    record->name = name;
    record->kind = kind;
    record->phase = phase;
    record->step = step_;
    record->parent = frames_.empty() ? -1 : frames_.back().op;
    record->depth = static_cast<std::int64_t>(frames_.size());
  } else {
    ++log_.dropped;
  }
  frames_.push_back(frame);
  return record;
}

TraceOperator* TraceRecorder::close_frame(double end) {
  const Frame frame = frames_.back();
  frames_.pop_back();
  const double time = end - frame.start;
  if (!frames_.empty()) frames_.back().inside += time;
  if (frame.op < 0) return nullptr;
  TraceOperator& record = log_.operators[static_cast<std::size_t>(frame.op)];
  record.start = frame.start;
  record.time = time;
  record.self = std::max(0.0, time - frame.inside);
  return &record;
}

void TraceRecorder::abandon() noexcept {
  if (frames_.empty()) return;
  if (TraceOperator* record = close_frame(now())) record->failed = true;
}

void TraceRecorder::begin_call(const ops::Call& call) {
  {
    const Pause pause(*this);
    const TracePhase phase = call.kind == ops::CallKind::kStep ? TracePhase::kStep : present_phase();
    TraceOperator* record = open(call.name, kind_of(call.kind), phase);
    if (record) {
      record->declared = call.declared;
      record->policy = effective_policy(call.name, call.declared);
      record->cast_to = call.plan.cast_to;
      describe_inputs(call, *record);
      if (record->module.empty() && phase == TracePhase::kBackward) record->module = node_place_.module;
      if (!record->module.empty() && phase == TracePhase::kForward) last_module_ = record->module;
    }
  }
  frames_.back().start = now();
}

void TraceRecorder::describe_inputs(const ops::Call& call, TraceOperator& record) const {
  for (const Tensor* input : call.inputs) {
    if (!input->defined()) continue;
    record.autocast = record.autocast || is_autocast_enabled(input->device().type());
    record.inputs.push_back(describe(*input));
    const std::string& name = record.inputs.back().name;
    if (record.module.empty() && !name.empty()) record.module = module_of(name);
    if (input->unsafe_impl()->is_wrapped_number && input->is_cpu()) record.number = input->item<double>();
  }
  if (call.kind != ops::CallKind::kInPlace || passes_ > 0) return;
  record.wrote_scaled_gradient = call.inputs[0]->unsafe_impl()->is_scaled_gradient;
}

/// Its memory is held, so that its address says who wrote it.
void TraceRecorder::keep(const Tensor& result, TraceOperator& record) {
  const Tensor value = result.detach();
  makers_[&value.storage()] = &record - log_.operators.data();
  held_.push_back(value);
  record.values.push_back(record.kind == TraceKind::kInPlace ? value.clone() : value);
}

void TraceRecorder::wait_for(const ops::TensorRefs& tensors) const {
  if (!options_.synchronize) return;
  for (const Tensor* tensor : tensors) {
    if (tensor->defined() && tensor->is_cuda()) return cuda::synchronize(tensor->device().index());
  }
}

void TraceRecorder::end_call(const ops::Call& call, const ops::TensorRefs& outputs) {
  wait_for(outputs);
  const double end = now();
  const Pause pause(*this);
  const Frame frame = frames_.back();
  if (TraceOperator* record = close_frame(end)) {
    for (const Tensor* output : outputs) {
      if (!output->defined()) continue;
      record->outputs.push_back(describe(*output));
      note_place(*output, {record->module, last_module_});
      if (options_.keep_results) keep(*output, *record);
    }
    record->saved = newly_saved(call, outputs);
  }
  if (options_.check_values && call.kind != ops::CallKind::kView) check_results(call, outputs, frame);
}

/// So that the backward of what made `output` is known to belong there.
void TraceRecorder::note_place(const Tensor& output, const Place& place) {
  const auto* node = static_cast<const autograd::Node*>(output.unsafe_impl()->grad_fn.get());
  if (node) places_[node->sequence_nr()] = place;
}

std::vector<TraceBytes> TraceRecorder::newly_saved(const ops::Call& call, const ops::TensorRefs& outputs) {
  std::vector<TraceBytes> bytes;
  if (outputs.empty() || !outputs[0]->defined() || !outputs[0]->unsafe_impl()->grad_fn) return bytes;
  if (call.kind == ops::CallKind::kPlain) {
    // New memory: what had these addresses before is gone.
    for (const Tensor* output : outputs) {
      if (output->defined()) saved_.erase(&output->storage());
    }
  }
  const auto* node = static_cast<const autograd::Node*>(outputs[0]->unsafe_impl()->grad_fn.get());
  node->visit_saved([&](const Tensor& tensor) {
    const TensorImpl& impl = *tensor.unsafe_impl();
    // As autograd::saved_bytes counts: parameters and their low-precision copies are there anyway.
    const bool is_leaf = impl.requires_grad && !impl.grad_fn;
    if (is_leaf || impl.storage->category() == MemoryCategory::kParameter) return;
    if (!saved_.insert(impl.storage.get()).second) return;
    add_bytes(bytes, impl.dtype, static_cast<std::int64_t>(impl.storage->bytes()));
  });
  return bytes;
}

void TraceRecorder::on_cast(const ops::Cast& cast) {
  const Pause pause(*this);
  if (frames_.empty() || frames_.back().op < 0) return;
  TraceCast record;
  record.op = frames_.back().op;
  record.step = step_;
  record.tensor = name_of(cast.from);
  record.from = cast.from.scalar_type();
  record.to = cast.to.scalar_type();
  record.source = static_cast<TraceCast::Source>(cast.source);
  if (cast.source == ops::Cast::Source::kFresh) {
    record.bytes_read = static_cast<std::int64_t>(cast.from.nbytes());
    record.bytes_written = static_cast<std::int64_t>(cast.to.nbytes());
    // The conversion is the call that ended last.
    const TraceOperator& conversion = log_.operators.back();
    if (conversion.parent == record.op && conversion.name == "to_dtype") record.time = conversion.time;
  }
  log_.casts.push_back(record);
  const TraceOperator& op = log_.operators[static_cast<std::size_t>(record.op)];
  note_place(cast.to, {op.module, last_module_});
}

// --- Backward
// --------------------------------------------------------------------------------------------------
void TraceRecorder::end_pass() noexcept {
  if (--passes_ == 0) saved_.clear();
}

void TraceRecorder::begin_node(const autograd::Node& node, const autograd::Gradients& gradients) {
  {
    const Pause pause(*this);
    const auto place = places_.find(node.sequence_nr());
    node_place_ = place == places_.end() ? Place{} : place->second;
    node_name_ = node.name();
    const auto leaf = leaves_.find(&node);
    if (leaf != leaves_.end()) node_place_.module = module_of(leaf->second);
    if (options_.histograms) {
      const std::optional<autograd::GradientStamp>* stamp = autograd::current_stamp();
      for (const auto& [name, tensor] : watched_) {
        const TensorImpl& impl = *tensor.unsafe_impl();
        if (impl.grad_fn.get() != &node || impl.output_nr >= gradients.size()) continue;
        const Tensor& gradient = gradients[impl.output_nr];
        if (gradient.defined()) {
          count_exponents(name, gradient, true, stamp && *stamp ? (*stamp)->read_scale() : 1);
        }
      }
    }
    if (TraceOperator* record = open(node.name(), TraceKind::kNode, TracePhase::kBackward)) {
      record->module = node_place_.module;
      for (const Tensor& gradient : gradients) {
        if (gradient.defined()) record->inputs.push_back(describe(gradient));
      }
      for (std::size_t i = 0; i < node.next_edges().size(); ++i) {
        const autograd::InputMeta& meta = node.input_meta(i);
        if (node.next_edges()[i]) record->outputs.push_back({"", meta.dtype, meta.sizes});
      }
      if (leaf != leaves_.end()) {
        const auto& meta = static_cast<const autograd::TensorMeta&>(node);
        record->outputs.push_back({leaf->second, meta.leaf.dtype, meta.leaf.sizes});
      }
    }
  }
  frames_.back().start = now();
}

void TraceRecorder::end_node(const autograd::Node& node) {
  const double end = now();
  const Pause pause(*this);
  TraceOperator* record = close_frame(end);
  node_name_.clear();
  node_place_ = {};
  const auto leaf = leaves_.find(&node);
  if (leaf == leaves_.end()) return;
  const auto& meta = static_cast<const autograd::TensorMeta&>(node);
  if (!meta.grad.defined()) return;
  const autograd::GradientStamp* stamp = autograd::gradient_stamp(meta);
  const double scale = stamp ? stamp->read_scale() : 1;
  if (options_.histograms) count_exponents(leaf->second, meta.grad, true, scale);
  if (record && options_.keep_results) {
    record->values.push_back(meta.grad.detach().to(kDouble).mul(1 / scale));
  }
}

// --- Loss scale and steps
// --------------------------------------------------------------------------------------
void TraceRecorder::on_loss(const Tensor& loss, double scale) {
  scale_ = scale;
  log_.losses.push_back({step_, loss.scalar_type(), scale});
}

void TraceRecorder::on_scale(const LossScaleState& before, const LossScaleState& after,
                             const LossScaleRules& rules) {
  TraceScale event;
  event.step = std::max<std::int64_t>(0, step_ - 1);  // it ends the iteration whose step was made
  event.before = static_cast<double>(before.scale);
  event.after = static_cast<double>(after.scale);
  event.skipped = before.overflowed != 0;
  event.loss_nonfinite = before.loss_nonfinite != 0;
  event.grew = event.after > event.before;
  event.backed_off = event.after < event.before;
  event.stalled = event.skipped && would_stall(before, rules);
  log_.scales.push_back(event);
}

void TraceRecorder::on_step(const ops::StepOutcome& step) {
  log_.steps.push_back({step_, step.optimizer, step.applied, step.skipped_nonfinite, step.no_gradients,
                        step.stalled, step.grad_norm, step.overflowed});
  ++step_;
}

}  // namespace halftone::amp
