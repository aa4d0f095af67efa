// What mixed precision is for, end to end on small models: memory halves, scaling saves gradients from fp16's
// floor, accuracy stays, and nothing depends on the number of threads.

#include <cmath>

#include <catch2/catch.hpp>

#include "halftone/halftone.h"
#include "halftone/tests/support/device.h"

using namespace halftone;

namespace {

nn::Sequential mlp(std::int64_t width = 512) {
  return nn::Sequential(nn::Linear(784, width), nn::ReLU(), nn::Linear(width, width), nn::ReLU(),
                        nn::Linear(width, 10));
}

std::size_t saved_bytes_of_mlp(std::int64_t batch, Dtype dtype) {
  manual_seed(1);
  nn::Sequential model = mlp();
  const Tensor x = randn({batch, 784}), y = randint(10, {batch});
  const amp::Autocast autocast(test::device_type(), dtype);
  return autograd::saved_bytes(nn::functional::cross_entropy(model->forward(x), y));
}

bool same(const Tensor& a, const Tensor& b) { return equal(a.detach().to(kDouble), b.detach().to(kDouble)); }

}  // namespace

TEST_CASE("autocast keeps at most 0.52 of the activation bytes of fp32") {
  for (std::int64_t batch : {256, 2048}) {
    const auto fp32 = static_cast<double>(saved_bytes_of_mlp(batch, kFloat));
    CHECK(fp32 >= static_cast<double>(batch) * (784 + 512 + 512) * 4);
    for (Dtype dtype : {kBFloat16, kHalf}) {
      INFO("batch " << batch << ", " << dtype_name(dtype));
      CHECK(static_cast<double>(saved_bytes_of_mlp(batch, dtype)) <= 0.52 * fp32);
    }
  }
}

TEST_CASE("a deep narrow MLP with a large batch halves too, and the report names what kept fp32") {
  manual_seed(2);
  nn::Sequential model(nn::Linear(64, 64), nn::ReLU(), nn::Linear(64, 64), nn::ReLU(), nn::Linear(64, 64),
                       nn::ReLU(), nn::Linear(64, 10));
  const Tensor x = randn({4096, 64}), y = randint(10, {4096});
  const auto loss = [&](Dtype dtype) {
    const amp::Autocast autocast(test::device_type(), dtype);
    return nn::functional::cross_entropy(model->forward(x), y);
  };
  const Tensor full = loss(kFloat), low = loss(kBFloat16);
  CHECK(static_cast<double>(autograd::saved_bytes(low)) <=
        0.52 * static_cast<double>(autograd::saved_bytes(full)));
  for (const autograd::SavedInfo& saved : autograd::saved_tensors(low)) {
    INFO(saved.op);
    CHECK((saved.dtype != kFloat || saved.bytes <= 4096 * 4));  // at most a number per row
  }
}

// Micikevicius et al., arXiv 1710.03740, section 3.2: gradients below 2^-24 are lost in fp16, and scaling
// moves them up.
TEST_CASE("the share of gradient values that fp16 flushes to zero falls as the scale grows") {
  manual_seed(3);
  const Tensor w = (randn({64, 64}) * 0.1).set_requires_grad(true);
  const Tensor x = randn({128, 64});
  const auto flushed_share = [&](double scale) {
    w.mutable_grad().reset();
    amp::LossScaling scaling = amp::LossScaling::fixed(scale);
    Tensor loss;
    {
      const amp::Autocast autocast(test::device_type(), kHalf);
      loss = x.matmul(w).to(kFloat).square().mean() * 1e-5;
    }
    scaling.scale(loss).backward();
    return w.grad().eq(0).to(kFloat).mean().item<double>();
  };
  double previous = 1.1;
  for (double scale : {1.0, 16.0, 256.0, 4096.0, 65536.0}) {
    const double share = flushed_share(scale);
    INFO("scale " << scale << ": " << share);
    CHECK(share <= previous);
    previous = share;
  }
  CHECK(flushed_share(1) > 0.5);
  CHECK(flushed_share(65536) < 0.01);
}

TEST_CASE("small gradients lose their updates in fp16 without scaling, and keep them with it") {
  const auto train = [](bool scaled) {
    manual_seed(4);
    nn::Linear model(nn::LinearOptions(32, 32).bias(false));
    const Tensor before = model->weight.detach().clone();
    optim::SGD optimizer(model->parameters(), optim::SGDOptions(1e6));
    if (scaled) optimizer.use_loss_scaling(amp::LossScaling::fixed(65536));
    const Tensor x = randn({64, 32});
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      Tensor loss;
      {
        const amp::Autocast autocast(test::device_type(), kHalf);
        loss = model->forward(x).to(kFloat).mean() * 1e-6;
      }
      optimizer.backward(loss);
      optimizer.step();
    }
    return (model->weight.detach() - before).abs().mean().item<double>();
  };
  CHECK(train(false) == 0);
  CHECK(train(true) > 1e-4);
}

