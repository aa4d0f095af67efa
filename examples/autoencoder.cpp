// An autoencoder: 28 x 28 pictures of clothes through a code of 32 numbers and back.

#include <cstdio>

#include "halftone/examples/support/arguments.h"

namespace ht = halftone;
namespace nn = halftone::nn;

namespace {

struct AutoencoderImpl : nn::Module {
  AutoencoderImpl() {
    register_module("encoder", encoder);
    register_module("decoder", decoder);
  }
  ht::Tensor forward(const ht::Tensor& x) { return decoder->forward(encoder->forward(x)); }

  nn::Sequential encoder{nn::Linear(784, 256), nn::ReLU(), nn::Linear(256, 32)};
  nn::Sequential decoder{nn::Linear(32, 256), nn::ReLU(), nn::Linear(256, 784)};
};
HALFTONE_MODULE(Autoencoder);

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse_arguments(
      argc, argv, "Trains an autoencoder on Fashion-MNIST.",
      {.steps = 600, .batch_size = 128, .lr = 1e-3, .data = "/usr/share/datasets/fashion-mnist"});
  const ht::data::datasets::MNIST dataset(arguments.data);
  const ht::Tensor images = dataset.images().flatten(1).to(arguments.device);

  Autoencoder model;
  model->to(arguments.device);
  ht::optim::AdamW optimizer(model->parameters(), ht::optim::AdamWOptions(arguments.lr));
  if (arguments.needs_loss_scaling()) optimizer.use_loss_scaling();

  double first = 0, last = 0;
  for (std::int64_t step = 1; step <= arguments.steps; ++step) {
    const ht::Tensor index =
        ht::randint(images.size(0), {arguments.batch_size}, ht::dtype(ht::kLong).device(arguments.device));
    const ht::Tensor x = images.index_select(0, index).to(ht::kFloat) / 255;
    optimizer.zero_grad();
    ht::Tensor loss;
    {
      const ht::amp::Autocast autocast(arguments.device.type(), arguments.precision);
      loss = nn::functional::mse_loss(model->forward(x), x);
    }
    optimizer.backward(loss);
    optimizer.step();
    last = loss.item<double>();
    if (step == 1) first = last;
    if (step % 100 == 0) std::printf("step %4lld: loss %.5f\n", static_cast<long long>(step), last);
  }
  std::printf("squared error per pixel: %.5f, at the start %.5f\n", last, first);
  return last < first ? 0 : 1;
}
