#include "halftone/examples/mixed_precision_paper/tasks.h"

#include <cmath>
#include <memory>

#include "halftone/examples/support/text.h"

namespace ht = halftone;
namespace nn = halftone::nn;
namespace F = halftone::nn::functional;

namespace {

constexpr std::int64_t kBatch = 64;

/// Everything that the traced backward computed, as one vector.
ht::Tensor gradients_in(const ht::amp::TraceLog& log) {
  std::vector<ht::Tensor> parts;
  for (const ht::amp::TraceOperator& op : log.operators) {
    if (op.kind != ht::amp::TraceKind::kOperator || op.phase != ht::amp::TracePhase::kBackward) continue;
    for (const ht::Tensor& value : op.values) {
      if (value.is_floating_point()) parts.push_back(value.flatten());
    }
  }
  return ht::cat(parts);
}

/// The loop all five share. `loss` computes the loss of one batch; it runs inside the autocast region.
template <class Optimizer>
void train(Optimizer& optimizer, std::int64_t steps, const Mode& mode,
           const std::function<ht::Tensor()>& loss_of_batch) {
  if (mode.loss_scaling) optimizer.use_loss_scaling();
  for (std::int64_t step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    ht::Tensor loss;
    {
      const ht::amp::Autocast autocast(ht::kCPU, mode.compute);
      loss = loss_of_batch();
    }
    if (mode.gradients && step + 1 == steps) {
      const ht::amp::Trace trace({.check_values = false, .histograms = false, .keep_results = true});
      optimizer.backward(loss);
      *mode.gradients = ht::amp::exponent_histogram(gradients_in(trace.log()));
    } else {
      optimizer.backward(loss);
    }
    optimizer.step();
    if (!mode.half_weights) continue;
    const ht::NoGradGuard no_grad;
    for (ht::Tensor& weight : optimizer.parameters()) weight.copy_(weight.to(ht::kHalf));
  }
}

/// What `measure` gives without recording, in the mode's precision.
double evaluate(const Mode& mode, const std::function<ht::Tensor()>& measure) {
  const ht::NoGradGuard no_grad;
  const ht::amp::Autocast autocast(ht::kCPU, mode.compute);
  return measure().item<double>();
}

/// Pictures of clothes as rows of numbers in [0, 1], and their classes.
struct Pictures {
  explicit Pictures(const std::string& folder)
      : train(ht::data::datasets::MNIST(folder)), test(folder, ht::data::datasets::MNIST::Mode::kTest) {}

  static ht::Tensor pixels(const ht::data::datasets::MNIST& set, const ht::Tensor& index) {
    return set.images().index_select(0, index).to(ht::kFloat) / 255;
  }
  ht::data::Example<> batch() const {
    const ht::Tensor index = ht::randint(train.images().size(0), {kBatch}, ht::kLong);
    return {pixels(train, index), train.targets().index_select(0, index)};
  }
  ht::data::Example<> test_set() const {
    const ht::Tensor index = ht::arange(2000);
    return {pixels(test, index), test.targets().index_select(0, index)};
  }

  ht::data::datasets::MNIST train, test;
};

double classify(const Pictures& pictures, nn::Sequential model, std::int64_t steps, double lr,
                const Mode& mode) {
  ht::optim::SGD optimizer(model->parameters(), ht::optim::SGDOptions(lr));
  train(optimizer, steps, mode, [&] {
    const ht::data::Example<> batch = pictures.batch();
    return F::cross_entropy(model->forward(batch.data), batch.target);
  });
  const ht::data::Example<> test = pictures.test_set();
  return 100 * evaluate(mode, [&] {
           return model->forward(test.data).argmax(1).eq(test.target).to(ht::kFloat).mean();
         });
}

/// A small learning rate: most updates are below half a unit in the last place of an fp16 weight.
double multilayer_perceptron(const Pictures& pictures, const Mode& mode) {
  return classify(pictures,
                  nn::Sequential(nn::Flatten(), nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10)), 600,
                  0.001, mode);
}

double convolutional(const Pictures& pictures, const Mode& mode) {
  return classify(pictures,
                  nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 8, 3).padding(1)), nn::ReLU(),
                                 nn::MaxPool2d(2), nn::Conv2d(nn::Conv2dOptions(8, 16, 3).padding(1)),
                                 nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(16 * 7 * 7, 10)),
                  300, 0.05, mode);
}

