#include "halftone/optim/lbfgs.h"

#include <algorithm>
#include <cmath>

#include "halftone/autograd/grad_mode.h"
#include "halftone/ops/autocast.h"
#include "halftone/ops/observer.h"
#include "halftone/optim/line_search.h"

namespace halftone::optim {
namespace {

constexpr const char* kStrongWolfe = "strong_wolfe";

double dot_of(const Tensor& a, const Tensor& b) { return dot(a, b).item<double>(); }

double largest(const Tensor& x) { return x.numel() > 0 ? x.abs().max().item<double>() : 0; }

/// Thrown by an evaluation whose gradients overflowed; caught by the step it skips.
struct Overflow {};

/// The step's own arithmetic records nothing and is never cast.
struct PlainArithmetic {
  NoGradGuard no_grad;
  ops::AutocastScope autocast_off{ops::AutocastSettings::off()};
};

void save_list(StateDict& state, const std::string& prefix, const std::vector<Tensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) state.set(concat(prefix, ".", i), tensors[i].clone());
}

}  // namespace

std::vector<OptionField> LBFGSOptions::fields() {
  std::vector<OptionField> all{{"lr", &lr_},
                               {"max_iter", &max_iter_},
                               {"max_eval", &max_eval_},
                               {"tolerance_grad", &tolerance_grad_},
                               {"tolerance_change", &tolerance_change_},
                               {"history_size", &history_size_},
                               {"line_search_fn", &line_search_fn_}};
  add_common_fields(all);
  return all;
}

void LBFGSOptions::check() const {
  check_not_negative("LBFGS", "lr", lr_);
  check_not_negative("LBFGS", "tolerance_grad", tolerance_grad_);
  check_not_negative("LBFGS", "tolerance_change", tolerance_change_);
  if (max_iter_ < 1) fail("LBFGS", "max_iter: expected at least 1, got ", max_iter_);
  if (max_eval_ && *max_eval_ < 1) fail("LBFGS", "max_eval: expected at least 1, got ", *max_eval_);
  if (history_size_ < 1) fail("LBFGS", "history_size: expected at least 1, got ", history_size_);
  if (line_search_fn_ && *line_search_fn_ != kStrongWolfe) {
    fail("LBFGS", "line_search_fn: only 'strong_wolfe' is supported, got '", *line_search_fn_, "'");
  }
  if (stochastic_rounding_) {
    fail("LBFGS", "stochastic_rounding: a line search needs to know where it is; use master_weights(true)");
  }
}

LBFGS::LBFGS(ParameterList parameters, LBFGSOptions defaults)
    : Optimizer("LBFGS", std::move(parameters), defaults.clone()) {
  if (param_groups().size() != 1) {
    fail("LBFGS", "all parameters have to be in one group, got ", param_groups().size(), " groups");
  }
}

LBFGSOptions& LBFGS::options() {
  if (param_groups().size() != 1) {
    fail("LBFGS", "all parameters have to be in one group, got ", param_groups().size(), " groups");
  }
  auto& options = static_cast<LBFGSOptions&>(param_groups().front().options());
  options.check();
  return options;
}

void LBFGS::check_closure_not_needed() const {
  fail("LBFGS", "step() evaluates the loss several times and needs a closure: optimizer.step([&] { ... })");
}

StepReport LBFGS::step() {
  check_closure_not_needed();
  return {};
}

Tensor LBFGS::step(LossClosure closure) {
  if (!closure) check_closure_not_needed();
  const LBFGSOptions now = options();
  const ops::TensorRefs nothing{};
  const ops::Call call_of_step{.name = name(), .kind = ops::CallKind::kStep, .inputs = nothing};
  ops::CallScope observation(call_of_step);
  const Tensor start = flat_weights();
  if (memory_.direction.defined() && memory_.direction.numel() != start.numel()) memory_ = {};
  const Memory before = memory_;
  // The first evaluation's loss is what is returned, also when the step is skipped.
  Tensor first_loss;
  const LossClosure noting_closure = [&] {
    const AutoGradMode grad_mode(true);
    Tensor loss = closure();
    if (!loss.defined() || loss.numel() != 1) fail("LBFGS", "the closure has to return the loss, got ", loss);
    if (!first_loss.defined()) first_loss = loss;
    return loss;
  };
  const auto restore = [&] {
    const bool has_moved = memory_.n_iter != before.n_iter;
    memory_ = before;
    if (has_moved) set_flat_weights(start);
  };
  try {
    run(noting_closure, start, now);
  } catch (const Overflow&) {
    restore();
    observation.finish(nothing);
    finish_step(/*is_skipped=*/true);
    return first_loss;
  } catch (...) {
    restore();
    throw;
  }
  observation.finish(nothing);
  finish_step(/*is_skipped=*/false);
  return first_loss;
}

Tensor LBFGS::step_with(amp::LossScaling& scaling, LossClosure closure) {
  struct Outer {
    LBFGS& optimizer;
    ~Outer() { optimizer.set_outer_scaling(nullptr); }
  } const outer{*this};
  set_outer_scaling(&scaling);
  return step(std::move(closure));
}

