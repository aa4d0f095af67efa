// Optimizer steps. The precision is that of the parameters: half ones have fp32 masters. Bytes are those the
// step cannot do without: gradient (fp32), weight or master, moments, the half weight or shadow it writes,
// and one more read of the gradient for the finite check of loss scaling ("scaled"), which finds the norm for
// clipping too. GradScaler with an explicit unscale_() has to rewrite the gradients ("unscale_").

#include <memory>

#include "halftone/amp/grad_scaler.h"
#include "halftone/bench/suite/families/operands.h"
#include "halftone/optim/optim.h"

namespace halftone::bench {
namespace {

constexpr double kLr = 1e-3, kDecay = 0.01, kEps = 1e-8;
constexpr double kNoLimit = 1e30;  // of the norm: it is found, and nothing is clipped

enum class Rule { kSgd, kMomentum, kAdamW };
enum class Scaling { kNone, kBuiltIn, kUnscale };

struct Variant {
  const char* name;
  Rule rule;
  Scaling scaling = Scaling::kNone;
  bool shadow = false;  ///< of fp32 parameters, in bf16
  bool clips = false;
};
constexpr Variant kVariants[] = {{"sgd", Rule::kSgd},
                                 {"sgd_momentum", Rule::kMomentum},
                                 {"sgd_momentum_scaled", Rule::kMomentum, Scaling::kBuiltIn},
                                 {"adamw", Rule::kAdamW},
                                 {"adamw_scaled", Rule::kAdamW, Scaling::kBuiltIn},
                                 {"adamw_scaled_clipped", Rule::kAdamW, Scaling::kBuiltIn, false, true},
                                 {"adamw_unscale_", Rule::kAdamW, Scaling::kUnscale},
                                 {"adamw_shadow", Rule::kAdamW, Scaling::kNone, true}};

std::vector<Traffic> traffic_of(const Variant& v, std::int64_t elements, const Setting& setting) {
  std::vector<Traffic> passes;
  if (v.scaling == Scaling::kBuiltIn) passes.push_back({{4 * elements}, {}, {}});
  if (v.scaling == Scaling::kUnscale) passes.push_back({{}, {4 * elements}, {}});
  const std::size_t moments = v.rule == Rule::kAdamW ? 2 : v.rule == Rule::kMomentum ? 1 : 0;
  Traffic step{{4 * elements}, {}, {}};
  step.update.assign(1 + moments, 4 * elements);
  if (v.shadow || setting.dtype() != kFloat) step.write.push_back(2 * elements);
  passes.push_back(step);
  return passes;
}

std::shared_ptr<optim::Optimizer> make(const Variant& v, const std::vector<Tensor>& parameters) {
  std::shared_ptr<optim::Optimizer> optimizer;
  if (v.rule == Rule::kAdamW) {
    optimizer =
        std::make_shared<optim::AdamW>(parameters, optim::AdamWOptions(kLr).weight_decay(kDecay).eps(kEps));
  } else {
    const double momentum = v.rule == Rule::kMomentum ? 0.9 : 0;
    optimizer = std::make_shared<optim::SGD>(parameters, optim::SGDOptions(kLr).momentum(momentum));
  }
  if (v.shadow) optimizer->use_half_shadow(kBFloat16);
  // Scale 1 leaves the arithmetic what it is and the gradients in range, however often they are unscaled.
  if (v.scaling == Scaling::kBuiltIn) optimizer->use_loss_scaling(amp::LossScaling::fixed(1));
  return optimizer;
}

/// What the first step makes of weights, in float64.
Reference updated(Rule rule, const Tensor& weight, const Tensor& gradient) {
  const Tensor exact = rule == Rule::kAdamW
                           ? weight * (1 - kLr * kDecay) - kLr * gradient / (gradient.abs() + kEps)
                           : weight - kLr * gradient;
  return {exact, weight.abs() + kLr * (1 + gradient.abs()), 4};
}

Work step_work(const Variant& v, const Shape& shape, const Setting& setting) {
  manual_seed(1);
  std::vector<Tensor> parameters, before, gradients;
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    parameters.push_back(uniform({shape[1]}, setting).requires_grad_());
    before.push_back(exactly(parameters.back()));
    gradients.push_back(uniform({shape[1]}, {Precision::kFp32, setting.device}) * 1e-3);
  }
  const std::shared_ptr<optim::Optimizer> optimizer = make(v, parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].mutable_grad() = gradients[i];
  const auto scaler = std::make_shared<amp::GradScaler>(amp::LossScaling::fixed(1));
  Work work;
  if (v.scaling == Scaling::kUnscale) {
    work.run = [=] {
      scaler->unscale_(*optimizer);
      scaler->step(*optimizer);
      scaler->update();
    };
  } else if (v.clips) {
    work.run = [=] {
      optimizer->clip_grad_norm_(kNoLimit);
      optimizer->step();
    };
  } else {
    work.run = [=] { optimizer->step(); };
  }
  work.results = [=, run = work.run] {
    run();
    std::vector<Tensor> after;
    for (const Tensor& parameter : parameters) after.push_back(parameter.detach().clone());
    return after;
  };
  work.references = [=, rule = v.rule] {
    std::vector<Reference> all;
    for (std::size_t i = 0; i < before.size(); ++i)
      all.push_back(updated(rule, before[i], exactly(gradients[i])));
    return all;
  };
  return work;
}

std::vector<Case> cases(const Shape& shape, const Setting& setting) {
  if (setting.precision == Precision::kTf32) return {};
  std::vector<Case> all;
  for (const Variant& v : kVariants) {
    if (v.shadow && setting.precision != Precision::kFp32) continue;
    Case c;
    c.name = v.name;
    c.bound = Bound::kMemory;
    c.passes = traffic_of(v, shape[0] * shape[1], setting);
    c.prepare = [=] { return step_work(v, shape, setting); };
    all.push_back(std::move(c));
  }
  return all;
}

}  // namespace

Family optimizer_family() {
  return {"optimizer",
          "steps of SGD and AdamW, with masters, shadow and loss scaling",
          "tensors x elements",
          {{1, 16384}, {10, 1000000}},
          {{1, 65536}},
          {{16, 4194304}},
          {2, 64},
          cases};
}

}  // namespace halftone::bench
