// Whole models on weights that are the same everywhere: recurrent, attentive and convolutional ones, trained
// a few steps. The numbers are what libtorch 1.13 prints.

#include <cmath>
#include <cstdint>
#include <sstream>
#include <tuple>
#include <vector>

#include "halftone/tests/porting/check.h"

namespace {

/// Every parameter a sine wave of its own, in the order of named_parameters().
void fill(torch::nn::Module& module, double size) {
  torch::NoGradGuard no_grad;
  int phase = 1;
  for (auto& item : module.named_parameters()) {
    torch::Tensor& parameter = item.value();
    const auto wave = torch::sin(torch::arange(parameter.numel(), torch::kFloat) * 0.7 + phase++);
    parameter.copy_(wave.view(parameter.sizes()) * size);
  }
}

bool near(double a, double b, double tolerance = 1e-4) { return std::abs(a - b) <= tolerance; }

/// Whether these are the first numbers of a tensor.
bool starts_with(const torch::Tensor& tensor, const std::vector<double>& values, double tolerance = 1e-4) {
  const auto flat = tensor.detach().flatten().to(torch::kDouble);
  bool all = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    all = all && near(flat[static_cast<std::int64_t>(i)].item<double>(), values[i], tolerance);
  }
  return all;
}

struct LanguageModelImpl : torch::nn::Module {
  using State = std::tuple<torch::Tensor, torch::Tensor>;

  LanguageModelImpl(std::int64_t words, std::int64_t features, std::int64_t hidden, std::int64_t layers)
      : encoder(words, features),
        lstm(torch::nn::LSTMOptions(features, hidden).num_layers(layers)),
        decoder(hidden, words) {
    register_module("encoder", encoder);
    register_module("rnn", lstm);
    register_module("decoder", decoder);
  }
  std::tuple<torch::Tensor, State> forward(torch::Tensor input, State state) {
    auto [output, next] = lstm->forward(encoder(input), state);
    return std::make_tuple(decoder(output.view({-1, output.size(2)})), next);
  }
  torch::nn::Embedding encoder;
  torch::nn::LSTM lstm;
  torch::nn::Linear decoder;
};
TORCH_MODULE(LanguageModel);

void language_model() {
  LanguageModel model(11, 6, 5, 2);
  fill(*model, 0.3);
  const auto text = (torch::arange(40) * 7 % 11).view({10, 4});
  torch::optim::SGD optimizer(model->parameters(), 0.5);
  torch::nn::CrossEntropyLoss criterion;
  const std::vector<double> losses{2.42162, 2.42670, 2.43380, 2.41063, 2.41504, 2.42211};
  const std::vector<double> norms{0.11514, 0.12211, 0.12838, 0.10206, 0.10766, 0.11569};
  std::size_t step = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    auto state = std::make_tuple(torch::zeros({2, 4, 5}), torch::zeros({2, 4, 5}));
    for (std::int64_t i = 0; i + 3 < text.size(0); i += 3, ++step) {
      // Backward stops where the piece of text begins.
      state = std::make_tuple(std::get<0>(state).detach(), std::get<1>(state).detach());
      model->zero_grad();
      torch::Tensor output;
      std::tie(output, state) = model->forward(text.slice(0, i, i + 3), state);
      const auto loss = criterion(output, text.slice(0, i + 1, i + 4).reshape({-1}));
      loss.backward();
      const double norm = torch::nn::utils::clip_grad_norm_(model->parameters(), 0.25);
      optimizer.step();
      PORTING_CHECK(near(loss.item<double>(), losses[step]));
      PORTING_CHECK(near(norm, norms[step]));
    }
  }
}

