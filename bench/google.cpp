// Every case of the suite as a Google Benchmark, with flops, bytes and percent of its ceiling as counters. It
// times the same calls in its own way: what it prints is to agree with `halftone bench`.
//
//   bench_google --benchmark_filter=gemm/NN/512x512x512   (threads: OMP_NUM_THREADS)

#include <benchmark/benchmark.h>

#include <memory>

#include "halftone/bench/suite/suite.h"
#include "halftone/bench/support/turns.h"

namespace {

using namespace halftone::bench;

/// A case made and checked once, although Google Benchmark calls its function several times.
struct Ready {
  std::string id;
  Work work;
  double error = 0, limit = 0;
};

const Ready& ready(const Case& c) {
  static std::unique_ptr<Ready> last;
  if (last && last->id == c.id()) return *last;
  last.reset();  // its operands go before the next ones come
  last = std::make_unique<Ready>();
  last->id = c.id();
  last->work = c.prepare();
  last->error = last->work.check();
  if (const auto limit = limit_of(c, {}, {})) {
    std::vector<double> samples;
    for (int i = 0; i < 7; ++i) samples.push_back(limit());
    last->limit = quantile(samples, 0.5);
  }
  return *last;
}

void run(benchmark::State& state, const Case& c) {
  const Ready& r = ready(c);
  if (!(r.error <= 1)) {
    state.SkipWithError("the result is wrong");
    return;
  }
  const double start = now();
  for (auto _ : state) r.work.run();
  const double seconds = (now() - start) / static_cast<double>(state.iterations());
  const auto rate = [&](const char* name, double amount) {
    if (amount > 0)
      state.counters[name] = benchmark::Counter(amount, benchmark::Counter::kIsIterationInvariantRate);
  };
  rate("flops", c.flops);
  rate("bytes", c.bytes());
  if (r.limit > 0) state.counters["ceiling_%"] = 100 * r.limit / seconds;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  for (const Family& family : families()) {
    for (const Shape& shape : family.shapes) {
      for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kFp16}) {
        for (const Case& c : cases_of(family, shape, {precision, halftone::kCPU}))
          benchmark::RegisterBenchmark(c.id().c_str(), [c](benchmark::State& state) {
            run(state, c);
          })->UseRealTime();
      }
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
