#pragma once

// The four small models that are measured, in source that compiles against halftone and against libtorch.

#include <functional>
#include <string>
#include <vector>

#include "halftone/bench/peers/library.h"
#include "halftone/bench/support/work.h"

namespace peers {

/// A model with one batch to train on. `loss` reads the tensors in `parameters` and `inputs` themselves, so
/// that set_data on them changes what it computes.
struct Task {
  std::vector<torch::Tensor> parameters, inputs;
  std::function<torch::Tensor()> loss;
};

struct CnnImpl : torch::nn::Module {
  torch::nn::Conv2d conv1{nullptr}, conv2{nullptr};
  torch::nn::Linear fc1{nullptr}, fc2{nullptr};

  CnnImpl() {
    conv1 = register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 32, 3)));
    conv2 = register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(32, 64, 3)));
    fc1 = register_module("fc1", torch::nn::Linear(64 * 12 * 12, 128));
    fc2 = register_module("fc2", torch::nn::Linear(128, 10));
  }
  torch::Tensor forward(const torch::Tensor& images) {
    torch::Tensor x = torch::relu(conv2(torch::relu(conv1(images))));
    x = torch::max_pool2d(x, 2).flatten(1);
    return fc2(torch::relu(fc1(x)));
  }
};
TORCH_MODULE(Cnn);

struct BlockImpl : torch::nn::Module {
  int64_t heads;
  torch::nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  torch::nn::Linear qkv{nullptr}, projection{nullptr}, up{nullptr}, down{nullptr};

  BlockImpl(int64_t width, int64_t head_count) : heads(head_count) {
    norm1 = register_module("norm1", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
    norm2 = register_module("norm2", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
    qkv = register_module("qkv", torch::nn::Linear(width, 3 * width));
    projection = register_module("projection", torch::nn::Linear(width, width));
    up = register_module("up", torch::nn::Linear(width, 4 * width));
    down = register_module("down", torch::nn::Linear(4 * width, width));
  }
  torch::Tensor forward(torch::Tensor x) {
    const int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
    const torch::Tensor packed =
        qkv(norm1(x)).view({batch, length, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
    const torch::Tensor attended = causal_attention(packed[0], packed[1], packed[2]);
    x = x + projection(attended.transpose(1, 2).reshape({batch, length, width}));
    return x + down(torch::gelu(up(norm2(x))));
  }
};
TORCH_MODULE(Block);

struct CharGptImpl : torch::nn::Module {
  torch::nn::Embedding tokens{nullptr}, positions{nullptr};
  std::vector<Block> blocks;
  torch::nn::LayerNorm norm{nullptr};
  torch::nn::Linear head{nullptr};
  torch::Tensor places;

  CharGptImpl(int64_t vocabulary, int layers, int64_t width, int64_t heads, int64_t context) {
    tokens = register_module("tokens", torch::nn::Embedding(vocabulary, width));
    positions = register_module("positions", torch::nn::Embedding(context, width));
    for (int i = 0; i < layers; ++i)
      blocks.push_back(register_module("block" + std::to_string(i), Block(width, heads)));
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
    head = register_module("head", torch::nn::Linear(width, vocabulary));
    places = torch::arange(context);
  }
  torch::Tensor forward(const torch::Tensor& text) {
    torch::Tensor x = tokens(text) + positions(places);
    for (Block& block : blocks) x = block(x);
    return head(norm(x));
  }
};
TORCH_MODULE(CharGpt);

/// Float logits whatever autocast made of them, as the loss is usually computed.
inline torch::Tensor class_loss(const torch::Tensor& logits, const torch::Tensor& classes) {
  return torch::nn::functional::cross_entropy(logits.to(torch::kFloat), classes);
}

/// mlp, tiny, cnn or gpt, with the batch given or its own; a task without a loss for any other name.
inline Task make_task(const std::string& name, int64_t batch = 0) {
  namespace nn = torch::nn;
  const halftone::bench::StepModel* known = halftone::bench::step_model(name);
  if (!known) return {};
  if (batch == 0) batch = known->batch;
  torch::manual_seed(1);
  if (name == "mlp") {
    nn::Sequential model(nn::Linear(784, 512), nn::ReLU(), nn::Linear(512, 512), nn::ReLU(),
                         nn::Linear(512, 10));
    const torch::Tensor x = torch::randn({batch, 784}), y = torch::randint(10, {batch}, torch::kLong);
    return {model->parameters(), {x}, [=]() mutable { return class_loss(model->forward(x), y); }};
  }
  if (name == "tiny") {
    nn::Sequential model(nn::Linear(16, 32), nn::ReLU(), nn::Linear(32, 1));
    const torch::Tensor x = torch::randn({batch, 16}), y = torch::randn({batch, 1});
    return {model->parameters(), {x, y}, [=]() mutable {
              return torch::mse_loss(model->forward(x).to(torch::kFloat), y);
            }};
  }
  if (name == "cnn") {
    Cnn model;
    const torch::Tensor x = torch::randn({batch, 1, 28, 28}), y = torch::randint(10, {batch}, torch::kLong);
    return {model->parameters(), {x}, [=]() mutable { return class_loss(model->forward(x), y); }};
  }
  CharGpt model(96, 4, 128, 4, 128);
  const torch::Tensor x = torch::randint(96, {batch, 128}, torch::kLong),
                      y = torch::randint(96, {batch * 128}, torch::kLong);
  return {model->parameters(), {}, [=]() mutable { return class_loss(model->forward(x).view({-1, 96}), y); }};
}

}  // namespace peers
