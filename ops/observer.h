#pragma once

// What a tool that watches a program is told: every operator call, cast, node of a backward pass, movement of
// a loss scale and optimizer step of one thread. amp::Trace is the observer that users meet.

#include <optional>
#include <string>
#include <vector>

#include "halftone/amp/policy.h"
#include "halftone/autograd/node.h"
#include "halftone/kernels/math/loss_scale.h"
#include "halftone/ops/autocast.h"

namespace halftone::ops {

enum class CallKind : std::uint8_t {
  kPlain,
  kView,     ///< the result shares the first input's memory
  kInPlace,  ///< the result is written into the first input
  kStep,     ///< an optimizer's step: no operator, but it takes time
};

/// One call, from its begin to its end. What it refers to lives that long.
struct Call {
  const char* name;
  amp::Precision declared = amp::Precision::kAny;
  CallKind kind = CallKind::kPlain;
  const TensorRefs& inputs;  ///< as given, before autocast; undefined ones included
  CastPlan plan = {};
  /// Computes the results once more, in fp32 from copies of the inputs, with nothing recorded. Null for views
  /// and writes in place, whose input is gone afterwards.
  std::vector<Tensor> (*in_fp32)(const void* arguments) = nullptr;
  const void* arguments = nullptr;
};

/// One input that autocast wanted in another dtype.
struct Cast {
  enum class Source : std::uint8_t {
    kFresh,   ///< computed now
    kCached,  ///< a weight that was cast earlier in the region
    kShadow,  ///< the copy that the parameter's optimizer keeps up to date
  };
  const Tensor& from;
  const Tensor& to;
  Source source;
};

/// What an optimizer did with the gradients it found.
struct StepOutcome {
  const char* optimizer;
  bool applied, skipped_nonfinite, no_gradients, stalled;
  double grad_norm;  ///< NaN where nobody needed it
  std::vector<std::string> overflowed;
};

/// Base of those who watch. Everything is called on the thread that runs the program, between two of its
/// actions; what an observer computes itself has to run with watching suspended (ObserverScope(nullptr)).
class Observer {
 public:
  virtual ~Observer() = default;

  /// Calls nest: gradient rules and casts call operators too.
  virtual void begin_call(const Call& call) = 0;
  virtual void end_call(const Call& call, const TensorRefs& outputs) = 0;
  /// The call threw.
  virtual void abandon_call() noexcept = 0;
  /// Reported inside the call that needs it.
  virtual void on_cast(const Cast& cast) = 0;

  virtual void begin_pass() = 0;
  virtual void end_pass() noexcept = 0;
  /// A node of the pass is about to turn these gradients of its outputs into those of its inputs.
  virtual void begin_node(const autograd::Node& node, const autograd::Gradients& gradients) = 0;
  /// What it made has been summed and cast to its inputs' shapes and dtypes, and added to what was there.
  virtual void end_node(const autograd::Node& node) = 0;
  /// The node threw.
  virtual void abandon_node() noexcept = 0;

  /// A loss is scaled for backward.
  virtual void on_loss(const Tensor& loss, double scale) = 0;
  /// An iteration of a loss scale has ended.
  virtual void on_scale(const LossScaleState& before, const LossScaleState& after,
                        const LossScaleRules& rules) = 0;
  virtual void on_step(const StepOutcome& step) = 0;
};

/// The observer of this thread, or null.
inline Observer* observer() { return amp::detail::thread_state.observer; }

/// Makes `observer` (null: nobody) watch this thread while alive.
class ObserverScope {
 public:
  explicit ObserverScope(Observer* observer) : previous_(amp::detail::thread_state.observer) {
    amp::detail::thread_state.observer = observer;
  }
  ~ObserverScope() { amp::detail::thread_state.observer = previous_; }
  ObserverScope(const ObserverScope&) = delete;
  ObserverScope& operator=(const ObserverScope&) = delete;

 private:
  Observer* previous_;
};

/// Tells this thread's observer, if there is one, of a call from its construction until finish().
class CallScope {
 public:
  explicit CallScope(const Call& call) : observer_(observer()), call_(call) {
    if (observer_) observer_->begin_call(call_);
  }
  ~CallScope() {
    if (observer_) observer_->abandon_call();
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  void finish(const TensorRefs& outputs) {
    if (observer_) std::exchange(observer_, nullptr)->end_call(call_, outputs);
  }

 private:
  Observer* observer_;
  const Call& call_;
};

/// A backward pass.
class PassObservation {
 public:
  PassObservation() : observer_(observer()) {
    if (observer_) observer_->begin_pass();
  }
  ~PassObservation() {
    if (observer_) observer_->end_pass();
  }
  PassObservation(const PassObservation&) = delete;
  PassObservation& operator=(const PassObservation&) = delete;

 private:
  Observer* observer_;
};

/// One node of a backward pass, until what it made has been handed on.
class NodeObservation {
 public:
  NodeObservation(const autograd::Node& node, const autograd::Gradients& gradients) : observer_(observer()) {
    if (observer_) [[unlikely]]
      observer_->begin_node(node, gradients);
  }
  ~NodeObservation() {
    if (observer_) observer_->abandon_node();
  }
  NodeObservation(const NodeObservation&) = delete;
  NodeObservation& operator=(const NodeObservation&) = delete;

  void finish(const autograd::Node& node) {
    if (observer_) [[unlikely]]
      std::exchange(observer_, nullptr)->end_node(node);
  }

 private:
  Observer* observer_;
};

}  // namespace halftone::ops
