#pragma once

#include <chrono>
#include <unordered_map>
#include <unordered_set>

#include "halftone/amp/trace.h"
#include "halftone/ops/observer.h"

namespace halftone::amp {

/// The observer behind a Trace: turns what it is told into a TraceLog.
class TraceRecorder final : public ops::Observer {
 public:
  explicit TraceRecorder(const TraceOptions& options) : options_(options) {}

  void watch(const std::string& name, const Tensor& tensor);
  void close();
  const TraceLog& log() const { return log_; }
  TraceLog& log() { return log_; }

  void begin_call(const ops::Call& call) override;
  void end_call(const ops::Call& call, const ops::TensorRefs& outputs) override;
  void abandon_call() noexcept override { abandon(); }
  void on_cast(const ops::Cast& cast) override;
  void begin_pass() override { ++passes_; }
  void end_pass() noexcept override;
  void begin_node(const autograd::Node& node, const autograd::Gradients& gradients) override;
  void end_node(const autograd::Node& node) override;
  void abandon_node() noexcept override { abandon(); }
  void on_loss(const Tensor& loss, double scale) override;
  void on_scale(const LossScaleState& before, const LossScaleState& after,
                const LossScaleRules& rules) override;
  void on_step(const ops::StepOutcome& step) override;

 private:
  using Clock = std::chrono::steady_clock;

  /// While alive the trace's clock stands, nobody watches, and nothing is recorded or cast.
  class Pause {
   public:
    explicit Pause(TraceRecorder& recorder)
        : recorder_(recorder), begin_(Clock::now()), unwatched_(nullptr) {}
    ~Pause() { recorder_.own_time_ += Clock::now() - begin_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    TraceRecorder& recorder_;
    Clock::time_point begin_;
    ops::ObserverScope unwatched_;
  };

  /// A call under way.
  struct Frame {
    std::int64_t op;  // in the log; -1 when it was dropped
    double start;
    double inside = 0;  // time of the calls made inside
    TracePhase phase;
  };

  /// Which module a call belongs to; where it reads no parameter, the last one before.
  struct Place {
    std::string module, after;
  };

  double now() const;
  TracePhase present_phase() const;
  std::string name_of(const Tensor& tensor) const;
  TraceTensor describe(const Tensor& tensor) const;
  void describe_inputs(const ops::Call& call, TraceOperator& record) const;
  void keep(const Tensor& result, TraceOperator& record);
  /// Opens a frame and its record; null when there are too many.
  TraceOperator* open(const char* name, TraceKind kind, TracePhase phase);
  /// Closes the innermost frame; null when it has no record.
  TraceOperator* close_frame(double end);
  void abandon() noexcept;
  void wait_for(const ops::TensorRefs& tensors) const;
  void note_place(const Tensor& output, const Place& place);
  std::vector<TraceBytes> newly_saved(const ops::Call& call, const ops::TensorRefs& outputs);
  void check_results(const ops::Call& call, const ops::TensorRefs& outputs, const Frame& frame);
  std::optional<TraceNonFinite> explain(const ops::Call& call, const Tensor& output,
                                        const Frame& frame) const;
  void count_exponents(const std::string& name, const Tensor& tensor, bool is_gradient, double scale);

  TraceOptions options_;
  TraceLog log_;
  Clock::time_point begin_ = Clock::now();
  Clock::duration own_time_{};
  std::vector<Frame> frames_;
  std::int64_t step_ = 0;
  int passes_ = 0;  // backward passes under way, one inside the other
  double scale_ = 1;
  std::string last_module_;
  Place node_place_;  // of the backward node under way
  std::string node_name_;

  std::vector<std::pair<std::string, Tensor>> watched_;
  std::unordered_map<const TensorImpl*, std::string> names_;
  std::unordered_map<const autograd::Node*, std::string> leaves_;  // accumulators of watched leaves
  std::unordered_map<std::uint64_t, Place> places_;                // of recorded nodes, by sequence number
  std::unordered_set<const Storage*> saved_;                       // counted since the last backward pass
  std::unordered_map<const Storage*, std::int64_t> makers_;        // of results that are kept
  std::vector<Tensor> held_;
};

}  // namespace halftone::amp