void recurrent_layers() {
  torch::nn::GRU gru(torch::nn::GRUOptions(3, 4).bidirectional(true).batch_first(true));
  fill(*gru, 0.3);
  const auto [output, state] = gru->forward(torch::ones({2, 3, 3}));
  PORTING_CHECK(starts_with(output, {-0.0447, 0.2966, -0.1394, -0.2984, -0.2411, 0.1698, 0.7715, -0.0645}));
  PORTING_CHECK(state.sizes() == torch::IntArrayRef({2, 2, 4}));

  torch::nn::RNN rnn(torch::nn::RNNOptions(3, 4).nonlinearity(torch::kReLU));
  fill(*rnn, 0.3);
  PORTING_CHECK(
      starts_with(std::get<0>(rnn(torch::ones({2, 1, 3}))), {0.5679, 0, 0, 0.4184, 0.6201, 0, 0, 0.2691}));

  torch::nn::LSTMCell cell(3, 4);
  fill(*cell, 0.3);
  const auto [h, c] = cell(torch::ones({2, 3}));
  PORTING_CHECK(starts_with(h, {-0.0352, 0.0541, -0.1197, -0.2881}));
  PORTING_CHECK(starts_with(c, {-0.0585, 0.1431, -0.2302, -0.3879}));
  const auto next = cell->forward(torch::ones({2, 3}), std::make_tuple(h, c));
  PORTING_CHECK(starts_with(std::get<0>(next), {-0.0882, 0.0839, -0.2156, -0.4012}));

  const auto lengths = torch::tensor({3, 1});
  torch::nn::LSTM lstm(3, 2);
  fill(*lstm, 0.3);
  const auto packed = torch::nn::utils::rnn::pack_padded_sequence(torch::ones({3, 2, 3}), lengths);
  const auto [result, last] = lstm->forward_with_packed_input(packed);
  const auto [padded, counts] = torch::nn::utils::rnn::pad_packed_sequence(result);
  PORTING_CHECK(
      starts_with(padded, {-0.2111, 0.0103, -0.2111, 0.0103, -0.2931, 0.0132, 0, 0, -0.3257, 0.0134, 0, 0}));
  PORTING_CHECK(starts_with(std::get<0>(last), {-0.3257, 0.0134, -0.2111, 0.0103}));
  PORTING_CLOSE(counts, lengths);
}

void attention() {
  const auto x = torch::arange(48, torch::kFloat).view({3, 2, 8}) * 0.01;
  torch::nn::MultiheadAttention layer(torch::nn::MultiheadAttentionOptions(8, 2));
  fill(*layer, 0.3);
  const auto [output, weights] = layer(x, x, x);
  PORTING_CHECK(starts_with(output, {-0.4437, -0.3261, -0.0557, 0.2446, 0.4364, 0.4291, 0.2231, -0.0890}));
  PORTING_CHECK(starts_with(weights, {0.3370, 0.3333, 0.3297, 0.3366}));

  torch::nn::Transformer transformer(
      torch::nn::TransformerOptions(8, 2, 1, 1).dim_feedforward(16).dropout(0));
  fill(*transformer, 0.3);
  const auto mask = torch::nn::TransformerImpl::generate_square_subsequent_mask(3);
  PORTING_CHECK(starts_with(transformer(x, x, torch::Tensor(), mask),
                            {0.0504, 0.1165, -0.2341, -0.5639, -0.3292, 0.3597, 0.3296, 0.3174}));
  std::string names;
  torch::nn::TransformerDecoderLayer decoder(8, 2);
  for (const auto& item : decoder->named_parameters()) names += item.key() + " ";
  PORTING_CHECK(names.find("linear2.bias norm1.weight norm1.bias norm2.weight norm2.bias norm3.weight") !=
                std::string::npos);
}

