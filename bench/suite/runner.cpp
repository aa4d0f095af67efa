#include "halftone/bench/suite/runner.h"

#include <map>
#include <memory>
#include <optional>

#include "halftone/bench/suite/pin.h"
#include "halftone/bench/support/turns.h"
#include "halftone/engine/cuda.h"

namespace halftone::bench {
namespace {

Device device_from(const std::string& name) {
  const Device device(name);
  if (device.is_cuda() && !cuda::is_available())
    fail("bench", "cannot measure '", name, "': ", cuda::why_unavailable());
  return device;
}

std::vector<Precision> precisions_of(const Options& options, Device device) {
  std::vector<Precision> all;
  for (const std::string& name : options.precisions) {
    all.push_back(precision_from(name));
    if (all.back() == Precision::kTf32 && device.is_cpu())
      fail("bench", "tf32 is a mode of CUDA devices' products; this run is on the CPU");
  }
  if (!all.empty()) return all;
  if (device.is_cuda()) return {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp16};
  return {Precision::kFp32, Precision::kBf16, Precision::kFp16};
}

std::vector<Shape> shapes_of(const Family& family, const Options& options, Device device) {
  std::vector<Shape> shapes;
  for (const std::string& text : options.shapes) shapes.push_back(shape_from(text));
  if (!shapes.empty()) return shapes;
  return options.quick ? family.quick : device.is_cuda() ? family.device : family.shapes;
}

TimingOptions timing_of(const Options& options) {
  const double ms = options.sample_ms > 0 ? options.sample_ms : options.quick ? 1 : 3;
  return {1e-3 * ms, options.cold};
}

int rounds_of(const Options& options) {
  return options.repetitions > 0 ? options.repetitions : options.quick ? 5 : 11;
}

void check(const Options& options) {
  if (options.threads < 1) fail("bench", "at least one thread is needed; got ", options.threads);
  if (options.repetitions < 0) fail("bench", "repetitions are counted from 1; got ", options.repetitions);
  if (!(options.sample_ms >= 0)) fail("bench", "a sample lasts some milliseconds; got ", options.sample_ms);
}

/// While alive, kernels may use `count` threads.
class ThreadCount {
 public:
  explicit ThreadCount(int count) : before_(get_num_threads()) { set_num_threads(count); }
  ~ThreadCount() { set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

}  // namespace

std::vector<std::vector<Case>> chosen_cases(const Options& options) {
  const Device device = device_from(options.device);
  const std::vector<Precision> precisions = precisions_of(options, device);
  std::vector<std::string> names = options.families;
  if (names.empty()) {
    for (const Family& family : families()) names.push_back(family.name);
  }
  std::vector<std::vector<Case>> groups;
  for (const std::string& name : names) {
    const Family& family = find_family(name);
    for (const Shape& shape : shapes_of(family, options, device)) {
      std::map<std::string, std::size_t> place;
      for (const Precision precision : precisions) {
        for (Case& c : cases_of(family, shape, {precision, device})) {
          if (c.group().find(options.filter) == std::string::npos) continue;
          const auto [found, is_new] = place.try_emplace(c.name, groups.size());
          if (is_new) groups.emplace_back();
          groups[found->second].push_back(std::move(c));
        }
      }
    }
  }
  if (groups.empty())
    fail("bench", "no case is left: no family/name/shape contains '", options.filter,
         "' in the chosen precisions");
  return groups;
}

std::vector<Result> run_group(const std::vector<Case>& group, const Ceilings& ceilings,
                              const Options& options) {
  const TimingOptions timing = timing_of(options);
  std::vector<Result> results;
  std::vector<Contender> contenders;
  std::vector<std::size_t> place(group.size());
  std::vector<std::unique_ptr<Timer>> timers(group.size());
  std::vector<bool> has_limit(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    const Case& c = group[i];
    const Work work = c.prepare();
    results.push_back({c.family, c.name, c.shape, precision_name(c.setting.precision), work.check()});
    Result& result = results.back();
    result.flops = c.flops, result.bytes = c.bytes(), result.bound = c.bound;
    if (!result.is_right()) continue;
    timers[i] = std::make_unique<Timer>(work.run, c.setting.device, timing);
    place[i] = contenders.size();
    contenders.push_back({c.id(), [timer = timers[i].get()] { return timer->sample(); }});
    if (auto limit = limit_of(c, ceilings, timing)) {
      has_limit[i] = true;
      contenders.push_back({c.id() + " ceiling", std::move(limit)});
    }
  }
  const std::vector<std::vector<double>> samples = take_turns(contenders, rounds_of(options));
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (!timers[i]) continue;
    Result& result = results[i];
    const std::vector<double>& own = samples[place[i]];
    result.seconds = quantile(own, 0.5);
    result.first_quartile = quantile(own, 0.25);
    result.third_quartile = quantile(own, 0.75);
    result.samples = static_cast<int>(own.size());
    result.iterations = timers[i]->iterations();
    result.cpu_seconds = timers[i]->cpu_seconds();
    result.quiet = timers[i]->quiet();
    if (has_limit[i]) result.limit = quantile(samples[place[i] + 1], 0.5);
  }
  return results;
}

Report run_suite(const Options& options, const std::function<void(const Report&)>& on_start,
                 const std::function<void(const Result&)>& on_result) {
  check(options);
  const std::vector<std::vector<Case>> groups = chosen_cases(options);
  const Device device = groups[0][0].setting.device;
  const ThreadCount threads(options.threads);
  std::optional<PinnedThreads> pinned;
  if (options.pin) pinned.emplace(options.threads);
  Report report;
  report.context = make_context(device, options.threads, options.pin, options.cold);
  report.ceilings = measure_ceilings(device, options.quick);
  if (on_start) on_start(report);
  for (const std::vector<Case>& group : groups) {
    for (Result& result : run_group(group, report.ceilings, options)) {
      if (on_result) on_result(result);
      report.results.push_back(std::move(result));
    }
  }
  return report;
}

}  // namespace halftone::bench
