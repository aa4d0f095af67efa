#pragma once

#include "halftone/optim/optimizer.h"

namespace halftone::optim {

/// Settings of L-BFGS, with libtorch's names.
class LBFGSOptions : public OptimizerCloneableOptions<LBFGSOptions> {
 public:
  LBFGSOptions(double lr = 1) : lr_(lr) {}
  std::vector<OptionField> fields() override;
  void check() const override;

  HALFTONE_ARG(double, lr);
  /// Most iterations per step.
  HALFTONE_ARG(std::int64_t, max_iter) = 20;
  /// Most evaluations of the closure per step; 5/4 of max_iter unless given.
  HALFTONE_ARG(std::optional<std::int64_t>, max_eval) = std::nullopt;
  /// A step ends when no element of the gradient is larger...
  HALFTONE_ARG(double, tolerance_grad) = 1e-7;
  /// ...or when the loss or the weights change by less.
  HALFTONE_ARG(double, tolerance_change) = 1e-9;
  /// Past steps that the inverse Hessian is made of, >= 1.
  HALFTONE_ARG(std::int64_t, history_size) = 100;
  /// "strong_wolfe", or none for steps of fixed length `lr`.
  HALFTONE_ARG(std::optional<std::string>, line_search_fn) = std::nullopt;
};

/// L-BFGS (Nocedal and Wright 2006, algorithms 7.4, 3.5 and 3.6), as PyTorch's. A step calls the closure
/// several times; it clears the gradients, computes the loss, calls backward and returns the loss:
///
///   optim::LBFGS optimizer(model->parameters(), optim::LBFGSOptions(1).line_search_fn("strong_wolfe"));
///   optimizer.step([&] {
///     optimizer.zero_grad();
///     const Tensor loss = mse_loss(model(x), y);
///     optimizer.backward(loss);
///     return loss;
///   });
///
/// With loss scaling (use_loss_scaling) the scale stays the same within a step, and a gradient that overflows
/// in any evaluation skips the whole step: weights and history are as before. All parameters are one vector,
/// in fp32 (fp64 if a parameter is), and have the same options. Throws Error in a captured graph.
class LBFGS final : public Optimizer {
 public:
  explicit LBFGS(ParameterList parameters, LBFGSOptions defaults = {});

  /// Throws Error: L-BFGS needs a closure.
  StepReport step() override;
  /// Returns the loss of the first evaluation.
  Tensor step(LossClosure closure) override;
  using Optimizer::step_with;
  Tensor step_with(amp::LossScaling& scaling, LossClosure closure) override;

  /// Evaluations of the closure in all applied steps.
  std::int64_t func_evals() const { return memory_.func_evals; }
  /// Iterations of all applied steps.
  std::int64_t n_iter() const { return memory_.n_iter; }

 private:
  /// What goes from step to step.
  struct Memory {
    std::int64_t func_evals = 0, n_iter = 0;
    Tensor direction, previous_gradient;
    std::vector<Tensor> gradient_changes, weight_changes;
    std::vector<double> reciprocals;  // 1 / (gradient change . weight change)
    double diagonal = 1;              // of the first inverse Hessian
    double step_size = 0, previous_loss = 0;
  };

  LBFGSOptions& options();
  void update_direction(const Tensor& gradient, const LBFGSOptions& options);
  void run(const LossClosure& closure, const Tensor& start, const LBFGSOptions& options);

  StateDict own_state() const override;
  void load_own_state(const StateDict& state, bool check_only) override;
  void check_closure_not_needed() const override;

  Memory memory_;
};

}  // namespace halftone::optim
