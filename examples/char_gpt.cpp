// A small GPT that learns to write, character by character, from Newton's Opticks: 4 layers, 4 heads, 128
// numbers per character, 128 characters of context.

#include <cstdio>

#include "halftone/examples/support/arguments.h"
#include "halftone/examples/support/text.h"

namespace ht = halftone;
namespace nn = halftone::nn;
namespace F = halftone::nn::functional;

namespace {

constexpr std::int64_t kLayers = 4, kHeads = 4, kWidth = 128, kContext = 128;

struct BlockImpl : nn::Module {
  BlockImpl() {
    register_module("norm1", norm1);
    register_module("attention_in", attention_in);
    register_module("attention_out", attention_out);
    register_module("norm2", norm2);
    register_module("mlp", mlp);
  }

  ht::Tensor forward(ht::Tensor x) {
    x = x + attention(norm1->forward(x));
    return x + mlp->forward(norm2->forward(x));
  }

  /// (batch, time, width) to the same; no position sees a later one.
  ht::Tensor attention(const ht::Tensor& x) {
    const std::int64_t batch = x.size(0), time = x.size(1);
    const auto parts =
        attention_in->forward(x).view({batch, time, 3 * kHeads, kWidth / kHeads}).transpose(1, 2).chunk(3, 1);
    const ht::Tensor y =
        ht::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, /*is_causal=*/true);
    return attention_out->forward(y.transpose(1, 2).reshape({batch, time, kWidth}));
  }

  nn::LayerNorm norm1{nn::LayerNormOptions({kWidth})}, norm2{nn::LayerNormOptions({kWidth})};
  nn::Linear attention_in{kWidth, 3 * kWidth}, attention_out{kWidth, kWidth};
  nn::Sequential mlp{nn::Linear(kWidth, 4 * kWidth), nn::GELU(), nn::Linear(4 * kWidth, kWidth)};
};
HALFTONE_MODULE(Block);

struct GptImpl : nn::Module {
  explicit GptImpl(std::int64_t characters)
      : token(characters, kWidth), head(nn::LinearOptions(kWidth, characters).bias(false)) {
    register_module("token", token);
    register_module("position", position);
    for (std::int64_t i = 0; i < kLayers; ++i) blocks->push_back(Block());
    register_module("blocks", blocks);
    register_module("norm", norm);
    register_module("head", head);
    for (const ht::Tensor& parameter : parameters()) {
      if (parameter.dim() == 2) nn::init::normal_(parameter, 0.0, 0.02);
    }
  }

  /// (batch, time) characters to (batch, time, characters) scores of the next one.
  ht::Tensor forward(const ht::Tensor& text) {
    const ht::Tensor places = ht::arange(text.size(1), ht::dtype(ht::kLong).device(text.device()));
    return head->forward(norm->forward(blocks->forward(token->forward(text) + position->forward(places))));
  }

  nn::Embedding token, position{kContext, kWidth};
  nn::Sequential blocks;
  nn::LayerNorm norm{nn::LayerNormOptions({kWidth})};
  nn::Linear head;
};
HALFTONE_MODULE(Gpt);

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments =
      parse_arguments(argc, argv, "Trains a small GPT on the characters of a text.",
                      {.steps = 500, .batch_size = 16, .lr = 1e-3, .data = HALFTONE_EXAMPLE_TEXT});
  const Text text(ht::data::read_text(arguments.data), arguments.device);
  Gpt model(text.characters());
  model->to(arguments.device);
  ht::optim::AdamW optimizer(model->parameters(), ht::optim::AdamWOptions(arguments.lr).weight_decay(0.1));
  ht::optim::CosineAnnealingLR schedule(optimizer, arguments.steps);
  if (arguments.needs_loss_scaling()) optimizer.use_loss_scaling();

  const auto loss_of = [&](const ht::data::Example<>& batch) {
    const ht::amp::Autocast autocast(arguments.device.type(), arguments.precision);
    return F::cross_entropy(model->forward(batch.data).flatten(0, 1), batch.target.flatten());
  };
  const auto validation_loss = [&] {
    const ht::NoGradGuard no_grad;
    double sum = 0;
    const auto batches = text.validation_batches(arguments.batch_size, kContext, 20);
    for (const auto& batch : batches) sum += loss_of(batch).item<double>();
    return sum / static_cast<double>(batches.size());
  };

  const double before = validation_loss();
  for (std::int64_t step = 1; step <= arguments.steps; ++step) {
    optimizer.zero_grad();
    const ht::Tensor loss = loss_of(text.random_batch(arguments.batch_size, kContext));
    optimizer.backward(loss);
    optimizer.clip_grad_norm_(1.0);
    schedule.step(optimizer.step());
    if (step % 100 == 0)
      std::printf("step %4lld: loss %.4f\n", static_cast<long long>(step), loss.item<double>());
  }
  const double after = validation_loss();
  std::printf("validation loss %.4f, at the start %.4f\n", after, before);

  std::printf("%s\n", text.write(200, kContext,
                                 [&](const ht::Tensor& context) {
                                   const ht::amp::Autocast autocast(arguments.device.type(),
                                                                    arguments.precision);
                                   return model->forward(context).select(1, -1);
                                 })
                          .c_str());
  return after < before ? 0 : 1;
}
