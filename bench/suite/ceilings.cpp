#include "halftone/bench/suite/ceilings.h"

#include <unistd.h>

#include <algorithm>
#include <memory>

#include "halftone/bench/support/ceiling.h"
#include "halftone/engine/cuda_math.h"
#include "halftone/engine/functions.h"

namespace halftone::bench {
namespace {

/// Of the fastest sample: a ceiling is what can be reached.
double best_rate(Timer& timer, double amount, int samples) {
  double seconds = timer.sample();
  for (int i = 1; i < samples; ++i) seconds = std::min(seconds, timer.sample());
  return amount / seconds;
}

double unit_rate(const MultiplyAdd& unit, int samples) {
  const double flops = unit.run();
  Timer timer([unit] { unit.run(); }, kCPU, {});
  return best_rate(timer, flops, samples);
}

/// A CPU's level, by arrays that fill a part of it.
MemoryLevel memory_level(const char* name, std::int64_t bytes, int samples) {
  const auto rate = [&](const Traffic& traffic) {
    TrafficLoop loop(traffic);
    Timer timer([&] { loop.pass(); }, kCPU, {});
    return best_rate(timer, static_cast<double>(traffic.bytes()), samples);
  };
  return {name, bytes, rate({{bytes}, {}, {}}), rate({{bytes / 2}, {}, {bytes / 2}}),
          rate({{}, {bytes}, {}})};
}

std::int64_t cache_size(int level, std::int64_t otherwise) {
  const long size = sysconf(level);
  return size > 0 ? size : otherwise;
}

Ceilings cpu_ceilings(bool quick) {
  const int samples = quick ? 5 : 15, threads = get_num_threads();
  Ceilings c;
  c.threads = threads;
  c.fp32 = unit_rate(fp32_unit(), samples);
  c.bf16 = unit_rate(bf16_unit(), samples);
  c.fp16 = c.fp32;  // widened first
  const std::int64_t l1 = cache_size(_SC_LEVEL1_DCACHE_SIZE, 32 << 10),
                     l2 = cache_size(_SC_LEVEL2_CACHE_SIZE, 1 << 20);
  // More than a share of the last level that anybody could hope for; several virtual machines share it.
  const std::int64_t memory = std::int64_t{quick ? 64 : 512} << 20;
  c.levels = {memory_level("L1", l1 / 2 * threads, samples), memory_level("L2", l2 / 2 * threads, samples),
              memory_level("memory", memory, std::min(samples, 7))};
  return c;
}

/// Flops per second of the best of a few square products.
double product_rate(Device device, Dtype dtype, bool tf32, int samples) {
  const bool before = cuda::allow_tf32();
  cuda::set_allow_tf32(tf32);
  double best = 0;
  for (const std::int64_t n : {2048, 4096, 8192}) {
    const Tensor a = rand({n, n}, TensorOptions(kFloat).device(device)).to(dtype);
    Timer timer([&] { (void)mm(a, a); }, device, {});
    const auto size = static_cast<double>(n);
    best = std::max(best, best_rate(timer, 2 * size * size * size, samples));
  }
  cuda::set_allow_tf32(before);
  return best;
}

Ceilings cuda_ceilings(Device device, bool quick) {
  const int samples = quick ? 3 : 9;
  Ceilings c;
  c.device = device;
  c.fp32 = product_rate(device, kFloat, false, samples);
  c.tf32 = product_rate(device, kFloat, true, samples);
  c.bf16 = product_rate(device, kBFloat16, false, samples);
  c.fp16 = product_rate(device, kHalf, false, samples);
  for (const auto& [name, bytes] :
       {std::pair("L2", std::int64_t{16} << 20), std::pair("memory", std::int64_t{2} << 30)}) {
    const Tensor from = rand({bytes / 8}, TensorOptions(kFloat).device(device));
    Tensor to = empty_like(from);
    Timer copy([&] { to.copy_(from); }, device, {}), update([&] { to.mul_(1); }, device, {});
    const auto moved = static_cast<double>(bytes);
    c.levels.push_back({name, bytes, 0, best_rate(copy, moved, samples), best_rate(update, moved, samples)});
  }
  return c;
}

std::function<double()> cpu_limit(const Case& c, const TimingOptions& timing) {
  if (c.bound == Bound::kArithmetic) {
    const MultiplyAdd unit = c.setting.precision == Precision::kBf16 ? bf16_unit() : fp32_unit();
    const double runs = c.flops / unit.run();
    const TimingOptions warm{timing.sample_seconds, false};  // registers are in no cache
    return [runs, timer = std::make_shared<Timer>([unit] { unit.run(); }, kCPU, warm)] {
      return runs * timer->sample();
    };
  }
  auto loops = std::make_shared<std::vector<TrafficLoop>>();
  for (const Traffic& pass : c.passes) loops->emplace_back(pass);
  const auto pass_all = [loops] {
    for (TrafficLoop& loop : *loops) loop.pass();
  };
  return [timer = std::make_shared<Timer>(pass_all, kCPU, timing)] { return timer->sample(); };
}

}  // namespace

double MemoryLevel::best() const { return std::max({read, copy, update}); }

double Ceilings::flops(Precision precision) const {
  switch (precision) {
    case Precision::kFp32:
      return fp32;
    case Precision::kTf32:
      return tf32;
    case Precision::kBf16:
      return bf16;
    case Precision::kFp16:
      return fp16;
  }
  return 0;
}

Ceilings measure_ceilings(Device device, bool quick) {
  return device.is_cpu() ? cpu_ceilings(quick) : cuda_ceilings(device, quick);
}

std::function<double()> limit_of(const Case& c, const Ceilings& ceilings, const TimingOptions& timing) {
  if (c.bound == Bound::kNone) return {};
  if (c.setting.device.is_cpu()) return cpu_limit(c, timing);
  // A device's clock does not drift with its host's neighbours: what was measured at the start counts.
  const double seconds = c.bound == Bound::kArithmetic ? c.flops / ceilings.flops(c.setting.precision)
                                                       : c.bytes() / ceilings.levels.back().best();
  return [seconds] { return seconds; };
}

}  // namespace halftone::bench
