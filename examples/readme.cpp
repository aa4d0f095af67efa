#include <halftone/halftone.h>
#include <cstdio>
using namespace halftone;

int main() {
  manual_seed(0);
  const Tensor centres = randn({10, 64}) * 2;  // ten clusters in 64 dimensions
  const Tensor labels = randint(10, {2048}, kLong);
  const Tensor points = centres.index_select(0, labels) + randn({2048, 64});

  nn::Sequential model(nn::Linear(64, 128), nn::ReLU(), nn::Linear(128, 10));
  optim::AdamW optimizer(model->parameters(), optim::AdamWOptions(2e-3));
  optimizer.use_loss_scaling(amp::LossScaling::dynamic());

  for (int step = 1; step <= 200; ++step) {
    const Tensor batch = randint(2048, {128}, kLong);
    optimizer.zero_grad();
    Tensor loss;
    {
      amp::Autocast autocast(kCPU, kHalf);  // matrix products in fp16, the loss in fp32
      const Tensor logits = model->forward(points.index_select(0, batch));
      loss = nn::functional::cross_entropy(logits, labels.index_select(0, batch));
    }
    optimizer.backward(loss);  // scales the loss, so that small gradients survive fp16
    optimizer.step();          // checks, unscales and updates in one pass; skips on overflow
    if (step % 50 == 0) std::printf("step %d: loss %.4f\n", step, loss.item<float>());
  }
}
