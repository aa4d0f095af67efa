#pragma once

// The records of a trace as JSON objects: every field is named here once, for the one who writes and the one
// who reads. `fields(f, record)` calls, for each field in turn,
//
//   f(name, member)
//   f.unless(default, name, member)   left out where it has that value
//   f.derived(name, value)            written only: it follows from the others

#include <type_traits>

#include "halftone/amp/trace_log.h"

namespace halftone::amp {

/// `R` is `T` or const T.
template <class R, class T>
concept RecordOf = std::is_same_v<std::remove_const_t<R>, T>;

/// Version of the format; readers refuse others.
inline constexpr int kTraceVersion = 1;

template <class F, RecordOf<TraceTensor> R>
void fields(F& f, R& tensor) {
  f("dtype", tensor.dtype);
  f("sizes", tensor.sizes);
  f.unless("", "name", tensor.name);
  f.unless(-1, "made_by", tensor.made_by);
}

template <class F, RecordOf<TraceBytes> R>
void fields(F& f, R& part) {
  f("dtype", part.dtype);
  f("bytes", part.bytes);
}

template <class F, RecordOf<TraceOperator> R>
void fields(F& f, R& op) {
  f("name", op.name);
  f("kind", op.kind);
  f("phase", op.phase);
  f("module", op.module);
  f("declared", op.declared);
  f("policy", op.policy);
  f("autocast", op.autocast);
  f("cast_to", op.cast_to);
  f("inputs", op.inputs);
  f("outputs", op.outputs);
  f("start_us", op.start);
  f("time_us", op.time);
  f("self_us", op.self);
  f("parent", op.parent);
  f("depth", op.depth);
  f("step", op.step);
  f("failed", op.failed);
  f("number", op.number);
  f("wrote_scaled_gradient", op.wrote_scaled_gradient);
  f("saved", op.saved);
}

template <class F, RecordOf<TraceCast> R>
void fields(F& f, R& cast) {
  f("op", cast.op);
  f("step", cast.step);
  f("tensor", cast.tensor);
  f("from", cast.from);
  f("to", cast.to);
  f("source", cast.source);
  f("bytes_read", cast.bytes_read);
  f("bytes_written", cast.bytes_written);
  f("time_us", cast.time);
}

template <class F, RecordOf<TraceLoss> R>
void fields(F& f, R& loss) {
  f("step", loss.step);
  f("dtype", loss.dtype);
  f("scale", loss.scale);
}

template <class F, RecordOf<TraceScale> R>
void fields(F& f, R& event) {
  f("step", event.step);
  f("before", event.before);
  f("after", event.after);
  f("skipped", event.skipped);
  f("loss_nonfinite", event.loss_nonfinite);
  f("grew", event.grew);
  f("backed_off", event.backed_off);
  f("stalled", event.stalled);
}

template <class F, RecordOf<TraceStep> R>
void fields(F& f, R& step) {
  f("step", step.step);
  f("optimizer", step.optimizer);
  f("applied", step.applied);
  f("skipped_nonfinite", step.skipped_nonfinite);
  f("no_gradients", step.no_gradients);
  f("stalled", step.stalled);
  f("grad_norm", step.grad_norm);
  f("overflowed", step.overflowed);
}

template <class F, RecordOf<ExponentHistogram> R>
void fields(F& f, R& h) {
  f("name", h.name);
  f("gradient", h.is_gradient);
  f("step", h.step);
  f("dtype", h.dtype);
  f("scale", h.scale);
  f("elements", h.elements);
  f("zeros", h.zeros);
  f("infinite", h.infinite);
  f("nan", h.nan);
  f("flushed", h.flushed);
  f("subnormal", h.subnormal);
  f("overflow", h.overflow);
  f("smallest", h.smallest);
  f("largest", h.largest);
  f("first_exponent", h.first_exponent);
  f("counts", h.counts);
  f.derived("suggested_scale", h.suggested_scale());
}

template <class F, RecordOf<TraceNonFinite> R>
void fields(F& f, R& found) {
  f("step", found.step);
  f("op", found.op);
  f("name", found.name);
  f("phase", found.phase);
  f("node", found.node);
  f("module", found.module);
  f("after", found.after);
  f("origin", found.origin);
  f("input", found.input);
  f("dtype", found.dtype);
  f("sizes", found.sizes);
  f("nan", found.nan);
  f("infinite", found.infinite);
  f("largest_input", found.largest_input);
  f("scale", found.scale);
  f("fp32_too", found.fp32_too);
  f.derived("text", found.str());
}

/// What belongs to the whole trace.
template <class F, RecordOf<TraceLog> R>
void fields(F& f, R& log) {
  f("time_us", log.time);
  f("own_time_us", log.own_time);
  f("dropped", log.dropped);
}

/// Calls f(type, plural, list) for every list of records, in the order they are written.
template <RecordOf<TraceLog> R, class F>
void each_list(R& log, F&& f) {
  f("operator", "operators", log.operators);
  f("cast", "casts", log.casts);
  f("loss", "losses", log.losses);
  f("scale", "scales", log.scales);
  f("step", "steps", log.steps);
  f("histogram", "histograms", log.histograms);
  f("nonfinite", "nonfinite", log.nonfinite);
}

}  // namespace halftone::amp
