// Checkpoints: a run that was saved and resumed goes on bit for bit as if nothing had happened, and a
// checkpoint that does not fit changes nothing.

#include <catch2/catch.hpp>

#include "halftone/halftone.h"
#include "halftone/tests/support/device.h"
#include "halftone/tests/support/files.h"
#include "halftone/tests/support/training.h"

using namespace halftone;
using namespace halftone::test;
using Catch::Matchers::Contains;

namespace {

bool same_value(const StateDict::Value& a, const StateDict::Value& b) {
  if (a.index() != b.index()) return false;
  if (const Tensor* tensor = std::get_if<Tensor>(&a)) return same_bits(*tensor, std::get<Tensor>(b));
  if (const double* number = std::get_if<double>(&a))
    return std::memcmp(number, &std::get<double>(b), sizeof(double)) == 0;
  if (const auto* integer = std::get_if<std::int64_t>(&a)) return *integer == std::get<std::int64_t>(b);
  if (const bool* flag = std::get_if<bool>(&a)) return *flag == std::get<bool>(b);
  return std::get<std::string>(a) == std::get<std::string>(b);
}

void check_same(const StateDict& a, const StateDict& b) {
  CHECK(a.size() == b.size());
  for (const auto& [name, value] : a) {
    INFO(name);
    const StateDict::Value* other = b.find(name);
    REQUIRE(other);
    CHECK(same_value(value, *other));
  }
}

StateDict snapshot_of(const std::vector<io::CheckpointPart>& parts) {
  StateDict all;
  for (const io::CheckpointPart& part : parts) {
    for (const auto& [name, value] : part.get()) {
      const Tensor* tensor = std::get_if<Tensor>(&value);
      all.set(part.name() + "/" + name, tensor ? StateDict::Value(tensor->clone()) : value);
    }
  }
  const PhiloxState stream = default_generator().state();
  all.set("seed", static_cast<std::int64_t>(stream.seed));
  all.set("offset", static_cast<std::int64_t>(stream.offset));
  return all;
}

nn::Sequential make_model() {
  return nn::Sequential(nn::Linear(6, 8), nn::BatchNorm1d(8), nn::ReLU(), nn::Dropout(0.3), nn::Linear(8, 3));
}

/// The loss of step 1, 2, ...; at step 9 its gradients overflow.
Tensor loss_of(nn::Sequential& model, int step) {
  const ScalarType dtype = model->parameters()[0].scalar_type();
  const Tensor x = arange(0, 5 * 6, kFloat).view({5, 6}).mul(0.37).add(1.3 * step).sin().to(dtype);
  const Tensor labels = arange(step, step + 5, kLong).remainder(3);
  const Tensor loss = nn::functional::cross_entropy(model->forward(x).to(kFloat), labels);
  return step == 9 ? loss.mul(1e38) : loss;
}

amp::LossScalingOptions scaling_options() {
  return amp::LossScalingOptions().init_scale(1024).growth_interval(2);  // overflow at 9: grows at 11
}

/// A run whose loss scaling is inside its optimizer.
template <class Optimizer, class Options>
struct BuiltIn {
  nn::Sequential model = make_model();
  std::optional<Optimizer> optimizer;
  std::optional<optim::StepLR> schedule;

  explicit BuiltIn(ScalarType dtype) {
    model->to(dtype);
    optimizer.emplace(model->parameters(), Options(0.01));
    optimizer->use_loss_scaling(scaling_options());
    schedule.emplace(*optimizer, 3, 0.5);
  }
  std::vector<io::CheckpointPart> parts() {
    return {{"model", *model}, {"optimizer", *optimizer}, {"schedule", *schedule}};
  }
  double scale() { return optimizer->loss_scale(); }
  void step(int number) {
    optimizer->zero_grad();
    optimizer->backward(loss_of(model, number));
    optimizer->clip_grad_norm_(1.0);
    schedule->step(optimizer->step());
  }
};

/// A run with Python's GradScaler under bf16 autocast, and momentum.
struct Facade {
  nn::Sequential model = make_model();
  optim::SGD optimizer{model->parameters(), optim::SGDOptions(0.05).momentum(0.9)};
  amp::GradScaler scaler{scaling_options()};

