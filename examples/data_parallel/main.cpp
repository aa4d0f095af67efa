// Data parallel training: every process has its part of the batch, and gradients are averaged.
//
//   mpirun -np 2 data_parallel [--loss-scaling]     two processes
//   data_parallel --ranks 2 [--loss-scaling]        one process that accumulates both parts, to the same bits
//
// With loss scaling, rank 1's gradients overflow once: both ranks skip that step and halve their scale.

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <halftone/distributed/distributed.h>
#include <halftone/halftone.h>

namespace ht = halftone;

namespace {

constexpr int kSteps = 60, kBadStep = 20;
constexpr std::int64_t kBatch = 32;

struct Arguments {
  int ranks = 0;  // 0: as many as mpirun started
  bool loss_scaling = false;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--loss-scaling") == 0) {
      arguments.loss_scaling = true;
    } else if (std::strcmp(argv[i], "--ranks") == 0 && i + 1 < argc) {
      arguments.ranks = std::atoi(argv[++i]);
    } else {
      std::fprintf(stderr, "usage: data_parallel [--ranks N] [--loss-scaling]\n");
      std::exit(2);
    }
  }
  return arguments;
}

ht::nn::Sequential make_model() {
  return ht::nn::Sequential(ht::nn::Linear(8, 64), ht::nn::Tanh(), ht::nn::Linear(64, 64), ht::nn::Tanh(),
                            ht::nn::Linear(64, 1));
}

/// The mean squared error on rank `rank`'s part of the batch of step `step`.
ht::Tensor loss_on_part(ht::nn::Sequential& model, int step, int rank, int ranks, bool overflows) {
  const ht::Tensor x = ht::randn({kBatch, 8}, ht::Generator(static_cast<std::uint64_t>(step)));
  const ht::Tensor y = (x * x).sum(1, /*keepdim=*/true).sin();
  const std::int64_t part = kBatch / ranks;
  const ht::Tensor loss = ht::nn::functional::mse_loss(model->forward(x.narrow(0, rank * part, part)),
                                                       y.narrow(0, rank * part, part));
  const bool is_bad = overflows && step == kBadStep && rank == 1;
  return is_bad ? loss * std::numeric_limits<float>::infinity() : loss;
}

/// Of all bits of all weights (FNV-1a).
std::uint64_t checksum(const ht::nn::Sequential& model) {
  std::uint64_t sum = 14695981039346656037ULL;
  for (const ht::Tensor& parameter : model->parameters()) {
    const ht::Tensor values = parameter.detach().cpu().contiguous();
    const auto* bytes = static_cast<const unsigned char*>(values.data_ptr());
    for (std::size_t i = 0; i < values.nbytes(); ++i) sum = (sum ^ bytes[i]) * 1099511628211ULL;
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  ht::manual_seed(1);
  ht::nn::Sequential model = make_model();
  const bool is_parallel = arguments.ranks == 0;
  const auto group = is_parallel ? ht::distributed::mpi_process_group() : ht::distributed::single_process();
  const int ranks = is_parallel ? group->size() : arguments.ranks;
  // Small buckets, so that there are several.
  ht::distributed::DataParallel parallel(
      model, group, ht::distributed::DataParallelOptions().bucket_bytes(4096).first_bucket_bytes(1024));
  ht::optim::AdamW optimizer(model->parameters(), ht::optim::AdamWOptions(1e-2));
  if (arguments.loss_scaling) optimizer.use_loss_scaling(ht::amp::LossScalingOptions().init_scale(1024));
  parallel.attach(optimizer);

  for (int step = 1; step <= kSteps; ++step) {
    optimizer.zero_grad();
    double loss = 0;
    if (is_parallel) {
      const ht::Tensor own = loss_on_part(model, step, group->rank(), ranks, arguments.loss_scaling);
      optimizer.backward(own);
    } else {
      for (int rank = 0; rank < ranks; ++rank) {
        optimizer.backward(loss_on_part(model, step, rank, ranks, arguments.loss_scaling));
      }
      const ht::NoGradGuard no_grad;
      for (const ht::Tensor& parameter : optimizer.parameters()) parameter.mutable_grad().mul_(1.0 / ranks);
    }
    const ht::optim::StepReport report = optimizer.step();
    {
      const ht::NoGradGuard no_grad;
      loss = loss_on_part(model, step, 0, 1, false).item<double>();  // of the whole batch
    }
    if (group->rank() == 0 && (step % 20 == 0 || !report.applied())) {
      std::printf("step %2d: %s, loss %.6f, scale %g\n", step, report.applied() ? "applied" : "skipped", loss,
                  optimizer.loss_scale());
    }
  }
  if (group->any(parallel.bucket_count() < 2)) return 1;
  if (group->rank() == 0) std::printf("weights %016" PRIx64 "\n", checksum(model));
  return 0;
}
