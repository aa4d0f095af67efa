// Saving and loading: tensors, modules, optimizers, archives, to files and streams.

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "halftone/tests/porting/check.h"

namespace {

struct NetImpl : torch::nn::Module {
  NetImpl() {
    fc1 = register_module("fc1", torch::nn::Linear(3, 4));
    fc2 = register_module("fc2", torch::nn::Linear(4, 2));
    scale = register_parameter("scale", torch::ones({1}));
    count = register_buffer("count", torch::zeros({1}));
  }
  torch::Tensor forward(torch::Tensor x) {
    return fc2->forward(torch::relu(fc1->forward(x))) * scale + count;
  }
  torch::nn::Linear fc1{nullptr}, fc2{nullptr};
  torch::Tensor scale, count;
};
TORCH_MODULE(Net);

const char* const kPath = "porting_serialization.pt";

void tensors() {
  const auto x = torch::arange(6, torch::kFloat).reshape({2, 3});
  std::stringstream stream;
  torch::save(x, stream);
  torch::Tensor y;
  torch::load(y, stream);
  PORTING_CLOSE(y, x, 0);

  // Each into a tensor of its own: libtorch cannot resize one that was loaded.
  torch::Tensor transposed;
  torch::save(x.t(), kPath);
  torch::load(transposed, kPath);
  PORTING_CLOSE(transposed, x.t(), 0);

  std::vector<torch::Tensor> list{x, torch::ones({2}, torch::kLong), torch::zeros({0})}, back;
  torch::save(list, kPath);
  torch::load(back, kPath);
  PORTING_CHECK(back.size() == 3);
  PORTING_CLOSE(back[0], x, 0);
  PORTING_CHECK(back[1].scalar_type() == torch::kLong && back[2].numel() == 0);

  const auto half = torch::tensor({1.5, -2.0}).to(torch::kBFloat16);
  std::stringstream halves;
  torch::save(half, halves);
  torch::Tensor loaded;
  torch::load(loaded, halves);
  PORTING_CHECK(loaded.scalar_type() == torch::kBFloat16);
  PORTING_CLOSE(loaded.to(torch::kFloat), half.to(torch::kFloat), 0);
}

void modules() {
  torch::manual_seed(2);
  Net net, other;
  net->count.fill_(3);
  const auto x = torch::rand({5, 3});
  PORTING_CHECK(!torch::allclose(net->forward(x), other->forward(x)));
  torch::save(net, kPath);
  torch::load(other, kPath);
  PORTING_CLOSE(net->forward(x), other->forward(x), 1e-6);
  PORTING_CHECK(other->count.item<float>() == 3);

  std::stringstream stream;
  torch::save(net->fc1, stream);
  torch::nn::Linear layer(3, 4);
  torch::load(layer, stream);
  PORTING_CLOSE(layer->weight, net->fc1->weight, 0);

  auto shared = std::make_shared<NetImpl>();
  torch::load(shared, kPath);
  PORTING_CLOSE(shared->fc2->bias, net->fc2->bias, 0);

  torch::nn::Sequential sequential(torch::nn::Linear(2, 2), torch::nn::ReLU()),
      same(torch::nn::Linear(2, 2), torch::nn::ReLU());
  std::stringstream layers;
  torch::save(sequential, layers);
  torch::load(same, layers);
  PORTING_CLOSE(sequential->forward(torch::ones({1, 2})), same->forward(torch::ones({1, 2})), 0);
}

void optimizers() {
  torch::nn::Linear a(2, 1), b(2, 1);
  std::stringstream weights, state;
  torch::optim::Adam first(a->parameters(), torch::optim::AdamOptions(0.1));
  const auto step = [](torch::nn::Linear& layer, torch::optim::Optimizer& optimizer) {
    optimizer.zero_grad();
    layer->forward(torch::ones({1, 2})).pow(2).sum().backward();
    optimizer.step();
  };
  step(a, first);
  step(a, first);
  torch::save(a, weights);
  torch::save(first, state);
  torch::load(b, weights);
  torch::optim::Adam second(b->parameters(), torch::optim::AdamOptions(0.1));
  torch::load(second, state);
  step(a, first);
  step(b, second);
  PORTING_CLOSE(a->weight, b->weight, 1e-6);
  PORTING_CLOSE(a->bias, b->bias, 1e-6);
}

void archives() {
  torch::serialize::OutputArchive nested, archive;
  nested.write("x", torch::ones({2, 2}));
  archive.write("nested", nested);
  archive.write("y", torch::zeros({3}), /*is_buffer=*/true);
  std::stringstream stream;
  archive.save_to(stream);
  torch::serialize::InputArchive input, inside;
  input.load_from(stream);
  torch::Tensor x, y;
  input.read("y", y, /*is_buffer=*/true);
  PORTING_CHECK(y.numel() == 3);
  input.read("nested", inside);
  inside.read("x", x);
  PORTING_CLOSE(x, torch::ones({2, 2}), 0);
  PORTING_CHECK(!input.try_read("z", x));
  PORTING_THROWS(input.read("z", x));
  torch::serialize::OutputArchive model;
  torch::nn::Linear layer(2, 2), copy(2, 2);
  layer->save(model);
  std::stringstream file;
  model.save_to(file);
  torch::serialize::InputArchive loaded;
  loaded.load_from(file);
  copy->load(loaded);
  PORTING_CLOSE(copy->weight, layer->weight, 0);
}

void refusals() {
  torch::Tensor x;
  PORTING_THROWS(torch::load(x, "there_is_no_such_file.pt"));
  std::istringstream garbage("this is not an archive");
  PORTING_THROWS(torch::load(x, garbage));
}

}  // namespace

int main() {
  tensors();
  modules();
  optimizers();
  archives();
  refusals();
  std::remove(kPath);
  return porting::result("serialization");
}
