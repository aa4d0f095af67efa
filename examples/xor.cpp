// The smallest network that needs a hidden layer: exclusive or of two bits.

#include <cstdio>

#include "halftone/examples/support/arguments.h"

namespace ht = halftone;

int main(int argc, char** argv) {
  const Arguments arguments = parse_arguments(argc, argv, "Learns exclusive or.", {.steps = 400, .lr = 0.05});
  const ht::Tensor x = ht::tensor({{0., 0.}, {0., 1.}, {1., 0.}, {1., 1.}}, arguments.device).to(ht::kFloat);
  const ht::Tensor y = ht::tensor({{0.}, {1.}, {1.}, {0.}}, arguments.device).to(ht::kFloat);

  ht::nn::Sequential model(ht::nn::Linear(2, 8), ht::nn::Tanh(), ht::nn::Linear(8, 1));
  model->to(arguments.device);
  ht::optim::Adam optimizer(model->parameters(), ht::optim::AdamOptions(arguments.lr));
  if (arguments.needs_loss_scaling()) optimizer.use_loss_scaling();

  ht::Tensor logits;
  for (std::int64_t step = 1; step <= arguments.steps; ++step) {
    optimizer.zero_grad();
    ht::Tensor loss;
    {
      const ht::amp::Autocast autocast(arguments.device.type(), arguments.precision);
      logits = model->forward(x);
      loss = ht::nn::functional::binary_cross_entropy_with_logits(logits, y);
    }
    optimizer.backward(loss);
    optimizer.step();
    if (step % 100 == 0) {
      std::printf("step %4lld: loss %.5f\n", static_cast<long long>(step), loss.item<double>());
    }
  }
  const auto right = (logits.detach().gt(0) == y.gt(0.5)).sum().item<std::int64_t>();
  std::printf("%lld of 4 right\n", static_cast<long long>(right));
  return right == 4 ? 0 : 1;
}
