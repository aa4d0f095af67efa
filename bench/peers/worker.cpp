// Trains one of the models, or repeats one small thing, whenever it is asked: the half of `bench_peers` that
// exists once per library, so that the two can take turns.
//
//   bench_worker_LIBRARY WHAT sgd|adamw|- fp32|bf16 THREADS
//
// WHAT is mlp, tiny, cnn, gpt; or add (one recorded addition of one element), chain (forward and backward of
// 100 additions), parameters (an AdamW step over 10 tensors of 1,000,000). For each line "n" on standard
// input it runs n steps and answers "seconds-per-step involuntary-switches peak-resident-bytes loss".

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "halftone/bench/peers/models.h"

namespace {

using Step = std::function<float()>;

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::string& name,
                                                        const std::vector<torch::Tensor>& parameters) {
  if (name == "sgd") {
    return std::make_unique<torch::optim::SGD>(parameters, torch::optim::SGDOptions(0.01).momentum(0.9));
  }
  return std::make_unique<torch::optim::AdamW>(parameters, torch::optim::AdamWOptions(1e-3));
}

Step training(const std::string& model, const std::string& optimizer_name, bool low_precision) {
  const peers::Task task = peers::make_task(model);
  if (!task.loss) return {};
  std::shared_ptr<torch::optim::Optimizer> optimizer = make_optimizer(optimizer_name, task.parameters);
  if (low_precision) peers::keep_half_weights(*optimizer);
  return [=] {
    optimizer->zero_grad();
    torch::Tensor loss;
    {
      const peers::Autocast autocast(low_precision);
      loss = task.loss();
    }
    loss.backward();
    optimizer->step();
    return loss.item<float>();
  };
}

Step recorded_add() {
  const torch::Tensor x = torch::ones({1}, torch::requires_grad());
  return [=] {
    const torch::Tensor y = x + x;
    return 0.0f;
  };
}

Step chain_of_adds() {
  torch::Tensor x = torch::ones({1}, torch::requires_grad());
  const torch::Tensor z = torch::ones({1});
  return [=]() mutable {
    torch::Tensor y = x;
    for (int i = 0; i < 100; ++i) y = y + z;
    y.backward();
    x.mutable_grad() = torch::Tensor();
    return 0.0f;
  };
}

Step parameter_update() {
  std::vector<torch::Tensor> parameters;
  for (int i = 0; i < 10; ++i) {
    parameters.push_back(torch::randn({1'000'000}).set_requires_grad(true));
    parameters.back().mutable_grad() = torch::randn({1'000'000});
  }
  std::shared_ptr<torch::optim::Optimizer> optimizer = make_optimizer("adamw", parameters);
  return [=] {
    optimizer->step();
    return 0.0f;
  };
}

/// Times this thread had to make room for others.
long switches() {
  rusage now;
  getrusage(RUSAGE_SELF, &now);
  return now.ru_nivcsw;
}

/// Peak resident bytes of this program. (rusage counts what the process had before it became this program.)
long peak_bytes() {
  std::ifstream status("/proc/self/status");
  long kilobytes = 0;
  for (std::string line; std::getline(status, line);) {
    if (std::sscanf(line.c_str(), "VmHWM: %ld", &kilobytes) == 1) break;
  }
  return 1024 * kilobytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s WHAT sgd|adamw|- fp32|bf16 THREADS\n", argv[0]);
    return 2;
  }
  const std::string what = argv[1];
  peers::set_threads(std::atoi(argv[4]));
  const Step step = what == "add"          ? recorded_add()
                    : what == "chain"      ? chain_of_adds()
                    : what == "parameters" ? parameter_update()
                                           : training(what, argv[2], std::string(argv[3]) == "bf16");
  if (!step) {
    std::fprintf(stderr, "%s: nothing here is called '%s'\n", argv[0], argv[1]);
    return 2;
  }
  long count = 0;
  while (std::scanf("%ld", &count) == 1) {
    const long before = switches();
    const auto start = std::chrono::steady_clock::now();
    float loss = 0;
    for (long i = 0; i < count; ++i) loss = step();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    std::printf("%.9g %ld %ld %g\n", taken.count() / static_cast<double>(count), switches() - before,
                peak_bytes(), static_cast<double>(loss));
    std::fflush(stdout);
  }
}
