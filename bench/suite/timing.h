#pragma once

#include <functional>

#include "halftone/engine/device.h"

namespace halftone::bench {

/// How calls are timed.
struct TimingOptions {
  double sample_seconds = 3e-3;  ///< a sample of repeated calls lasts at least this long
  bool cold = false;             ///< a sample is one call, with what it needs out of the caches
};

/// Walks over more memory than the caches of `device` hold, so that what they held is gone.
void evict_caches(Device device);

/// A function that is timed in samples. On a CUDA device the device's clock counts, else the host's.
class Timer {
 public:
  /// Calls it a few times, and finds how many calls a sample needs.
  Timer(std::function<void()> call, Device device, const TimingOptions& options);

  /// Seconds per call in one more sample. A sample during which the kernel took the processor away is
  /// repeated, four times at most.
  double sample();

  long repeats() const { return repeats_; }
  /// Calls in all samples.
  long iterations() const { return iterations_; }
  /// Seconds of this thread's processor time per call, over all samples.
  double cpu_seconds() const { return iterations_ > 0 ? cpu_ / static_cast<double>(iterations_) : 0; }
  /// Whether most samples were free of interruptions.
  bool quiet() const { return 2 * disturbed_ <= samples_; }

 private:
  double once(long repeats) const;

  std::function<void()> call_;
  Device device_;
  bool cold_;
  long repeats_ = 1, iterations_ = 0, samples_ = 0, disturbed_ = 0;
  double cpu_ = 0;
};

}  // namespace halftone::bench
