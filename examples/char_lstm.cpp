// A recurrent network that learns to write, character by character, from Newton's Opticks.

#include <cstdio>

#include "halftone/examples/support/arguments.h"
#include "halftone/examples/support/text.h"

namespace ht = halftone;
namespace nn = halftone::nn;
namespace F = halftone::nn::functional;

namespace {

constexpr std::int64_t kTime = 64, kWidth = 128;

struct WriterImpl : nn::Module {
  explicit WriterImpl(std::int64_t characters) : embedding(characters, 32), head(kWidth, characters) {
    register_module("embedding", embedding);
    register_module("lstm", lstm);
    register_module("head", head);
  }

  /// (batch, time) characters to (batch, time, characters) scores of the next one.
  ht::Tensor forward(const ht::Tensor& text) {
    const auto [output, state] = lstm->forward(embedding->forward(text));
    return head->forward(output);
  }

  nn::Embedding embedding;
  nn::LSTM lstm{nn::LSTMOptions(32, kWidth).num_layers(2).batch_first(true)};
  nn::Linear head;
};
HALFTONE_MODULE(Writer);

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments =
      parse_arguments(argc, argv, "Trains an LSTM on the characters of a text.",
                      {.steps = 400, .batch_size = 32, .lr = 3e-3, .data = HALFTONE_EXAMPLE_TEXT});
  const Text text(ht::data::read_text(arguments.data), arguments.device);
  Writer model(text.characters());
  model->to(arguments.device);
  ht::optim::Adam optimizer(model->parameters(), ht::optim::AdamOptions(arguments.lr));
  if (arguments.needs_loss_scaling()) optimizer.use_loss_scaling();

  const auto loss_of = [&](const ht::data::Example<>& batch) {
    const ht::amp::Autocast autocast(arguments.device.type(), arguments.precision);
    return F::cross_entropy(model->forward(batch.data).flatten(0, 1), batch.target.flatten());
  };
  const auto validation_loss = [&] {
    const ht::NoGradGuard no_grad;
    return loss_of(text.validation_batches(256, kTime, 1).at(0)).item<double>();
  };

  const double before = validation_loss();
  for (std::int64_t step = 1; step <= arguments.steps; ++step) {
    optimizer.zero_grad();
    const ht::Tensor loss = loss_of(text.random_batch(arguments.batch_size, kTime));
    optimizer.backward(loss);
    optimizer.clip_grad_norm_(1.0);
    optimizer.step();
    if (step % 100 == 0) {
      std::printf("step %4lld: loss %.4f\n", static_cast<long long>(step), loss.item<double>());
    }
  }
  const double after = validation_loss();
  std::printf("validation loss %.4f, at the start %.4f\n", after, before);

  const std::string written = text.write(200, kTime, [&](const ht::Tensor& context) {
    const ht::amp::Autocast autocast(arguments.device.type(), arguments.precision);
    return model->forward(context).select(1, -1);
  });
  std::printf("%s\n", written.c_str());
  return after < before ? 0 : 1;
}
