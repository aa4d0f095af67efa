// Sharpness-aware minimisation (Foret et al. 2021, arXiv:2010.01412): each step takes the gradient not here
// but at the worst weights nearby, so that training ends in a flat valley. A fifth of the training labels are
// wrong; the plain optimizer learns many of them by heart, the sharpness-aware one fewer.
//
// Every step has two backward passes. With loss scaling both gradients are scaled, which the direction to the
// worst weights does not notice, and a gradient that overflowed must not move a weight: then the step is left
// to the optimizer, which skips it and halves the scale.

#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "halftone/examples/support/arguments.h"

namespace ht = halftone;

namespace {

class Sam {
 public:
  /// `radius`: how far away the worst weights are looked for.
  Sam(ht::optim::Optimizer& optimizer, double radius) : optimizer_(&optimizer), radius_(radius) {}

  /// `loss`: computes the loss of the batch. Returns that at the present weights.
  ht::Tensor step(const std::function<ht::Tensor()>& loss) {
    optimizer_->zero_grad();
    const ht::Tensor here = loss();
    optimizer_->backward(here);
    const double norm = gradient_norm();
    if (std::isfinite(norm) && norm > 0) {
      const std::vector<ht::Tensor> weights = climb(radius_ / norm);
      optimizer_->zero_grad();
      optimizer_->backward(loss());
      restore(weights);
    }
    optimizer_->step();
    return here;
  }

 private:
  double gradient_norm() const {
    std::vector<ht::Tensor> norms;
    for (const ht::Tensor& parameter : optimizer_->parameters()) {
      if (parameter.grad().defined()) norms.push_back(parameter.grad().to(ht::kFloat).norm());
    }
    return norms.empty() ? 0 : ht::stack(norms).norm().item<double>();
  }

  /// Moves every weight along its gradient; gives back what the weights were.
  std::vector<ht::Tensor> climb(double factor) {
    const ht::NoGradGuard no_grad;
    std::vector<ht::Tensor> weights;
    for (const ht::Tensor& parameter : optimizer_->parameters()) {
      weights.push_back(parameter.clone());
      if (parameter.grad().defined()) parameter.add_(parameter.grad(), factor);
    }
    return weights;
  }

  void restore(const std::vector<ht::Tensor>& weights) {
    const ht::NoGradGuard no_grad;
    const std::vector<ht::Tensor> parameters = optimizer_->parameters();
    for (std::size_t i = 0; i < weights.size(); ++i) parameters[i].copy_(weights[i]);
  }

  ht::optim::Optimizer* optimizer_;
  double radius_;
};

/// Points of four classes that overlap a little, in 20 dimensions.
struct Points {
  Points(std::int64_t count, const ht::Tensor& centres)
      : labels(ht::randint(centres.size(0), {count}, ht::TensorOptions(ht::kLong).device(centres.device()))),
        points(centres.index_select(0, labels) + ht::randn({count, centres.size(1)}, centres.options())) {}
  ht::Tensor labels, points;
};

double accuracy(ht::nn::Sequential& model, const Points& data) {
  const ht::NoGradGuard no_grad;
  return model->forward(data.points).argmax(1).eq(data.labels).to(ht::kFloat).mean().item<double>();
}

/// The share of unseen points that a model trained with or without Sam gets right.
double train(const Arguments& arguments, const Points& training, const Points& unseen, double radius) {
  ht::manual_seed(arguments.seed + 1);
  ht::nn::Sequential model(ht::nn::Linear(20, 64), ht::nn::ReLU(), ht::nn::Linear(64, 4));
  model->to(arguments.device);
  ht::optim::SGD optimizer(model->parameters(), ht::optim::SGDOptions(arguments.lr).momentum(0.9));
  if (arguments.needs_loss_scaling()) optimizer.use_loss_scaling();
  Sam sam(optimizer, radius);
  double last = 0;
  for (std::int64_t step = 0; step < arguments.steps; ++step) {
    const ht::Tensor batch =
        ht::randint(training.labels.size(0), {arguments.batch_size}, training.labels.options());
    const ht::Tensor x = training.points.index_select(0, batch), y = training.labels.index_select(0, batch);
    const ht::Tensor loss = sam.step([&] {
      const ht::amp::Autocast autocast(arguments.device.type(), arguments.precision);
      return ht::nn::functional::cross_entropy(model->forward(x), y);
    });
    if (step + 1 == arguments.steps) last = loss.item<double>();
  }
  const double right = accuracy(model, unseen);
  std::printf("radius %.2f: last loss %.4f, %.1f %% of the training labels, %.1f %% of unseen points\n",
              radius, last, 100 * accuracy(model, training), 100 * right);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse_arguments(
      argc, argv, "Trains on partly wrong labels, with and without sharpness-aware minimisation.",
      {.steps = 600, .batch_size = 64, .lr = 0.01});
  const ht::Tensor centres = ht::randn({4, 20}, ht::TensorOptions(ht::kFloat).device(arguments.device)) * 0.7;
  Points training(400, centres);
  const Points unseen(4000, centres);
  const ht::Tensor wrong = ht::rand({400}, centres.options()) < 0.2;
  training.labels = ht::where(wrong, (training.labels + 1).remainder(4), training.labels);

  const double plain = train(arguments, training, unseen, 0);
  const double flat = train(arguments, training, unseen, 1);
  return flat > plain ? 0 : 1;
}
