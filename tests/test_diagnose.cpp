// amp::diagnose: planted faults are called by their names, and healthy steps raise no alarm.

#include <cmath>
#include <optional>

#include <catch2/catch.hpp>

#include "halftone/halftone.h"
#include "halftone/tests/support/device.h"
#include "halftone/tests/support/training.h"

using namespace halftone;
using amp::Fault;
using test::contains;

namespace {

/// A classifier of six layers and everything that trains it.
struct Training {
  nn::Sequential model;
  Tensor x = rand({64, 32}), y = randint(4, {64});
  Dtype compute = kHalf;
  std::optional<optim::SGD> optimizer;
  std::optional<amp::GradScaler> scaler;

  explicit Training(bool scaled = true) {
    manual_seed(11);
    for (int i = 1; i <= 5; ++i) {
      model->push_back("fc" + std::to_string(i), nn::Linear(32, 32));
      model->push_back("act" + std::to_string(i), nn::ReLU());
    }
    model->push_back("head", nn::Linear(32, 4));
    optimizer.emplace(model->named_parameters(), optim::SGDOptions(0.05));
    scaler.emplace(amp::GradScalerOptions().init_scale(1024).enabled(scaled));
  }

  Tensor parameter(const std::string& name) { return model->named_parameters()[name]; }
  Tensor forward() {
    const amp::Autocast autocast(test::device_type(), compute);
    return nn::functional::cross_entropy(model->forward(x), y);
  }
  void backward_and_step(const Tensor& loss) {
    scaler->scale(loss).backward();
    scaler->step(*optimizer);
    scaler->update();
  }
  Tensor step() {
    optimizer->zero_grad();
    const Tensor loss = forward();
    backward_and_step(loss);
    return loss;
  }
  amp::Diagnosis diagnose(const std::function<Tensor()>& step) {
    return amp::diagnose(*model, step, {.optimizer = &*optimizer, .scaler = &*scaler});
  }
  amp::Diagnosis diagnose() {
    return diagnose([this] { return step(); });
  }
};

void check_found(const amp::Diagnosis& found, Fault fault, const std::string& where = "") {
  INFO(found.str());
  const amp::Finding* finding = found.find(fault);
  REQUIRE(finding);
  CHECK(contains(finding->where, where));
  CHECK_FALSE(finding->what.empty());
  CHECK_FALSE(finding->advice.empty());
}

void check_healthy(const amp::Diagnosis& found) {
  INFO(found.str());
  CHECK(found.healthy());
  CHECK(found.findings.empty());
  CHECK_FALSE(found.amp_is_to_blame);
  CHECK(std::fabs(found.loss - found.loss_in_fp32) <= 0.05 * std::fabs(found.loss_in_fp32));
}

/// One training step of bare parameters: no model, no optimizer.
amp::Diagnosis diagnose_bare(const amp::NamedTensors& parameters, const std::function<Tensor()>& step) {
  return amp::diagnose(parameters, {}, step);
}

}  // namespace

// --- Planted faults
// --------------------------------------------------------------------------------------------
TEST_CASE("fault: a layer whose weight has exploded overflows in half, and is named") {
  Training t;
  {
    NoGradGuard no_grad;
    t.parameter("fc4.weight").mul_(1e6);
  }
  const amp::Diagnosis found = t.diagnose();
  check_found(found, Fault::kExplodingWeight, "fc4.weight");
  check_found(found, Fault::kOverflowInHalf, "fc4");
  CHECK(found.amp_is_to_blame);
  CHECK_FALSE(found.healthy());
}

TEST_CASE("fault: a model that overflows in fp32 too is not laid at mixed precision's door") {
  Training t;
  {
    NoGradGuard no_grad;
    t.parameter("fc4.weight").mul_(1e38);
    t.parameter("fc5.weight").mul_(1e38);
  }
  const amp::Diagnosis found = t.diagnose();
  check_found(found, Fault::kNonFiniteInFp32);
  CHECK_FALSE(found.amp_is_to_blame);
}