  explicit Facade(ScalarType) {}
  std::vector<io::CheckpointPart> parts() {
    return {{"model", *model}, {"optimizer", optimizer}, {"scaler", scaler}};
  }
  double scale() { return scaler.get_scale(); }
  void step(int number) {
    optimizer.zero_grad();
    Tensor loss;
    {
      amp::Autocast autocast(device_type(), kBFloat16);
      loss = loss_of(model, number);
    }
    scaler.scale(loss).backward();
    scaler.unscale_(optimizer);
    nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    scaler.step(optimizer);
    scaler.update();
  }
};

/// 20 steps straight against 10, save, load into a new run, 10.
template <class Run>
void check_resume(ScalarType dtype) {
  const TempFolder folder;
  const std::string path = folder.file("run.safetensors");
  manual_seed(7);
  Run straight(dtype);
  for (int step = 1; step <= 20; ++step) {
    const double before = straight.scale();
    straight.step(step);
    INFO("step " << step);
    if (step == 9) CHECK(straight.scale() == before / 2);
    if (step == 10) CHECK(straight.scale() == before);
    if (step == 11) CHECK(straight.scale() == before * 2);
  }
  const StateDict expected = snapshot_of(straight.parts());

  manual_seed(7);
  StateDict counters;
  {
    Run first(dtype);
    for (int step = 1; step <= 10; ++step) first.step(step);
    counters.set("step", std::int64_t{10});
    counters.set("epoch", 0.5);
    io::save_checkpoint(path, first.parts(), counters);
  }
  manual_seed(99);
  Run second(dtype);
  second.step(1);  // whatever it had is replaced
  const StateDict read = io::load_checkpoint(path, second.parts());
  check_same(read, counters);
  for (auto step = static_cast<int>(read.integer("step")) + 1; step <= 20; ++step) second.step(step);
  check_same(expected, snapshot_of(second.parts()));
}

}  // namespace

TEST_CASE("20 steps are 10, save, load and 10: bit for bit, over an overflow and a growth", "[checkpoint]") {
  SECTION("Adam with built-in scaling, fp32") {
    check_resume<BuiltIn<optim::Adam, optim::AdamOptions>>(kFloat);
  }
  SECTION("AdamW with masters, fp16 weights") {
    check_resume<BuiltIn<optim::AdamW, optim::AdamWOptions>>(kHalf);
  }
  SECTION("Adam with masters, bf16 weights") {
    check_resume<BuiltIn<optim::Adam, optim::AdamOptions>>(kBFloat16);
  }
  SECTION("SGD with GradScaler under autocast") { check_resume<Facade>(kFloat); }
}

TEST_CASE("a checkpoint between unscale_ and update is refused, and writes nothing", "[checkpoint]") {
  const TempFolder folder;
  const std::string path = folder.file("run");
  Facade run(kFloat);
  run.scaler.scale(loss_of(run.model, 9)).backward();
  run.scaler.unscale_(run.optimizer);
  CHECK_THAT(error_of([&] { io::save_checkpoint(path, run.parts()); }), Contains("update"));
  run.scaler.step(run.optimizer);
  CHECK_THAT(error_of([&] { io::save_checkpoint(path, run.parts()); }), Contains("update"));
  CHECK(folder.count() == 0);
  run.scaler.update();
  io::save_checkpoint(path, run.parts());
  CHECK(folder.count() == 1);
}

