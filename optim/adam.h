#pragma once

#include <tuple>

#include "halftone/optim/optimizer.h"

namespace halftone::optim {

/// What Adam's and AdamW's settings have in common, with libtorch's names.
template <class Derived>
class AdamLikeOptions : public OptimizerCloneableOptions<Derived> {
 public:
  AdamLikeOptions(double lr, double weight_decay) : lr_(lr), weight_decay_(weight_decay) {}
  std::vector<OptionField> fields() override {
    std::vector<OptionField> all{
        {"lr", &lr_},   {"beta1", &std::get<0>(betas_)},  {"beta2", &std::get<1>(betas_)},
        {"eps", &eps_}, {"weight_decay", &weight_decay_}, {"amsgrad", &amsgrad_}};
    this->add_common_fields(all);
    return all;
  }

  Derived& lr(double value) { return set(lr_, value); }
  double lr() const { return lr_; }
  Derived& betas(const std::tuple<double, double>& value) { return set(betas_, value); }
  const std::tuple<double, double>& betas() const { return betas_; }
  /// Added to the root of the second moment.
  Derived& eps(double value) { return set(eps_, value); }
  double eps() const { return eps_; }
  Derived& weight_decay(double value) { return set(weight_decay_, value); }
  double weight_decay() const { return weight_decay_; }
  /// Divide by the largest second moment so far (Reddi et al. 2018).
  Derived& amsgrad(bool value) { return set(amsgrad_, value); }
  bool amsgrad() const { return amsgrad_; }

 protected:
  void check_as(const char* name) const {
    check_not_negative(name, "lr", lr_);
    check_fraction(name, "betas (the first)", std::get<0>(betas_));
    check_fraction(name, "betas (the second)", std::get<1>(betas_));
    check_not_negative(name, "eps", eps_);
    check_not_negative(name, "weight_decay", weight_decay_);
  }
  UpdateSettings settings_as(bool decoupled) const {
    UpdateSettings settings;
    settings.rule = UpdateRule::kAdam;
    settings.lr = lr_;
    settings.weight_decay = weight_decay_;
    settings.eps = eps_;
    settings.a = std::get<0>(betas_);
    settings.b = std::get<1>(betas_);
    settings.flag = amsgrad_;
    settings.decoupled = decoupled;
    return settings;
  }

 private:
  template <class T>
  Derived& set(T& member, const T& value) {
    member = value;
    return static_cast<Derived&>(*this);
  }

  double lr_;
  std::tuple<double, double> betas_{0.9, 0.999};
  double eps_ = 1e-8;
  double weight_decay_;
  bool amsgrad_ = false;
};

/// Settings of Adam; weight_decay (0) is added to the gradient.
class AdamOptions : public AdamLikeOptions<AdamOptions> {
 public:
  AdamOptions(double lr = 1e-3) : AdamLikeOptions(lr, 0) {}
  void check() const override { check_as("Adam"); }
  UpdateSettings settings() const override { return settings_as(false); }
};

/// Settings of AdamW; weight_decay (0.01) shrinks the weight itself.
class AdamWOptions : public AdamLikeOptions<AdamWOptions> {
 public:
  AdamWOptions(double lr = 1e-3) : AdamLikeOptions(lr, 1e-2) {}
  void check() const override { check_as("AdamW"); }
  UpdateSettings settings() const override { return settings_as(true); }
};

/// Adam (Kingma and Ba 2015).
class Adam final : public Optimizer {
 public:
  explicit Adam(ParameterList parameters, AdamOptions defaults = {});

 private:
  std::array<const char*, ParameterState::kMoments> moment_names() const override;
  void bind_moments(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) const override;
};

/// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
class AdamW final : public Optimizer {
 public:
  explicit AdamW(ParameterList parameters, AdamWOptions defaults = {});

 private:
  std::array<const char*, ParameterState::kMoments> moment_names() const override;
  void bind_moments(ParameterState& state, const OptimizerOptions& options, UpdateCall& call) const override;
};

}  // namespace halftone::optim