TEST_CASE("fault: a NaN in the batch") {
  Training t;
  t.x[3][5] = NAN;
  const amp::Diagnosis found = t.diagnose();
  check_found(found, Fault::kBadData);
  CHECK(found.find(Fault::kBadData)->what.find("1 NaN") != std::string::npos);
  CHECK_FALSE(found.amp_is_to_blame);
}

TEST_CASE("fault: a parameter that holds NaN already") {
  Training t;
  {
    NoGradGuard no_grad;
    t.parameter("fc2.bias")[0] = NAN;
  }
  const amp::Diagnosis found = t.diagnose();
  check_found(found, Fault::kBadParameter, "fc2.bias");
}

TEST_CASE("fault: clipping before unscale_, through the library and by hand") {
  Training t;
  SECTION("clip_grad_norm_ refuses") {
    check_found(t.diagnose([&] {
      t.optimizer->zero_grad();
      const Tensor loss = t.forward();
      t.scaler->scale(loss).backward();
      nn::utils::clip_grad_norm_(t.model->parameters(), 1.0);
      t.scaler->step(*t.optimizer);
      t.scaler->update();
      return loss;
    }),
                Fault::kClipBeforeUnscale);
    CHECK_NOTHROW(t.step());  // the iteration that threw was ended
  }
  SECTION("by hand") {
    check_found(t.diagnose([&] {
      t.optimizer->zero_grad();
      const Tensor loss = t.forward();
      t.scaler->scale(loss).backward();
      t.parameter("head.weight").mutable_grad().mul_(0.5);
      t.scaler->step(*t.optimizer);
      t.scaler->update();
      return loss;
    }),
                Fault::kClipBeforeUnscale, "mul");
  }
}

TEST_CASE("fault: the whole model in float16") {
  Training t(false);
  t.model->to(kHalf);
  const Tensor x = t.x.to(kHalf);
  check_found(amp::diagnose(*t.model,
                            [&] {
                              const Tensor loss =
                                  nn::functional::cross_entropy(t.model->forward(x).to(kFloat), t.y);
                              loss.backward();
                              return loss;
                            }),
              Fault::kWholeModelHalf);
}

TEST_CASE("fault: the loss computed in half, outside the region") {
  Training t;
  check_found(t.diagnose([&] {
    t.optimizer->zero_grad();
    Tensor logits;
    {
      const amp::Autocast autocast(test::device_type(), kHalf);
      logits = t.model->forward(t.x);
    }
    const Tensor loss = nn::functional::cross_entropy(logits, t.y);
    t.backward_and_step(loss);
    return loss;
  }),
              Fault::kLossInHalf);
}

TEST_CASE("fault: a scaler with bfloat16") {
  Training t;
  t.compute = kBFloat16;
  check_found(t.diagnose(), Fault::kScalerWithBFloat16);
}

TEST_CASE("fault: an eps that float16 rounds to zero") {
  const Tensor w = test::parameter({1, 2});
  Tensor moment = zeros({2}, kHalf);
  const amp::Diagnosis found = diagnose_bare({{"w", w}}, [&] {
    const Tensor loss = (w * w).sum();
    loss.backward();
    NoGradGuard no_grad;
    w.grad().to(kHalf) / (moment.sqrt() + 1e-8);
    return loss;
  });
  check_found(found, Fault::kVanishingEpsilon, "add");
}

TEST_CASE("fault: normalisation statistics in half") {
  SECTION("a layer norm by hand") {
    Training t;
    check_found(t.diagnose([&] {
      t.optimizer->zero_grad();
      Tensor loss;
      {
        const amp::Autocast autocast(test::device_type(), kHalf);
        const Tensor h = t.model->forward(t.x);
        const Tensor normed = h / ((h * h).mean(-1, true) + 1e-3).sqrt();
        loss = nn::functional::cross_entropy(normed, t.y);
      }
      t.backward_and_step(loss);
      return loss;
    }),
                Fault::kStatisticsInHalf, "sqrt");
  }
  SECTION("running averages") {
    nn::Sequential model(nn::Linear(4, 8), nn::BatchNorm1d(8));
    model->named_buffers();
    for (auto& buffer : model->named_buffers()) {
      if (buffer.value().is_floating_point()) buffer.value().set_data(buffer.value().to(kHalf));
    }
    check_found(amp::diagnose(*model,
                              [&] {
                                Tensor loss = model->forward(rand({16, 4})).pow(2).mean();
                                loss.backward();
                                return loss;
                              }),
                Fault::kStatisticsInHalf, "running_mean");
  }
}