TEST_CASE("a checkpoint that does not fit or is damaged changes nothing", "[checkpoint]") {
  const TempFolder folder;
  const std::string path = folder.file("run");
  Facade run(kFloat);
  run.step(1);
  io::save_checkpoint(path, run.parts());
  run.step(2);
  StateDict before = snapshot_of(run.parts());
  const auto refused = [&](const std::vector<io::CheckpointPart>& parts, const char* expected) {
    CHECK_THAT(error_of([&] { io::load_checkpoint(path, parts); }), Contains(expected) && Contains(path));
    check_same(before, snapshot_of(run.parts()));
  };

  const std::string good = read_bytes(path);
  for (std::size_t length = 0; length < good.size(); length += 7) {
    write_bytes(path, good.substr(0, length));
    refused(run.parts(), "");
  }
  // Refused by the last part, when the others have taken their state.
  write_bytes(path, good);
  const StateDict state = io::load_state(path);
  StateDict broken = state;
  broken.set("scaler.scale", -1.0);
  io::save_state(path, broken);
  refused(run.parts(), "part 'scaler'");
  broken = state;
  broken.set("generator.offset", std::string("x"));
  io::save_state(path, broken);
  refused(run.parts(), "part 'generator'");
  broken = state;
  broken.set("model.0.weight", std::int64_t{3});
  io::save_state(path, broken);
  refused(run.parts(), "not a tensor");
  write_bytes(path, good);

  optim::Adam other(run.model->parameters(), optim::AdamOptions(0.1));
  refused({{"model", run.model}, {"optimizer", other}}, "part 'optimizer'");
  refused({{"model", run.model}, {"absent", run.optimizer}}, "part 'absent'");
  save(run.model, path);  // a file of another kind
  refused(run.parts(), path.c_str());
  write_bytes(path, good);
  io::load_checkpoint(path, {{"model", run.model}});  // part of it
  check_same(state.under("optimizer"), io::load_state(path).under("optimizer"));
}

TEST_CASE("names of parts", "[checkpoint]") {
  const TempFolder folder;
  const std::string path = folder.file("run");
  nn::Linear layer(2, 2);
  const auto refused = [&](const std::vector<io::CheckpointPart>& parts, const char* expected) {
    CHECK_THAT(error_of([&] { io::save_checkpoint(path, parts); }), Contains(expected));
    CHECK_THAT(error_of([&] { io::load_checkpoint(path, parts); }), Contains(expected));
  };
  refused({{"a", layer}, {"a", layer}}, "used twice");
  refused({{"generator", layer}}, "used twice");
  refused({{"counters", layer}}, "used twice");
  refused({{"", layer}}, "empty");
  refused({{"a.b", layer}}, "dot");
  CHECK(folder.count() == 0);
}

TEST_CASE("random streams of one's own are parts, too", "[checkpoint]") {
  const TempFolder folder;
  const std::string path = folder.file("run");
  Generator own(0xfedcba9876543210u);
  own.reserve(5);
  io::save_checkpoint(path, {{"stream", own}});
  own.set_state({1, 2});
  CHECK(io::load_checkpoint(path, {{"stream", own}}).empty());
  CHECK(own.state().seed == 0xfedcba9876543210u);
  CHECK(own.state().offset == 5);
}

TEST_CASE("save and load of an optimizer and of a scaler alone", "[checkpoint]") {
  const TempFolder folder;
  const std::string path = folder.file("x");
  BuiltIn<optim::Adam, optim::AdamOptions> a(kFloat), b(kFloat);
  for (int step = 1; step <= 3; ++step) a.step(step);
  save(*a.optimizer, path);
  load(*b.optimizer, path);
  check_same(a.optimizer->state_dict(), b.optimizer->state_dict());
  optim::SGD sgd(a.model->parameters(), optim::SGDOptions(0.1));
  CHECK_THAT(error_of([&] { load(sgd, path); }), Contains("Adam") && Contains(path));

  amp::GradScaler scaler(amp::GradScalerOptions().init_scale(8)), other;
  save(scaler, path);
  load(other, path);
  CHECK(other.get_scale() == 8);
}
