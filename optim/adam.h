#pragma once

#include "halftone/optim/betas_options.h"

namespace halftone::optim {

/// What Adam's and AdamW's settings have in common, with libtorch's names.
template <class Derived>
class AdamLikeOptions : public BetasOptions<Derived> {
 public:
  AdamLikeOptions(double lr, double weight_decay) : BetasOptions<Derived>(lr, {0.9, 0.999}, weight_decay) {}
  /// Added to the root of the second moment.
  Derived& eps(double value) { return this->set(eps_, value); }
  double eps() const { return eps_; }
  double& eps() { return eps_; }
  /// Divide by the largest second moment so far (Reddi et al. 2018).
  Derived& amsgrad(bool value) { return this->set(amsgrad_, value); }
  bool amsgrad() const { return amsgrad_; }
  bool& amsgrad() { return amsgrad_; }

 protected:
  /// What fields() of both returns.
  std::vector<OptionField> adam_fields() {
    std::vector<OptionField> all = this->beta_fields();
    all.push_back({"eps", &eps_});
    all.push_back({"amsgrad", &amsgrad_});
    return all;
  }
  /// What check() of both does, with the optimizer's name.
  void check_as(const char* name) const {
    this->check_betas(name);
    check_not_negative(name, "eps", eps_);
  }
  /// What settings() of both returns; `decoupled`: weight decay shrinks the weight itself.
  UpdateSettings settings_as(bool decoupled) const {
    UpdateSettings settings = this->beta_settings(UpdateRule::kAdam);
    settings.eps = eps_;
    settings.flag = amsgrad_;
    settings.decoupled = decoupled;
    return settings;
  }

 private:
  double eps_ = 1e-8;
  bool amsgrad_ = false;
};

/// Settings of Adam; weight_decay (0) is added to the gradient.
class AdamOptions : public AdamLikeOptions<AdamOptions> {
 public:
  AdamOptions(double lr = 1e-3) : AdamLikeOptions(lr, 0) {}
  std::vector<OptionField> fields() override;
  void check() const override;
  UpdateSettings settings() const override;
};

/// Settings of AdamW; weight_decay (0.01) shrinks the weight itself.
class AdamWOptions : public AdamLikeOptions<AdamWOptions> {
 public:
  AdamWOptions(double lr = 1e-3) : AdamLikeOptions(lr, 1e-2) {}
  std::vector<OptionField> fields() override;
  void check() const override;
  UpdateSettings settings() const override;
};

/// Adam's moments of one parameter.
class AdamParamState : public OptimizerParamState {
 public:
  using OptimizerParamState::OptimizerParamState;
  Tensor& exp_avg() { return moment(0); }
  Tensor& exp_avg_sq() { return moment(1); }
  /// The largest exp_avg_sq so far, with amsgrad; undefined without.
  Tensor& max_exp_avg_sq() { return moment(2); }
};

/// Adam (Kingma and Ba 2015).
class Adam final : public Optimizer {
 public:
  explicit Adam(ParameterList parameters, AdamOptions defaults = {});

 private:
  MomentNames moment_names() const override;
  void bind_moments(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) const override;
  std::unique_ptr<OptimizerParamState> shown(ParameterState& state) const override;
};

/// The same for AdamW.
class AdamWParamState : public AdamParamState {
 public:
  using AdamParamState::AdamParamState;
};

/// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
class AdamW final : public Optimizer {
 public:
  explicit AdamW(ParameterList parameters, AdamWOptions defaults = {});

 private:
  MomentNames moment_names() const override;
  void bind_moments(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) const override;
  std::unique_ptr<OptimizerParamState> shown(ParameterState& state) const override;
};

}  // namespace halftone::optim
