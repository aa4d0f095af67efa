#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "halftone/amp/loss_scaling.h"
#include "halftone/engine/cached_containers.h"
#include "halftone/kernels/optimizer.h"
#include "halftone/optim/deferred_scalar.h"
#include "halftone/optim/options.h"
#include "halftone/optim/parameter_state.h"
#include "halftone/optim/step_report.h"

namespace halftone::serialize {
class OutputArchive;
class InputArchive;
}  // namespace halftone::serialize

namespace halftone::optim {

/// Base of all optimizers, with libtorch's surface and mixed precision built in: fp32 masters of half
/// parameters, and a loss-scaling controller. A step reads the gradients once (finite? how large?) and then
/// makes one fused pass per parameter: unscale, clip, weight decay, moments, master, parameter, half shadow.
/// A skipped step changes nothing.
///
/// All parameters are on one device. On a CUDA device the whole step happens there: whether it is skipped,
/// the clip factor, step counts and the scale are never read by the host, except where it asks (a report, a
/// norm, a count), or was told to decide something itself: agree(), at_floor() other than kContinue,
/// accumulation(kDropMicroBatch) and clear_on_skip(true) wait for the device once per step.
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
  /// Computes the loss of a step; see step().
  using LossClosure = std::function<Tensor()>;

  virtual ~Optimizer();
  Optimizer(Optimizer&&) noexcept;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Throws Error on tensors that are not floating leaves, and on one that stands in two groups.
  void add_param_group(const OptimizerParamGroup& group);
  /// Parameters with their settings, which may be changed between steps.
  std::vector<OptimizerParamGroup>& param_groups() { return settings_->groups; }
  const std::vector<OptimizerParamGroup>& param_groups() const { return settings_->groups; }
  /// The options of groups that were given none.
  OptimizerOptions& defaults() { return *defaults_; }
  const OptimizerOptions& defaults() const { return *defaults_; }
  /// All parameters, group after group: the order of StepReport::overflowed_parameters().
  std::vector<Tensor> parameters() const;
  /// How many they are.
  std::size_t size() const { return parameters().size(); }
  /// Adds parameters to the first group.
  void add_parameters(const std::vector<Tensor>& parameters);

  /// What is kept for every parameter that was stepped, by the parameter's unsafeGetTensorImpl().
  using StateMap = std::unordered_map<void*, std::unique_ptr<OptimizerParamState>>;
  /// Of the parameters stepped so far. It holds until parameters are added or removed.
  StateMap& state();

  /// Drops the gradients, or fills them with zeros.
  void zero_grad(bool set_to_none = true);

  /// One step on the gradients that are there. Throws Error when they are still scaled and no loss scaling is
  /// in use.
  virtual StepReport step();
  /// libtorch's form: computes the loss by calling `closure` with gradients on, steps, and returns the loss.
  virtual Tensor step(LossClosure closure);
  /// What the last step did.
  const StepReport& last_report() const { return last_report_; }
  /// Steps that moved the weights. Waits for the device.
  std::int64_t applied_steps() const { return control().applied_steps; }
  /// All steps, those skipped too. Waits for the device.
  std::int64_t attempted_steps() const { return control().attempted_steps; }

  // --- Mixed precision
  // ------------------------------------------------------------------------------------------
  /// From now on backward() scales the loss and step() unscales, checks, skips and moves the scale.
  void use_loss_scaling(amp::LossScaling scaling);
  void use_loss_scaling(const amp::LossScalingOptions& options = {});
  /// The controller, or null.
  amp::LossScaling* loss_scaling() { return scaling_ ? &*scaling_ : nullptr; }
  /// The present scale; 1 without loss scaling.
  double loss_scale() const { return scaling_ ? scaling_->get_scale() : 1; }
  /// Backward of the loss, scaled if loss scaling is in use. May be called several times before a step.
  void backward(const Tensor& loss, std::optional<bool> retain_graph = std::nullopt,
                bool create_graph = false);
  /// Clips the true gradients to this norm, as part of the next step; `.grad` itself is not touched. Returns
  /// the norm before clipping. Throws Error when the gradients are scaled by a GradScaler: unscale_() them
  /// first. A captured step clips at the threshold that was asked for last, also after the capture.
  DeferredScalar clip_grad_norm_(double max_norm, double norm_type = 2.0);
  /// Keeps a copy of all fp32 parameters in `dtype` that autocast uses without casting.
  void use_half_shadow(ScalarType dtype = kBFloat16);
  /// Several ranks decide together whether to skip. Needs loss scaling.
  void agree(std::function<bool(bool)> decide);
  /// Weights changed so far in parameters that have no master, and how many changes were below half a unit in
  /// the last place: lost, unless stochastic rounding is on.
  UpdateMeter update_meter() const;
  /// The random stream of stochastic rounding.
  Generator& rounding_generator();

