#include "halftone/optim/ema.h"

#include <algorithm>

#include "halftone/autograd/grad_mode.h"
#include "halftone/optim/options.h"
#include "halftone/optim/step_report.h"

namespace halftone::optim {
namespace {

constexpr const char* kName = "ExponentialMovingAverage";

ScalarType average_dtype(const Tensor& parameter) { return accumulate_type(parameter.scalar_type()); }

std::string average_name(std::size_t i) { return concat("averages.", i); }

}  // namespace

ExponentialMovingAverage::ExponentialMovingAverage(std::vector<Tensor> parameters, const EmaOptions& options)
    : parameters_(std::move(parameters)), decay_(options.decay()), warmup_(options.warmup()) {
  check_fraction(kName, "decay", decay_);
  const NoGradGuard no_grad;
  const MemoryCategoryGuard category(MemoryCategory::kOptimizer);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& parameter = parameters_[i];
    if (!parameter.defined() || !parameter.is_floating_point())
      fail(kName, "parameters: expected floating-point tensors, number ", i, " is ", parameter);
    averages_.push_back(
        parameter.detach().to(average_dtype(parameter), /*non_blocking=*/false, /*copy=*/true));
  }
}

double ExponentialMovingAverage::present_decay() const {
  const double n = static_cast<double>(updates_);
  return warmup_ ? std::min(decay_, (1 + n) / (10 + n)) : decay_;
}

void ExponentialMovingAverage::update() {
  if (applied_) fail(kName, "update: the parameters hold the averages themselves; restore them first");
  const NoGradGuard no_grad;
  ++updates_;
  const double weight = 1 - present_decay();
  for (std::size_t i = 0; i < parameters_.size(); ++i) averages_[i].lerp_(parameters_[i], weight);
}

void ExponentialMovingAverage::update(const StepReport& report) {
  if (report.applied()) update();
}

ExponentialMovingAverage::Applied ExponentialMovingAverage::apply() {
  if (applied_) fail(kName, "apply: the parameters hold the averages already");
  const NoGradGuard no_grad;
  originals_.clear();
  for (const Tensor& parameter : parameters_) originals_.push_back(parameter.detach().clone());
  applied_ = true;
  Applied result(this);
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].copy_(averages_[i]);
  return result;
}

void ExponentialMovingAverage::restore() {
  const NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].copy_(originals_[i]);
  originals_.clear();
  applied_ = false;
}

void ExponentialMovingAverage::Applied::restore() {
  if (ema_) ema_->restore();
  ema_ = nullptr;
}

StateDict ExponentialMovingAverage::state_dict() const {
  const NoGradGuard no_grad;
  StateDict state;
  state.set("decay", decay_);
  state.set("warmup", warmup_);
  state.set("updates", updates_);
  for (std::size_t i = 0; i < averages_.size(); ++i) state.set(average_name(i), averages_[i].clone());
  return state;
}

void ExponentialMovingAverage::load_state_dict(const StateDict& state) {
  const double decay = state.number("decay");
  const bool warmup = state.boolean("warmup");
  const std::int64_t updates = state.integer("updates");
  check_fraction(kName, "decay", decay);
  if (updates < 0) fail(kName, "updates: expected a count >= 0, got ", updates);
  std::vector<Tensor> loaded;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    const Tensor saved = state.tensor(average_name(i));
    if (!saved.defined() || saved.sizes() != averages_[i].sizes() ||
        saved.scalar_type() != averages_[i].scalar_type())
      fail(kName, "load_state_dict: ", average_name(i), ": expected ", averages_[i], ", got ", saved);
    loaded.push_back(saved);
  }
  if (state.contains(average_name(averages_.size())))
    fail(kName, "load_state_dict: expected ", averages_.size(), " averages, the saved state has more");

  const NoGradGuard no_grad;
  for (std::size_t i = 0; i < averages_.size(); ++i) averages_[i].copy_(loaded[i]);
  decay_ = decay;
  warmup_ = warmup;
  updates_ = updates;
}

}  // namespace halftone::optim
