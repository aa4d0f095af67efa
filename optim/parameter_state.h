#pragma once

#include <array>
#include <optional>
#include <string>

#include "halftone/autograd/node.h"
#include "halftone/optim/options.h"

namespace halftone::optim {

/// What an optimizer keeps for one parameter: its moments, its step count, and for a low-precision parameter
/// its fp32 master weight. While it lives, the gradient of a low-precision parameter accumulates in fp32; the
/// leaf is given back as it was at the end.
class ParameterState {
 public:
  /// Most moments a rule has.
  static constexpr std::size_t kMoments = 3;
  /// Their names in state dictionaries; null where there is none.
  using MomentNames = std::array<const char*, kMoments>;

  ParameterState(Tensor parameter, std::string name);
  ParameterState(ParameterState&& other) noexcept;
  ParameterState& operator=(ParameterState&&) = delete;
  ~ParameterState();

  /// The parameter that is stepped.
  const Tensor& parameter() const { return parameter_; }
  /// The parameter's; empty when unknown.
  const std::string& name() const { return name_; }
  /// "parameter 'fc1.weight'", or its dtype and shape when it has no name.
  std::string description() const;
  /// The parameter's gradient and what belongs to it.
  autograd::TensorMeta& meta() const { return autograd::meta_of(parameter_); }
  /// Whether there is something to step on.
  bool has_gradient() const { return meta().grad.defined(); }

  /// Brings master and shadow in line with the options, and with what was written to the parameter from
  /// outside.
  void prepare(const OptimizerOptions& options);
  /// fp16 or bf16 without a master weight.
  bool is_low_precision_only() const {
    return is_low_precision(parameter_.scalar_type()) && !master_.defined();
  }

  /// The fp32 weight behind a low-precision parameter, or undefined.
  const Tensor& master() const { return master_; }
  /// The low-precision copy that autocast uses, or undefined.
  const Tensor& shadow() const { return shadow_; }
  /// The k-th moment, made of `initial` on first use: fp32, fp64 for an fp64 parameter.
  const Tensor& moment(std::size_t k, double initial = 0);
  /// The k-th moment as it is, undefined before the first use.
  Tensor& kept_moment(std::size_t k) { return moments_[k]; }
  /// Applied steps of this parameter, as a record (UpdateCounters) on its device.
  const Tensor& counters();
  /// The same on the host. Waits for the device.
  std::int64_t steps() const;
  /// Sets that count.
  void set_steps(std::int64_t steps);
  /// Notes that the parameter and its copies were written together.
  void written();

  /// Adds "step", "master" and the moments under their names.
  void save(StateDict& state, const MomentNames& names) const;
  /// Throws Error when an entry does not fit the parameter; changes nothing.
  void check(const StateDict& state, const MomentNames& names) const;
  /// Takes back what save() wrote, after check().
  void load(const StateDict& state, const MomentNames& names);

 private:
  Tensor empty_like_parameter(ScalarType dtype) const;
  void check_device(const Tensor& own) const;
  void make_master();
  void make_shadow(std::optional<ScalarType> dtype);
  void accumulate_gradient_in(std::optional<ScalarType> dtype);
  ScalarType moment_dtype() const { return parameter_.scalar_type() == kDouble ? kDouble : kFloat; }

  Tensor parameter_;
  std::string name_;
  Tensor master_, shadow_;
  std::array<Tensor, kMoments> moments_;
  Tensor counters_;
  bool widened_gradient_ = false;  // this object set the leaf's grad_dtype
  const Storage* seen_storage_ = nullptr;
  std::uint32_t seen_version_ = 0;  // of the parameter, when the master last agreed with it
};

/// What an optimizer keeps for one parameter, as libtorch shows it in Optimizer::state(); every optimizer has
/// a class of its own with the moments' names (AdamParamState::exp_avg()). It refers to the optimizer, and
/// holds until parameters are added or removed.
class OptimizerParamState {
 public:
  explicit OptimizerParamState(ParameterState& state) : state_(&state) {}
  virtual ~OptimizerParamState() = default;

  /// Applied steps of this parameter. Waits for the device.
  std::int64_t step() const { return state_->steps(); }
  void step(std::int64_t steps) { state_->set_steps(steps); }
  /// The fp32 weight behind a low-precision parameter, or undefined.
  const Tensor& master() const { return state_->master(); }

 protected:
  /// The k-th moment, undefined before the first step.
  Tensor& moment(std::size_t k) { return state_->kept_moment(k); }

 private:
  ParameterState* state_;
};

}  // namespace halftone::optim