namespace {

struct Trained {
  std::vector<Tensor> weights;
  std::vector<float> losses;
};

Trained train_mlp(Dtype dtype, int threads, bool half_weights = false) {
  const int before = get_num_threads();
  set_num_threads(threads);
  manual_seed(5);
  nn::Sequential model = mlp(256);
  if (half_weights) model->to(kHalf);
  optim::AdamW optimizer(model->parameters(), optim::AdamWOptions(1e-3));
  if (dtype == kHalf) optimizer.use_loss_scaling(amp::LossScalingOptions().init_scale(1024));
  Trained trained;
  for (int step = 0; step < 5; ++step) {
    const Tensor x = randn({200, 784}), y = randint(10, {200});
    optimizer.zero_grad();
    Tensor loss;
    {
      const amp::Autocast autocast(test::device_type(), dtype);
      loss = nn::functional::cross_entropy(model->forward(half_weights ? x.to(kHalf) : x), y);
    }
    optimizer.backward(loss);
    optimizer.clip_grad_norm_(1.0);
    optimizer.step();
    trained.losses.push_back(loss.item<float>());
  }
  for (const Tensor& weight : model->parameters()) trained.weights.push_back(weight.detach().clone());
  set_num_threads(before);
  return trained;
}

}  // namespace

TEST_CASE("training gives the same bits with 1, 2 and 5 threads, in every precision") {
  for (bool half_weights : {false, true}) {
    for (Dtype dtype : {kFloat, kBFloat16, kHalf}) {
      if (half_weights && dtype != kHalf) continue;
      INFO(dtype_name(dtype) << (half_weights ? " weights" : ""));
      const Trained one = train_mlp(dtype, 1, half_weights);
      for (int threads : {2, 5}) {
        const Trained many = train_mlp(dtype, threads, half_weights);
        CHECK(many.losses == one.losses);
        for (std::size_t i = 0; i < one.weights.size(); ++i) CHECK(same(many.weights[i], one.weights[i]));
      }
    }
  }
}

TEST_CASE("AMP switched off is the plain fp32 step, bit for bit") {
  const auto train = [](bool through_amp) {
    manual_seed(6);
    nn::Sequential model = mlp(64);
    optim::AdamW optimizer(model->parameters(), optim::AdamWOptions(1e-2));
    amp::GradScaler scaler(amp::GradScalerOptions().enabled(false));
    for (int step = 0; step < 4; ++step) {
      const Tensor x = randn({32, 784}), y = randint(10, {32});
      optimizer.zero_grad();
      if (through_amp) {
        Tensor loss;
        {
          const amp::Autocast autocast(test::device_type(), /*enabled=*/false);
          loss = nn::functional::cross_entropy(model->forward(x), y);
        }
        scaler.scale(loss).backward();
        scaler.unscale_(optimizer);
        nn::utils::clip_grad_norm_(model->parameters(), 1.0);
        scaler.step(optimizer);
        scaler.update();
      } else {
        nn::functional::cross_entropy(model->forward(x), y).backward();
        nn::utils::clip_grad_norm_(model->parameters(), 1.0);
        optimizer.step();
      }
    }
    std::vector<Tensor> weights;
    for (const Tensor& weight : model->parameters()) weights.push_back(weight.detach().clone());
    return weights;
  };
  const auto plain = train(false), amp_off = train(true);
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(same(plain[i], amp_off[i]));
}

TEST_CASE("the whole loop inside the region gives the same weights as outside") {
  const auto train = [](bool inside) {
    manual_seed(7);
    nn::Sequential model = mlp(64);
    optim::SGD optimizer(model->parameters(), optim::SGDOptions(0.1).momentum(0.9));
    const auto step = [&](bool own_region) {
      const Tensor x = randn({32, 784}), y = randint(10, {32});
      optimizer.zero_grad();
      Tensor loss;
      {
        std::optional<amp::Autocast> autocast;
        if (own_region) autocast.emplace(test::device_type(), kBFloat16);
        loss = nn::functional::cross_entropy(model->forward(x), y);
      }
      loss.backward();
      optimizer.step();
    };
    if (inside) {
      const amp::Autocast autocast(test::device_type(), kBFloat16);
      for (int i = 0; i < 4; ++i) step(false);
    } else {
      for (int i = 0; i < 4; ++i) step(true);
    }
    std::vector<Tensor> weights;
    for (const Tensor& weight : model->parameters()) weights.push_back(weight.detach().clone());
    return weights;
  };
  const auto outside = train(false), inside = train(true);
  for (std::size_t i = 0; i < outside.size(); ++i) CHECK(same(outside[i], inside[i]));
}