struct GeneratorImpl : torch::nn::Module {
  GeneratorImpl()
      : conv1(torch::nn::ConvTranspose2dOptions(10, 16, 4).bias(false)),
        norm1(16),
        conv2(torch::nn::ConvTranspose2dOptions(16, 8, 3).stride(2).padding(1).bias(false)),
        norm2(8),
        conv3(torch::nn::ConvTranspose2dOptions(8, 4, 4).stride(2).padding(1).bias(false)),
        norm3(4),
        conv4(torch::nn::ConvTranspose2dOptions(4, 1, 4).stride(2).padding(1).bias(false)) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("conv3", conv3);
    register_module("conv4", conv4);
    register_module("batch_norm1", norm1);
    register_module("batch_norm2", norm2);
    register_module("batch_norm3", norm3);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(norm1(conv1(x)));
    x = torch::relu(norm2(conv2(x)));
    x = torch::relu(norm3(conv3(x)));
    return torch::tanh(conv4(x));
  }
  torch::nn::ConvTranspose2d conv1;
  torch::nn::BatchNorm2d norm1;
  torch::nn::ConvTranspose2d conv2;
  torch::nn::BatchNorm2d norm2;
  torch::nn::ConvTranspose2d conv3;
  torch::nn::BatchNorm2d norm3;
  torch::nn::ConvTranspose2d conv4;
};
TORCH_MODULE(Generator);

void adversaries() {
  using namespace torch::nn;
  Generator generator;
  Sequential discriminator(Conv2d(Conv2dOptions(1, 4, 4).stride(2).padding(1).bias(false)),
                           LeakyReLU(LeakyReLUOptions().negative_slope(0.2)),
                           Conv2d(Conv2dOptions(4, 8, 4).stride(2).padding(1).bias(false)), BatchNorm2d(8),
                           LeakyReLU(LeakyReLUOptions().negative_slope(0.2)),
                           Conv2d(Conv2dOptions(8, 16, 4).stride(2).padding(1).bias(false)),
                           BatchNorm2d(BatchNorm2dOptions(16).eps(1e-4).momentum(0.2)),
                           LeakyReLU(LeakyReLUOptions().negative_slope(0.2)),
                           Conv2d(Conv2dOptions(16, 1, 3).stride(1).padding(0).bias(false)), Sigmoid());
  fill(*generator, 0.1);
  fill(*discriminator, 0.1);
  const auto options = torch::optim::AdamOptions(2e-4).betas(std::make_tuple(0.5, 0.5));
  torch::optim::Adam generator_optimizer(generator->parameters(), options);
  torch::optim::Adam discriminator_optimizer(discriminator->parameters(), options);
  const auto real = torch::sin(torch::arange(4 * 28 * 28, torch::kFloat)).view({4, 1, 28, 28});
  const auto noise = torch::cos(torch::arange(40, torch::kFloat)).view({4, 10, 1, 1});
  const std::vector<double> discriminator_losses{1.4219, 1.4199, 1.4180},
      generator_losses{0.6761, 0.6763, 0.6765};
  for (std::size_t step = 0; step < 3; ++step) {
    discriminator->zero_grad();
    const auto judge = [&](const torch::Tensor& images, double label) {
      const auto output = discriminator->forward(images).reshape({4});
      return torch::binary_cross_entropy(output, torch::full({4}, label, torch::kFloat));
    };
    const auto real_loss = judge(real, 0.9);
    real_loss.backward();
    const auto fakes = generator->forward(noise);
    const auto fake_loss = judge(fakes.detach(), 0);
    fake_loss.backward();
    discriminator_optimizer.step();
    generator->zero_grad();
    const auto generator_loss = judge(fakes, 1);
    generator_loss.backward();
    generator_optimizer.step();
    PORTING_CHECK(near((real_loss + fake_loss).item<double>(), discriminator_losses[step]));
    PORTING_CHECK(near(generator_loss.item<double>(), generator_losses[step]));
  }
  std::stringstream stream;
  torch::save(generator, stream);
  Generator copy;
  torch::load(copy, stream);
  PORTING_CLOSE(copy->norm1->running_mean, generator->norm1->running_mean, 0);
  PORTING_CHECK(copy->norm1->num_batches_tracked.item<std::int64_t>() == 3);
}

}  // namespace

int main() {
  language_model();
  recurrent_layers();
  attention();
  adversaries();
  return porting::result("models");
}
