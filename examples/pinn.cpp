// A physics-informed network: solves u'' = -pi^2 sin(pi x) on [-1, 1] with u(-1) = u(1) = 0 by making the
// equation itself the loss. The second derivative of the network comes from differentiating its first (Raissi
// et al. 2019).

#include <cmath>
#include <cstdio>
#include <numbers>

#include "halftone/examples/support/arguments.h"

namespace ht = halftone;
namespace nn = halftone::nn;

namespace {

constexpr double kPi = std::numbers::pi;

/// d(output)/d(input), itself differentiable.
ht::Tensor derivative(const ht::Tensor& output, const ht::Tensor& input) {
  return ht::autograd::grad({output}, {input}, {ht::ones_like(output)}, /*retain_graph=*/true,
                            /*create_graph=*/true)[0];
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse_arguments(argc, argv, "Solves a differential equation with a network.",
                                              {.steps = 1500, .batch_size = 64, .lr = 2e-3});
  const ht::TensorOptions options = ht::TensorOptions(ht::kFloat).device(arguments.device);
  nn::Sequential model(nn::Linear(1, 32), nn::Tanh(), nn::Linear(32, 32), nn::Tanh(), nn::Linear(32, 1));
  model->to(arguments.device);
  ht::optim::Adam optimizer(model->parameters(), ht::optim::AdamOptions(arguments.lr));
  ht::optim::CosineAnnealingLR schedule(optimizer, arguments.steps);
  if (arguments.needs_loss_scaling()) optimizer.use_loss_scaling();

  // (1 - x^2) makes the boundary values exact.
  const auto solution = [&](const ht::Tensor& x) { return (1 - x * x) * model->forward(x); };

  for (std::int64_t step = 1; step <= arguments.steps; ++step) {
    ht::Tensor x = ht::rand({arguments.batch_size, 1}, options) * 2 - 1;
    x.requires_grad_();
    optimizer.zero_grad();
    ht::Tensor loss;
    {
      const ht::amp::Autocast autocast(arguments.device.type(), arguments.precision);
      const ht::Tensor second = derivative(derivative(solution(x), x), x);
      loss = nn::functional::mse_loss(second, -kPi * kPi * ht::sin(kPi * x));
    }
    optimizer.backward(loss);
    schedule.step(optimizer.step());
    if (step % 300 == 0) {
      std::printf("step %4lld: loss %.5f\n", static_cast<long long>(step), loss.item<double>());
    }
  }
  const ht::Tensor x = ht::linspace(-1, 1, 101, options).unsqueeze(1);
  const auto error = (solution(x) - ht::sin(kPi * x)).abs().max().item<double>();
  std::printf("largest error of the solution: %.4f\n", error);
  return error < 0.1 ? 0 : 1;
}
