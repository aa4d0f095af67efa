#pragma once

#include <tuple>

#include "halftone/optim/optimizer.h"

namespace halftone::optim {

/// What the settings of Adam and its kin have in common, with libtorch's names.
template <class Derived>
class BetasOptions : public OptimizerCloneableOptions<Derived> {
 public:
  BetasOptions(double lr, std::tuple<double, double> betas, double weight_decay)
      : lr_(lr), betas_(betas), weight_decay_(weight_decay) {}

  Derived& lr(double value) { return set(lr_, value); }
  double lr() const { return lr_; }
  double& lr() { return lr_; }
  /// Decay of the averages of the gradient and of what the optimizer keeps besides.
  Derived& betas(const std::tuple<double, double>& value) { return set(betas_, value); }
  const std::tuple<double, double>& betas() const { return betas_; }
  std::tuple<double, double>& betas() { return betas_; }
  Derived& weight_decay(double value) { return set(weight_decay_, value); }
  double weight_decay() const { return weight_decay_; }
  double& weight_decay() { return weight_decay_; }

 protected:
  /// What fields() of all begins with.
  std::vector<OptionField> beta_fields() {
    std::vector<OptionField> all{{"lr", &lr_},
                                 {"beta1", &std::get<0>(betas_)},
                                 {"beta2", &std::get<1>(betas_)},
                                 {"weight_decay", &weight_decay_}};
    this->add_common_fields(all);
    return all;
  }
  /// What check() of all begins with, with the optimizer's name.
  void check_betas(const char* name) const {
    check_not_negative(name, "lr", lr_);
    check_fraction(name, "betas (the first)", std::get<0>(betas_));
    check_fraction(name, "betas (the second)", std::get<1>(betas_));
    check_not_negative(name, "weight_decay", weight_decay_);
  }
  /// What settings() of all begins with.
  UpdateSettings beta_settings(UpdateRule rule) const {
    UpdateSettings settings;
    settings.rule = rule;
    settings.lr = lr_;
    settings.weight_decay = weight_decay_;
    settings.a = std::get<0>(betas_);
    settings.b = std::get<1>(betas_);
    return settings;
  }
  /// For setters: stores the value and gives back the options.
  template <class T>
  Derived& set(T& member, const T& value) {
    member = value;
    return static_cast<Derived&>(*this);
  }

 private:
  double lr_;
  std::tuple<double, double> betas_;
  double weight_decay_;
};

}  // namespace halftone::optim
