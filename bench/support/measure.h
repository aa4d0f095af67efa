#pragma once

// Timing, and the bandwidth this machine gives to a stated pattern of memory traffic.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "halftone/engine/threads.h"

namespace halftone::bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// How often the kernel has taken the processor away from this process.
inline long preemptions() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

/// Seconds per call: median, fastest and slowest sample.
struct Timing {
  double median, low, high;
};

/// Times f() after a warm-up. A sample lasts at least 5 ms; the 15 samples are those during which the process
/// was not preempted, as far as two seconds yield them.
template <class F>
Timing measure(F&& f) {
  f();
  long repeats = 1;
  for (double t = 0; t < 5e-3; repeats *= 2) {
    const double start = now();
    for (long i = 0; i < repeats; ++i) f();
    t = now() - start;
  }
  std::vector<double> clean, all;
  const double begin = now();
  while ((clean.size() < 15 && now() - begin < 2.0) || all.size() < 5) {
    const long before = preemptions();
    const double start = now();
    for (long i = 0; i < repeats; ++i) f();
    all.push_back((now() - start) / static_cast<double>(repeats));
    if (preemptions() == before) clean.push_back(all.back());
  }
  std::vector<double>& samples = clean.size() >= 5 ? clean : all;
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples.front(), samples.back()};
}

/// Memory traffic of one pass of a kernel: the bytes of every array that it only reads, that it reads and
/// writes in place, and that it only writes.
struct Traffic {
  std::vector<std::int64_t> read, update, write;

  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const std::int64_t n : read) sum += n;
    for (const std::int64_t n : update) sum += 2 * n;
    for (const std::int64_t n : write) sum += n;
    return sum;
  }
};

/// Runs a pattern of traffic with next to no arithmetic: the ceiling for a kernel that has the same pattern.
/// All threads that kernels may use walk through their share of every array at once, 4 KiB at a time.
class Ceiling {
 public:
  explicit Ceiling(const Traffic& traffic) : bytes_(traffic.bytes()) {
    add(traffic.read, read_block);
    add(traffic.update, update_block);
    add(traffic.write, write_block);
    only_copies_ = traffic.read.size() == 1 && traffic.update.empty() && traffic.write.size() == 1 &&
                   traffic.read[0] == traffic.write[0];
  }

  /// Seconds for one pass. For a plain copy the faster of this loop and memcpy, whose stores may bypass the
  /// caches.
  double seconds() {
    const double loop = measure([&] { run(); }).median;
    if (!only_copies_) return loop;
    return std::min(loop, measure([&] { copy(); }).median);
  }

 private:
  using Block = float (*)(float*, std::int64_t);
  struct Stream {
    Block touch;
    std::vector<float> data;
  };
  static constexpr std::int64_t kUnroll = 32;  // floats: two lines, and chains enough to hide their latency

  // The inner loops have a fixed length so that the compiler uses vectors for them.
  static float read_block(float* x, std::int64_t n) {
    float sums[kUnroll] = {};
    for (std::int64_t i = 0; i < n; i += kUnroll) {
      for (std::int64_t j = 0; j < kUnroll; ++j) sums[j] += x[i + j];
    }
    float sum = 0;
    for (const float part : sums) sum += part;
    return sum;
  }
  static float update_block(float* x, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += kUnroll) {
      for (std::int64_t j = 0; j < kUnroll; ++j) x[i + j] = 2.0F - x[i + j];  // all are 1 and stay so
    }
    return 0;
  }
  static float write_block(float* x, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += kUnroll) {
      for (std::int64_t j = 0; j < kUnroll; ++j) x[i + j] = 1.0F;
    }
    return 0;
  }

  void add(const std::vector<std::int64_t>& sizes, Block touch) {
    for (const std::int64_t bytes : sizes) {
      const std::int64_t floats = (bytes / 4 + kUnroll - 1) / kUnroll * kUnroll;
      streams_.push_back({touch, std::vector<float>(static_cast<std::size_t>(floats), 1.0F)});
      largest_ = std::max(largest_, floats);
    }
  }

  /// Blocks are cut so that all streams, the short ones too, are through at the same time.
  void run() {
    constexpr std::int64_t kBlock = 1024;
    const std::int64_t blocks = std::max<std::int64_t>(1, largest_ / kBlock);
    parallel_for(blocks, std::max<std::int64_t>(1, blocks / get_num_threads()),
                 [&](std::int64_t begin, std::int64_t end) {
                   float sum = 0;
                   for (std::int64_t b = begin; b < end; ++b) {
                     for (Stream& stream : streams_) {
                       const std::int64_t pieces = static_cast<std::int64_t>(stream.data.size()) / kUnroll;
                       const std::int64_t from = pieces * b / blocks * kUnroll,
                                          to = pieces * (b + 1) / blocks * kUnroll;
                       sum += stream.touch(stream.data.data() + from, to - from);
                     }
                   }
                   sink_ = sum;
                 });
  }

  void copy() {
    const std::int64_t n = static_cast<std::int64_t>(streams_[0].data.size());
    parallel_for(n, std::max<std::int64_t>(1, n / get_num_threads()),
                 [&](std::int64_t begin, std::int64_t end) {
                   std::memcpy(streams_[1].data.data() + begin, streams_[0].data.data() + begin,
                               static_cast<std::size_t>(end - begin) * sizeof(float));
                 });
  }

  std::int64_t bytes_;
  std::vector<Stream> streams_;
  std::int64_t largest_ = 0;
  bool only_copies_ = false;
  static inline thread_local volatile float sink_ = 0;
};

/// Seconds that the passes of a kernel take at least on this machine, one after the other.
inline double ceiling_seconds(const std::vector<Traffic>& passes) {
  double seconds = 0;
  for (const Traffic& traffic : passes) seconds += Ceiling(traffic).seconds();
  return seconds;
}

inline std::int64_t total_bytes(const std::vector<Traffic>& passes) {
  std::int64_t bytes = 0;
  for (const Traffic& traffic : passes) bytes += traffic.bytes();
  return bytes;
}

}  // namespace halftone::bench
