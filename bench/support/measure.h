#pragma once

// Timing, and the bandwidth this machine gives to a stated pattern of memory traffic.

#include <emmintrin.h>
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

/// Seconds per call: median, fastest and slowest sample. Not quiet: other work took the processor away nearly
/// all the time, so the figures say little.
struct Timing {
  double median, low, high;
  bool quiet;
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
  const bool quiet = clean.size() >= 5;
  std::vector<double>& samples = quiet ? clean : all;
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples.front(), samples.back(), quiet};
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
  explicit Ceiling(const Traffic& traffic) {
    add(traffic.read, read_words);
    add(traffic.update, update_words);
    add(traffic.write, write_words);
    only_copies_ = traffic.read.size() == 1 && traffic.update.empty() && traffic.write.size() == 1 &&
                   traffic.read[0] == traffic.write[0];
  }

  /// Seconds for one pass: the fastest sample, since this is what kernels are held against. For a plain copy
  /// also by memcpy, whose stores may bypass the caches.
  double seconds() {
    const double loop = measure([&] { run(); }).low;
    return only_copies_ ? std::min(loop, measure([&] { copy(); }).low) : loop;
  }

 private:
  using Word = std::int32_t;
  static constexpr std::int64_t kLineWords = 16;

  using Walk = void (*)(Word*, std::int64_t);
  struct Stream {
    Walk walk;
    std::vector<Word> data;
  };

  // A cache line at a time in SSE2 registers; n is a multiple of kLineWords.
  static __m128i* line_part(Word* x, std::int64_t k) { return reinterpret_cast<__m128i*>(x + 4 * k); }
  static void read_words(Word* x, std::int64_t n) {
    for (Word* const end = x + n; x != end; x += kLineWords) {
      const __m128i a = _mm_loadu_si128(line_part(x, 0)), b = _mm_loadu_si128(line_part(x, 1));
      const __m128i c = _mm_loadu_si128(line_part(x, 2)), d = _mm_loadu_si128(line_part(x, 3));
      asm volatile("" ::"x"(a), "x"(b), "x"(c), "x"(d));  // counts as used
    }
  }
  static void update_words(Word* x, std::int64_t n) {
    const __m128i ones = _mm_set1_epi32(-1);
    for (Word* const end = x + n; x != end; x += kLineWords) {
      const __m128i a = _mm_loadu_si128(line_part(x, 0)), b = _mm_loadu_si128(line_part(x, 1));
      const __m128i c = _mm_loadu_si128(line_part(x, 2)), d = _mm_loadu_si128(line_part(x, 3));
      _mm_storeu_si128(line_part(x, 0), _mm_xor_si128(a, ones));
      _mm_storeu_si128(line_part(x, 1), _mm_xor_si128(b, ones));
      _mm_storeu_si128(line_part(x, 2), _mm_xor_si128(c, ones));
      _mm_storeu_si128(line_part(x, 3), _mm_xor_si128(d, ones));
    }
  }
  static void write_words(Word* x, std::int64_t n) {
    const __m128i zero = _mm_setzero_si128();
    for (Word* const end = x + n; x != end; x += kLineWords) {
      for (std::int64_t k = 0; k < 4; ++k) _mm_storeu_si128(line_part(x, k), zero);
    }
  }

  void add(const std::vector<std::int64_t>& sizes, Walk walk) {
    for (const std::int64_t bytes : sizes) {
      const std::int64_t lines = (bytes + 63) / 64;
      streams_.push_back({walk, std::vector<Word>(static_cast<std::size_t>(lines * kLineWords), 1)});
      most_lines_ = std::max(most_lines_, lines);
    }
  }

  /// Blocks are cut so that all streams, the short ones too, are through at the same time.
  void run() {
    constexpr std::int64_t kBlock = 64;  // lines
    const std::int64_t blocks = std::max<std::int64_t>(1, most_lines_ / kBlock);
    split(blocks, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        for (Stream& stream : streams_) {
          const std::int64_t lines = static_cast<std::int64_t>(stream.data.size()) / kLineWords;
          const std::int64_t from = lines * b / blocks, to = lines * (b + 1) / blocks;
          stream.walk(stream.data.data() + from * kLineWords, (to - from) * kLineWords);
        }
      }
    });
  }

  void copy() {
    split(most_lines_, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t from = begin * kLineWords, count = (end - begin) * kLineWords;
      std::memcpy(streams_[1].data.data() + from, streams_[0].data.data() + from,
                  static_cast<std::size_t>(count) * sizeof(Word));
    });
  }

  template <class F>
  static void split(std::int64_t n, F&& f) {
    parallel_for(n, (n + get_num_threads() - 1) / get_num_threads(), f);
  }

  std::vector<Stream> streams_;
  std::int64_t most_lines_ = 0;
  bool only_copies_ = false;
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
