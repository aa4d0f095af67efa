// A dataset of one's own: examples made one at a time, in worker threads, batched and shuffled by a
// DataLoader.

#include <cmath>
#include <cstdio>

#include "halftone/examples/support/arguments.h"

namespace ht = halftone;
namespace nn = halftone::nn;

namespace {

/// Sine waves with noise; the label says which of four frequencies. Every example depends on its index alone,
/// so that the number of workers changes nothing.
class Waves : public ht::data::Dataset<Waves> {
 public:
  static constexpr std::int64_t kSamples = 64, kClasses = 4;

  explicit Waves(std::size_t count) : count_(count) {}

  ht::data::Example<> get(std::size_t index) override {
    ht::Generator generator(index);
    const auto label = static_cast<std::int64_t>(index % kClasses);
    const ht::Tensor phase = 6.283 * ht::rand({1}, generator);
    const ht::Tensor time = ht::linspace(0, 6.283 * static_cast<double>(label + 1), kSamples);
    return {ht::sin(time + phase) + 0.5 * ht::randn({kSamples}, generator),
            ht::tensor(label, ht::dtype(ht::kLong))};
  }
  std::optional<std::size_t> size() const override { return count_; }

 private:
  std::size_t count_;
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse_arguments(argc, argv, "Tells sine waves of four frequencies apart.",
                                              {.batch_size = 64, .lr = 2e-3});
  auto loader = ht::data::make_data_loader<ht::data::samplers::RandomSampler>(
      Waves(4096).map(ht::data::transforms::Stack<>()),
      ht::data::DataLoaderOptions(static_cast<std::size_t>(arguments.batch_size)).workers(2));

  nn::Sequential model(nn::Linear(Waves::kSamples, 128), nn::GELU(), nn::Linear(128, Waves::kClasses));
  model->to(arguments.device);
  ht::optim::AdamW optimizer(model->parameters(), ht::optim::AdamWOptions(arguments.lr));
  if (arguments.needs_loss_scaling()) optimizer.use_loss_scaling();

  double accuracy = 0;
  for (int epoch = 1; epoch <= 5; ++epoch) {
    std::int64_t right = 0, seen = 0;
    for (const ht::data::Example<>& batch : *loader) {
      const ht::Tensor x = batch.data.to(arguments.device), y = batch.target.to(arguments.device);
      optimizer.zero_grad();
      ht::Tensor logits, loss;
      {
        const ht::amp::Autocast autocast(arguments.device.type(), arguments.precision);
        logits = model->forward(x);
        loss = nn::functional::cross_entropy(logits, y);
      }
      optimizer.backward(loss);
      optimizer.step();
      right += logits.argmax(1).eq(y).sum().item<std::int64_t>();
      seen += y.size(0);
    }
    accuracy = static_cast<double>(right) / static_cast<double>(seen);
    std::printf("epoch %d: %.1f %% right\n", epoch, 100 * accuracy);
  }
  return accuracy > 0.9 ? 0 : 1;
}
