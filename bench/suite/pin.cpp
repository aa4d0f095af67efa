#include "halftone/bench/suite/pin.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "halftone/engine/error.h"
#include "halftone/engine/threads.h"

namespace halftone::bench {
namespace {

cpu_set_t allowed() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) fail("bench", "cannot ask for this thread's processors");
  return set;
}

/// Makes the pool start its threads.
void wake_threads() {
  std::atomic<int> pieces{0};
  parallel_for(get_num_threads(), 1, [&](std::int64_t, std::int64_t) { ++pieces; });
}

}  // namespace

int allowed_processors() {
  const cpu_set_t set = allowed();
  return CPU_COUNT(&set);
}

PinnedThreads::PinnedThreads(int threads) {
  const cpu_set_t set = allowed();
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  }
  if (threads > static_cast<int>(processors.size()))
    fail("bench", "cannot pin ", threads, " threads: this process may run on ", processors.size(),
         " processor(s); ask for fewer threads, or for none to be pinned");
  wake_threads();
  // The calling thread works too, and takes the first processor.
  std::size_t next = 1;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const int thread = std::stoi(entry.path().filename().string());
    cpu_set_t old;
    if (sched_getaffinity(thread, sizeof old, &old) != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processors[thread == gettid() ? 0 : next++ % processors.size()], &one);
    if (sched_setaffinity(thread, sizeof one, &one) == 0) before_.emplace(thread, old);
  }
}

PinnedThreads::~PinnedThreads() {
  for (const auto& [thread, set] : before_) sched_setaffinity(thread, sizeof set, &set);
}

}  // namespace halftone::bench
