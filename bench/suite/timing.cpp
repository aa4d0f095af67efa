#include "halftone/bench/suite/timing.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "halftone/bench/support/clock.h"
#include "halftone/engine/cuda.h"
#include "halftone/engine/functions.h"
#include "halftone/engine/tensor.h"

namespace halftone::bench {
namespace {

constexpr long kMostRepeats = 1L << 24;

double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::size_t eviction_bytes() {
  constexpr std::size_t kLeast = std::size_t{64} << 20, kMost = std::size_t{768} << 20;
  const long last_level = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
  return std::clamp(2 * static_cast<std::size_t>(std::max(0L, last_level)), kLeast, kMost);
}

}  // namespace

void evict_caches(Device device) {
  if (device.is_cuda()) {
    static const Tensor memory = empty({std::int64_t{1} << 28}, TensorOptions(kByte).device(device));
    Tensor(memory).zero_();
    return;
  }
  static std::vector<unsigned char> memory(eviction_bytes());
  for (std::size_t i = 0; i < memory.size(); i += 64) ++memory[i];
}

Timer::Timer(std::function<void()> call, Device device, const TimingOptions& options)
    : call_(std::move(call)), device_(device), cold_(options.cold) {
  call_();
  once(1);
  if (cold_) return;
  while (repeats_ < kMostRepeats && once(repeats_) * static_cast<double>(repeats_) < options.sample_seconds)
    repeats_ *= 2;
}

double Timer::once(long repeats) const {
  if (cold_) {
    evict_caches(device_);
  } else {
    call_();  // others had their turn before: the caches hold their operands
  }
  if (device_.is_cuda()) {
    cuda::Event begin(true), end(true);
    begin.record();
    for (long i = 0; i < repeats; ++i) call_();
    end.record();
    end.synchronize();
    return 1e-3 * static_cast<double>(begin.elapsed_time(end)) / static_cast<double>(repeats);
  }
  const double start = now();
  for (long i = 0; i < repeats; ++i) call_();
  return (now() - start) / static_cast<double>(repeats);
}

double Timer::sample() {
  double seconds = 0;
  bool disturbed = true;
  for (int attempt = 0; attempt < 5 && disturbed; ++attempt) {
    const long before = preemptions();
    const double cpu = thread_seconds();
    seconds = once(repeats_);
    cpu_ += (thread_seconds() - cpu) * static_cast<double>(repeats_) / static_cast<double>(repeats_ + !cold_);
    iterations_ += repeats_;
    disturbed = preemptions() != before;
  }
  ++samples_;
  disturbed_ += disturbed;
  return seconds;
}

}  // namespace halftone::bench
