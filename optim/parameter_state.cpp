#include "halftone/optim/parameter_state.h"

#include <cmath>
#include <cstddef>

#include "halftone/engine/capture.h"
#include "halftone/kernels/optimizer.h"
#include "halftone/kernels/record.h"

namespace halftone::optim {

ParameterState::ParameterState(Tensor parameter, std::string name)
    : parameter_(std::move(parameter)), name_(std::move(name)) {
  if (!name_.empty()) meta().name = name_;
}

ParameterState::ParameterState(ParameterState&& other) noexcept
    : parameter_(std::move(other.parameter_)),
      name_(std::move(other.name_)),
      master_(std::move(other.master_)),
      shadow_(std::move(other.shadow_)),
      moments_(std::move(other.moments_)),
      counters_(std::move(other.counters_)),
      widened_gradient_(other.widened_gradient_),
      seen_storage_(other.seen_storage_),
      seen_version_(other.seen_version_) {
  other.parameter_.reset();
}

ParameterState::~ParameterState() {
  if (!parameter_.defined()) return;
  accumulate_gradient_in(std::nullopt);
  if (shadow_.defined() && meta().shadow.is_same(shadow_)) meta().shadow.reset();
}

std::string ParameterState::description() const {
  return name_.empty() ? concat("a parameter ", parameter_) : "parameter '" + name_ + "'";
}

Tensor ParameterState::empty_like_parameter(ScalarType dtype) const {
  return empty(parameter_.sizes(), TensorOptions(dtype).device(parameter_.device()));
}

void ParameterState::prepare(const OptimizerOptions& options) {
  const bool low = is_low_precision(parameter_.scalar_type());
  // Rounding at random needs the true gradient too, not one rounded to half first.
  accumulate_gradient_in(low && (options.master_weights() || options.stochastic_rounding())
                             ? std::optional<ScalarType>(kFloat)
                             : std::nullopt);
  if (low && options.master_weights() && !options.stochastic_rounding()) {
    make_master();
  } else {
    master_.reset();
  }
  make_shadow(options.half_shadow());
}

void ParameterState::make_master() {
  check_device(master_);
  const bool fits = master_.defined() && master_.sizes() == parameter_.sizes();
  const bool seen = seen_storage_ == &parameter_.storage() && seen_version_ == parameter_._version();
  if (fits && seen) return;
  NoGradGuard no_grad;
  if (fits) {
    kernels_for<OptimizerKernels>(parameter_.device()).refresh_master(master_, parameter_.contiguous());
  } else {
    cuda::refuse_in_capture("Optimizer", "making master weights");
    const MemoryCategoryGuard category(MemoryCategory::kOptimizer);
    master_ = empty_like_parameter(kFloat);
    master_.copy_(parameter_);
  }
  seen_storage_ = &parameter_.storage();
  seen_version_ = parameter_._version();
}

void ParameterState::make_shadow(std::optional<ScalarType> dtype) {
  const ScalarType own = parameter_.scalar_type();
  if (!dtype || is_low_precision(own)) {
    if (shadow_.defined() && meta().shadow.is_same(shadow_)) meta().shadow.reset();
    shadow_.reset();
    return;
  }
  const bool fits =
      shadow_.defined() && shadow_.scalar_type() == *dtype && shadow_.sizes() == parameter_.sizes();
  if (fits && meta().shadow.is_same(shadow_)) return;
  cuda::refuse_in_capture("Optimizer", "making a half shadow");
  NoGradGuard no_grad;
  const MemoryCategoryGuard category(MemoryCategory::kParameter);
  if (!fits) shadow_ = empty_like_parameter(*dtype);
  shadow_.copy_(parameter_);
  meta().shadow = shadow_;
  meta().shadow_version = parameter_._version();
}

void ParameterState::accumulate_gradient_in(std::optional<ScalarType> dtype) {
  autograd::TensorMeta& leaf = meta();
  if (dtype) {
    widened_gradient_ = widened_gradient_ || !leaf.grad_dtype;
    leaf.grad_dtype = dtype;
  } else if (widened_gradient_) {
    widened_gradient_ = false;
    leaf.grad_dtype.reset();
  } else {
    return;
  }
  const ScalarType wanted = dtype.value_or(parameter_.scalar_type());
  if (!leaf.grad.defined() || leaf.grad.scalar_type() == wanted) return;
  NoGradGuard no_grad;
  const bool is_scaled = autograd::gradient_stamp(leaf) != nullptr;
  const bool is_true = leaf.grad.unsafe_impl()->is_true_gradient;
  leaf.grad = leaf.grad.detach().to(wanted);
  leaf.grad.unsafe_impl()->is_scaled_gradient = is_scaled;
  leaf.grad.unsafe_impl()->is_true_gradient = is_true;
  leaf.grad.storage().set_category(MemoryCategory::kGradient);
}

const Tensor& ParameterState::moment(std::size_t k, double initial) {
  Tensor& moment = moments_[k];
  if (!moment.defined()) {
    cuda::refuse_in_capture("Optimizer", "making the moments of the first step");
    const MemoryCategoryGuard category(MemoryCategory::kOptimizer);
    moment = full(parameter_.sizes(), initial, TensorOptions(moment_dtype()).device(parameter_.device()));
  }
  check_device(moment);
  return moment;
}

const Tensor& ParameterState::counters() {
  if (!counters_.defined()) {
    cuda::refuse_in_capture("Optimizer", "making the counters of the first step");
    counters_ = make_record(UpdateCounters(), parameter_.device());
  }
  check_device(counters_);
  return counters_;
}

std::int64_t ParameterState::steps() const {
  return counters_.defined() ? read_record<UpdateCounters>(counters_).steps : 0;
}

void ParameterState::set_steps(std::int64_t steps) {
  if (steps < 0) fail("step", description(), ": expected a count of steps >= 0, got ", steps);
  write_record(counters(), steps, offsetof(UpdateCounters, steps));
}

void ParameterState::check_device(const Tensor& own) const {
  if (!own.defined() || own.device() == parameter_.device()) [[likely]]
    return;
  fail("step", description(), " is on ", parameter_.device(), ", what the optimizer keeps for it on ",
       own.device(), "; move the model first and make the optimizer after that");
}

void ParameterState::written() {
  parameter_.storage().bump_version("optimizer step");
  seen_storage_ = &parameter_.storage();
  seen_version_ = parameter_._version();
  if (shadow_.defined()) meta().shadow_version = seen_version_;
}

void ParameterState::save(StateDict& state, const MomentNames& names) const {
  const UpdateCounters counters =
      counters_.defined() ? read_record<UpdateCounters>(counters_) : UpdateCounters();
  if (counters.steps > 0) state.set("step", counters.steps);
  if (counters.mu_product != 1) state.set("mu_product", counters.mu_product);
  if (master_.defined()) state.set("master", master_.clone());
  for (std::size_t k = 0; k < kMoments; ++k) {
    if (names[k] && moments_[k].defined() && counters.primed) state.set(names[k], moments_[k].clone());
  }
}

void ParameterState::check(const StateDict& state, const MomentNames& names) const {
  const auto check_tensor = [&](const char* entry) {
    if (!state.contains(entry)) return;
    const Tensor tensor = state.tensor(entry);
    if (!tensor.defined() || tensor.sizes() != parameter_.sizes() || !tensor.is_floating_point()) {
      fail("load_state_dict", description(), ": entry '", entry,
           "': expected a floating tensor of its shape ", parameter_.sizes(), ", got ", tensor);
    }
  };
  if (state.contains("step") && state.integer("step") < 1) {
    fail("load_state_dict", description(), ": entry 'step': expected at least 1, got ",
         state.integer("step"));
  }
  if (state.contains("mu_product") && !(std::fabs(state.number("mu_product")) <= 1)) {
    fail("load_state_dict", description(), ": entry 'mu_product': expected a number in [-1, 1], got ",
         state.number("mu_product"));
  }
  check_tensor("master");
  for (const char* name : names) {
    if (name) check_tensor(name);
  }
}

void ParameterState::load(const StateDict& state, const MomentNames& names) {
  NoGradGuard no_grad;
  const MemoryCategoryGuard category(MemoryCategory::kOptimizer);
  const auto copy_of = [&](const char* name, ScalarType dtype) {
    Tensor copy = empty_like_parameter(dtype);
    copy.copy_(state.tensor(name));
    return copy;
  };
  UpdateCounters counters;
  counters.steps = state.contains("step") ? state.integer("step") : 0;
  counters.primed = names[0] && state.contains(names[0]);
  if (state.contains("mu_product")) counters.mu_product = state.number("mu_product");
  write_record(this->counters(), counters);
  if (master_.defined() && state.contains("master")) {
    master_ = copy_of("master", kFloat);
    // Where the parameter is not the master rounded, it was loaded from elsewhere and wins: whichever loads
    // first.
    seen_storage_ = nullptr;
  }
  for (std::size_t k = 0; k < kMoments; ++k) {
    moments_[k] = names[k] && state.contains(names[k]) ? copy_of(names[k], moment_dtype()) : Tensor();
  }
}

}  // namespace halftone::optim
