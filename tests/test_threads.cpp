// parallel_for: covers every index once, on any number of threads, also when called from several threads at
// once.

#if defined(__linux__)
#include <sched.h>
#endif

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "halftone/engine/error.h"
#include "halftone/engine/threads.h"

using namespace halftone;

namespace {

struct ThreadCount {
  explicit ThreadCount(int count) : before(get_num_threads()) { set_num_threads(count); }
  ~ThreadCount() { set_num_threads(before); }
  int before;
};

}  // namespace

TEST_CASE("every index is visited once and pieces start at multiples of the grain") {
  for (int threads : {1, 2, 3, 8}) {
    const ThreadCount count(threads);
    for (std::int64_t n : {0, 1, 7, 64, 1000, 4097}) {
      for (std::int64_t grain : {1, 7, 64, 5000}) {
        std::vector<std::atomic<int>> visits(static_cast<std::size_t>(n));
        const auto visit = [&](std::int64_t begin, std::int64_t end) {
          CHECK(begin % grain == 0);
          for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
        };
        if (threads == 1) {
          parallel_for(n, grain, visit);
        } else {
          // Catch2's assertions are not for several threads at once.
          parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
          });
        }
        bool once = true;
        for (const auto& visit_count : visits) once = once && visit_count == 1;
        CHECK(once);
      }
    }
  }
}

TEST_CASE("an exception in a piece reaches the caller, and the pool goes on") {
  const ThreadCount count(4);
  for (int round = 0; round < 20; ++round) {
    CHECK_THROWS_AS(parallel_for(100, 1,
                                 [](std::int64_t begin, std::int64_t) {
                                   if (begin >= 50) fail("test", "piece ", begin);
                                 }),
                    Error);
  }
  std::atomic<std::int64_t> sum{0};
  parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
  CHECK(sum == 100);
}

TEST_CASE("callers on several threads and nested calls do not wait for each other") {
  const ThreadCount count(3);
  std::atomic<std::int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        parallel_for(64, 1, [&](std::int64_t begin, std::int64_t end) {
          parallel_for(end - begin, 1, [&](std::int64_t b, std::int64_t e) { sum += e - b; });
        });
      }
    });
  }
  for (auto& caller : callers) caller.join();
  CHECK(sum == 4 * 200 * 64);
}

#if defined(__linux__)
TEST_CASE("the pool stays on the processors that its caller may use") {
  const ThreadCount count(3);
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  const auto outside = [](const cpu_set_t& allowed) {
    std::atomic<int> strays{0};
    for (int round = 0; round < 50; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // helpers fall asleep
      parallel_for(64, 1, [&](std::int64_t, std::int64_t) {
        if (!CPU_ISSET(sched_getcpu(), &allowed)) ++strays;
      });
    }
    return strays.load();
  };
  CHECK(outside(before) == 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  parallel_for(64, 1, [](std::int64_t, std::int64_t) {});
  const int processor = sched_getcpu();
  CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
  CHECK(CPU_ISSET(processor, &one));
  CHECK(outside(before) == 0);
}
#endif

TEST_CASE("bad thread counts are refused") {
  CHECK_THROWS_AS(set_num_threads(0), Error);
  CHECK_THROWS_AS(set_num_threads(-3), Error);
}
