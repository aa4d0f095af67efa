#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "halftone/engine/arg.h"
#include "halftone/engine/state_dict.h"
#include "halftone/kernels/update_settings.h"

namespace halftone::optim {

/// One setting of an optimizer by name: what state dictionaries and schedulers reach it through.
struct OptionField {
  const char* name;  ///< "lr", "momentum", ...
  /// Where the options hold it.
  std::variant<double*, bool*, std::optional<ScalarType>*, std::int64_t*, std::optional<std::int64_t>*,
               std::optional<std::string>*>
      value;
};

/// Settings of one parameter group. Every optimizer has its own class of them; what all share is here:
///
/// - master_weights (on): fp16 and bf16 parameters are kept in fp32 by the optimizer, and rounded once per
/// step.
/// - stochastic_rounding (off): instead of masters, round the updated weight at random, without bias.
/// - half_shadow (none): keep a copy of fp32 parameters in this dtype, written by the step, that autocast
/// uses as it is.
class OptimizerOptions {
 public:
  virtual ~OptimizerOptions() = default;
  /// A copy of the same class.
  virtual std::unique_ptr<OptimizerOptions> clone() const = 0;
  /// The learning rate.
  virtual double get_lr() const = 0;
  /// Sets the learning rate, without a check.
  virtual void set_lr(double lr) = 0;
  /// Every setting, in a fixed order: what is saved. An optimizer of one's own may have none.
  virtual std::vector<OptionField> fields() { return {}; }
  /// Throws Error naming the field that makes no sense.
  virtual void check() const {}
  /// What the update rule makes of them.
  virtual UpdateSettings settings() const { return {}; }

  /// The settings that all share, described above.
  /// @{
  bool master_weights() const { return master_weights_; }
  bool stochastic_rounding() const { return stochastic_rounding_; }
  std::optional<ScalarType> half_shadow() const { return half_shadow_; }
  /// @}
  /// Throws Error unless it is float16, bfloat16 or none.
  void set_half_shadow(std::optional<ScalarType> dtype);

  /// The number setting of that name, or null: "momentum", "beta1", ...
  double* find_number(const std::string& name);
  /// All fields() by their names.
  StateDict state_dict();
  /// Throws Error when an entry is missing, of another kind, or makes no sense.
  void load_state_dict(const StateDict& state);

 protected:
  /// Adds what all optimizers share to a list of fields.
  void add_common_fields(std::vector<OptionField>& fields);

  bool master_weights_ = true;             ///< see above
  bool stochastic_rounding_ = false;       ///< see above
  std::optional<ScalarType> half_shadow_;  ///< see above
};

/// What every concrete options class derives from (libtorch's name): cloning, and fluent setters of the
/// shared settings.
template <class Derived>
class OptimizerCloneableOptions : public OptimizerOptions {
 public:
  using OptimizerOptions::half_shadow;
  using OptimizerOptions::master_weights;
  using OptimizerOptions::stochastic_rounding;

  std::unique_ptr<OptimizerOptions> clone() const override {
    return std::unique_ptr<OptimizerOptions>(new Derived(self()));
  }
  /// Throws Error for options of one's own without `lr`.
  double get_lr() const override {
    if constexpr (requires(const Derived& options) { options.lr(); }) {
      return self().lr();
    } else {
      fail("get_lr", "these options have no lr; override get_lr() and set_lr()");
    }
  }
  /// Throws Error for options of one's own without `lr`.
  void set_lr(double lr) override {
    if constexpr (requires(Derived & options) { options.lr(lr); }) {
      self().lr(lr);
    } else {
      fail("set_lr", "these options have no lr to set to ", lr, "; override get_lr() and set_lr()");
    }
  }

  /// fp16 and bf16 parameters are kept in fp32 by the optimizer, and rounded once per step.
  Derived& master_weights(bool on) {
    master_weights_ = on;
    return self();
  }
  /// Instead of masters, rounds the updated weight at random, without bias.
  Derived& stochastic_rounding(bool on) {
    stochastic_rounding_ = on;
    return self();
  }
  /// Keeps a copy of fp32 parameters in this dtype that autocast uses as it is. Throws Error unless it is
  /// float16, bfloat16 or none.
  Derived& half_shadow(std::optional<ScalarType> dtype) {
    set_half_shadow(dtype);
    return self();
  }

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
  const Derived& self() const { return static_cast<const Derived&>(*this); }
};

/// Throws Error unless `value` is a number >= 0 ("SGD: lr: expected ...").
void check_not_negative(const char* optimizer, const char* field, double value);
/// Throws Error unless 0 <= value < 1.
void check_fraction(const char* optimizer, const char* field, double value);

/// Parameters that share settings. Without options it takes the optimizer's defaults.
class OptimizerParamGroup {
 public:
  OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options = nullptr);
  /// With the parameters' names.
  OptimizerParamGroup(const std::vector<std::pair<std::string, Tensor>>& named,
                      std::unique_ptr<OptimizerOptions> options = nullptr);
  OptimizerParamGroup(const OptimizerParamGroup& other);
  OptimizerParamGroup(OptimizerParamGroup&&) noexcept;
  OptimizerParamGroup& operator=(OptimizerParamGroup other);
  ~OptimizerParamGroup();

  /// False where the optimizer's defaults are to be taken.
  bool has_options() const { return static_cast<bool>(options_); }
  /// There have to be some.
  OptimizerOptions& options() { return *options_; }
  const OptimizerOptions& options() const { return *options_; }
  /// Replaces them.
  void set_options(std::unique_ptr<OptimizerOptions> options);
  /// The learning rate before any scheduler: noted by the first one, so that every later one starts from it
  /// too.
  std::optional<double> initial_lr() const { return initial_lr_; }
  /// Notes it.
  void set_initial_lr(double lr) { initial_lr_ = lr; }
  /// The parameters, in order.
  std::vector<Tensor>& params() { return params_; }
  const std::vector<Tensor>& params() const { return params_; }
  /// Name of a parameter, empty when unknown.
  std::string name(std::size_t i) const { return i < names_.size() ? names_[i] : std::string(); }

 private:
  std::vector<Tensor> params_;
  std::vector<std::string> names_;
  std::unique_ptr<OptimizerOptions> options_;
  std::optional<double> initial_lr_;
};

/// What an optimizer is made from: tensors, named tensors (module->named_parameters()), or param groups.
class ParameterList {
 public:
  ParameterList(std::vector<Tensor> params);
  ParameterList(std::initializer_list<Tensor> params);
  ParameterList(std::vector<OptimizerParamGroup> groups);
  ParameterList(std::initializer_list<OptimizerParamGroup> groups);
  ParameterList(const std::vector<std::pair<std::string, Tensor>>& named);
  ParameterList(std::initializer_list<std::pair<std::string, Tensor>> named);
  template <class Dict>
  requires requires(const Dict& dict) { std::vector<std::pair<std::string, Tensor>>(dict.pairs()); }
  ParameterList(const Dict& named) : ParameterList(named.pairs()) {}

  /// One, unless it was made from groups.
  std::vector<OptimizerParamGroup>& groups() { return groups_; }

 private:
  std::vector<OptimizerParamGroup> groups_;
};

}  // namespace halftone::optim