TEST_CASE("fault: updates below half a unit in the last place") {
  const Tensor w = test::parameter({1, 1, 1, 1}, kBFloat16);
  SECTION("an optimizer without masters") {
    optim::SGD optimizer({{"w", w}}, optim::SGDOptions(1e-4).master_weights(false));
    check_found(amp::diagnose({{"w", w}}, {},
                              [&] {
                                optimizer.zero_grad();
                                Tensor loss = w.to(kFloat).sum();
                                loss.backward();
                                optimizer.step();
                                return loss;
                              },
                              {.optimizer = &optimizer}),
                Fault::kLostUpdate, "w");
  }
  SECTION("a hand-written step") {
    check_found(diagnose_bare({{"w", w}},
                              [&] {
                                Tensor loss = w.to(kFloat).sum();
                                loss.backward();
                                NoGradGuard no_grad;
                                Tensor(w).sub_(w.grad() * 1e-4);
                                return loss;
                              }),
                Fault::kLostUpdate, "w");
  }
}

TEST_CASE("fault: softmax taken out of fp32 by an override") {
  const Tensor w = test::parameter({3e5, 1, 2});
  const amp::Diagnosis found = diagnose_bare({{"w", w}}, [&] {
    const amp::PolicyOverride unsafe("softmax", amp::Precision::kLow);
    const amp::Autocast autocast(test::device_type(), kHalf);
    Tensor loss = softmax(w, 0).sum();
    loss.backward();
    return loss;
  });
  check_found(found, Fault::kUnsafeOverride, "softmax");
  CHECK(found.amp_is_to_blame);
}

TEST_CASE("fault: a fixed loss scale that is too high") {
  Training t;
  t.scaler.emplace(amp::LossScaling::fixed(0x1p40));
  const amp::Diagnosis found = t.diagnose();
  check_found(found, Fault::kScaleTooHigh);
  CHECK(found.find(Fault::kScaleTooHigh)->is_error);
}

TEST_CASE("fault: float16 gradients that underflow for want of a scale") {
  Training t(false);
  check_found(t.diagnose([&] {
    t.optimizer->zero_grad();
    const Tensor loss = t.forward() * 1e-6;
    t.backward_and_step(loss);
    return loss;
  }),
              Fault::kGradientUnderflow);
}

TEST_CASE("fault: a derivative that is infinite in any precision") {
  const Tensor w = test::parameter({0, 4});
  const amp::Diagnosis found = diagnose_bare({{"w", w}}, [&] {
    Tensor loss = sqrt(w).sum();
    loss.backward();
    return loss;
  });
  check_found(found, Fault::kNonFiniteInFp32, "sqrt");
}

TEST_CASE("fault: an error of the program comes with its message") {
  const Tensor w = test::parameter({1, 2});
  const amp::Diagnosis found = diagnose_bare({{"w", w}}, [&] { return matmul(w, ones({3})); });
  check_found(found, Fault::kProgram, "matmul");
  CHECK(std::isnan(found.loss));
}

// --- Healthy steps
// ---------------------------------------------------------------------------------------------
TEST_CASE("healthy: fp16 with a scaler, bf16 and fp32 without") {
  SECTION("fp16") {
    Training t;
    check_healthy(t.diagnose());
  }
  SECTION("bf16") {
    Training t(false);
    t.compute = kBFloat16;
    check_healthy(t.diagnose());
  }
  SECTION("fp32") {
    Training t(false);
    t.compute = kFloat;
    check_healthy(t.diagnose());
  }
}