  // --- Saving
  // ---------------------------------------------------------------------------------------------------
  /// Options, step counts, masters, moments, counters and the controller: enough to resume bit for bit. The
  /// tensors are copies.
  StateDict state_dict() const;
  /// Throws Error, changing nothing, when the state belongs to other parameters. Options are restored too.
  void load_state_dict(const StateDict& state);
  /// The same to and from an archive, as libtorch has it.
  void save(serialize::OutputArchive& archive) const;
  /// Throws Error, changing nothing, when the state belongs to other parameters.
  void load(serialize::InputArchive& archive);

  // --- For facades over LossScaling (amp::GradScaler)
  // -------------------------------------------------------------
  /// Divides the gradients in place by what they were scaled by. True when all are finite.
  DeferredFlag unscale_gradients(amp::LossScaling& scaling);
  /// A step under an outside controller, whose update() the caller makes.
  StepReport step_with(amp::LossScaling& scaling);
  /// The same with a closure, for optimizers that can give up the whole step at an overflow (LBFGS); Error
  /// otherwise.
  virtual Tensor step_with(amp::LossScaling& scaling, LossClosure closure);
  /// Distinct for every optimizer of the process.
  amp::LossScaling::OptimizerId id() const { return id_; }

 protected:
  /// `name` is the optimizer's, for messages and state; it must outlive the optimizer.
  Optimizer(const char* name, ParameterList parameters, std::unique_ptr<OptimizerOptions> defaults);
  /// libtorch's form, for an optimizer of one's own: it overrides step(closure), and writes to the parameters
  /// itself.
  Optimizer(std::vector<OptimizerParamGroup> groups, std::unique_ptr<OptimizerOptions> defaults);

  /// Names of as many moments as the rule has.
  using MomentNames = ParameterState::MomentNames;
  /// Names of the moments in state dictionaries; null where there is none.
  virtual MomentNames moment_names() const { return {}; }
  /// Puts the moments that the rule needs with these options into `call`.
  virtual void bind_moments(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) const;
  /// The parameter's state under its libtorch names.
  virtual std::unique_ptr<OptimizerParamState> shown(ParameterState& state) const;
  /// What the optimizer keeps besides what belongs to single parameters.
  virtual StateDict own_state() const;
  /// Takes it back. `check_only`: throws Error where it does not fit, and changes nothing.
  virtual void load_own_state(const StateDict&, [[maybe_unused]] bool check_only) {}
  /// Throws Error where step() cannot do without a closure.
  virtual void check_closure_not_needed() const {}

  // --- For optimizers that try several weights in one step (LBFGS), in optimizer_flat.cpp
  /// All weights as one vector, the masters where there are some: fp32, fp64 if a parameter is.
  Tensor flat_weights();
  /// Writes all weights, with their masters and shadows.
  void set_flat_weights(const Tensor& flat);
  /// What flat_gradients() returns.
  struct FlatGradients {
    Tensor values;            ///< like flat_weights()
    bool overflowed = false;  ///< with loss scaling: infinite or NaN here or on another rank
  };
  /// The true gradients now, as one vector, clipped if a clip was asked for.
  FlatGradients flat_gradients();
  /// Counts the step that has been made, or that is given up, and moves the loss scale.
  StepReport finish_step(bool is_skipped);
  /// Loss scaling from outside for the step under way, or null.
  void set_outer_scaling(amp::LossScaling* scaling) { outer_scaling_ = scaling; }
  /// The optimizer's, for messages and state.
  const char* name() const { return name_; }

