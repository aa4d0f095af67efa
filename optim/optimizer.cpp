// Parameter groups, gradients and backward. The step is in optimizer_step.cpp, saving in optimizer_state.cpp.

#include "halftone/optim/optimizer.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <unordered_set>

#include "halftone/autograd/autograd.h"
#include "halftone/kernels/record.h"

namespace halftone::optim {
namespace {

amp::LossScaling::OptimizerId next_id() {
  static std::atomic<amp::LossScaling::OptimizerId> last{0};
  return ++last;
}

}  // namespace

Optimizer::Optimizer(const char* name, ParameterList parameters, std::unique_ptr<OptimizerOptions> defaults)
    : name_(name), id_(next_id()), defaults_(std::move(defaults)), settings_(std::make_shared<Settings>()) {
  defaults_->check();
  for (const OptimizerParamGroup& group : parameters.groups()) add_param_group(group);
}

Optimizer::Optimizer(std::vector<OptimizerParamGroup> groups, std::unique_ptr<OptimizerOptions> defaults)
    : Optimizer("Optimizer", std::move(groups), std::move(defaults)) {}

Optimizer::Optimizer(Optimizer&&) noexcept = default;
Optimizer::~Optimizer() = default;

void Optimizer::use_loss_scaling(const amp::LossScalingOptions& options) {
  use_loss_scaling(amp::LossScaling(options));
}

std::unique_ptr<OptimizerParamState> Optimizer::shown(ParameterState& state) const {
  return std::make_unique<OptimizerParamState>(state);
}

StateDict Optimizer::own_state() const { return {}; }

void Optimizer::check_leaf(const Tensor& parameter) const {
  if (!parameter.defined()) fail(name_, "a parameter is undefined");
  if (!parameter.is_leaf()) {
    fail(name_, "can only optimize leaves, and ", parameter,
         " is the result of an operator; pass the tensor it was "
         "made from, or detach() it");
  }
  if (!parameter.is_floating_point()) fail(name_, "can only optimize floating tensors, got ", parameter);
}

void Optimizer::add_param_group(const OptimizerParamGroup& added) {
  OptimizerParamGroup group = added;
  if (!group.has_options()) group.set_options(defaults_->clone());
  group.options().check();
  std::unordered_set<const TensorImpl*> known;
  for (const OptimizerParamGroup& other : groups()) {
    for (const Tensor& parameter : other.params()) known.insert(parameter.unsafe_impl());
  }
  for (const Tensor& parameter : group.params()) {
    check_leaf(parameter);
    if (!known.insert(parameter.unsafe_impl()).second) {
      fail(name_, "the parameter ", parameter, " is here twice; it would be updated twice per step");
    }
  }
  groups().push_back(std::move(group));
  prepare();
}

void Optimizer::add_parameters(const std::vector<Tensor>& parameters) {
  if (groups().empty()) return add_param_group(OptimizerParamGroup(parameters));
  std::vector<Tensor>& first = groups().front().params();
  for (const Tensor& parameter : parameters) {
    check_leaf(parameter);
    for (const Tensor& known : this->parameters()) {
      if (known.is_same(parameter)) fail(name_, "the parameter ", parameter, " is here already");
    }
    first.push_back(parameter);
  }
  prepare();
}

void Optimizer::bind_moments(ParameterState&, const OptimizerOptions&, UpdateCall&) const {
  fail(name_, "has no update rule for step(): override step(closure), or derive from one of the optimizers");
}

Optimizer::StateMap& Optimizer::state() {
  sync_slots();
  shown_.clear();
  for (Slot& slot : slots_) {
    if (slot.state.steps() > 0) shown_.emplace(slot.state.parameter().unsafe_impl(), shown(slot.state));
  }
  return shown_;
}

std::vector<Tensor> Optimizer::parameters() const {
  std::vector<Tensor> all;
  for (const OptimizerParamGroup& group : groups())
    all.insert(all.end(), group.params().begin(), group.params().end());
  return all;
}

void Optimizer::sync_slots() const {
  std::size_t i = 0;
  bool same = true;
  for (std::size_t g = 0; g < groups().size(); ++g) {
    for (const Tensor& parameter : groups()[g].params()) {
      same =
          same && i < slots_.size() && slots_[i].group == g && slots_[i].state.parameter().is_same(parameter);
      ++i;
    }
  }
  if (same && i == slots_.size()) return;

  std::unordered_map<const TensorImpl*, Slot*> old;
  for (Slot& slot : slots_) old[slot.state.parameter().unsafe_impl()] = &slot;
  std::vector<Slot> fresh;
  for (std::size_t g = 0; g < groups().size(); ++g) {
    for (std::size_t k = 0; k < groups()[g].params().size(); ++k) {
      const Tensor& parameter = groups()[g].params()[k];
      check_leaf(parameter);
      const auto found = old.find(parameter.unsafe_impl());
      if (found == old.end()) {
        fresh.push_back({ParameterState(parameter, groups()[g].name(k)), g});
      } else {
        fresh.push_back({std::move(found->second->state), g});
      }
    }
  }
  slots_.swap(fresh);
  std::vector<std::string> names;
  for (const Slot& slot : slots_) names.push_back(slot.state.name());
  slot_names_ = std::make_shared<const std::vector<std::string>>(std::move(names));
}

void Optimizer::prepare() {
  sync_slots();
  for (Slot& slot : slots_) {
    if (slot.state.parameter().device() != device()) {
      fail(name_, slot.state.description(), " is on ", slot.state.parameter().device(),
           " and the first parameter on ", device(),
           "; all parameters of one optimizer have to be on one device: make one optimizer per device");
    }
    slot.state.prepare(options_of(slot));
  }
}

Device Optimizer::device() const {
  return slots_.empty() ? Device(kCPU) : slots_.front().state.parameter().device();
}

void Optimizer::zero_grad(bool set_to_none) {
  for (const OptimizerParamGroup& group : groups()) {
    for (const Tensor& parameter : group.params()) autograd::clear_gradient(parameter, set_to_none);
  }
  cleared_ = true;
  last_gradients_.clear();
  end_window();
}

/// What was asked of this window of gradients is over.
void Optimizer::end_window() {
  clip_norm_type_.reset();
  scan_.reset();
  micro_batches_ = dropped_micro_batches_ = 0;
}

void Optimizer::use_loss_scaling(amp::LossScaling scaling) { scaling_ = std::move(scaling); }

void Optimizer::agree(std::function<bool(bool)> decide) {
  if (!scaling_) fail("agree", "there is no loss scaling to agree about; call use_loss_scaling() first");
  scaling_->agree(std::move(decide));
}

void Optimizer::use_half_shadow(ScalarType dtype) {
  defaults_->set_half_shadow(dtype);
  for (OptimizerParamGroup& group : groups()) group.options().set_half_shadow(dtype);
  prepare();
}

void Optimizer::backward(const Tensor& loss, std::optional<bool> retain_graph, bool create_graph) {
  if (!scaling_) return loss.backward({}, retain_graph, create_graph);
  const bool staged = scaling_->is_enabled() && scaling_->options().accumulation() == amp::kDropMicroBatch;
  if (staged) return backward_staged(loss, retain_graph, create_graph);
  scaling_->scale(loss).backward({}, retain_graph, create_graph);
}

/// The gradients that are there step aside; they are joined by the new ones if those are finite.
void Optimizer::backward_staged(const Tensor& loss, std::optional<bool> retain_graph, bool create_graph) {
  prepare();
  const Tensor scaled = scaling_->scale(loss);
  using Held = std::pair<Tensor, std::optional<autograd::GradientStamp>>;
  std::vector<Held> held;
  for (const Slot& slot : slots_) {
    autograd::TensorMeta& leaf = slot.state.meta();
    held.emplace_back(std::exchange(leaf.grad, Tensor()), leaf.stamp);
  }
  const auto put_back = [&] {
    for (std::size_t i = 0; i < held.size(); ++i) {
      slots_[i].state.meta().grad = held[i].first;
      slots_[i].state.meta().stamp = held[i].second;
    }
  };
  try {
    scaled.backward({}, retain_graph, create_graph);
  } catch (...) {
    put_back();
    throw;
  }
  ++micro_batches_;
  NoGradGuard no_grad;
  if (read_record<ScanHeader>(scan(CachedVector<GradientFactor>(slots_.size()), 2).result).found) {
    ++dropped_micro_batches_;
    scaling_->note_overflow();
    put_back();
    return;
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    Tensor& gradient = slots_[i].state.meta().grad;
    if (!held[i].first.defined()) continue;
    if (!gradient.defined()) {
      gradient = held[i].first;
      slots_[i].state.meta().stamp = held[i].second;
    } else {
      gradient.add_(held[i].first);
    }
  }
}

}  // namespace halftone::optim
