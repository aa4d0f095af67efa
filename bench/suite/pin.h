#pragma once

#include <sched.h>

#include <map>

namespace halftone::bench {

/// Processors that this process may run on.
int allowed_processors();

/// While alive, every thread of this process that kernels use has a processor of its own, so that none is
/// moved while it is timed. Throws Error when there are more threads than processors.
class PinnedThreads {
 public:
  explicit PinnedThreads(int threads);
  ~PinnedThreads();
  PinnedThreads(const PinnedThreads&) = delete;
  PinnedThreads& operator=(const PinnedThreads&) = delete;

 private:
  std::map<int, cpu_set_t> before_;  // by thread
};

}  // namespace halftone::bench