/// The direction from here: minus the gradient times the inverse Hessian that the history describes (two
/// loops).
void LBFGS::update_direction(const Tensor& gradient, const LBFGSOptions& options) {
  Memory& m = memory_;
  if (m.n_iter == 1) {
    m.direction = gradient.neg();
    m.gradient_changes.clear();
    m.weight_changes.clear();
    m.reciprocals.clear();
    m.diagonal = 1;
    return;
  }
  const Tensor y = gradient - m.previous_gradient, s = m.direction * m.step_size;
  const double ys = dot_of(y, s);
  if (ys > 1e-10) {
    while (m.reciprocals.size() >= static_cast<std::size_t>(options.history_size())) {
      m.gradient_changes.erase(m.gradient_changes.begin());
      m.weight_changes.erase(m.weight_changes.begin());
      m.reciprocals.erase(m.reciprocals.begin());
    }
    m.gradient_changes.push_back(y);
    m.weight_changes.push_back(s);
    m.reciprocals.push_back(1 / ys);
    m.diagonal = ys / dot_of(y, y);
  }
  const std::size_t count = m.reciprocals.size();
  std::vector<double> alpha(count);
  Tensor q = gradient.neg();
  for (std::size_t i = count; i-- > 0;) {
    alpha[i] = dot_of(m.weight_changes[i], q) * m.reciprocals[i];
    q.sub_(m.gradient_changes[i], alpha[i]);
  }
  q.mul_(m.diagonal);
  for (std::size_t i = 0; i < count; ++i) {
    const double beta = dot_of(m.gradient_changes[i], q) * m.reciprocals[i];
    q.add_(m.weight_changes[i], alpha[i] - beta);
  }
  m.direction = q;
}

void LBFGS::run(const LossClosure& closure, const Tensor& start, const LBFGSOptions& options) {
  Memory& m = memory_;
  const double lr = options.lr();
  const std::int64_t most_evaluations = options.max_eval().value_or(options.max_iter() * 5 / 4);
  const auto evaluate = [&] {
    LinePoint point;
    point.value = closure().item<double>();
    ++m.func_evals;
    FlatGradients gradients = flat_gradients();
    if (gradients.overflowed) throw Overflow{};
    point.gradient = std::move(gradients.values);
    return point;
  };
  Tensor weights = start;
  const auto evaluate_at = [&](double step) {
    {
      const PlainArithmetic plain;
      set_flat_weights(weights.add(m.direction, step));
    }
    LinePoint point = evaluate();
    const PlainArithmetic plain;
    point.step = step;
    point.slope = dot_of(point.gradient, m.direction);
    return point;
  };

  LinePoint now = evaluate();
  std::int64_t evaluations = 1;
  const auto is_at_minimum = [&] {
    const PlainArithmetic plain;
    return largest(now.gradient) <= options.tolerance_grad();
  };
  if (is_at_minimum()) return;
  for (std::int64_t iteration = 1;; ++iteration) {
    ++m.n_iter;
    double direction_max = 0;
    {
      const PlainArithmetic plain;
      update_direction(now.gradient, options);
      m.previous_gradient = now.gradient;
      m.previous_loss = now.value;
      m.step_size = m.n_iter == 1 ? std::min(1.0, 1 / now.gradient.abs().sum().item<double>()) * lr : lr;
      now.step = 0;
      now.slope = dot_of(now.gradient, m.direction);
      if (now.slope > -options.tolerance_change()) return;
      direction_max = largest(m.direction);
    }
    bool at_minimum = false;
    if (options.line_search_fn()) {
      now =
          strong_wolfe(evaluate_at, now, m.step_size, direction_max, options.tolerance_change(), evaluations);
      m.step_size = now.step;
      at_minimum = is_at_minimum();
    } else if (iteration != options.max_iter()) {
      now = evaluate_at(m.step_size);
      ++evaluations;
      at_minimum = is_at_minimum();
    }
    const PlainArithmetic plain;
    weights = weights.add(m.direction, m.step_size);
    set_flat_weights(weights);
    if (iteration == options.max_iter() || evaluations >= most_evaluations || at_minimum) return;
    if (direction_max * std::fabs(m.step_size) <= options.tolerance_change()) return;
    if (std::fabs(now.value - m.previous_loss) < options.tolerance_change()) return;
  }
}

StateDict LBFGS::own_state() const {
  StateDict state;
  state.set("func_evals", memory_.func_evals);
  state.set("n_iter", memory_.n_iter);
  if (!memory_.direction.defined()) return state;
  state.set("d", memory_.direction.clone());
  state.set("prev_flat_grad", memory_.previous_gradient.clone());
  state.set("t", memory_.step_size);
  state.set("prev_loss", memory_.previous_loss);
  state.set("H_diag", memory_.diagonal);
  save_list(state, "old_dirs", memory_.gradient_changes);
  save_list(state, "old_stps", memory_.weight_changes);
  for (std::size_t i = 0; i < memory_.reciprocals.size(); ++i) {
    state.set(concat("ro.", i), memory_.reciprocals[i]);
  }
  return state;
}

void LBFGS::load_own_state(const StateDict& state, bool check_only) {
  const NoGradGuard no_grad;
  const Tensor like = flat_weights();
  const auto vector = [&](const std::string& name) {
    const Tensor saved = state.tensor(name);
    if (saved.sizes() != like.sizes() || !saved.is_floating_point()) {
      fail("load_state_dict", "entry 'own.", name, "': expected a vector like all parameters, ", like,
           ", got ", saved);
    }
    return empty_like(like).copy_(saved);
  };
  Memory loaded;
  loaded.func_evals = state.integer("func_evals");
  loaded.n_iter = state.integer("n_iter");
  if (state.contains("d")) {
    loaded.direction = vector("d");
    loaded.previous_gradient = vector("prev_flat_grad");
    loaded.step_size = state.number("t");
    loaded.previous_loss = state.number("prev_loss");
    loaded.diagonal = state.number("H_diag");
    for (std::size_t i = 0; state.contains(concat("ro.", i)); ++i) {
      loaded.gradient_changes.push_back(vector(concat("old_dirs.", i)));
      loaded.weight_changes.push_back(vector(concat("old_stps.", i)));
      loaded.reciprocals.push_back(state.number(concat("ro.", i)));
    }
  }
  if (!check_only) memory_ = std::move(loaded);
}

}  // namespace halftone::optim
