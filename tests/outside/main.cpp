// Uses a little of every layer from outside the build tree: a step of fp16 autocast with loss scaling.
#include <halftone/halftone.h>

#include <cmath>
#include <cstdio>

int main() {
  halftone::manual_seed(0);
  halftone::nn::Linear model(2, 1);
  halftone::optim::SGD optimizer(model->parameters(), 0.05);
  optimizer.use_loss_scaling(halftone::amp::LossScaling::dynamic());

  const halftone::Tensor x = halftone::tensor({{1.0f, 0.0f}, {0.0f, 1.0f}, {1.0f, 1.0f}});
  const halftone::Tensor y = halftone::tensor({{2.0f}, {-1.0f}, {1.0f}});  // y = 2 x0 - x1
  float first = 0, last = 0;
  for (int step = 0; step < 600; ++step) {
    optimizer.zero_grad();
    halftone::Tensor loss;
    {
      halftone::amp::Autocast autocast(halftone::kCPU, halftone::kHalf);
      loss = halftone::mse_loss(model->forward(x), y);
    }
    optimizer.backward(loss);
    optimizer.step();
    last = loss.item<float>();
    if (step == 0) first = last;
  }
  std::printf("outside: loss %.4f -> %.6f\n", first, last);
  return std::isfinite(last) && last < 1e-3f && last < first ? 0 : 1;
}
