// bench_loading [threads of the kernels, 1] [rounds, 9] : what loading ahead hides. One epoch of training
// where preparing a batch takes as long as a training step, prepared in the training thread (0 workers), by
// workers of the loader, and by the preloader of a ChunkDataset; once the time passes in waiting, as for a
// disk, and once in arithmetic, as for decoding and augmenting.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include "halftone/bench/support/clock.h"
#include "halftone/bench/support/turns.h"
#include "halftone/halftone.h"

namespace {

using namespace halftone;
using bench::now;
using data::samplers::SequentialSampler;

constexpr std::int64_t kRows = 128, kFeatures = 784;
constexpr std::size_t kBatches = 60;

/// What preparing a batch costs besides filling it.
struct Cost {
  double wait = 0;  ///< seconds
  long passes = 0;  ///< over the batch
};

data::Example<> prepare(std::size_t number, const Cost& cost) {
  const Tensor rows = full({kRows, kFeatures}, 1.0 + static_cast<double>(number % 7));
  if (cost.wait > 0) std::this_thread::sleep_for(std::chrono::duration<double>(cost.wait));
  float* x = rows.data_ptr<float>();
  for (long pass = 0; pass < cost.passes; ++pass) {
    float before = 0;  // each element depends on the one before: the compiler makes no vectors of it
    for (std::int64_t i = 0; i < kRows * kFeatures; ++i) x[i] = before = 0.5f * (x[i] + before);
  }
  return {rows, full({kRows}, static_cast<std::int64_t>(number % 10), kLong)};
}

struct Loaded : data::BatchDataset<Loaded, data::Example<>> {
  explicit Loaded(const Cost& cost) : cost(cost) {}
  data::Example<> get_batch(ArrayRef<std::size_t> numbers) override { return prepare(numbers[0], cost); }
  std::optional<std::size_t> size() const override { return kBatches; }
  Cost cost;
};

/// A chunk is one prepared batch.
struct Reader : data::datasets::ChunkDataReader<data::Example<>> {
  explicit Reader(const Cost& cost) : cost(cost) {}
  std::vector<data::Example<>> read_chunk(std::size_t number) override { return {prepare(number, cost)}; }
  std::size_t chunk_count() override { return kBatches; }
  void reset() override {}
  Cost cost;
};
using Chunks = data::datasets::ChunkDataset<Reader, SequentialSampler, SequentialSampler>;

class Training {
 public:
  void step(const data::Example<>& batch) {
    optimizer_.zero_grad();
    nn::functional::cross_entropy(model_->forward(batch.data), batch.target).backward();
    optimizer_.step();
  }

 private:
  nn::Sequential model_{nn::Linear(kFeatures, 512), nn::ReLU(), nn::Linear(512, 10)};
  optim::SGD optimizer_{model_->parameters(), optim::SGDOptions(1e-3)};
};

/// Seconds that `run` takes.
template <class Run>
double seconds(const Run& run) {
  const double start = now();
  run();
  return now() - start;
}

double median_of(int count, const std::function<double()>& sample) {
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) samples.push_back(sample());
  return bench::quantile(samples, 0.5);
}

void measure(const char* kind, const Cost& cost, int rounds) {
  Training training;
  const data::Example<> fixed = prepare(0, {});
  std::vector<bench::Contender> contenders{{"training alone",
                                            [&] {
                                              return seconds([&] {
                                                for (std::size_t i = 0; i < kBatches; ++i)
                                                  training.step(fixed);
                                              });
                                            }},
                                           {"loading alone", [&] {
                                              return seconds([&] {
                                                for (std::size_t i = 0; i < kBatches; ++i) prepare(i, cost);
                                              });
                                            }}};
  for (const std::size_t workers : {0, 1, 2}) {
    contenders.push_back({concat("workers ", workers), [&training, &cost, workers] {
                            auto loader = data::make_data_loader<SequentialSampler>(
                                Loaded(cost), data::DataLoaderOptions(1).workers(workers));
                            return seconds([&] {
                              for (auto& batch : *loader) training.step(batch);
                            });
                          }});
  }
  contenders.push_back({"ChunkDataset", [&] {
                          Chunks chunks(Reader(cost), SequentialSampler(0), SequentialSampler(0), {1, 1, 2});
                          return seconds([&] {
                            chunks.reset();
                            while (auto batch = chunks.get_batch()) training.step((*batch)[0]);
                          });
                        }});

  const auto samples = bench::take_turns(contenders, rounds);
  const double first = bench::quantile(samples[2], 0.5);
  const double longer = std::max(bench::quantile(samples[0], 0.5), bench::quantile(samples[1], 0.5));
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const double median = bench::quantile(samples[i], 0.5);
    std::printf("| %s | %-14s | %7.1f | %5.1f | %5.2f | %5.2f |\n", kind, contenders[i].name.c_str(),
                1e3 * median,
                100 * (bench::quantile(samples[i], 0.75) - bench::quantile(samples[i], 0.25)) / median,
                median / first, median / longer);
  }
}

}  // namespace

int main(int argc, char** argv) {
  set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  Training training;
  const data::Example<> fixed = prepare(0, {});
  const auto step = [&] { return seconds([&] { training.step(fixed); }); };
  median_of(50, step);  // warm
  const double one_step = median_of(200, step);
  const auto pass = [] { return seconds([] { prepare(0, {0, 10}); }) / 10; };
  const double one_pass = median_of(50, pass);
  std::printf("%d threads; a step takes %.2f ms; epochs of %zu batches, %d rounds in turns\n\n",
              get_num_threads(), 1e3 * one_step, kBatches, rounds);
  std::printf("| loading | epoch | ms | quartiles %% | of 0 workers | of the longer alone |\n");
  std::printf("| --- | --- | ---: | ---: | ---: | ---: |\n");
  measure("waits", {one_step, 0}, rounds);
  measure("computes", {0, std::lround(one_step / one_pass)}, rounds);
}
