// The classic first program: a small convolutional network on 28 x 28 pictures, written as for libtorch, with
// mixed precision added by PyTorch's names. (fashion_mnist.cpp is the long form, with reports and
// checkpoints.)

#include <cstdio>

#include "halftone/examples/support/arguments.h"

namespace ht = halftone;
namespace nn = halftone::nn;
namespace F = halftone::nn::functional;

namespace {

struct NetImpl : nn::Module {
  NetImpl() {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("dropout", dropout);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  ht::Tensor forward(ht::Tensor x) {
    x = ht::relu(ht::max_pool2d(conv1->forward(x), 2));
    x = ht::relu(ht::max_pool2d(conv2->forward(x), 2));
    x = ht::relu(fc1->forward(x.flatten(1)));
    return F::log_softmax(fc2->forward(dropout->forward(x)), 1);
  }

  nn::Conv2d conv1{nn::Conv2dOptions(1, 10, 5)};
  nn::Conv2d conv2{nn::Conv2dOptions(10, 20, 5)};
  nn::Dropout dropout{0.5};
  nn::Linear fc1{320, 50};
  nn::Linear fc2{50, 10};
};
HALFTONE_MODULE(Net);

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse_arguments(
      argc, argv, "Trains a small convolutional network on Fashion-MNIST.",
      {.steps = 938, .batch_size = 64, .lr = 1e-3, .data = "/usr/share/datasets/fashion-mnist"});
  using MNIST = ht::data::datasets::MNIST;
  const auto prepare = [&](MNIST::Mode mode) {
    return MNIST(arguments.data, mode)
        .map(ht::data::transforms::Normalize<>(0.2860, 0.3530))
        .map(ht::data::transforms::Stack<>());
  };
  auto training = ht::data::make_data_loader<ht::data::samplers::RandomSampler>(
      prepare(MNIST::Mode::kTrain), static_cast<std::size_t>(arguments.batch_size));
  auto testing =
      ht::data::make_data_loader<ht::data::samplers::SequentialSampler>(prepare(MNIST::Mode::kTest), 1000);

  Net model;
  model->to(arguments.device);
  ht::optim::AdamW optimizer(model->parameters(), ht::optim::AdamWOptions(arguments.lr));
  ht::amp::GradScaler scaler(ht::amp::GradScalerOptions().enabled(arguments.needs_loss_scaling()));

  std::int64_t step = 0;
  while (step < arguments.steps) {
    for (const ht::data::Example<>& batch : *training) {
      const ht::Tensor x = batch.data.to(arguments.device), y = batch.target.to(arguments.device);
      optimizer.zero_grad();
      ht::Tensor loss;
      {
        const ht::amp::Autocast autocast(arguments.device.type(), arguments.precision);
        loss = F::nll_loss(model->forward(x), y);
      }
      scaler.scale(loss).backward();
      scaler.unscale_(optimizer);
      nn::utils::clip_grad_norm_(model->parameters(), 1.0);
      scaler.step(optimizer);
      scaler.update();
      if (++step % 100 == 0) {
        std::printf("step %4lld: loss %.4f\n", static_cast<long long>(step), loss.item<double>());
      }
      if (step == arguments.steps) break;
    }
  }

  model->eval();
  const ht::NoGradGuard no_grad;
  std::int64_t right = 0, seen = 0;
  for (const ht::data::Example<>& batch : *testing) {
    const ht::amp::Autocast autocast(arguments.device.type(), arguments.precision);
    const ht::Tensor predicted = model->forward(batch.data.to(arguments.device)).argmax(1);
    right += predicted.eq(batch.target.to(arguments.device)).sum().item<std::int64_t>();
    seen += batch.target.size(0);
  }
  const double accuracy = static_cast<double>(right) / static_cast<double>(seen);
  std::printf("test accuracy %.2f %%\n", 100 * accuracy);
  return accuracy > 0.2 ? 0 : 1;
}
