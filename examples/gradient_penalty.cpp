// A Wasserstein GAN with gradient penalty on two-dimensional points (Gulrajani et al. 2017). The penalty is a
// function of a gradient, so the critic's loss is differentiated twice. Under loss scaling that inner
// gradient is taken of unscaled numbers, and only the final loss is scaled.

#include <cmath>
#include <cstdio>
#include <numbers>

#include "halftone/examples/support/arguments.h"

namespace ht = halftone;
namespace nn = halftone::nn;

namespace {

constexpr std::int64_t kNoise = 8, kCriticSteps = 3;
constexpr double kPenalty = 0.1;

nn::Sequential network(std::int64_t in, std::int64_t out) {
  return nn::Sequential(nn::Linear(in, 64), nn::ReLU(), nn::Linear(64, 64), nn::ReLU(), nn::Linear(64, out));
}

/// Points on the unit circle, with a little noise.
ht::Tensor real_points(std::int64_t count, const ht::TensorOptions& options) {
  const ht::Tensor angle = ht::rand({count, 1}, options) * (2 * std::numbers::pi);
  return ht::cat({angle.cos(), angle.sin()}, 1) + 0.02 * ht::randn({count, 2}, options);
}

/// Mean of (|gradient of the critic between the points| - 1)^2.
ht::Tensor penalty(nn::Sequential& critic, const ht::Tensor& real, const ht::Tensor& fake) {
  const ht::Tensor t = ht::rand({real.size(0), 1}, real.options());
  ht::Tensor between = (t * real + (1 - t) * fake).detach();
  between.requires_grad_();
  const ht::Tensor score = critic->forward(between);
  const ht::Tensor gradient = ht::autograd::grad({score}, {between}, {ht::ones_like(score)},
                                                 /*retain_graph=*/true, /*create_graph=*/true)[0];
  return (gradient.norm(2, 1) - 1).square().mean();
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse_arguments(argc, argv, "Learns to draw points of a circle.",
                                              {.steps = 1000, .batch_size = 128, .lr = 1e-3});
  const ht::TensorOptions options = ht::TensorOptions(ht::kFloat).device(arguments.device);
  nn::Sequential generator = network(kNoise, 2), critic = network(2, 1);
  generator->to(arguments.device);
  critic->to(arguments.device);
  const ht::optim::AdamOptions settings = ht::optim::AdamOptions(arguments.lr).betas({0.5, 0.9});
  ht::optim::Adam generator_optimizer(generator->parameters(), settings);
  ht::optim::Adam critic_optimizer(critic->parameters(), settings);
  // One scaler for both: an overflow in either lowers the one scale.
  ht::amp::GradScaler scaler(ht::amp::GradScalerOptions().enabled(arguments.needs_loss_scaling()));

  const auto draw = [&] { return generator->forward(ht::randn({arguments.batch_size, kNoise}, options)); };
  const auto radius_error = [&] {
    const ht::NoGradGuard no_grad;
    return (draw().norm(2, 1) - 1).abs().mean().item<double>();
  };
  const double before = radius_error();

  for (std::int64_t step = 1; step <= arguments.steps; ++step) {
    for (std::int64_t i = 0; i < kCriticSteps; ++i) {
      critic_optimizer.zero_grad();
      ht::Tensor loss;
      {
        const ht::amp::Autocast autocast(arguments.device.type(), arguments.precision);
        const ht::Tensor real = real_points(arguments.batch_size, options);
        const ht::Tensor fake = draw().detach().to(ht::kFloat);
        loss = critic->forward(fake).mean() - critic->forward(real).mean() +
               kPenalty * penalty(critic, real, fake);
      }
      scaler.scale(loss).backward();
      scaler.step(critic_optimizer);
      scaler.update();
    }
    generator_optimizer.zero_grad();
    ht::Tensor loss;
    {
      const ht::amp::Autocast autocast(arguments.device.type(), arguments.precision);
      loss = -critic->forward(draw()).mean();
    }
    scaler.scale(loss).backward();
    scaler.step(generator_optimizer);
    scaler.update();
    if (step % 200 == 0) {
      std::printf("step %4lld: mean distance from the circle %.3f\n", static_cast<long long>(step),
                  radius_error());
    }
  }
  const double after = radius_error();
  std::printf("mean distance from the circle: %.3f, at the start %.3f\n", after, before);
  return after < before ? 0 : 1;
}