TEST_CASE("healthy: unscale_, then clip") {
  Training t;
  check_healthy(t.diagnose([&] {
    t.optimizer->zero_grad();
    const Tensor loss = t.forward();
    t.scaler->scale(loss).backward();
    t.scaler->unscale_(*t.optimizer);
    nn::utils::clip_grad_norm_(t.model->parameters(), 1.0);
    t.scaler->step(*t.optimizer);
    t.scaler->update();
    return loss;
  }));
}

TEST_CASE("healthy: float16 weights with masters, under autocast") {
  Training t;
  t.model->to(kHalf);
  optim::AdamW optimizer(t.model->named_parameters(), optim::AdamWOptions(1e-3));
  optimizer.use_loss_scaling(amp::LossScalingOptions().init_scale(1024));
  const Tensor x = t.x.to(kHalf);
  check_healthy(amp::diagnose(*t.model,
                              [&] {
                                optimizer.zero_grad();
                                const amp::Autocast autocast(test::device_type(), kHalf);
                                Tensor loss =
                                    nn::functional::cross_entropy(t.model->forward(x).to(kFloat), t.y);
                                optimizer.backward(loss);
                                optimizer.step();
                                return loss;
                              },
                              {.optimizer = &optimizer}));
}

TEST_CASE("healthy: layer norm, softmax and dropout in fp16") {
  Training t;
  manual_seed(12);
  nn::Sequential model(nn::Linear(32, 64), nn::LayerNorm(nn::LayerNormOptions({64})), nn::ReLU(),
                       nn::Dropout(0.2), nn::Linear(64, 4));
  optim::AdamW optimizer(model->named_parameters(), optim::AdamWOptions(1e-3));
  optimizer.use_loss_scaling(amp::LossScalingOptions().init_scale(1024));
  check_healthy(amp::diagnose(*model,
                              [&] {
                                optimizer.zero_grad();
                                const amp::Autocast autocast(test::device_type(), kHalf);
                                const Tensor p = softmax(model->forward(t.x), -1);
                                Tensor loss = nn::functional::nll_loss(log(p + 1e-6), t.y);
                                optimizer.backward(loss);
                                optimizer.step();
                                return loss;
                              },
                              {.optimizer = &optimizer}));
}

TEST_CASE("healthy: scores masked with -inf") {
  const Tensor w = test::parameter({1, 2, 3});
  check_healthy(diagnose_bare({{"w", w}}, [&] {
    const amp::Autocast autocast(test::device_type(), kHalf);
    const Tensor scores = (w * 2).masked_fill(tensor({0.0, 1.0, 0.0}).to(kBool), -INFINITY);
    Tensor loss = softmax(scores, 0)[2] + 1;
    loss.backward();
    return loss;
  }));
}

TEST_CASE("a scale that is about to find its place is a note, not an error") {
  Training t;
  t.scaler.emplace(amp::GradScalerOptions().init_scale(0x1p40));
  const amp::Diagnosis found = t.diagnose();
  check_found(found, Fault::kScaleTooHigh);
  CHECK(found.healthy());
}

TEST_CASE("diagnose leaves everything as it was") {
  Training t;
  t.step();
  std::vector<Tensor> before;
  for (const Tensor& parameter : t.model->parameters()) before.push_back(parameter.detach().clone());
  const double scale = t.scaler->get_scale();
  const std::int64_t steps = t.optimizer->applied_steps();
  const PhiloxState random = default_generator(t.x.device()).state();
  t.diagnose([&] {
    rand({3});
    return t.step();
  });
  const std::vector<Tensor> after = t.model->parameters();
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(test::same_bits(before[i], after[i]));
  CHECK(t.scaler->get_scale() == scale);
  CHECK(t.optimizer->applied_steps() == steps);
  CHECK(default_generator(t.x.device()).state().offset == random.offset);
  CHECK_NOTHROW(t.step());
  CHECK_THROWS_AS(amp::diagnose(*t.model, {}), Error);
}
