// Linear regression: finds the polynomial behind noisy samples, with one linear layer.

#include <cstdio>

#include "halftone/examples/support/arguments.h"

namespace ht = halftone;

namespace {

constexpr std::int64_t kDegree = 4;
constexpr double kNoise = 0.02;

/// (N, 1) numbers to the (N, kDegree) powers x, x^2, ...
ht::Tensor powers(const ht::Tensor& x) {
  std::vector<ht::Tensor> columns;
  for (std::int64_t i = 1; i <= kDegree; ++i) columns.push_back(x.pow(i));
  return ht::cat(columns, 1);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse_arguments(argc, argv, "Fits a polynomial of degree 4 to noisy samples.",
                                              {.steps = 500, .batch_size = 64, .lr = 0.05});
  const ht::TensorOptions options = ht::TensorOptions(ht::kFloat).device(arguments.device);
  const ht::Tensor weight = ht::randn({1, kDegree}, options), bias = ht::randn({1}, options);

  ht::nn::Linear model(kDegree, 1);
  model->to(arguments.device);
  ht::optim::Adam optimizer(model->parameters(), ht::optim::AdamOptions(arguments.lr));
  if (arguments.needs_loss_scaling()) optimizer.use_loss_scaling();

  for (std::int64_t step = 1; step <= arguments.steps; ++step) {
    const ht::Tensor x = powers(ht::rand({arguments.batch_size, 1}, options) * 2 - 1);
    const ht::Tensor y = ht::nn::functional::linear(x, weight, bias);
    optimizer.zero_grad();
    ht::Tensor loss;
    {
      const ht::amp::Autocast autocast(arguments.device.type(), arguments.precision);
      loss = ht::nn::functional::mse_loss(model->forward(x), y + kNoise * ht::randn_like(y));
    }
    optimizer.backward(loss);
    optimizer.step();
    if (step % 100 == 0) {
      std::printf("step %4lld: loss %.6f\n", static_cast<long long>(step), loss.item<double>());
    }
  }
  const auto error = (model->weight.detach() - weight).abs().max().item<double>();
  std::printf("largest error of a coefficient: %.4f\n", error);
  return error < 0.1 ? 0 : 1;
}
