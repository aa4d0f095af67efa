#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halftone/amp/loss_scaling.h"
#include "halftone/kernels/optimizer.h"
#include "halftone/optim/deferred_scalar.h"
#include "halftone/optim/options.h"
#include "halftone/optim/parameter_state.h"
#include "halftone/optim/step_report.h"

namespace halftone::optim {

/// Base of all optimizers, with libtorch's surface and mixed precision built in: fp32 masters of half
/// parameters, and a loss-scaling controller. A step reads the gradients once (finite? how large?) and then
/// makes one fused pass per parameter: unscale, clip, weight decay, moments, master, parameter, half shadow.
/// A skipped step changes nothing.
///
///   optim::AdamW optimizer(model->parameters(), optim::AdamWOptions(1e-3));
///   optimizer.use_loss_scaling();
///   ...
///   optimizer.zero_grad();
///   optimizer.backward(loss);
///   optimizer.clip_grad_norm_(1.0);
///   optim::StepReport report = optimizer.step();
class Optimizer {
 public:
  using LossClosure = std::function<Tensor()>;

  virtual ~Optimizer() = default;
  Optimizer(Optimizer&&) = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Throws Error on tensors that are not floating leaves, and on one that stands in two groups.
  void add_param_group(const OptimizerParamGroup& group);
  std::vector<OptimizerParamGroup>& param_groups() { return groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const { return groups_; }
  /// The options of groups that were given none.
  OptimizerOptions& defaults() { return *defaults_; }
  /// All parameters, group after group: the order of StepReport::overflowed_parameters().
  std::vector<Tensor> parameters() const;

  /// Drops the gradients, or fills them with zeros.
  void zero_grad(bool set_to_none = true);

  /// One step on the gradients that are there. Throws Error when they are still scaled and no loss scaling is
  /// in use.
  StepReport step();
  /// libtorch's form: computes the loss by calling `closure` with gradients on, steps, and returns the loss.
  Tensor step(LossClosure closure);
  /// What the last step did.
  const StepReport& last_report() const { return last_report_; }
  std::int64_t applied_steps() const { return applied_steps_; }
  std::int64_t attempted_steps() const { return attempted_steps_; }

  // --- Mixed precision
  // ------------------------------------------------------------------------------------------
  /// From now on backward() scales the loss and step() unscales, checks, skips and moves the scale.
  void use_loss_scaling(amp::LossScaling scaling);
  void use_loss_scaling(const amp::LossScalingOptions& options = {}) {
    use_loss_scaling(amp::LossScaling(options));
  }
  /// The controller, or null.
  amp::LossScaling* loss_scaling() { return scaling_ ? &*scaling_ : nullptr; }
  /// The present scale; 1 without loss scaling.
  double loss_scale() const { return scaling_ ? scaling_->get_scale() : 1; }
  /// Backward of the loss, scaled if loss scaling is in use. May be called several times before a step.
  void backward(const Tensor& loss, std::optional<bool> retain_graph = std::nullopt,
                bool create_graph = false);
  /// Clips the true gradients to this norm, as part of the next step; `.grad` itself is not touched. Returns
  /// the norm before clipping. Throws Error when the gradients are scaled by a GradScaler: unscale_() them
  /// first.
  DeferredScalar clip_grad_norm_(double max_norm, double norm_type = 2.0);
  /// Keeps a copy of all fp32 parameters in `dtype` that autocast uses without casting.
  void use_half_shadow(ScalarType dtype = kBFloat16);
  /// Several ranks decide together whether to skip. Needs loss scaling.
  void agree(std::function<bool(bool)> decide);
  /// Weights changed so far in parameters that have no master, and how many changes were below half a unit in
  /// the last place: lost, unless stochastic rounding is on.
  const UpdateMeter& update_meter() const { return meter_; }
  /// The random stream of stochastic rounding.
  Generator& rounding_generator() { return rounding_; }

  // --- Saving
  // ---------------------------------------------------------------------------------------------------
  /// Options, step counts, masters, moments, counters and the controller: enough to resume bit for bit. The
  /// tensors are copies.
  StateDict state_dict() const;
  /// Throws Error, changing nothing, when the state belongs to other parameters. Options are restored too.
  void load_state_dict(const StateDict& state);

  // --- For facades over LossScaling (amp::GradScaler)
  // -------------------------------------------------------------
  /// Divides the gradients in place by what they were scaled by. True when all are finite.
  bool unscale_gradients(amp::LossScaling& scaling);
  /// A step under an outside controller, whose update() the caller makes.
  StepReport step_with(amp::LossScaling& scaling);
  /// Distinct for every optimizer of the process.
  amp::LossScaling::OptimizerId id() const { return id_; }

 protected:
  /// `name` is the optimizer's, for messages and state; it must outlive the optimizer.
  Optimizer(const char* name, ParameterList parameters, std::unique_ptr<OptimizerOptions> defaults);

  /// Names of the moments in state dictionaries; null where there is none.
  virtual std::array<const char*, ParameterState::kMoments> moment_names() const { return {}; }
  /// One parameter's step. `call` holds parameter, master, shadow, gradient and factors; set the rule, its
  /// numbers and the moments, and call run(call). state.steps() counts this step already.
  virtual void update(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) = 0;
  void run(const UpdateCall& call);

 private:
  struct Slot {
    ParameterState state;
    std::size_t group;
  };
  /// What pass 1 found; entries of slots without gradient are zero.
  struct Scan {
    std::vector<double> factor;  // 1/S of each slot's gradient
    std::vector<std::int64_t> nonfinite;
    std::vector<const Storage*> storage;  // what was looked at, in which version
    std::vector<std::uint32_t> version;
    double norm_type = 2;
    double norm = 0;
    bool any_nonfinite = false;
  };
  struct ClipRequest {
    double max_norm, norm_type;
  };

  void sync_slots() const;
  void prepare();
  void check_leaf(const Tensor& parameter) const;
  bool any_gradient() const;
  void refuse_scaled_gradients(const char* op, const char* instead) const;
  void refuse_lone_halves(const char* op) const;
  void backward_staged(const Tensor& loss, std::optional<bool> retain_graph, bool create_graph);
  void end_window();

  std::vector<double> inverse_scales(const amp::LossScaling* scaling) const;
  template <class Look>
  Scan look_at_gradients(std::vector<double> factors, double norm_type, Look&& look) const;
  Scan scan(std::vector<double> factors, double norm_type) const;
  bool is_current(const Scan& scan, const std::vector<double>& factors) const;
  /// The scan for these factors, made now unless the last one still holds.
  const Scan& scan_once(const std::vector<double>& factors);
  double clip_factor() const;
  StepReport plain_step();
  StepReport new_report() const;
  void report_overflow(StepReport& report);
  /// Pass 2.
  void apply(const std::vector<double>& factors, double clip);
  void apply_one(Slot& slot, double factor, double clip);

  const char* name_;
  amp::LossScaling::OptimizerId id_;
  std::unique_ptr<OptimizerOptions> defaults_;
  std::vector<OptimizerParamGroup> groups_;
  mutable std::vector<Slot> slots_;  // follows groups_, which users may edit
  std::optional<amp::LossScaling> scaling_;
  std::optional<ClipRequest> clip_;
  std::optional<Scan> scan_;
  StepReport last_report_;
  std::int64_t applied_steps_ = 0, attempted_steps_ = 0;
  UpdateMeter meter_;
  Generator rounding_{0};
  Tensor skipped_gradient_;  // a gradient that the last step was skipped for
  std::int64_t same_skips_ = 0;
  std::int64_t micro_batches_ = 0, dropped_micro_batches_ = 0;
};

}  // namespace halftone::optim
