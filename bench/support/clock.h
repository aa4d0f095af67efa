#pragma once

#include <sys/resource.h>

#include <chrono>

namespace halftone::bench {

/// Seconds on a clock that only moves forward.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// How often the kernel has taken the processor away from this process.
inline long preemptions() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

}  // namespace halftone::bench