double autoencoder(const Pictures& pictures, const Mode& mode) {
  nn::Sequential model(nn::Flatten(), nn::Linear(784, 64), nn::ReLU(), nn::Linear(64, 784));
  ht::optim::Adam optimizer(model->parameters(), ht::optim::AdamOptions(1e-3));
  train(optimizer, 300, mode, [&] {
    const ht::Tensor x = pictures.batch().data;
    return F::mse_loss(model->forward(x), x.flatten(1));
  });
  const ht::Tensor x = pictures.test_set().data;
  return evaluate(mode, [&] { return F::mse_loss(model->forward(x), x.flatten(1)); });
}

/// One attention block over characters.
struct WriterImpl : nn::Module {
  static constexpr std::int64_t kWidth = 64, kHeads = 4, kTime = 32;

  explicit WriterImpl(std::int64_t characters) : token(characters, kWidth), head(kWidth, characters) {
    register_module("token", token);
    register_module("position", position);
    register_module("norm", norm);
    register_module("in", in);
    register_module("out", out);
    register_module("head", head);
  }
  ht::Tensor forward(const ht::Tensor& text) {
    ht::Tensor x = token->forward(text) + position->forward(ht::arange(text.size(1)));
    const auto parts = in->forward(norm->forward(x))
                           .view({text.size(0), text.size(1), 3 * kHeads, kWidth / kHeads})
                           .transpose(1, 2)
                           .chunk(3, 1);
    const ht::Tensor y =
        ht::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, /*is_causal=*/true);
    x = x + out->forward(y.transpose(1, 2).reshape(x.sizes()));
    return head->forward(x).flatten(0, 1);
  }

  nn::Embedding token, position{kTime, kWidth};
  nn::LayerNorm norm{nn::LayerNormOptions({kWidth})};
  nn::Linear in{kWidth, 3 * kWidth}, out{kWidth, kWidth}, head;
};
HALFTONE_MODULE(Writer);

double transformer(const Text& text, const Mode& mode) {
  Writer model(text.characters());
  ht::optim::Adam optimizer(model->parameters(), ht::optim::AdamOptions(3e-3));
  const auto loss = [&](const ht::data::Example<>& batch) {
    return F::cross_entropy(model->forward(batch.data), batch.target.flatten());
  };
  train(optimizer, 200, mode, [&] { return loss(text.random_batch(kBatch, WriterImpl::kTime)); });
  const ht::data::Example<> test = text.validation_batches(256, WriterImpl::kTime, 1).at(0);
  return evaluate(mode, [&] { return loss(test); });
}

/// Learns sin(3 x) from points. The loss is so small that its gradients vanish in fp16 unless they are
/// scaled.
double regression(const Mode& mode) {
  constexpr double kUnit = 1e-3;  // the targets are in thousandths, as physical quantities may be
  nn::Sequential model(nn::Linear(1, 64), nn::Tanh(), nn::Linear(64, 64), nn::Tanh(), nn::Linear(64, 1));
  ht::optim::Adam optimizer(model->parameters(), ht::optim::AdamOptions(1e-3));
  const auto loss = [&](const ht::Tensor& x) {
    return F::mse_loss(kUnit * model->forward(x), kUnit * ht::sin(3 * x));
  };
  train(optimizer, 600, mode, [&] { return loss(ht::rand({kBatch, 1}) * 2 - 1); });
  return std::sqrt(evaluate(mode, [&] { return loss(ht::linspace(-1, 1, 200).unsqueeze(1)); })) / kUnit;
}

}  // namespace

std::vector<Task> make_tasks(const std::string& fashion_mnist, const std::string& text_file) {
  const auto pictures = std::make_shared<Pictures>(fashion_mnist);
  const auto text = std::make_shared<Text>(ht::data::read_text(text_file), ht::kCPU);
  return {
      {"perceptron", "accuracy, %", true,
       [=](const Mode& mode) { return multilayer_perceptron(*pictures, mode); }},
      {"convolutional", "accuracy, %", true,
       [=](const Mode& mode) { return convolutional(*pictures, mode); }},
      {"autoencoder", "squared error", false, [=](const Mode& mode) { return autoencoder(*pictures, mode); }},
      {"transformer", "loss", false, [=](const Mode& mode) { return transformer(*text, mode); }},
      {"regression", "relative error", false, regression},
  };
}
