// A generative adversarial network of convolutions (Radford et al. 2016) that learns to draw clothes.

#include <cstdio>

#include "halftone/examples/support/arguments.h"

namespace ht = halftone;
namespace nn = halftone::nn;
namespace F = halftone::nn::functional;

namespace {

constexpr std::int64_t kNoise = 64;

/// (N, kNoise, 1, 1) noise to (N, 1, 28, 28) pictures in [-1, 1].
nn::Sequential make_generator() {
  return nn::Sequential(
      nn::ConvTranspose2d(nn::ConvTranspose2dOptions(kNoise, 64, 7).bias(false)), nn::BatchNorm2d(64),
      nn::ReLU(), nn::ConvTranspose2d(nn::ConvTranspose2dOptions(64, 32, 4).stride(2).padding(1).bias(false)),
      nn::BatchNorm2d(32), nn::ReLU(),
      nn::ConvTranspose2d(nn::ConvTranspose2dOptions(32, 1, 4).stride(2).padding(1)), nn::Tanh());
}

/// Pictures to (N, 1) logits: is it a real one?
nn::Sequential make_discriminator() {
  const auto leaky = nn::LeakyReLUOptions().negative_slope(0.2);
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 32, 4).stride(2).padding(1)), nn::LeakyReLU(leaky),
                        nn::Conv2d(nn::Conv2dOptions(32, 64, 4).stride(2).padding(1).bias(false)),
                        nn::BatchNorm2d(64), nn::LeakyReLU(leaky), nn::Flatten(), nn::Linear(64 * 7 * 7, 1));
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse_arguments(
      argc, argv, "Trains a DCGAN on Fashion-MNIST.",
      {.steps = 500, .batch_size = 64, .lr = 2e-4, .data = "/usr/share/datasets/fashion-mnist"});
  const ht::Tensor images = ht::data::datasets::MNIST(arguments.data).images().to(arguments.device);
  const ht::TensorOptions options = ht::TensorOptions(ht::kFloat).device(arguments.device);

  nn::Sequential generator = make_generator(), discriminator = make_discriminator();
  generator->to(arguments.device);
  discriminator->to(arguments.device);
  const auto settings = ht::optim::AdamOptions(arguments.lr).betas({0.5, 0.999});
  ht::optim::Adam generator_optimizer(generator->parameters(), settings);
  ht::optim::Adam discriminator_optimizer(discriminator->parameters(), settings);
  // One scaler for both losses, as in PyTorch.
  ht::amp::GradScaler scaler(ht::amp::GradScalerOptions().enabled(arguments.needs_loss_scaling()));

  const auto real_batch = [&] {
    const ht::Tensor index = ht::randint(images.size(0), {arguments.batch_size}, options.dtype(ht::kLong));
    return images.index_select(0, index).to(ht::kFloat) / 127.5 - 1;
  };
  const auto draw = [&] {
    return generator->forward(ht::randn({arguments.batch_size, kNoise, 1, 1}, options));
  };
  /// How far the discriminator is from saying `real` of all pictures.
  const auto loss_of = [&](const ht::Tensor& pictures, bool real) {
    const ht::Tensor logits = discriminator->forward(pictures);
    const ht::Tensor target = real ? ht::ones_like(logits) : ht::zeros_like(logits);
    return F::binary_cross_entropy_with_logits(logits, target);
  };

  bool finite = true;
  for (std::int64_t step = 1; step <= arguments.steps; ++step) {
    ht::Tensor discriminator_loss, generator_loss;
    discriminator_optimizer.zero_grad();
    {
      const ht::amp::Autocast autocast(arguments.device.type(), arguments.precision);
      discriminator_loss = loss_of(real_batch(), true) + loss_of(draw().detach(), false);
    }
    scaler.scale(discriminator_loss).backward();
    scaler.step(discriminator_optimizer);

    generator_optimizer.zero_grad();
    {
      const ht::amp::Autocast autocast(arguments.device.type(), arguments.precision);
      generator_loss = loss_of(draw(), true);
    }
    scaler.scale(generator_loss).backward();
    scaler.step(generator_optimizer);
    scaler.update();
    if (step % 100 == 0 || step == arguments.steps) {
      std::printf("step %4lld: discriminator %.4f, generator %.4f\n", static_cast<long long>(step),
                  discriminator_loss.item<double>(), generator_loss.item<double>());
      finite = finite && ht::isfinite(discriminator_loss + generator_loss).item<bool>();
    }
  }

  const ht::NoGradGuard no_grad;
  generator->eval();
  const ht::Tensor pictures = draw();
  // Real pictures are dark at the border and light in the middle.
  const auto mean_of = [](const ht::Tensor& part) { return part.to(ht::kFloat).mean().item<double>(); };
  std::printf("mean brightness of the drawings: border %.2f, middle %.2f\n", mean_of(pictures.slice(2, 0, 2)),
              mean_of(pictures.slice(2, 10, 18).slice(3, 10, 18)));
  return finite ? 0 : 1;
}
