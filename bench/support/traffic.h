#pragma once

// Memory traffic: what a kernel states, and the time this machine needs for the same traffic alone.

#include <emmintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "halftone/bench/support/clock.h"
#include "halftone/engine/threads.h"

namespace halftone::bench {

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
/// All threads that kernels may use walk through their share of every array at once, 4 KiB at a time; a plain
/// copy is left to memcpy where that is faster, since its stores may bypass the caches.
class TrafficLoop {
 public:
  explicit TrafficLoop(const Traffic& traffic) {
    add(traffic.read, read_words);
    add(traffic.update, update_words);
    add(traffic.write, write_words);
    const bool only_copies = traffic.read.size() == 1 && traffic.update.empty() &&
                             traffic.write.size() == 1 && traffic.read[0] == traffic.write[0];
    if (only_copies) copies_ = fastest([&] { copy(); }) < fastest([&] { walk(); });
  }

  /// One pass.
  void pass() { copies_ ? copy() : walk(); }

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
  void walk() {
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
  static double fastest(F&& f) {
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const double start = now();
      f();
      best = std::min(best, now() - start);
    }
    return best;
  }

  template <class F>
  static void split(std::int64_t n, F&& f) {
    parallel_for(n, (n + get_num_threads() - 1) / get_num_threads(), f);
  }

  std::vector<Stream> streams_;
  std::int64_t most_lines_ = 0;
  bool copies_ = false;
};

}  // namespace halftone::bench
