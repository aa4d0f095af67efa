// What loss scaling does outside the optimizer's own step: scaling the loss, unscale_(), the gradients' norm.

#include <memory>

#include "halftone/amp/grad_scaler.h"
#include "halftone/bench/suite/families/operands.h"
#include "halftone/nn/utils/clip_grad.h"
#include "halftone/optim/optim.h"

namespace halftone::bench {
namespace {

/// Parameters of the setting's precision with gradients of that precision, under a scaler.
struct Model {
  std::vector<Tensor> parameters, gradients;
  std::shared_ptr<optim::SGD> optimizer;
};
Model model(const Shape& shape, const Setting& setting) {
  manual_seed(1);
  Model m;
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    m.parameters.push_back(uniform({shape[1]}, setting).requires_grad_());
    m.gradients.push_back(uniform({shape[1]}, setting));
    m.parameters.back().mutable_grad() = m.gradients.back().clone();
  }
  m.optimizer = std::make_shared<optim::SGD>(m.parameters, optim::SGDOptions(1e-3));
  return m;
}

/// unscale_ under a fixed scale: both the check for infinities and the division. Timed at scale 1, which
/// leaves the gradients in range, however often they are unscaled.
std::function<void()> unscale(const Model& m, double scale) {
  const auto scaler = std::make_shared<amp::GradScaler>(amp::LossScaling::fixed(scale));
  return [=] {
    scaler->unscale_(*m.optimizer);
    scaler->abandon(*m.optimizer);
  };
}

Work unscale_work(const Shape& shape, const Setting& setting) {
  constexpr double kScale = 1024;
  const Model m = model(shape, setting), scaled = model(shape, setting);
  Work work;
  work.run = unscale(m, 1);
  work.results = [=] {
    for (std::size_t i = 0; i < scaled.parameters.size(); ++i)
      scaled.parameters[i].mutable_grad() = scaled.gradients[i] * kScale;
    unscale(scaled, kScale)();
    std::vector<Tensor> all;
    for (const Tensor& parameter : scaled.parameters) all.push_back(parameter.grad());
    return all;
  };
  work.references = [=] {
    std::vector<Reference> all;
    for (const Tensor& gradient : scaled.gradients) all.push_back({exactly(gradient), {}});
    return all;
  };
  return work;
}

/// The norm of all gradients. The threshold is never reached, so that every call does the same.
Work norm_work(const Shape& shape, const Setting& setting) {
  const Model m = model(shape, setting);
  const auto call = [=] { return nn::utils::clip_grad_norm_(m.parameters, 1e30).item(); };
  Work work;
  work.run = [=] { call(); };
  work.results = [=] {
    return std::vector<Tensor>{scalar_tensor(call(), TensorOptions(kFloat).device(kCPU))};
  };
  work.references = [=] {
    Tensor squares = zeros({}, TensorOptions(kDouble).device(kCPU));
    for (const Tensor& gradient : m.gradients) squares = squares + exactly(gradient).square().sum();
    return std::vector<Reference>{{squares.sqrt(), {}}};
  };
  return work;
}

Work scale_loss(const Setting& setting) {
  manual_seed(1);
  const Tensor loss = uniform({}, setting);
  const auto scaler = std::make_shared<amp::GradScaler>(amp::LossScaling::fixed(1024));
  return work_of([=] { return scaler->scale(loss); }, [=] { return Reference{exactly(loss) * 1024, {}}; });
}

std::vector<Case> cases(const Shape& shape, const Setting& setting) {
  if (setting.precision == Precision::kTf32) return {};
  const std::int64_t n = bytes_of(shape[0] * shape[1], setting);
  std::vector<Case> all(3);
  all[0].name = "unscale_";
  all[0].bound = Bound::kMemory;
  all[0].passes = {{{}, {n}, {}}};
  all[0].prepare = [=] { return unscale_work(shape, setting); };
  all[1].name = "norm";
  all[1].bound = Bound::kMemory;
  all[1].passes = {{{n}, {}, {}}};
  all[1].prepare = [=] { return norm_work(shape, setting); };
  all[2].name = "scale_loss";
  all[2].prepare = [=] { return scale_loss(setting); };
  return all;
}

}  // namespace

Family scaler_family() {
  return {"scaler",
          "scaling the loss, unscale_, norm of the gradients",
          "tensors x elements",
          {{1, 16384}, {10, 1000000}},
          {{1, 65536}},
          {{16, 4194304}},
          {2, 64},
          cases};
}

}  // namespace halftone::bench
