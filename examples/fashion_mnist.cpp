// Fashion-MNIST in fp32, bf16 autocast, fp16 autocast with dynamic loss scaling, and fp16 weights with fp32
// masters: the same model, the same data in the same order, the same accuracy.

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>

#include <halftone/halftone.h>

#include "halftone/examples/fashion_mnist/options.h"
#include "halftone/examples/fashion_mnist/report.h"

namespace ht = halftone;

namespace {

/// One of the four ways to train.
struct Precision {
  const char* name;
  ht::Dtype compute;  // fp32 switches autocast off
  bool loss_scaling;
  bool half_weights;
};

constexpr Precision kPrecisions[] = {
    {"fp32", ht::kFloat, false, false},
    {"bf16", ht::kBFloat16, false, false},
    {"fp16", ht::kHalf, true, false},
    {"fp16-master", ht::kHalf, true, true},
};

/// Images stay bytes in memory; a batch becomes floating point when it is drawn.
struct Split {
  ht::Tensor images;  // uint8 (N, 1, 28, 28)
  ht::Tensor labels;  // int64 (N)

  ht::Tensor batch(const ht::Tensor& index) const {
    constexpr double kMean = 0.2860, kStd = 0.3530;  // of the training images, scaled to [0, 1]
    return (images.index_select(0, index).to(ht::kFloat) - 255 * kMean) * (1 / (255 * kStd));
  }
};

Split load(const Options& options, ht::data::datasets::MNIST::Mode mode) {
  const ht::data::datasets::MNIST dataset(options.data, mode);
  const std::int64_t all = dataset.targets().size(0);
  const std::int64_t count = options.limit > 0 ? std::min(options.limit, all) : all;
  return {dataset.images().narrow(0, 0, count).to(options.device),
          dataset.targets().narrow(0, 0, count).to(options.device)};
}

ht::nn::Sequential make_model(const std::string& name) {
  using namespace ht::nn;
  if (name == "mlp") {
    return Sequential(Flatten(), Linear(784, 512), ReLU(), Linear(512, 512), ReLU(), Linear(512, 10));
  }
  return Sequential(Conv2d(Conv2dOptions(1, 32, 3).padding(1)), ReLU(), MaxPool2d(2),
                    Conv2d(Conv2dOptions(32, 64, 3).padding(1)), ReLU(), MaxPool2d(2), Flatten(),
                    Linear(64 * 7 * 7, 128), ReLU(), Linear(128, 10));
}

/// Half weights take half inputs; otherwise autocast casts what it needs.
ht::Tensor forward(ht::nn::Sequential& model, const ht::Tensor& x, const Precision& precision) {
  return model->forward(precision.half_weights ? x.to(ht::kHalf) : x);
}

double test_accuracy(ht::nn::Sequential& model, const Split& test, const Precision& precision) {
  const ht::NoGradGuard no_grad;
  model->eval();
  const std::int64_t count = test.labels.size(0), batch = 1000;
  std::int64_t right = 0;
  for (std::int64_t begin = 0; begin < count; begin += batch) {
    const ht::Device device = test.labels.device();
    const ht::Tensor index =
        ht::arange(begin, std::min(begin + batch, count), ht::dtype(ht::kLong).device(device));
    const ht::amp::Autocast autocast(device.type(), precision.compute);
    const ht::Tensor predicted = forward(model, test.batch(index), precision).argmax(1);
    right += predicted.eq(test.labels.index_select(0, index)).sum().item<std::int64_t>();
  }
  model->train();
  return static_cast<double>(right) / static_cast<double>(count);
}

/// A bar on a terminal, nothing elsewhere.
void show_progress(const char* name, std::int64_t epoch, std::int64_t step, std::int64_t steps, double loss,
                   double scale) {
  static const bool terminal = isatty(STDOUT_FILENO) != 0;
  if (!terminal || (step % 10 != 0 && step != steps)) return;
  constexpr int kBar = 30;
  const int filled = static_cast<int>(kBar * step / steps);
  std::printf("\r%-11s epoch %lld [%.*s%*s] loss %.4f", name, static_cast<long long>(epoch), filled,
              "##############################", kBar - filled, "", loss);
  if (scale > 0) std::printf("  scale %g", scale);
  std::printf("\x1b[K");
  if (step == steps) std::printf("\r\x1b[K");
  std::fflush(stdout);
}

/// What a resumed run must share with the one that was saved, or it would be neither of the two.
std::string settings_of(const Options& o) {
  return ht::concat("--model ", o.model, " --precision ", o.precision, " --epochs ", o.epochs,
                    " --batch-size ", o.batch_size, " --lr ", o.lr, " --seed ", o.seed, " --limit ", o.limit);
}

/// Restores the parts and gives the saved counters.
ht::StateDict resume(const Options& options, const std::vector<ht::io::CheckpointPart>& parts) {
  const ht::StateDict counters = ht::io::load_checkpoint(options.resume, parts);
  const std::string saved = counters.text("settings"), asked = settings_of(options);
  if (saved != asked)
    ht::fail("--resume", options.resume, " was saved by a run with ", saved, ", this one has ", asked);
  return counters;
}

void write_trace(ht::amp::Trace& trace, const Options& options) {
  const std::string& path = options.trace;
  const auto ends_with = [&](const std::string& ending) {
    return path.size() > ending.size() && path.substr(path.size() - ending.size()) == ending;
  };
  trace.stop();
  if (ends_with(".jsonl")) {
    trace.write_json_lines(path);
  } else if (ends_with(".json")) {
    trace.write_chrome_json(path);
  } else {
    trace.write_html(path, "Fashion-MNIST, " + options.model + ", " + options.precision);
  }
  std::printf("%s\ntrace: %s\n", trace.table().c_str(), path.c_str());
}

Run train(const Options& options, const Precision& precision, const Split& training, const Split& test) {
  const ht::Device device = training.labels.device();
  const std::size_t data_bytes = ht::memory_stats(device).allocated;  // the images, before there is a model
  ht::manual_seed(options.seed);
  ht::nn::Sequential model = make_model(options.model);
  model->to(device);
  if (precision.half_weights) model->to(ht::kHalf);
  ht::optim::AdamW optimizer(model->named_parameters(), ht::optim::AdamWOptions(options.lr));
  // Grows every 200 clean steps rather than 2000, so that a short run shows how the scale finds its place.
  if (precision.loss_scaling) optimizer.use_loss_scaling(ht::amp::LossScalingOptions().growth_interval(200));
  const std::int64_t count = training.labels.size(0);
  const std::int64_t steps = (count + options.batch_size - 1) / options.batch_size;
  ht::optim::CosineAnnealingLR schedule(optimizer, options.epochs * steps, /*eta_min=*/0);

  const std::vector<ht::io::CheckpointPart> parts = {
      {"model", *model}, {"optimizer", optimizer}, {"schedule", schedule}};
  Run run;
  run.precision = precision.name;
  std::int64_t first_epoch = 0;
  if (!options.resume.empty()) {
    const ht::StateDict counters = resume(options, parts);
    first_epoch = counters.integer("epochs_done");
    run.skipped_steps = counters.integer("skipped_steps");
  }
  double seconds = 0;
  std::optional<ht::amp::Trace> trace;
  if (!options.trace.empty()) trace.emplace().watch(model->named_parameters());
  for (std::int64_t epoch = first_epoch; epoch < options.epochs; ++epoch) {
    ht::reset_peak_memory_stats(device);
    const ht::Tensor order = ht::randperm(count, ht::dtype(ht::kLong).device(device));
    double loss_sum = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
      const auto start = std::chrono::steady_clock::now();
      const std::int64_t begin = step * options.batch_size;
      const ht::Tensor index = order.narrow(0, begin, std::min(options.batch_size, count - begin));
      const ht::Tensor targets = training.labels.index_select(0, index);

      optimizer.zero_grad();
      ht::Tensor loss;
      {
        const ht::amp::Autocast autocast(device.type(), precision.compute);
        loss = ht::nn::functional::cross_entropy(forward(model, training.batch(index), precision), targets);
      }
      if (run.saved_bytes == 0) run.saved_bytes = ht::autograd::saved_bytes(loss);
      optimizer.backward(loss);
      const ht::optim::StepReport report = optimizer.step();
      schedule.step(report);

      seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      const auto value = loss.item<float>();
      loss_sum += value;
      run.losses.push_back(value);
      if (precision.loss_scaling) run.scales.push_back(static_cast<float>(optimizer.loss_scale()));
      run.skipped_steps += report.skipped_nonfinite() ? 1 : 0;
      if (trace && static_cast<std::int64_t>(run.losses.size()) >= std::min(options.trace_steps, steps)) {
        write_trace(*trace, options);
        trace.reset();
      }
      show_progress(precision.name, epoch + 1, step + 1, steps, loss_sum / static_cast<double>(step + 1),
                    precision.loss_scaling ? optimizer.loss_scale() : 0);
    }
    run.peak_bytes = std::max(run.peak_bytes, ht::memory_stats(device).peak - data_bytes);
    run.accuracy = test_accuracy(model, test, precision);
    std::printf("%-11s epoch %lld: loss %.4f, test accuracy %.2f %%", precision.name,
                static_cast<long long>(epoch + 1), loss_sum / static_cast<double>(steps), 100 * run.accuracy);
    if (precision.loss_scaling) std::printf(", scale %g", optimizer.loss_scale());
    std::printf("\n");
    std::fflush(stdout);
    if (!options.checkpoint.empty()) {
      ht::StateDict counters;
      counters.set("settings", settings_of(options));
      counters.set("epochs_done", epoch + 1);
      counters.set("skipped_steps", run.skipped_steps);
      ht::io::save_checkpoint(options.checkpoint, parts, counters);
    }
  }
  if (run.losses.empty()) run.accuracy = test_accuracy(model, test, precision);
  run.ms_per_step = run.losses.empty() ? 0 : 1e3 * seconds / static_cast<double>(run.losses.size());
  run.final_scale = precision.loss_scaling ? optimizer.loss_scale() : 0;
  return run;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  try {
    if (options.threads > 0) ht::set_num_threads(options.threads);
    using Mode = ht::data::datasets::MNIST::Mode;
    const Split training = load(options, Mode::kTrain), test = load(options, Mode::kTest);
    std::printf("%s on %s, %lld training images, batch %lld, %d threads\n", options.model.c_str(),
                options.device.c_str(), static_cast<long long>(training.labels.size(0)),
                static_cast<long long>(options.batch_size), ht::get_num_threads());

    std::vector<Run> runs;
    for (const Precision& precision : kPrecisions) {
      if (options.precision != "all" && options.precision != precision.name) continue;
      runs.push_back(train(options, precision, training, test));
    }
    std::printf("\n");
    print_table(runs);
    if (!options.html.empty()) {
      if (!write_html(options.html, "Fashion-MNIST, " + options.model, runs)) {
        std::fprintf(stderr, "cannot write %s\n", options.html.c_str());
        return 1;
      }
      std::printf("\ncurves: %s\n", options.html.c_str());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fashion_mnist: %s\n", error.what());
    return 1;
  }
}