  // --- How a step is made: for the sources of this class alone
  /// @cond
  /// A parameter among the others.
  struct Slot {
    ParameterState state;
    std::size_t group;
    std::uint64_t rounding_offset = 0;  // of its random numbers within a step
  };
  /// The gradients pass 1 looked at, in which version, and what it found. One element per slot.
  struct Scan {
    CachedVector<GradientFactor> factor;
    CachedVector<const Storage*> storage;  // null: no gradient
    CachedVector<std::uint32_t> version;
    double norm_type = 2;
    Tensor result;  // ScanHeader and one ScanEntry per gradient
  };
  using Look = void (*)(std::span<const GradientEntry> entries, double p, const Tensor& scan,
                        const Tensor& before);
  /// The options of all groups, and where kernels read them. Shared with captured steps, which bring them up
  /// to date before every replay.
  struct Settings : std::enable_shared_from_this<Settings> {
    std::vector<OptimizerParamGroup> groups;
    double max_norm = -1;  // of clip_grad_norm_

    Tensor record;   // an UpdateSettings per group
    Tensor control;  // StepControl
    std::vector<UpdateSettings> sent;
    double sent_max_norm = -1;

    void send(Device device);
  };

  void sync_slots() const;
  void prepare();
  void check_leaf(const Tensor& parameter) const;
  bool any_gradient() const;
  void refuse_scaled_gradients(const char* op, const char* instead) const;
  void refuse_lone_halves(const char* op) const;
  void backward_staged(const Tensor& loss, std::optional<bool> retain_graph, bool create_graph);
  void end_window();

  std::vector<OptimizerParamGroup>& groups() const { return settings_->groups; }
  const OptimizerOptions& options_of(const Slot& slot) const { return groups()[slot.group].options(); }
  Device device() const;
  /// What is remembered from step to step. Waits for the device.
  StepControl control() const;
  /// The same, made on first use.
  const Tensor& control_record();
  void set_control(const StepControl& control);
  PhiloxState present_rounding(const StepControl& control) const;
  void set_rounding(PhiloxState state);

  CachedVector<GradientFactor> unscale_factors(amp::LossScaling* scaling) const;
  Scan look_at_gradients(CachedVector<GradientFactor> factors, double norm_type, Look look,
                         const Tensor& before = {}) const;
  Scan scan(CachedVector<GradientFactor> factors, double norm_type) const;
  bool is_current(const Scan& scan, const CachedVector<GradientFactor>& factors) const;
  /// The scan for these factors, made now unless the last one still holds.
  const Scan& scan_once(const CachedVector<GradientFactor>& factors);
  StepReport plain_step();
  void agree_with_others(const amp::LossScaling& scaling, DecideCall& call) const;
  /// Decides on the step and makes it.
  StepReport decide_and_apply(const CachedVector<GradientFactor>& factors, DecideCall call);
  void tell_observer(const StepReport& report) const;
  StepReport decide(DecideCall& call);
  ScalarType flat_dtype() const;
  amp::LossScaling* active_scaling();
  StepReport new_report(const DecideCall& call) const;
  bool rounds_at_random(const Slot& slot) const;
  std::uint64_t place_random_numbers();
  /// Pass 2.
  void apply(const CachedVector<GradientFactor>& factors);
  void fill_call(Slot& slot, const GradientFactor& factor, UpdateCall& call) const;

  const char* name_;
  amp::LossScaling::OptimizerId id_;
  std::unique_ptr<OptimizerOptions> defaults_;
  std::shared_ptr<Settings> settings_;
  mutable std::vector<Slot> slots_;  // follows the groups, which users may edit
  mutable std::shared_ptr<const std::vector<std::string>> slot_names_;
  std::optional<amp::LossScaling> scaling_;
  std::optional<double> clip_norm_type_;  // a clip was asked for
  std::optional<Scan> scan_;
  StepReport last_report_;
  Generator rounding_{0};
  PhiloxState sent_rounding_;           // what the control record was told of it
  bool cleared_ = false;                // zero_grad() since the last step
  std::vector<Tensor> last_gradients_;  // keeps the ids of gradients distinct while a skip may be repeated
  std::int64_t micro_batches_ = 0, dropped_micro_batches_ = 0;
  StateMap shown_;
  amp::LossScaling* outer_scaling_ = nullptr;  // of a facade, while an optimizer evaluates the loss itself
  /// @endcond
};

}  // namespace halftone::optim
